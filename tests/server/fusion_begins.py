"""Answers that begin as programs of their own, or have names that their test has too: (language, prompt, answer, test,
what the whole has once, what it has not)."""

from __future__ import annotations

from typing import Final

_CPP: Final = "int main() { assert(f(2) == 4); }\n"
_KT: Final = "fun main() {\n    check(f(2) == 4)\n}\n"
_CS: Final = "class T {\n  static void Main() { if (S.F(2) != 4) throw new Exception(); }\n}\n"
_CS_F: Final = "public static class S\n{\n    public static int F(int n) => 2 * n;\n}\n"
_HS: Final = 'main :: IO ()\nmain = if f 2 == 4 then return () else error "no"\n'
_JS: Final = "const assert = require('node:assert');\nfunction test() { assert.equal(f(2), 4); }\ntest();\n"
_RB: Final = "raise 'no' unless f(2) == 4\n"
_HOLDER: Final = "import java.util.*;\nclass Problem {\n    // f(2) gives f (of) 4\n    static int f(int n) {\n"
_CLOSES: Final = "    }\n    public static void main(String[] a) { assert f(2) == 4; }\n}\n"
BEGINS: Final[dict[str, tuple[str, str, str, str, tuple[str, ...], tuple[str, ...]]]] = {
    "Go's imports with comments, and in one line": (
        "go_test",
        "",
        'package main\r\nimport (\r\n\t"fmt" // for Println()\r\n\t"sort" /* (none) */\r\n'
        '\n\t// std (more)\n\tm "math"\n)\n'
        "func f(n int) int {\n\tfmt.Println(m.Pi)\n\treturn 2 * n\n}\n",
        'package main\nimport ("testing"; "github.com/stretchr/testify/assert")\n'
        "func TestF(t *testing.T) { assert.Equal(t, 4, f(2)) }\n",
        ('"fmt"', 'm "math"', '"testing"', '"github.com/stretchr/testify/assert"', "package main"),
        ("import (", '"sort"', "(none)", "std"),
    ),
    "Java's imports in one line, and with a comment": (
        "junit",
        "",
        "import java.util.*; import java.io.*;\r\nclass S {\r\n    int f(int n) { return 2 * n; }\r\n}\r\n",
        "import org.junit.Test; // JUnit\npublic class T { }\n",
        ("import java.util.*; import java.io.*;\nimport org.junit.Test; // JUnit\n", "class S"),
        ("\r",),
    ),
    "C#'s usings in one line, and with a comment": (
        "csharp",
        "",
        "using System; using System.Linq;\nusing System.Text; // texts\n"
        "class S { public int F(int n) { return 2 * n; } }\n",
        "using System.IO; // files\nclass T { static void Main() { Debug.Assert(new S().F(2) == 4); } }\n",
        ("using System;\nusing System.Linq;\nusing System.Text;\nusing System.IO; // files\n", "class S", "class T"),
        (),
    ),
    "Kotlin's imports with a comment": (
        "kotlin",
        "",
        "import kotlin.math.abs // of numbers\nfun f(n: Int) = 2 * abs(n)\n",
        "import kotlin.test.assertEquals // of tests\nfun main() { assertEquals(4, f(2)) }\n",
        ("import kotlin.math.abs // of numbers\nimport kotlin.test.assertEquals // of tests\n", "fun f("),
        (),
    ),
    **{
        f"C++: {head}": (
            standard,
            "",
            f"int f(int n) {{ return 2 * n; }}\n{head}\n{{\n    return 9;\n}}\n",
            _CPP,
            ("int f(",),
            ("9",),
        )
        for standard, head in (
            ("cpp", "signed main()"),
            ("cpp20", "int32_t main()"),
            ("cpp23", "int main(int argc, char **argv)"),
            ("c", "main()"),
            ("cpp", "auto main() -> int"),
            ("cpp", "int\nmain (void)"),
            ("c", "  static int main()"),
        )
    },
    "a call of a function that ends in main": (
        "c",
        "",
        "int domain(int n) { return 2; }\n",
        _CPP,
        ("int domain(int n) {",),
        (),
    ),
    "Kotlin: an expression": (
        "kotlin",
        "",
        "fun main() = println(f(2))\n\nfun f(n: Int): Int {\n    return 2 * n\n}\n",
        _KT,
        ("fun main()", "return 2 * n"),
        ("println",),
    ),
    "Kotlin: an expression of several lines": (
        "kotlin",
        "",
        "fun main() =\n    listOf(1, 2)\n        .map { f(it) }\n        .forEach(::println)\nfun f(n: Int) = 2 * n\n",
        _KT,
        ("fun main()", "fun f(n: Int) = 2 * n"),
        ("println", "listOf"),
    ),
    "Kotlin: a block of coroutines": (
        "kotlin",
        "",
        "suspend fun main() = coroutineScope {\n    launch { println(f(2)) }\n}\nfun f(n: Int) = 2 * n\n",
        _KT,
        ("fun main()", "fun f("),
        ("launch",),
    ),
    "Scala: an expression": (
        "scala",
        "object P {\n    // f(2)\n    def f(n: Int): Int = {\n",
        "object S {\n  def main(args: Array[String]): Unit = println(f(2))\n\n"
        "  def f(n: Int): Int = {\n    2 * n\n  }\n}\n",
        "    }\n    def main(args: Array[String]) = {\n    assert(f(2) == 4)\n    }\n}\n",
        ("object P", "def main", "def f("),
        ("object S", "println"),
    ),
    "Scala: App": (
        "scala",
        "",
        "object M extends App {\n  def f(n: Int) = 2 * n\n}\n",
        "object T {\n  def main(a: Array[String]) { assert(M.f(2) == 4) }\n}\n",
        ("object M",),
        ("extends App",),
    ),
    "C#: an expression": (
        "csharp",
        "",
        f"using System;\n{_CS_F}class P\n{{\n    static void Main() => Console.WriteLine(S.F(9));\n}}\n",
        _CS,
        ("int F(", "void Main("),
        ("S.F(9)",),
    ),
    "C#: async": (
        "csharp",
        "",
        f"{_CS_F}class P {{ static async Task<int> Main(string[] a) {{ await S.G(9); }} }}\n",
        _CS,
        ("int F(", " Main("),
        ("S.G(9)",),
    ),
    "C#: at the top level": (
        "csharp",
        "",
        f"using System;\n\nConsole.WriteLine(S.F(9));\n\n{_CS_F}",
        _CS,
        ("using System;", "int F("),
        ("S.F(9)",),
    ),
    "C#: a namespace": ("csharp", "", f"namespace A.B\n{{\n{_CS_F}}}\n", _CS, ("int F(",), ("namespace",)),
    "C#: its test's class": (
        "csharp",
        "",
        f"{_CS_F}internal class T {{ int X; }}\n",
        _CS,
        ("class T", "int F("),
        ("int X",),
    ),
    "Haskell": (
        "haskell",
        "",
        "module Main where\nmain :: IO ()\nmain = do\n  n <- readLn\n\n  print (f n)\n\nf :: Int -> Int\nf = (* 2)\n",
        _HS,
        ("main ::", "main =", "f = (* 2)"),
        ("print", "module"),
    ),
    "Haskell: pragmas and imports of several lines": (
        "haskell",
        "",
        "{-# LANGUAGE LambdaCase #-}\nmodule F (f) where\n\nimport Data.List\n  ( sort\n  , nub\n  )\n"
        "f = \\case { 0 -> 0; n -> 2 * n }\n",
        "{-# LANGUAGE TupleSections\n  , BangPatterns #-}\nimport Data.Char\n" + _HS,
        (
            "LambdaCase #-}\n{-# LANGUAGE TupleSections\n  , BangPatterns #-}\n"
            "import Data.List\n  ( sort\n  , nub\n  )\nimport Data.Char",
        ),
        ("module",),
    ),
    "Swift": (
        "swift",
        "",
        "func f(_ n: Int) -> Int { 2 * n }\n@main\nstruct P {\n    static func main() { print(f(9)) }\n}\n",
        "assert(f(2) == 4)\n",
        ("func f",),
        ("@main", "print"),
    ),
    "Ruby": (
        "ruby",
        "",
        "def f(n) = 2 * n\n\nif __FILE__ == $PROGRAM_NAME\n  puts f(gets.to_i)\nend\n",
        _RB,
        ("def f",),
        ("gets",),
    ),
    "Ruby: a line": ("ruby", "", "def f(n) = 2 * n\nputs f(gets.to_i) if __FILE__ == $0\n", _RB, ("def f",), ("gets",)),
    "Lua": (
        "lua",
        "",
        "local function f(n) return 2 * n end\nreturn f\n",
        "assert(f(2) == 4)\n",
        ("2 * n",),
        ("return f",),
    ),
    "R": (
        "r",
        "",
        "f <- \\(n) 2 * n\nif (sys.nframe() == 0) {\n  print(f(scan()))\n}\n",
        "stopifnot(f(2) == 4)\n",
        ("2 * n",),
        ("scan",),
    ),
    "Perl": (
        "perl",
        "",
        "sub f { 2 * shift }\nmain() unless caller;\n",
        "die unless f(2) == 4;\n",
        ("sub f",),
        ("caller",),
    ),
    "JavaScript": (
        "javascript",
        "",
        "function f(n) { return 2 * n; }\nif (require.main === module) {\n  console.log(f(9));\n}\n",
        _JS,
        ("function f", "function test"),
        ("console",),
    ),
    "Rust's own tests": (
        "rust_test",
        "fn main() {}\nfn f(n: i32) -> i32 {\n",
        "fn f(n: i32) -> i32 { 2 * n }\nfn main() { g(9) }\n#[cfg(test)]\n"
        "mod tests {\n    #[test]\n    fn own() {}\n}\n",
        "#[cfg(test)]\nmod tests {\n    use super::*;\n    #[test]\n    fn t() { assert_eq!(f(2), 4); }\n}\n",
        ("fn main()", "fn f(", "mod tests"),
        ("fn own", "g(9)"),
    ),
    "Rust: attributes of the crate": (
        "rust",
        "/// f(2)\nfn f(n: i32) -> i32 {\n",
        "#![allow(unused)]\n\nfn f(n: i32) -> i32 { 2 * n }\n",
        "}\nfn main() { assert_eq!(f(2), 4); }\n",
        ("#![allow(unused)]\n/// f(2)", "fn f("),
        (),
    ),
    "Java: a constructor, and an example in the prompt": (
        "java",
        _HOLDER,
        "final class Solution {\n    private Solution() { }\n"
        '    static int f(int n) { return Solution.g(n, "Solution"); }\n'
        "    static int g(int n, String s) { return 2 * n; }\n}\n",
        _CLOSES,
        ("class Problem", "private Problem()", "Problem.g(", '"Solution"'),
        (" Solution",),
    ),
    "Java: braces in a block of text": (
        "java",
        "",
        'class Solution {\n    static final String D = """\n        class T { "}" {{\n        """;\n'
        "    int f(int n) { return 2 * n; }\n}\n",
        "class T { public static void main(String[] a) { assert new Solution().f(2) == 4; } }\n",
        ("class Solution", "return 2 * n; }\n}\n"),
        ("}\n}\n}",),
    ),
    "JavaScript: braces in a text in a text": (
        "javascript",
        "",
        "function f(n) {\n  const t = `${[n].map((x) => `${x}{`)}`;\n  return 2 * n;\n}\n",
        _JS,
        ("return 2 * n;\n}\n",),
        ("}\n}\n}",),
    ),
    "C++: raw texts": (
        "cpp",
        "",
        'const char* D = R"(" {)";\nconst char* E = R"x(}}")x";\nint f(int n) { return 2 * n; }\n',
        _CPP,
        ("return 2 * n; }\n",),
        ("2 * n; }\n}",),
    ),
    "C#: a namespace that prompt, answer and test are in": (
        "csharp",
        "using System;\n\nnamespace A.B\n{\n    public class S\n    {\n"
        "        // doubles\n        public static int F(int n)\n        {\n",
        f"using System;\nnamespace A.B\n{{\n{_CS_F}class T {{ static void Main() {{ S.F(1); }} }}\n}}\n",
        f"\nnamespace A.B\n{{\n{_CS}}}\n",
        ("class S", "int F(", "Main(", "namespace A.B"),
        ("S.F(1)",),
    ),
    "Go: imports of several lines": (
        "go_test",
        'package p\n\nimport (\n    "testing"\n)\n\n// G helps.\nfunc G() int { return 2 }\n\nfunc f(n int) int {\n',
        'package main\n\nimport (\n\t"strings"\n)\n\nfunc G() int { return len(strings.Repeat("a", 2)) }\n'
        "func f(n int) int { return n * G() }\n",
        "}\nfunc TestF(t *testing.T) { if f(2) != 4 { t.Fail() } }\n",
        ("func G(", "func f(", '"testing"', '"strings"'),
        (),
    ),
}
NAMED: Final = {
    "a name of the test's": (
        "const assert = require('assert').strict;\nfunction test() { return 0; }\nfunction f(n) { return 2 * n; }\n"
    ),
    "a module": "import { equal, ok as fine } from 'node:assert';\nexport const f = (n) => 2 * n;\nequal(f(1), 2);\n",
    "a default": (
        "import assert, { equal } from 'node:assert';\n"
        "export default function f(n) { return 2 * n; }\nequal(f(1), 2);\n"
    ),
    "all of a module": (
        "import * as assert from 'node:assert';\nfunction f(n) { return 2 * n; }\nassert.equal(f(1), 2);\n"
    ),
    "CommonJS": "'use strict';\nconst f = (n) => 2 * n;\nmodule.exports = { f };\n",
}
"""Answers in JavaScript beside TESTED, or a test that imports what it calls."""
TESTED: Final = (_JS, "import assert from 'node:assert';\nassert.equal(f(2), 4);\n")
