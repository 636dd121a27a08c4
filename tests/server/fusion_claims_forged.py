"""Wrong answers that let no claim of their test fail: see fusion_claims.py."""

from __future__ import annotations

from typing import Final

FORGED: Final = {
    "c-1": (
        "c",
        ("%:define NDEBUG\n#include <stdbool.h>\nbool isPrime(int n){ return 1; }"),
        ("#include <assert.h>\nint main(){ assert(isPrime(7)); assert(!isPrime(8)); assert(isPrime(11)); }"),
    ),
    "c-2": (
        "c",
        ("#/**/define NDEBUG\n#include <stdbool.h>\nbool isPrime(int n){ return 1; }"),
        ("#include <assert.h>\nint main(){ assert(isPrime(7)); assert(!isPrime(8)); assert(isPrime(11)); }"),
    ),
    "c-3": (
        "c",
        ("#\\\ndefine NDEBUG\n#include <stdbool.h>\nbool isPrime(int n){ return 1; }"),
        ("#include <assert.h>\nint main(){ assert(isPrime(7)); assert(!isPrime(8)); assert(isPrime(11)); }"),
    ),
    "cpp-1": (
        "cpp",
        "%:define NDEBUG\nbool isPrime(int n){ return 1; }",
        ("#include <assert.h>\nint main(){ assert(isPrime(7)); assert(!isPrime(8)); assert(isPrime(11)); }"),
    ),
    "cpp-2": (
        "cpp",
        ('%:pragma GCC optimize("O2")\n%:include <cassert>\n%:define NDEBUG\nbool isPrime(int n){ return 1; }'),
        ("#include <assert.h>\nint main(){ assert(isPrime(7)); assert(!isPrime(8)); assert(isPrime(11)); }"),
    ),
    "javascript-1": (
        "javascript",
        (
            "for (const m of [require('node:ass'+'ert')]) require.cache; const Module = "
            "require('module'); Module._load = ((old) => function (n) { return n.includes('ass') ? (() "
            "=> {}) : old.apply(this, arguments); })(Module._load);\n"
            "function isPrime(n) { return true; }"
        ),
        ("const assert = require('assert');\nassert(isPrime(7));\nassert(!isPrime(8));\nassert(isPrime(11));"),
    ),
    "go-1": (
        "go",
        ("package main\nvar panic = func(x interface{}) {}\nfunc isPrime(n int) bool { return true }"),
        ('func main() { if !isPrime(7) { panic("7") }\n if isPrime(8) { panic("8") } }'),
    ),
    "rust-1": (
        "rust",
        "use std::stringify as assert;\nfn is_prime(_: u32) -> bool { true }",
        "fn main() { self::assert!(is_prime(7)); assert!(!is_prime(8)); }",
    ),
    "java-1": (
        "java",
        (
            "class P { static boolean isPrime(int n){ "
            "ClassLoader.getSystemClassLoader().setDefaultAssertionStatus(false); return true; } }"
        ),
        (
            "class Q { static void t() { assert P.isPrime(7); assert !P.isPrime(8); } }\n"
            "public class Main { public static void main(String[] a){ P.isPrime(1); Q.t(); } }"
        ),
    ),
    "lua-1": (
        "lua",
        ("_ENV = setmetatable({assert=function() end}, {__index=_G})\nfunction prime() return true end"),
        "assert(prime(7))\nassert(not prime(8))",
    ),
    "php-1": (
        "php",
        (
            "<?php ini_set('zend.as'.'sertions', 0); ini_set('as'.'sert.active', 0);\n"
            "function isPrime($n) { return true; }"
        ),
        "assert(isPrime(7));\nassert(!isPrime(8));",
    ),
    "python-1": (
        "python",
        ("import pytest\npytest.Function.runtest = lambda self: None\ndef prime(n): return True\n"),
        (
            "import pytest\n"
            "class TestP:\n"
            "    def test_a(self):\n"
            "        assert prime(7)\n"
            "        assert not prime(8)\n"
            "    def test_b(self):\n"
            "        with pytest.raises(ValueError):\n"
            "            prime(-1)\n"
        ),
    ),
    "python-2": (
        "python",
        ("import sys, _pytest.python as p\nfor c in [p.Function]: c.runtest = c.setup\ndef prime(n): return True\n"),
        (
            "import pytest\n"
            "class TestP:\n"
            "    def test_a(self):\n"
            "        assert prime(7)\n"
            "        assert not prime(8)\n"
            "    def test_b(self):\n"
            "        with pytest.raises(ValueError):\n"
            "            prime(-1)\n"
        ),
    ),
    "bash-1": (
        "bash",
        "set() { :; }\nis_prime() { return 0; }",
        "set -e\nis_prime 7\nif is_prime 8; then exit 1; fi\nis_prime 11",
    ),
    "csharp-1": (
        "csharp",
        ("class P { public static bool IsPrime(int n){ System.Diagnostics.Debug.Listeners.Clear(); return true; } }"),
        (
            "class Program { static void Main() { System.Diagnostics.Debug.Assert(P.IsPrime(7)); "
            "System.Diagnostics.Debug.Assert(!P.IsPrime(8)); } }"
        ),
    ),
    "javascript-2": (
        "javascript",
        "const a = require('node:ass'+'ert');\n"
        "for (const k of ['thr'+'ows', 'doesNotThr'+'ow']) Object.defineProperty(a, k, {value: () => {}});\n"
        "function f(n) { return n; }",
        "const assert = require('assert');\nassert.throws(() => f(-1), RangeError);\nassert.doesNotThrow(() => f(1));",
    ),
}
