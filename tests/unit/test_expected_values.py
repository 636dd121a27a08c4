"""What a test expects, found in the forms of tests that data sets have in each language."""

from __future__ import annotations

import time

import pytest

from sandbox_gym.server.coding.expected_values import expected_values, opposites
from sandbox_gym.server.coding.failing_tests import changed, expecting_other

FOUND = [
    (
        "java",
        "assert(f(Arrays.asList((long)1l)).equals((new ArrayList<Long>(Arrays.asList((long)3l, (long)4l)))));",
        "3",
    ),
    ("java", "assertEquals(5.0, f(2), 0.001); if (argc == 8) go();\n\nint rest;" + " " * 200, "5 8"),
    ("java", 'assertEquals("msg", 7, f(2));', "7"),
    ("cpp", "assert(f((std::vector<long>({(long)1}))) == (std::vector<long>({(long)3})));", "3"),
    ("cpp", 'assert(f("ab") == "cd"); // f(1) == 99', '"cd"'),
    ("c", "int main() { assert(f(2) == -4); return 0; }", "4"),
    ("go", 'if !reflect.DeepEqual(f(2), []int{4, 5}) { t.Fatalf("Test %d: not 77") }', "4"),
    ("go", "assert.Equal(t, 9, f(1))", "9"),
    ("go", "tests := []test{ { actual: f(2), expected: 4 } }\nwant := []int{8}", "4 8"),
    ("python", 'assert f(3) == {"a": [1, 2]}, "Test 1"\nassert f(2) is True\nx = 5', '"a" True'),
    ("python", "assert f(3, k=4) == -6\nexpected = [7]\nfor n in range(3): pass", "6 7"),
    ("rust", 'assert_eq!(f(String::from("x"), vec![8, 9]), vec![1, 2]);', "1"),
    ("rust", 'assert_eq!(f("a"), Some(5), "message {}", 8);', "5"),
    ("jest", "expect(f(2)).toEqual([1, {a: 3}]); expect(f(3)).toBeCloseTo(4.5, 5);", "1 4"),
    ("r", "if(!identical(candidate(c(1, 2)), c(3, 4))){quit('no', 1)}", "3"),
    ("lua", "lu.assertEquals(candidate('abc'), 'cba')", "'cba'"),
    ("php", "if (f(1) !== array(2, 3)) { throw new Exception('x'); }", "2"),
    ("perl", "if(eq_deeply($candidate->(1),[2,3])) { print 'ok' }else{ exit 1; }", "2"),
    ("ruby", "assert_equal([3, 4], candidate.call([1, 2]))", "3"),
    ("racket", "(check-within (candidate (list 1 2)) (list 3 4) 0.001)", "3"),
    ("d", "assert(candidate([1L]) == [2L, 3L]);", "2"),
    ("scala", "assert(f(List[Long](1l.toLong)).equals((List[Long](5l.toLong))));", "5"),
    ("bash", '[[ $(candidate "1 2") = "3" ]]\n[ "$got" -eq 4 ]', '"3" 4'),
    ("javascript", "assert.deepEqual(f([1]),[2]); assert(f(1) === 'x', 'message');", "2 'x'"),
    ("haskell", "main = do\n  when (f [1] /= [3,4]) exitFailure\n  f 3 `shouldBe` 9", "3 9"),
    ("ocaml", "let () = assert (f [1] = [2;3])", "2"),
    (
        "csharp",
        "Debug.Assert(F((new List<long>(new long[]{(long)1L}))).Equals((new List<long>(new long[]{(long)7L}))));",
        "7",
    ),
    ("python", "assert is_sorted(f(3))\nassert f(9) >= 1", ""),
]

CLAIMED = [
    ("c", "int main() { assert(p(7)); assert(!p(8)); assert(0); }", "!(p(7)) !(!p(8))"),
    ("c", "if (!p(7)) abort(); if (p(8)) return 1; if (x) go(); if (y) return 0;", "!(!p(7)) !(p(8))"),
    ("c", "// assert(p(1));\nvoid assert(int x); static_assert(p(7));", ""),
    ("cpp", "TEST(P, a) { EXPECT_TRUE(p(7)); ASSERT_FALSE(p(8)); }", "FALSE TRUE"),
    ("java", 'assert p(7); assert !p(8) : "eight"; assert(p(9));', "!(p(7)) !(!p(8)) !((p(9)))"),
    ("junit", "assertThrows(A.class, () -> f()); Assertions.assertTrue(p(7));", "java.lang.InternalError False"),
    ("go", 'if !p(7) { panic("7") }\nif q := p(8); q { panic("8") }\nif debug { log() }', "!(!p(7)) !(q)"),
    ("go_test", "assert.True(t, p(7)); if err != nil { t.Fatal(err) }", "False !(err != nil)"),
    ("rust", 'assert!(p(7), "seven"); if p(8) { panic!("8"); }', "!(p(7)) !(p(8))"),
    ("rust_test", "#[test] #[should_panic] fn a() { f(-1); }", ""),
    ("javascript", "assert(p(7)); assert.ok(p(9), 'x'); console.assert(!p(8));", "!(p(7)) !(p(9)) !(!p(8))"),
    ("javascript", "assert.throws(() => f(), A); assert.doesNotThrow(g);", "doesNotThrow throws"),
    ("jest", "expect(() => f()).toThrow(A); expect(a).not.toContain(b);", "not. "),
    ("csharp", "System.Diagnostics.Debug.Assert(P(7)); Assert.IsTrue(P(8));", "!(P(7)) False"),
    ("php", "if (!p(7)) { throw new Exception('x'); }\nassert(p(8));", "!(!p(7)) !(p(8))"),
    ("ruby", "raise '7' unless p(7)\nraise '8' if p(8)", "if unless"),
    ("perl", "die '7' unless p(7);", "if"),
    ("lua", "assert(p(7))\nlu.assertTrue(p(8))\nif not p(9) then error('9') end", "not (p(7)) False not (not p(9))"),
    ("r", "stopifnot(p(7))\nif (!p(8)) stop('8')", "!(p(7)) !(!p(8))"),
    ("racket", "(check-true (p 7))\n(unless (p 8) (error 'x))", "false when"),
    ("haskell", "main = do\n  when (not (p 7)) (exitWith (ExitFailure 1))", "unless"),
    ("ocaml", "let () = assert (p 7)", "not (p 7)"),
    ("kotlin", 'fun main() { check(p(7)); require(!p(8)) { "8" } }', "!(p(7)) !(!p(8))"),
    ("scala", "assert(p(7))", "!(p(7))"),
    ("swift", 'precondition(p(7))\nif !p(8) { fatalError("8") }', "!(p(7)) !(!p(8))"),
    ("d", "assert(p(7));", "!(p(7))"),
    ("python", "assert p('ä'), 'm'\nwith pytest.raises(A): f()\nassert False", "not (p('ä')) GeneratorExit"),
    ("pytest", "class T:\n  def test_a(self):\n    self.assertFalse(p(8))", "True"),
    ("python", "assert (", ""),
]


@pytest.mark.parametrize(("language", "test", "others"), CLAIMED)
def test_the_opposite_of_what_a_test_claims(language: str, test: str, others: str) -> None:
    found = opposites(test, language)
    assert " ".join(other for _, _, other in found) == others
    if not expected_values(test, language):
        assert set(expecting_other(test, language)) == {test[:at] + other + test[to:] for at, to, other in found}


def test_opposites_of_a_long_test_take_no_time() -> None:
    started = time.process_time()
    for part in ("assert(", "if (", "if x; ", "assert x : ", "expect", "#[should_panic", ").", "unless "):
        for language in ("java", "go", "rust_test", "jest", "c", "ruby", "python"):
            opposites(part * 100_000, language)
    assert time.process_time() - started < 60


@pytest.mark.parametrize(("language", "test", "expected"), FOUND, ids=[f"{one[0]}-{one[2]}" for one in FOUND])
def test_expected_values(language: str, test: str, expected: str) -> None:
    assert " ".join(one[0] for one in expected_values(test, language)) == expected
    assert set(expecting_other(test, language)).isdisjoint({test})


@pytest.mark.parametrize(
    "end", ["return 0;", "exit(0);", "process.exit(ok ? 0 : 1);", "System.exit(0);", "quit('no', 0)"]
)
def test_an_exit_code_is_no_value_of_a_test(end: str) -> None:
    """Another one fails for every answer."""
    assert changed(f"run();\n{end}", "c") == []


def test_long_tests_take_no_time() -> None:
    for piece in ("main() ", '"" ', "(", "'", "== ", "expect", "= (new ", "1 ", "(((1)", '["a",1,', "is  ", "a"):
        begun = time.process_time()
        expected_values(piece * 4_000, "racket")
        expected_values(piece * 4_000 + "(1", "bash")
        assert time.process_time() - begun < 5
