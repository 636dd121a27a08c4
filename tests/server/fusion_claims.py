"""Tests that expect no value and only claim that something is true, false or raised, and right answers to them."""

from __future__ import annotations

from typing import Final

_C: Final = (
    "#include <stdbool.h>\n"
    "#include <stdlib.h>\n"
    "bool isPrime(int n){ if(n<2) return false; for(int i=2;i*i<=n;i++) if(n%i==0) return "
    "false; return true; }"
)
_CPP: Final = (
    "#include <vector>\n"
    "#include <algorithm>\n"
    "#include <string>\n"
    "#include <stdexcept>\n"
    "using namespace std;\n"
    "bool isPrime(int n){ if(n<2) return false; for(int i=2;i*i<=n;i++) if(n%i==0) return "
    "false; return true; }\n"
    'vector<int> up(vector<int> a){ for(int x: a) if(x<0) throw domain_error("neg"); '
    "sort(a.begin(),a.end()); return a; }"
)
_JAVA: Final = (
    "class P { static boolean isPrime(int n){ if(n<2) return false; for(int i=2;i*i<=n;i++) "
    "if(n%i==0) return false; return true; } }"
)
_GO: Final = (
    "package main\n"
    "func isPrime(n int) bool { if n < 2 { return false }; for i := 2; i*i <= n; i++ { if n%i "
    "== 0 { return false } }; return true }"
)
_JAVASCRIPT: Final = (
    "function isPrime(n) { if (n < 2) return false; for (let i = 2; i * i <= n; i++) if (n % i "
    "=== 0) return false; return true; }"
)
RIGHT: Final = {
    "c-1": (
        "c",
        _C,
        (
            "#include <assert.h>\n"
            "int main(){ assert(isPrime(7)); assert(!isPrime(8)); assert(isPrime(11) && !isPrime(12)); "
            "}"
        ),
    ),
    "c-3": ("c", _C, ("int main(){ if(!isPrime(7)) abort(); if(isPrime(9)) exit(1); return 0; }")),
    "c-4": ("c", _C, ("int main(){ if(!isPrime(7)) return 1; if(isPrime(9)) return 2; return 0; }")),
    "c-5": (
        "c",
        _C,
        (
            "#include <assert.h>\n"
            "static void unused(void){ assert(isPrime(4)); }\n"
            "int main(){ assert(isPrime(7)); assert(!isPrime(8)); }"
        ),
    ),
    "cpp-1": (
        "cpp",
        _CPP,
        (
            "#include <cassert>\n"
            "int main(){ assert(isPrime(7)); assert(!isPrime(8)); auto v=up({3,1,2}); "
            "assert(is_sorted(v.begin(), v.end())); }"
        ),
    ),
    "cpp-2": (
        "cpp",
        _CPP,
        (
            "#include <cassert>\n"
            "#include <iostream>\n"
            'int main(){ for (int n : {2,3,5}) assert(isPrime(n) && "prime"); for (int n : {4,6}) '
            'assert(!isPrime(n)); std::cout << "ok"; }'
        ),
    ),
    "cpp-3": (
        "cpp",
        _CPP,
        (
            "#include <iostream>\n"
            'int main(){ if (!isPrime(13)) { std::cerr << "bad"; return 1; } if (isPrime(15)) { return '
            "1; } return 0; }"
        ),
    ),
    "cpp-4": (
        "cpp",
        _CPP,
        (
            "#define CHECK(x) do { if (!(x)) throw std::runtime_error(#x); } while (0)\n"
            "int main(){ CHECK(isPrime(7)); CHECK(!isPrime(8)); }"
        ),
    ),
    "cpp-5": (
        "cpp",
        _CPP,
        (
            "#include <cassert>\n"
            "void check(vector<int> a){ auto b=up(a); assert(is_sorted(begin(b), end(b))); "
            "assert(b.size() >= a.size()); }\n"
            "int main(){ check({3,2}); check({}); check({5,5}); }"
        ),
    ),
    "java-1": (
        "java",
        (
            "import java.util.*;\n"
            "class Problem { static boolean isPrime(int n){ if(n<2) return false; for(int "
            "i=2;i*i<=n;i++) if(n%i==0) return false; return true; }\n"
        ),
        (
            'public static void main(String[] a){ assert isPrime(7); assert !isPrime(8) : "eight"; '
            "assert(isPrime(11)); } }"
        ),
    ),
    "java-2": (
        "java",
        _JAVA,
        (
            "public class Main { public static void main(String[] a){ if (!P.isPrime(7)) { throw new "
            'AssertionError("7"); } if (P.isPrime(8)) throw new AssertionError(); } }'
        ),
    ),
    "java-3": (
        "java",
        ("class P { static int f(int n){ if (n<0) throw new IllegalArgumentException(); return n*n; } }"),
        (
            "public class Main { public static void main(String[] a){ boolean t = false; try { "
            "P.f(-1); } catch (IllegalArgumentException e) { t = true; } assert t; assert P.f(3) > "
            "P.f(2); } }"
        ),
    ),
    "go-1": (
        "go",
        _GO,
        (
            'func main() { if !isPrime(7) { panic("7") }\n'
            ' if isPrime(8) { panic("8") }\n'
            ' if p := isPrime(11); !p { panic("11") } }'
        ),
    ),
    "go-2": (
        "go",
        (
            "package main\n"
            'import "errors"\n'
            'func f(n int) (int, error) { if n < 0 { return 0, errors.New("neg") }; return n*n, nil }'
        ),
        (
            'func main() { if _, err := f(-1); err == nil { panic("no error") }\n'
            " v, err := f(3); if err != nil { panic(err) }\n"
            ' if v <= 8 { panic("small") } }'
        ),
    ),
    "go-3": (
        "go",
        _GO,
        (
            'import "testing"\n'
            'func TestPrime(t *testing.T) { if !isPrime(7) { t.Error("7") }\n'
            ' if isPrime(8) { t.Fatalf("8") } }'
        ),
    ),
    "rust-1": (
        "rust",
        (
            "fn is_prime(n: u32) -> bool { if n < 2 { return false; } let mut i = 2; while i*i <= n { "
            "if n % i == 0 { return false; } i += 1; } true }"
        ),
        ('fn main() { assert!(is_prime(7)); assert!(!is_prime(8)); assert!(is_prime(11), "eleven"); }'),
    ),
    "rust-2": (
        "rust",
        ('fn f(n: i64) -> Result<i64, String> { if n < 0 { Err("neg".into()) } else { Ok(n * n) } }'),
        (
            "#[cfg(test)] mod tests { use super::*; #[test] fn a() { assert!(f(-1).is_err()); "
            "assert!(f(2).is_ok()); } #[test] fn b() { assert!(matches!(f(3), Ok(_))); } }"
        ),
    ),
    "rust-3": (
        "rust",
        'fn f(n: i64) -> i64 { if n < 0 { panic!("neg") } n }',
        (
            "#[cfg(test)] mod tests { use super::*; #[test] #[should_panic] fn a() { f(-1); } #[test] "
            "fn b() { assert!(f(3).is_positive()); } }"
        ),
    ),
    "rust-4": (
        "rust",
        "fn is_prime(n: u32) -> bool { (2..n).all(|i| n % i > 0) && n > 1 }",
        ('fn main() { if !is_prime(7) { panic!("7"); } if is_prime(9) { panic!("9"); } }'),
    ),
    "javascript-1": (
        "javascript",
        _JAVASCRIPT,
        (
            "const assert = require('assert');\n"
            "assert(isPrime(7));\n"
            "assert(!isPrime(8), 'eight');\n"
            "assert.ok(isPrime(11));"
        ),
    ),
    "javascript-3": (
        "javascript",
        ("async function f(n) { if (n < 0) throw new RangeError('neg'); return [n, n + 1]; }"),
        (
            "const assert = require('assert');\n"
            "(async () => { const a = await f(3); assert(Array.isArray(a)); assert(a.every((x) => x > "
            "2)); await assert.rejects(f(-1), RangeError); })();"
        ),
    ),
    "typescript-1": (
        "typescript",
        (
            "function isPrime(n: number): boolean { if (n < 2) return false; for (let i = 2; i * i <= "
            "n; i++) if (n % i === 0) return false; return true; }"
        ),
        (
            "declare var require: any;\n"
            "const assert = require('node:assert');\n"
            "assert(isPrime(7));\n"
            "assert(!isPrime(8));"
        ),
    ),
    "csharp-1": (
        "csharp",
        (
            "using System;\n"
            "using System.Diagnostics;\n"
            "class P { public static bool IsPrime(int n){ if(n<2) return false; for(int "
            "i=2;i*i<=n;i++) if(n%i==0) return false; return true; } }"
        ),
        (
            "class Program { static void Main() { Debug.Assert(P.IsPrime(7)); "
            'Debug.Assert(!P.IsPrime(8), "eight"); if (!P.IsPrime(11)) throw new Exception("11"); } }'
        ),
    ),
    "bash-1": (
        "bash",
        (
            "is_prime() { local n=$1; [ $n -lt 2 ] && return 1; for ((i=2;i*i<=n;i++)); do ((n%i==0)) "
            "&& return 1; done; return 0; }"
        ),
        "set -e\nis_prime 7\nif is_prime 8; then exit 1; fi\nis_prime 11",
    ),
    "php-1": (
        "php",
        (
            "<?php\n"
            "function isPrime($n) { if ($n < 2) return false; for ($i = 2; $i * $i <= $n; $i++) if ($n "
            "% $i == 0) return false; return true; }"
        ),
        (
            "if (!isPrime(7)) { throw new Exception('7'); }\n"
            "if (isPrime(8)) { throw new Exception('8'); }\n"
            "assert(isPrime(11));"
        ),
    ),
    "ruby-1": (
        "ruby",
        "def prime?(n)\n  n > 1 && (2...n).none? { |i| n % i == 0 }\nend",
        "raise '7' unless prime?(7)\nraise '8' if prime?(8)\n",
    ),
    "perl-1": (
        "perl",
        (
            "sub is_prime { my ($n) = @_; return 0 if $n < 2; for my $i (2..$n-1) { return 0 if $n % "
            "$i == 0 } return 1 }"
        ),
        "die '7' unless is_prime(7);\ndie '8' if is_prime(8);\n",
    ),
    "lua-1": (
        "lua",
        (
            "function prime(n) if n < 2 then return false end for i = 2, n - 1 do if n % i == 0 then "
            "return false end end return true end"
        ),
        ("assert(prime(7))\nassert(not prime(8))\nif not prime(11) then error('11') end"),
    ),
    "r-1": (
        "r",
        ("prime <- function(n) { if (n < 2) return(FALSE); if (n < 4) return(TRUE); all(n %% 2:(n-1) > 0) }"),
        ("stopifnot(prime(7))\nstopifnot(!prime(8))\nif (!prime(11)) stop('11')"),
    ),
    "python-1": (
        "python",
        "def prime(n): return n > 1 and all(n % i for i in range(2, n))",
        (
            "import pytest\n"
            "class TestP:\n"
            "    def test_a(self):\n"
            "        assert prime(7)\n"
            "        assert not prime(8)\n"
            "    def test_b(self):\n"
            "        with pytest.raises(TypeError):\n"
            "            prime('x')\n"
        ),
    ),
    "python-2": (
        "python",
        ("import unittest\ndef prime(n): return n > 1 and all(n % i for i in range(2, n))"),
        (
            "import unittest\n"
            "class T(unittest.TestCase):\n"
            "    def test_a(self):\n"
            "        self.assertTrue(prime(7))\n"
            "        self.assertFalse(prime(8))\n"
            "unittest.main()\n"
        ),
    ),
    "go-4": (
        "go",
        ('package main\nimport "sort"\nfunc up(a []int) []int { b := append([]int{}, a...); sort.Ints(b); return b }'),
        (
            'import "testing"\n'
            "func TestUp(t *testing.T) { for _, a := range [][]int{{3,1},{2},{}} { b := up(a); if "
            '!sort.IntsAreSorted(b) { t.Errorf("%v", b) }; if len(a) != len(b) { t.Fatal("len") } } }'
        ),
    ),
    "javascript-4": (
        "javascript",
        "const up = (a) => [...a].sort((x, y) => x - y);",
        (
            "const assert = require('assert');\n"
            "function sorted(a) { return a.every((x, i) => i < 1 || a[i-1] <= x); }\n"
            "for (const a of [[3,1],[2],[]]) { const b = up(a); assert(sorted(b), `not sorted: ${b}`); "
            "if (b.length !== a.length) { process.exit(1); } }"
        ),
    ),
    "java-4": (
        "java",
        _JAVA,
        (
            "import java.util.*;\n"
            "public class Main { static void check(boolean ok, String what) { if (!ok) throw new "
            "RuntimeException(what); }\n"
            ' public static void main(String[] a){ check(P.isPrime(7), "7"); check(!P.isPrime(8), '
            '"8"); } }'
        ),
    ),
    "javascript-5": (
        "javascript",
        "function f(n) { if (n < 0) throw new RangeError('x'); return n; }",
        "const assert = require('assert');\nassert.throws(() => f(-1), RangeError);\nassert.doesNotThrow(() => f(1));",
    ),
}
