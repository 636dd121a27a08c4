"""What a check's text means beyond its operators: what one call does to another's value, which tests a runner collects,
names that stand for others. Where values can't tell, they settle nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sandbox_gym.contract import Outcome, Status, TestStatus
from sandbox_gym.verifiers.coding.functions.plain_asserts import plain_asserts
from sandbox_gym.verifiers.coding.functions.shapes import CheckTests, parse_tests
from sandbox_gym.verifiers.coding.judging.asserted import judge_asserted
from tests.unit.test_plain_asserts import by_python, by_values

SAME = "def answer(x): return x"
BUFFER = "kept = []\ndef answer(x):\n    kept.clear()\n    kept.append(x)\n    return kept"
COUNTS = "made = []\ndef answer(*x):\n    made.append(x)\n    return len(made)"
CHECKS = {
    "x = candidate(-1)\nassert candidate(2) == 2": "def answer(x): return [2][x - 2]",
    "a = b = candidate(1)\nassert a == 1 and b == 1\nassert candidate(2) == 2": COUNTS,
    "a = b = [1]\nassert candidate(a) == 1\nassert b == [1]": "def answer(x):\n    x.append(2)\n    return 1",
    "assert candidate([[0] * 2] * 2) == [[1, 0], [1, 0]]": "def answer(x):\n    x[0][0] = 1\n    return x",
    "a = candidate(1)\nb = candidate(2)\nassert a == [1]\nassert b == [2]": BUFFER,
    "a = candidate(1)\nb = len(candidate(2))\nassert a == [1]": BUFFER,
    "assert [candidate(1), candidate(2)] == [[1], [2]]": BUFFER,
    "assert [candidate(x) for x in (1, 2)] == [[1], [2]]": BUFFER,
    "assert candidate(1) != candidate(2)": BUFFER,
    "assert candidate(1) + candidate(2) == [2, 2]": BUFFER,
    "assert len(candidate(1)) + len(candidate(2)) == 2": BUFFER,
    "n = float('nan')\nassert candidate([n]) == [n]": SAME,
    "assert candidate([math.nan]) == [math.nan]": SAME,
    "assert candidate(**{1: 2}) == 1": "def answer(**x): return 1",
}
RAISES = (
    "import pytest\nfrom solution import answer\n\ndef test_a():\n    with pytest.raises({error}):\n        answer(1)\n"
)
CASE = "import unittest\n\nclass {name}({base}):\n    def test_a(self):\n        self.assertEqual(answer(1), {value})\n"
RAISED = [
    ("IOError", "FileNotFoundError"),
    ("(EnvironmentError, KeyError)", "OSError"),
    ("IOError", "ValueError"),
]
SHADOWED = {
    "two functions": "from solution import answer\ndef test_a():\n    assert answer(1) == 2\n"
    "def test_a():\n    assert answer(1) == 1\n",
    "two classes": CASE.format(name="A", base="unittest.TestCase", value=2)
    + CASE.format(name="A", base="unittest.TestCase", value=1),
    "no case": CASE.format(name="TestA", base="object", value=2)
    + CASE.format(name="A", base="unittest.TestCase", value=1),
    "not collected": "from solution import answer\nclass Other:\n    def test_b(self):\n        assert answer(1) == 2\n"
    "def test_a():\n    assert answer(1) == 1\n",
    "no cases": "import pytest\nfrom solution import answer\n@pytest.mark.parametrize('x', [])\ndef test_b(x):\n"
    "    assert answer(x) == 2\ndef test_a():\n    assert answer(1) == 1\n",
    "global": "from solution import answer\nx = 2\ndef test_a():\n    global x\n    x = 1\n"
    "def test_b():\n    assert answer(1) == x\n",
}


def made(source: str) -> Callable[..., object]:
    space: dict[str, Any] = {}
    exec(source, space)
    found: Callable[..., object] = space["answer"]
    return found


@pytest.mark.parametrize("body", CHECKS)
def test_a_call_may_change_what_another_gave(body: str) -> None:
    text = "\n".join(f"    {line}" for line in body.split("\n"))
    tests = CheckTests(f"import math\n\ndef check(candidate):\n{text}\n", "answer", "")
    found = by_values(tests, made(CHECKS[body])) if plain_asserts(tests) else ""
    assert found in ("", by_python(tests, made(CHECKS[body])))


def test_the_prompts_own_exception_is_no_builtin() -> None:
    prompt = "class TimeoutError(Exception):\n    pass\n"
    tests = CheckTests("", "answer", prompt, "pytest", RAISES.format(error="TimeoutError"))
    assert plain_asserts(tests) is None


@pytest.mark.parametrize(("error", "raised"), RAISED)
def test_an_exception_may_have_two_names(error: str, raised: str) -> None:
    tests = parse_tests({"test": RAISES.format(error=error), "entry_point": "answer", "style": "pytest"})
    assert isinstance(tests, CheckTests)
    answer = made(f"def answer(x): raise {raised}(x)")
    assert by_values(tests, answer) == by_python(tests, answer)


@pytest.mark.parametrize("test", SHADOWED.values(), ids=SHADOWED.keys())
def test_files_that_define_more_than_is_run_are_run(test: str) -> None:
    tests = parse_tests({"test": test, "entry_point": "answer"})
    assert isinstance(tests, CheckTests)
    assert plain_asserts(tests) is None


@pytest.mark.parametrize("name", ["all", "zip", "range", "list", "len", "print"])
def test_a_function_of_the_answers_may_be_called_as_a_builtin(name: str) -> None:
    loop = f"for x in {name}([1, 2]):\n        assert x == 1"
    for body in (f"assert {name}(x == 1 for x in [1])", loop, f"assert 1 in {name}([1])", f"{name}(1)"):
        tests = CheckTests(f"def check(candidate):\n    assert candidate(1) == 1\n    {body}\n", name, "")
        found = plain_asserts(tests)
        assert found is None or found.frames.count(f'"exact":"{name}"'.encode()) == 2


@pytest.mark.parametrize("number", [float("nan"), float("inf"), 3, 100, 1])
@pytest.mark.parametrize("claim", ["assertAlmostEqual", "assertNotAlmostEqual"])
@pytest.mark.parametrize("how", ["1, delta=5", "1, places=2"])
def test_nothing_is_true_of_nan(number: float, claim: str, how: str) -> None:
    source = CASE.format(name="TestAll", base="unittest.TestCase", value=how).replace("assertEqual", claim)
    tests = parse_tests({"test": source, "entry_point": "answer"})
    assert isinstance(tests, CheckTests)
    assert by_values(tests, lambda _x: number) == by_python(tests, lambda _x: number)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("function", ["sorted", "list", "set", "tuple", "max", "all", "frozenset"])
def test_a_long_text_is_not_gone_through_here(function: str) -> None:
    """Sorting the letters of 16 MB takes seconds, in which no other thread has its turn."""
    body = b'{"value":"%s"}' % (b"ba" * (7 << 20))
    tests = CheckTests(f"def check(candidate):\n    assert {function}(candidate(1)) == ['a']\n", "answer", "")
    assert judge_asserted(tests, Outcome(Status.OK, channel=len(body).to_bytes(4, "big") + body), None) is None


def test_what_is_read_again_and_again_has_a_bound() -> None:
    body = b'{"value":["l",[%s0]]}' % (b"10," * 400_000)
    channel = len(body).to_bytes(4, "big") + body
    reads = "\n    ".join(["assert x == x"] * 40)
    tests = CheckTests(f"def check(candidate):\n    x = candidate(1)\n    {reads}\n", "answer", "")
    assert judge_asserted(tests, Outcome(Status.OK, channel=channel), None) is None
    few = CheckTests("def check(candidate):\n    x = candidate(1)\n    assert x == x\n", "answer", "")
    assert judge_asserted(few, Outcome(Status.OK, channel=channel), None) == (TestStatus.PASSED, "")


def test_a_short_text_of_large_literals_is_run() -> None:
    """Read where other verifies wait for it: each such line takes milliseconds."""
    lines = "    assert 1 not in [0] * 1000000\n" * 2000
    tests = CheckTests(f"def check(candidate):\n{lines}    assert candidate(1) == 1\n", "f", "")
    assert plain_asserts(tests) is None
