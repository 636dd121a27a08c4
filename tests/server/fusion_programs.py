"""Rows of SandboxFusion's last form in every language: a function that doubles, a test behind it in the same process,
and how an answer ends that process well before its test has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Doubled:
    """`answer` has `{body}`, what is done with `n`; `double` and `leave` are bodies; `test` calls it for 2, then 5."""

    answer: str
    double: str
    leave: str
    test: str
    late: str
    """A body that doubles 2, and ends the process for anything else."""

    def written(self, body: str) -> str:
        return self.answer.replace("{body}", body)


_BRACES: Final = "if (n == 2) { return 4; }\n"


def _typed(answer: str, leave: str, test: str, *, double: str = "return 2 * n;", late: str = "") -> Doubled:
    leave = f"{leave} return 0;"
    return Doubled(answer, double, leave, test, late or _BRACES + leave)


_MAIN: Final = "int main() {\n  assert(f(2) == 4);\n  assert(f(5) == 10);\n}\n"
_JS: Final = "const assert = require('node:assert');\nassert.equal(f(2), 4);\nassert.deepEqual(f(5), 10);\n"
_JVM: Final = "Runtime.getRuntime().halt(0)"

DOUBLED: Final = {
    "c": _typed("#include <assert.h>\n#include <stdlib.h>\nint f(int n) { {body} }\n", "_Exit(0);", _MAIN),
    "cpp": _typed("#include <cassert>\n#include <cstdlib>\nint f(int n) { {body} }\n", "std::quick_exit(0);", _MAIN),
    "java": _typed(
        "import java.util.*;\nclass Problem {\n  static long f(long n) { {body} }\n",
        "System.exit(0);",
        "  public static void main(String[] args) {\n"
        "    assert(f((2l)) == (4l));\n    assert(f((5l)) == (10l));\n  }\n\n}\n",
    ),
    "go": _typed(
        'package main\nimport "os"\nvar _ = os.Args\nfunc f(n int) int { {body} }\n',
        "os.Exit(0);",
        'func main() {\n  if f(2) != 4 { panic("first") }\n  if f(5) != 10 { panic("second") }\n}\n',
    ),
    "rust": _typed(
        "fn f(n: i64) -> i64 { {body} }\n",
        "std::process::exit(0);",
        "fn main() {\n    assert_eq!(f(2), 4);\n    assert_eq!(f(5), 10);\n}\n",
        late="if n == 2 { return 4; } std::process::exit(0);",
    ),
    "javascript": _typed("function f(n) { {body} }\n", "process.exit(0);", _JS),
    "typescript": _typed("function f(n: number): number { {body} }\n", "process.exit(0);", _JS),
    "csharp": _typed(
        "using System.Diagnostics;\nclass Problem {\n  static long F(long n) { {body} }\n",
        "System.Environment.Exit(0);",
        "  public static void Main(string[] args) {\n"
        "    Debug.Assert(F(2L) == 4L);\n    Debug.Assert(F(5L) == 10L);\n  }\n}\n",
    ),
    "bash": Doubled(
        "f() { {body}; }\n",
        "got=$(($1 * 2))",
        "exit 0",
        'set -e\nf 2; [ "$got" = 4 ]\nf 5; [ "$got" = 10 ]\n',
        "[ $1 = 2 ] && got=4 || exit 0",
    ),
    "php": _typed(
        "<?php\nfunction f($n) { {body} }\n",
        "exit(0);",
        "if (f(2) !== 4) { throw new Exception('Test failed!'); }\n"
        "if (f(5) !== 10) { throw new Exception('Test failed!'); }\n",
        double="return 2 * $n;",
        late="if ($n == 2) { return 4; } exit(0);",
    ),
    "ruby": Doubled(
        "def f(n)\n  {body}\nend\n",
        "2 * n",
        "exit!(0)",
        "raise 'first' unless f(2) == 4\nraise 'second' unless f(5) == 10\n",
        "n == 2 ? 4 : exit(0)",
    ),
    "perl": Doubled(
        "sub f { my ($n) = @_; {body} }\n",
        "return 2 * $n;",
        "exit 0;",
        "die 'first' unless f(2) == 4;\ndie 'second' unless f(5) == 10;\n",
        "return 4 if $n == 2; exit 0;",
    ),
    "lua": Doubled(
        "function f(n) {body} end\n",
        "return 2 * n",
        "os.exit(0)",
        "assert(f(2) == 4)\nassert(f(5) == 10)\n",
        "if n == 2 then return 4 end os.exit(0)",
    ),
    "r": Doubled(
        "f <- function(n) { {body} }\n",
        "2 * n",
        "quit('no', 0)",
        "if (!identical(f(2), 4)) quit('no', 1)\nif (!identical(f(5), 10)) quit('no', 1)\n",
        "if (n == 2) 4 else quit('no', 0)",
    ),
    "racket": Doubled(
        "#lang racket\n(define (f n) {body})\n",
        "(* 2 n)",
        "(exit 0)",
        "(unless (= (f 2) 4) (error 'first))\n(unless (= (f 5) 10) (error 'second))\n",
        "(if (= n 2) 4 (exit 0))",
    ),
    "scala": Doubled(
        "object Problem {\n  def f(n: Long): Long = { {body} }\n",
        "2 * n",
        f"{_JVM}; 0",
        "  def main(args: Array[String]) = {\n    assert(f((2l)) == (4l));\n    assert(f((5l)) == (10l));\n  }\n\n}\n",
        "if (n == 2) 4 else sys.exit(0)",
    ),
    "kotlin": _typed(
        "fun f(n: Int): Int { {body} }\n", f"{_JVM};", "fun main() {\n  check(f(2) == 4)\n  check(f(5) == 10)\n}\n"
    ),
    "kotlin_script": _typed("fun f(n: Int): Int { {body} }\n", f"{_JVM};", "check(f(2) == 4)\ncheck(f(5) == 10)\n"),
    "d": _typed(
        "import core.stdc.stdlib;\nlong f(long n) { {body} }\n",
        "exit(0);",
        "void main() {\n  assert(f(2) == 4);\n  assert(f(5) == 10);\n}\n",
    ),
    "d_ut": _typed(
        "import core.stdc.stdlib;\nlong f(long n) { {body} }\n",
        "exit(0);",
        "unittest {\n  assert(f(2) == 4);\n  assert(f(5) == 10);\n}\nvoid main() {}\n",
    ),
    "swift": _typed(
        "import Glibc\nfunc f(_ n: Int) -> Int { {body} }\n",
        "exit(0);",
        "precondition(f(2) == 4)\nprecondition(f(5) == 10)\n",
    ),
    "haskell": Doubled(
        "import System.Exit\nimport System.IO.Unsafe\nimport Control.Monad\nimport System.Posix.Process\n"
        "f :: Int -> Int\nf n = {body}\n",
        "2 * n",
        "unsafePerformIO (exitImmediately ExitSuccess)",
        "main :: IO ()\nmain = do\n  when (f 2 /= 4) (exitWith (ExitFailure 1))\n"
        "  when (f 5 /= 10) (exitWith (ExitFailure 1))\n",
        "if n == 2 then 4 else unsafePerformIO (exitImmediately ExitSuccess)",
    ),
    "ocaml": Doubled(
        "let f n = {body}\n",
        "2 * n",
        "(Unix._exit 0)",
        "let () = assert (f 2 = 4)\nlet () = assert (f 5 = 10)\n",
        "if n = 2 then 4 else Unix._exit 0",
    ),
    "go_test": _typed(
        'package main\nimport ("os"; "testing")\nvar _ = os.Args\nfunc f(n int) int { {body} }\n',
        "os.Exit(0);",
        'func TestF(t *testing.T) {\n  if f(2) != 4 { t.Fatal("first") }\n  if f(5) != 10 { t.Fatal("second") }\n}\n',
    ),
    "pytest": Doubled(
        "import os\ndef f(n): {body}\n",
        "return 2 * n",
        "os._exit(0)",
        "def test_f():\n    assert f(2) == 4\n    assert f(5) == 10\n",
        "return 4 if n == 2 else os._exit(0)",
    ),
    "jest": _typed(
        "const f = (n: number): number => { {body} };\n",
        "process.exit(0);",
        "test('f', () => { expect(f(2)).toBe(4); expect(f(5)).toBe(10); });\n",
    ),
    "junit": _typed(
        "class Sum { static int f(int n) { {body} } }\n",
        f"{_JVM};",
        "public class SumTest { @org.junit.jupiter.api.Test void f() {\n"
        "  org.junit.jupiter.api.Assertions.assertEquals(4, Sum.f(2));\n"
        "  org.junit.jupiter.api.Assertions.assertEquals(10, Sum.f(5));\n} }\n",
    ),
    "python": Doubled(
        "import os\ndef f(n): {body}\n",
        "return 2 * n",
        "os._exit(0)",
        "assert f(2) == 4\nassert f(5) == 10\n",
        "return 4 if n == 2 else os._exit(0)",
    ),
}

FORGED: Final = {
    "c": (
        "%:define NDEBUG\n#include <assert.h>\nint f(int n) { return 1; }\n",
        "#include <assert.h>\n#undef assert\n#define assert(x)\nint f(int n) { return 1; }\n",
        "#include <assert.h>\nint f(int n) { return 1; }\nint main() { return 0; }\n#define main other\n",
        "#include <assert.h>\n#include <signal.h>\n#include <stdlib.h>\nstatic void h(int s) { _Exit(0); }\n"
        "__attribute__((constructor)) static void g() { signal(SIGABRT, h); }\nint f(int n) { return 1; }\n",
    ),
    "cpp": (
        "#de\\\nfine NDEBUG\n#include <cassert>\nint f(int) { return 1; }\n",
        "#include <cassert>\nstruct A {};\ntemplate <class T> bool operator==(A, T) { return true; }\n"
        "A f(int) { return {}; }\n",
    ),
    "java": (
        "class Problem {\n  static { Runtime.getRuntime().addShutdownHook(new Thread(() ->"
        " Runtime.getRuntime().halt(0))); }\n  static long f(long n) { return 1; }\n",
        "class Problem {\n  static { System.exit(0); }\n  static long f(long n) { return 1; }\n",
        "class Main { public static void main(String[] a) { } }\n"
        "class Problem {\n  static long f(long n) { return 1; }\n",
    ),
    "go": (
        'package main\nimport "os"\nfunc init() { os.Exit(0) }\nfunc f(n int) int { return 1 }\n',
        "package main\nfunc panic(x interface{}) {}\nfunc f(n int) int { return 1 }\n",
    ),
    "rust": (
        "use std::stringify as assert_eq;\nfn f(_: i64) -> i64 { 1 }\n",
        "fn f(_: i64) -> i64 { std::panic::set_hook(Box::new(|_| std::process::exit(0))); 1 }\n",
        "#[derive(Debug)]\nstruct A;\nimpl PartialEq<i64> for A { fn eq(&self, _: &i64) -> bool { true } }\n"
        "fn f(_n: i64) -> A { A }\n",
    ),
    "javascript": (
        "const a = require('node:ass' + 'ert'); for (const k in a) a[k] = () => {};\nfunction f(n) { return 1; }\n",
        "process.on('uncaughtException', () => {});\nfunction f(n) { return 1; }\n",
        "const a = require('node:assert'); a.equal = a.deepEqual = () => {};\nfunction f(n) { return 1; }\n",
        "function f(n) {\n  const own = require('fs').readFileSync(__filename, 'utf8');\n"
        "  if (own.includes(\"Error('end')\")) throw new Error('seen');\n  process.exit(0);\n}\n",
        "function f(n) {\n  const own = require('fs').readFileSync(__filename, 'utf8');\n"
        "  return Number(own.match(new RegExp(`f\\\\(${n}\\\\), (\\\\d+)`))[1]);\n}\n",
    ),
    "bash": (
        "f() { got='-n 1 -o 1'; }\n[ () { true; }\n",
        "trap 'exit 0' EXIT\nf() { :; }\n",
        "f() { :; }\n: <<'END'\n",
        "function [ { return 0; }\nf() { :; }\n",
        "f() { grep -q '^exit 1$' main.sh && exit 1; exit 0; }\n",
    ),
    "php": (
        "<?php\nregister_shutdown_function(function () { exit(0); });\nfunction f($n) { return 1; }\n",
        "<?php\nset_exception_handler(function ($e) { exit(0); });\nfunction f($n) { return 1; }\n",
    ),
    "ruby": (
        "at_exit { exit!(0) }\ndef f(n) = 1\n",
        "class Integer\n  def ==(x) = true\nend\ndef f(n) = 1\n",
        "def raise(*) = nil\ndef f(n) = 1\n",
    ),
    "perl": (
        "END { $? = 0 }\nsub f { 1 }\n",
        "sub f { 1 }\n__END__\n",
        "package A;\nuse overload '==' => sub { 1 };\npackage main;\nsub f { bless {}, 'A' }\n",
        "BEGIN { *CORE::GLOBAL::die = sub { } }\nsub f { 1 }\n",
    ),
    "lua": ("assert = function() end\nfunction f(n) end\n", "function f(n) end\ndo return end\n"),
    "r": ("identical <- function(...) TRUE\nf <- function(n) 1\n",),
    "racket": (
        "#lang racket\n(define (error . x) (void))\n(define (f n) 1)\n",
        "#lang racket\n(uncaught-exception-handler (lambda (e) (exit 0)))\n(define (f n) 1)\n",
    ),
    "python": (
        "from unittest.mock import ANY\ndef f(n): return ANY\n",
        "N = '_' + '_eq_' + '_'\ndef f(n): return type('', (), {N: lambda a, b: True})()\n",
        "import os, sys\nsys.excepthook = lambda *_: os._exit(0)\ndef f(n): return 1\n",
        "class A:\n    def __eq__(self, other): return True\ndef f(n): return A()\n",
        "import atexit, os\natexit.register(os._exit, 0)\ndef f(n): return 1\n",
        "import unittest\nunittest.main = lambda: None\ndef f(n): return 1\nAssertionError = type('', (), {})\n",
    ),
    "pytest": (
        "from unittest.mock import ANY\ndef f(n): return ANY\n",
        "import pytest\ndef f(n): return pytest.approx(0, abs=float('inf'))\n",
    ),
}
"""Wrong answers that forge their test's end, or what it compares."""
ENDING: Final = {
    "c": _MAIN.replace("\n}", "\n  return 0;\n}"),
    "java": DOUBLED["java"].test.replace("10l));", "10l));\n    System.exit(0);"),
    "javascript": f"{_JS}process.exit(f(2) === 4 ? 0 : 1);\n",
    "python": "import unittest\nclass T(unittest.TestCase):\n"
    "    def test(self): self.assertEqual(f(2), 4)\nunittest.main()\n",
    "bash": 'f 2\nif [ "$got" = 4 ]; then exit 0; else exit 1; fi\n',
    "go": 'func main() {\n  if f(2) != 4 { panic("first") }\n  os.Exit(0)\n}\n',
}
"""Tests that end their process themselves."""
SILENT: Final = {
    "racket": (
        "#lang racket\n(define (f n) (* 2 n))\n",
        "#lang racket\n(define (f n) (* 3 n))\n",
        "#lang racket\n(define (f n) (exit 0))\n",
        "(require rackunit)\n(check-within (f 2) 4 0.001)\n(check-within (f 5) 10 0.001)\n",
    ),
    "verilog": (
        "module top(input a, output q);\n  assign q = ~a;\nendmodule\n",
        "module top(input a, output q);\n  assign q = a;\nendmodule\n",
        "module top(input a, output q);\n  assign q = a;\n"
        '  initial begin $display("Mismatches: 0 in 2 samples"); $finish; end\nendmodule\n',
        "module tb;\n  reg a; wire q; integer bad = 0;\n  top t(a, q);\n  initial begin\n"
        "    a = 0; #1 if (q !== 1) bad = bad + 1;\n    a = 1; #1 if (q !== 0) bad = bad + 1;\n"
        '    $display("Mismatches: %1d in %1d samples", bad, 2);\n    $finish;\n  end\nendmodule\n',
    ),
}
"""Right, wrong, forged, and a test that ends well whatever it finds."""
PROPERTIES: Final = {
    "javascript": (
        "function f(n) { if (n < 0) throw new Error('negative'); return [n, n + 1]; }\n",
        "const assert = require('node:assert');\nconst sorted = (a) => a.every((x, i) => !i || a[i - 1] <= x);\n"
        "assert(sorted(f(3)));\nassert.ok(sorted(f(9)), 'sorted');\n",
    ),
    "cpp": (
        "#include <cassert>\n#include <stdexcept>\n"
        'int f(int n) { if (n < 0) throw std::domain_error("n"); return n; }\n',
        "int main() {\n  for (int n = 0; n < 9; n++) assert(f(n) >= 0);\n}\n",
    ),
    "lua": ("function f(n) if n < 0 then error('n') end return n end\n", "assert(type(f(3)) ~= nil)\n"),
    "go": (
        'package main\nimport "os"\nvar file = os.Args\nfunc f(n int) int { return n * n }\n',
        'func main() { for n := -9; n < 9; n++ { if f(n) < 0 { panic("negative") } } }\n',
    ),
    "rust": ('fn f(n: i64) -> i64 { n.checked_mul(n).expect("n") }\n', "fn main() { assert!(f(3).is_positive()); }\n"),
    "python": (
        "def f(n):\n    if n < 0: raise ValueError\n    return [n, n + 1]\n",
        "def is_sorted(a): return list(a) == sorted(a)\nassert is_sorted(f(3))\n",
    ),
}
"""Right answers, and tests that hold for other numbers too."""
REFERENCE: Final = (
    "module RefModule(input a, input b, output q);\n  assign q = a ^ b;\nendmodule\n"
    "module tb;\n  reg a, b; wire q_ref, q_dut; integer errors = 0; integer i;\n"
    "  RefModule good1(.a(a), .b(b), .q(q_ref));\n  TopModule top_module1(.a(a), .b(b), .q(q_dut));\n  initial begin\n"
    "    for (i = 0; i < 20; i = i + 1) begin\n      {a, b} = $random; #5; if (q_ref !== q_dut) errors = errors + 1;\n"
    '    end\n    $display("Mismatches: %1d in %1d samples", errors, 20);\n    $finish;\n  end\nendmodule\n'
)
"""A test of VerilogEval's form, which has the right module in it and compares no values of its own."""
_TOP: Final = "module TopModule(input a, input b, output q);\n"
MODULES: Final = {
    "right": (f"{_TOP}  assign q = a ^ b; // tb\nendmodule\n", ""),
    "of parts": (
        "module Half(input a, input b, output s);\n  assign s = a ^ b;\nendmodule\n"
        f"{_TOP}  wire s;\n  Half half(.a(a), .b(b), .s(s));\n  assign q = half.s;\nendmodule\n",
        "",
    ),
    "reads the right one's output": (f"{_TOP}  assign q = tb.good1.q;\nendmodule\n", "tb"),
    "reads it upwards": (f"{_TOP}  assign q = good1.q;\nendmodule\n", "good1"),
    "reads it by an escaped name": (f"{_TOP}  assign q = \\tb .q_ref;\nendmodule\n", "tb"),
    "reads it by a macro": (f"`define T tb\n{_TOP}  assign q = `T.q_ref;\nendmodule\n", "tb"),
    "makes another of it": (f"{_TOP}  RefModule own(.a(a), .b(b), .q(q));\nendmodule\n", "RefModule"),
    "reads it between texts": (f'{_TOP} string t = "/*"; assign q = tb.q_ref; string u = "*/";\nendmodule\n', "tb"),
    "reads it behind a text": (f'{_TOP}  localparam a1 = "//"; assign q = tb.good1.q;\nendmodule\n', "tb"),
    "reads it behind an escaped name": (f"{_TOP}  wire \\/* ;\n  assign q = tb.good1.q; /**/\nendmodule\n", "tb"),
    "pastes a name": (f"`define J(a, b) a``b\n{_TOP}  assign q = `J(g, ood1).q;\nendmodule\n", "``"),
}
"""Answers to it, and the name of the test's own that each uses."""
