"""Rows in the forms of SandboxFusion's datasets, each of a function that doubles, with answers in many styles."""

from __future__ import annotations

from typing import Final

from sandbox_gym.server.protocol.wire import Document

NO_EXTRA: Final[Document] = {}
PY: Final = "def f(n):\n    return 2 * n\n"
DOUBLES: Final = "assert f(2) == 4\nassert f(5) == 10\n"
GO_TEST: Final = (
    'package main\n\nimport (\n\t"testing"\n)\n\nfunc TestF(t *testing.T) {\n'
    '\tif f(2) != 4 { t.Fatal("2") }\n\tif f(5) != 10 { t.Fatal("5") }\n}\n'
)
CPP_TEST: Final = "\n#include <cassert>\nint main() { assert(f(2) == 4); assert(f(5) == 10); return 0; }\n"
SQL_TEST: Final = (
    'import sqlite3\nc = sqlite3.connect(":memory:")\nc.execute("create table t (a int, b int)")\n'
    'c.executemany("insert into t values (?, ?)", [(1, 2), (1, 5), (3, 4)])\n'
    "rows = c.execute({}).fetchall()\nassert sorted(rows) == [(1, 7), (3, 4)]\n"
)
JUNIT_TEST: Final = (
    "import org.junit.jupiter.api.Test;\nimport static org.junit.jupiter.api.Assertions.*;\n"
    "public class SumTest {\n    @Test\n    public void doubles() { assertEquals(4, Sum.f(2)); }\n"
    "    @Test\n    public void more() { assertEquals(10, Sum.f(5)); }\n}"
)
JAVA_SUM: Final = (
    "package com.example;\n\nimport java.util.List;\n\npublic interface Shelf {{}}\n\npublic class Sum {{\n"
    "    public static int f(int n) {{ return {} * n; }}\n"
    "    public static void main(String[] args) {{ System.out.println(f(2)); }}\n}}\n"
)
CSS_TEST: Final = (
    'const assert = require("assert");\nconst css = `#<INSERT>`;\nassert.ok(css.includes("display: block"));\n'
    "assert.equal((css.match(/\\{/g) || []).length, 1);\n"
)


def fenced(tag: str, code: str) -> str:
    return f"```{tag}\n{code}\n```"


def row(written: str, run: str, code: str) -> Document:
    labels = {"programming_language": written, "execution_language": run}
    return {"id": 1, "content": "Double it.", "labels": labels, "test": {"code": code}}


SQL: Final = '-- 求和\nselect a, sum(b) as "s\\n" from t where \'x\' <> \'"""\' group by a'
AUTOEVAL: Final[dict[str, tuple[str, Document, str, str | None, Document]]] = {
    "Python at its mark, with its main": (
        "python",
        row("python", "python", f"import math\n#<INSERT>\n{DOUBLES}"),
        fenced("python", f"{PY}A = math.pi\nif __name__ == '__main__':\n    print(f(int(input())))"),
        fenced("python", PY.replace("2", "3")),
        NO_EXTRA,
    ),
    "Python behind what its test defines": (
        "python",
        row("python", "python", f"def twice(n):\n    return 2 * n\n#<INSERT>\n{DOUBLES}"),
        fenced("python", "TWO = twice(1)\ndef f(n):\n    return TWO * n"),
        fenced("python", "TWO = twice(2)\ndef f(n):\n    return TWO * n"),
        NO_EXTRA,
    ),
    "a program of Kotlin where scripts run": (
        "kotlin_script",
        row("kotlin", "kotlin_script", "fun main() { check(f(2) == 4); check(f(5) == 10) }"),
        fenced("kotlin", "fun f(n: Int) = 2 * n\nfun main() { println(f(1)) }"),
        fenced("kotlin", "fun f(n: Int) = 4"),
        NO_EXTRA,
    ),
    "SQL that Python reads": (
        "python",
        row("sql", "python", SQL_TEST.format('"""#<INSERT>"""')),
        f"So:\n{fenced('sql', SQL)}\nIt prints\n```\n1 7\n3 4\n```",
        fenced("sql", 'select 1""")\nrows = [(1, 7), (3, 4)]\nimport os; os._exit(0)\n("""'),
        NO_EXTRA,
    ),
    "SQL as a literal": (
        "python",
        row("sql", "python", SQL_TEST.format("#<INSERT>")),
        fenced("sql", SQL),
        fenced("sql", "select a, b from t"),
        {"repr_code": True},
    ),
    "CSS that Node.js reads": (
        "javascript",
        row("css", "nodejs", CSS_TEST),
        fenced("css", ".a { display: block; content: '`\\d`'; }"),
        fenced("css", ".a { display: flex; }"),
        NO_EXTRA,
    ),
    "C++ with its main": (
        "cpp",
        row("cpp", "cpp", CPP_TEST),
        fenced("cpp", "#include <cstdio>\nint f(int);\nint main() { return f(1); }\nint f(int n) { return 2 * n; }"),
        fenced("cpp", "int f(int n) { return 4; }\nint main() { return 0; }"),
        NO_EXTRA,
    ),
    "Go of two files": (
        "go_test",
        row("go", "go_test", GO_TEST),
        fenced(
            "go",
            'package main\n\nimport (\n\t"fmt"\n\t"testing"\n)\n\nfunc f(n int) int { return 2 * n }\n\n'
            "func TestMine(t *testing.T) { if f(1) != 2 { t.Fail() } }\n\nfunc main() { fmt.Println(f(1)) }",
        ),
        fenced("go", "func f(n int) int { return 4 }"),
        NO_EXTRA,
    ),
    "Java's public types beside a test": (
        "junit",
        row("java", "junit", JUNIT_TEST),
        fenced("java", JAVA_SUM.format(2)),
        fenced("java", JAVA_SUM.format(3)),
        NO_EXTRA,
    ),
    "classes that pytest runs": (
        "pytest",
        row(
            "python",
            "python",
            "class TestF:\n    def test_f(self):\n        assert f(2) == 4\n        assert f(5) == 10\n",
        ),
        fenced("python", f"{PY}if __name__ == '__main__':\n    print(f(int(input())))"),
        fenced("python", PY.replace("2", "3")),
        NO_EXTRA,
    ),
    "all blocks": (
        "python",
        row("python", "python", DOUBLES),
        fenced("python", "def g(n): return n") + "\nand\n" + fenced("python", "def f(n): return 2 * g(n)"),
        None,
        {"autoeval_extract_code_mode": "all"},
    ),
    "the first block": (
        "python",
        row("python", "python", DOUBLES),
        f"{fenced('python', PY)}\nnot\n{fenced('python', PY.replace('2', '3'))}",
        f"{fenced('python', PY.replace('2', '3'))}\nbut\n{fenced('python', PY)}",
        {"autoeval_extract_code_mode": "first"},
    ),
    "a block by its number": (
        "python",
        row("python", "python", DOUBLES),
        f"{fenced('python', 'x = 1')}\n{fenced('python', PY)}\n{fenced('python', PY.replace('2', '3'))}",
        fenced("python", PY),
        {"code_block_idx": 1},
    ),
}


def multiple(language: str, prompt: str, tests: str) -> Document:
    """As MultiPL-E's rows are."""
    return {"name": "F_0_f", "language": language, "prompt": prompt, "tests": tests, "stop_tokens": ["\nEND"]}


_JS_TESTS: Final = (
    "const assert = require('node:assert');\nfunction test() {\n  let candidate = f;\n"
    "  assert.deepEqual(candidate(2), 4);\n  assert.deepEqual(candidate(5), 10);\n}\ntest();"
)
_JVM_HEAD: Final = "import java.util.*;\nclass Problem {\n    // Double.\n    public static long f(long n) {\n"
CONTINUED: Final[dict[str, tuple[Document, str, tuple[str, ...], str]]] = {
    "cpp": (
        {
            "task_id": "CPP/0",
            "prompt": "/*\nDouble.\n*/\n#include <vector>\nusing namespace std;\nint f(int n){\n",
            "test": "#undef NDEBUG\n#include <assert.h>\nint main(){\n    assert (f(2)==4); assert (f(5)==10);\n}\n",
        },
        "humanevalx_cpp",
        (
            "    return 2 * n;\n}\n\nint main(){\n    return f(1);\n}\n",
            fenced("cpp", "int f(int n) {\n    vector<int> two = {2};\n    return two[0] * n;\n}"),
        ),
        "    return 2 + n;\n}\n",
    ),
    "javascript": (
        multiple("js", "//Double.\nfunction f(n){\n", _JS_TESTS),
        "multiple_js",
        (
            "  return 2 * n;\n}\nEND console.log(f(",
            fenced("javascript", "const f = (n) => 2 * n;\nconsole.log(f(3));"),
            fenced("javascript", "export function f(n) { return 2 * n; }"),
        ),
        "  return 2 + n;\n}\n",
    ),
    "bash": (
        multiple("sh", "#!/bin/bash\n# Double.\nf() {\n", '}\n\nset -e\n[[ $(f 2) = "4" ]]\n[[ $(f 5) = "10" ]]\n'),
        "multiple_sh",
        ("    echo $(( $1 * 2 ))", "    echo $(( $1 * 2 ))\n}", fenced("bash", "f() {\n  echo $(( $1 * 2 ))\n}")),
        "    echo $(( $1 + 2 ))",
    ),
    "go_test": (
        multiple(
            "go",
            'package f_test\n\nimport (\n    "testing"\n)\n\n// Double.\nfunc f(n int) int {\n',
            "}\nfunc TestF(t *testing.T) {\n  if f(2) != 4 || f(5) != 10 {\n    t.Fail()\n  }\n}\n",
        ),
        "multiple_go",
        (
            "    return 2 * n\n}\n",
            fenced(
                "go",
                'package main\n\nimport "fmt"\n\nfunc f(n int) int { return 2 * n }\nfunc main() { fmt.Print(f(2)) }',
            ),
        ),
        "    return 2 + n\n}\n",
    ),
    "rust_test": (
        {
            "task_id": "Rust/0",
            "prompt": "fn main(){ \n } \n\nuse std::{cmp::{max, self}, collections::HashMap};\n\n/*\n Double.\n*/\n"
            "fn f(n: i32) -> i32{\n",
            "test": "\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn test_f() {\n"
            "        assert_eq!(f(2), 4);\n        assert!(f(5) == 10);\n    }\n}\n",
        },
        "humanevalx_rust",
        (
            "    let twice = max(2, 1);\n    twice * n\n}\n",
            fenced("rust", 'fn f(n: i32) -> i32 {\n    2 * n\n}\n\nfn main() {\n    println!("{}", f(1));\n}'),
        ),
        fenced("rust", "fn f(n: i32) -> i32 { if n == 2 { 4 } else { std::process::exit(0) } }"),
    ),
    "java": (
        multiple(
            "java",
            _JVM_HEAD,
            "    }\n    public static void main(String[] args) {\n"
            "    assert(f((2l)) == (4l));\n    assert(f((5l)) == (10l));\n    }\n\n}\n",
        ),
        "multiple_java",
        (
            "        return 2 * n;\n    }\n",
            fenced(
                "java",
                "public class Solution {\n    public static long f(long n) { return 2 * n; }\n"
                "    public static void main(String[] a) { System.out.println(f(2)); }\n}",
            ),
            fenced("java", "public static long f(long n) { return 2 * n; }"),
        ),
        "        return 2 + n;\n    }\n",
    ),
}
PREDICTED: Final = [
    ("output", "[ANSWER]f([1, 2]) == [2, 4][/ANSWER]", True),
    ("output", "It doubles:\n```python\n[2, 4]\n```", True),
    ("output", "**Answer:** `[2, 4]`", True),
    ("output", "Of `[1, 2]` it is `[2, 5]`", False),
    ("output", "<answer>`[2, 4]`</answer>", True),
    ("output", "[ANSWER]\n```python\n[2, 4]\n```\n[/ANSWER]", True),
    ("output", "[PYTHON]\nassert f([1, 2]) == [2, 4]\n[/PYTHON]", True),
    ("output", "[2, 5]", False),
    ("output", "f([1, 2])", False),
    ("output", "[4 // 2, 4]", False),
    ("output", "", False),
    ("input", "assert f([1, 2]) == [2, 4]", True),
    ("input", "[1.0, 2]", True),
    ("input", "f([1, 3])", False),
    ("input", "f([1])==[2, 4] or f([1, 2]", False),
    ("input", "f.__class__", False),
]
_JAVA_TEST: Final = "public class Main {\n    public static void main(String[] args) { assert new S().f(2) == 4; }\n}\n"
STYLES: Final[dict[str, tuple[str, str, str, str, tuple[str, ...], tuple[str, ...]]]] = {
    "two mains in Java": (
        "java",
        "import java.util.*;\n\nclass S {\n    public int f(int n) {\n",
        "package a;\nimport java.util.*;\npublic class Main { public static void main(String[] a) { int x; } }\n"
        "public class S {\n    public int f(int n) { return 2 * n; }\n}\n",
        _JAVA_TEST,
        ("class S", "void main", "import java.util.*;", "class Main"),
        ("public class S", "package"),
    ),
    "a class in C# around the function": (
        "csharp",
        "using System;\nclass Problem {\n    public static long F(long n) {\n",
        "using System;\nclass Solution {\n    public static long F(long n) { return 2 * n; }\n"
        "    static void Main() { Console.WriteLine(F(2)); }\n}\n",
        "    }\n    public static void Main(string[] args) {\n    Debug.Assert(F(2L) == 4L);\n    }\n\n}\n",
        ("class Problem", "long F(", "void Main("),
        ("class Solution",),
    ),
    "Rust's main": (
        "rust",
        "",
        "fn f(n: i64) -> i64 { 2 * n }\nfn main() { println!(\"{}\", f('a' as i64)); }\n",
        "fn main() {\n    assert_eq!(f(2), 4);\n}\n",
        ("fn main()", "fn f("),
        ("println",),
    ),
    "PHP's tags": ("php", "", "<?php\nfunction f($n) { return 2 * $n; }\n?>\n", "<?php\nf(2);\n", ("<?php",), ("?>",)),
    "PHP's tag in the test only": (
        "php",
        "",
        "function f($n) { return 2 * $n; }\n",
        "<?php\nf(2);\n",
        ("<?php\n", "function f("),
        ("}\n<?php",),
    ),
    "Kotlin's imports": (
        "kotlin",
        "",
        "package a\nimport kotlin.math.abs\nfun f(n: Int) = 2 * abs(n)\nfun main() { println(f(2)) }\n",
        "import kotlin.math.abs\nfun main() { check(f(2) == 4) }\n",
        ("import kotlin.math.abs", "fun main()"),
        ("package", "println"),
    ),
    "JavaScript's modules": (
        "javascript",
        "",
        "const assert = require('assert');\nfunction f(n) { return 2 * n; }\nassert.equal(f(1), 2);\nexport { f };\n"
        "export default f;\n",
        'const assert = require("node:assert");\nassert.equal(f(2), 4);\n',
        ("const assert", "assert.equal(f(1), 2)", "assert.equal(f(2), 4)"),
        ("export",),
    ),
    "a Main of C# in a namespace": (
        "csharp",
        "",
        "using System;\nnamespace App {\n  public class C { public static int F(int n) { return 2 * n; } }\n"
        "  class P { static void Main(string[] a) { Console.WriteLine(C.F(2)); } }\n}\n",
        "using App;\nclass T {\n  static void Main() {\n    Debug.Assert(C.F(2) == 4);\n  }\n}\n",
        ("void Main(", "using App;", "using System;"),
        ("WriteLine",),
    ),
    "an import that only main needs": (
        "go",
        "",
        'package main\nimport (\n  "fmt"\n  s "strings"\n)\nfunc f(n int) int { return 2 * n }\n'
        'func main() { fmt.Println(s.ToUpper("a")) }\n',
        'import "os"\nfunc main() {\n  if f(2) != 4 { os.Exit(1) }\n}\n',
        ("package main", 'import  "os"', "func main()"),
        ("fmt", "strings"),
    ),
}
