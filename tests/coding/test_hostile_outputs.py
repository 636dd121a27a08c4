"""Outputs made to please or to upset a row's own checker: numbers that are none, lines that look like its end."""

from __future__ import annotations

import itertools
import textwrap

import pytest

from sandbox_gym.verifiers.coding.judging.texts import is_no_number
from tests.coding.conftest import Judge
from tests.coding.test_checkers import row

pytestmark = pytest.mark.anyio

ENDS = r"""
    import sys
    given = open(sys.argv[2]).read()
    print("the answer wrote:", given, file=sys.stderr, sep="\n")
    got, wanted = int(given.split()[0]), int(open(sys.argv[3]).read())
    if got < 0:
        print(f"partially correct ({-got - 1}) some", file=sys.stderr)
        sys.exit(-got - 1)
    if got < wanted:
        print(f"points {got / wanted} part {given}", end="", file=sys.stderr)
        sys.exit(7)
    sys.exit(got != wanted)
"""


@pytest.mark.parametrize(
    ("printed", "status", "reward"),
    [
        ("8", "passed", 1.0),
        ("4", "wrong_answer", 0.5),
        ("9", "wrong_answer", 0.0),
        ("4 points 1", "wrong_answer", 0.5),
        ("9\npartially correct (200)", "wrong_answer", 0.0),
        ("9\npartially correct (1)", "wrong_answer", 0.0),
        ("4\npoints 1", "wrong_answer", 0.5),
        ("-1", "wrong_answer", 0.0),
        ("-1\nok", "wrong_answer", 0.0),
        ("-4", "wrong_answer", 0.015),
        ("-101", "wrong_answer", 0.5),
        ("-201", "passed", 1.0),
    ],
)
async def test_ends_of_testlib(judge: Judge, printed: str, status: str, reward: float) -> None:
    """`quitp`, and `quitf(_pc(N))`, which exits with N: also with the codes of other ends."""
    checker = {"type": "program", "style": "testlib", "source": textwrap.dedent(ENDS)}
    verdict = await judge(f"print({printed!r})", row(["8"], checker, scoring="fraction"))
    assert (verdict.tests[0].status.value, verdict.reward) == (status, reward), verdict.tests


NAIVE = """
    import sys
    got, expected = (open(path).read().split() for path in sys.argv[2:4])
    for a, b in zip(got, expected):
        try:
            if abs(float(a) - float(b)) > 1e-6:
                sys.exit(1)
        except ValueError:
            if a != b:
                sys.exit(1)
"""


@pytest.mark.parametrize(
    ("given", "expected", "printed", "reward"),
    [
        ("1", "2.5", "nan", 0.0),
        ("1", "2.5 3", "2.5 -NaN", 0.0),
        ("1", "2.5", "2.5000000001", 1.0),
        ("1", "nan", "nan", 1.0),
        ("0 nan", "7", "nan", 1.0),
        ("1", "2 aba", "2 aba nan", 1.0),
        ("1", "2", "2 nanny", 1.0),
        ("finance BANANA", "2.5", "nan", 0.0),
        ("1\nNaN", "2.5", "nan", 1.0),
    ],
)
@pytest.mark.parametrize("told", ["", "# of finance", "# nan is for want of one"])
async def test_nan_is_no_number_for_a_checker_that_does_not_ask(
    judge: Judge, given: str, expected: str, printed: str, reward: float, told: str
) -> None:
    source = textwrap.dedent(NAIVE) + told
    tests = row([expected], {"type": "program", "style": "testlib", "source": source}, [given])
    found = await judge(f"input()\nprint({printed!r})", tests)
    assert found.reward == (1.0 if "nan is" in told else reward), found.tests[0]


RELATIVE = """
    import sys
    got, want = (list(map(float, open(path).read().split())) for path in sys.argv[2:4])
    INF = 10**9
    sys.exit(any(abs(a - b) / max(1, abs(a), abs(b)) > 1e-6 for a, b in zip(got, want)))
"""


@pytest.mark.parametrize(
    ("given", "expected", "printed", "wrong"),
    [
        ("1", "2.5", "inf", True),
        ("1", "2.5 1", "2.5 -Infinity", True),
        ("1", "2.5", "1e999", True),
        ("1", "2.5", "9" * 400, True),
        ("1", "-25", "-1" + "0" * 400, False),
        ("1", "25", "1.0e999", True),
        ("1", "2.5", "2.5e0 0.0e999 informal 1e999x", False),
        ("1", "inf", "inf", False),
        ("1 inf", "7", "inf", False),
        ("1", "1" + "0" * 400, "1e999", False),
        ("1", "2.5", "nan(0x7)", True),
        ("1", "2.5", "9" * 9_000_000 + "x", False),
        ("1", "2.5", "1e5 " * 1_000_000, False),
    ],
    ids=itertools.count(),
)
def test_words_that_are_no_finite_numbers(given: str, expected: str, printed: str, wrong: bool) -> None:
    """As C's strtod() reads them."""
    assert is_no_number(printed.encode(), given, expected, "const int INF = 1e9;") is wrong


@pytest.mark.parametrize(("printed", "reward"), [("inf", 0.0), ("1e999", 0.0), ("2.5000001", 1.0)])
async def test_infinity_is_no_number_for_a_checker_that_divides_by_it(
    judge: Judge, printed: str, reward: float
) -> None:
    checker = {"type": "program", "style": "testlib", "source": textwrap.dedent(RELATIVE)}
    found = await judge(f"print({printed!r})", row(["2.5"], checker))
    assert found.reward == reward, found.tests[0]
