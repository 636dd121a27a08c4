"""Checkers and interactors that end as none should: whose fault that is."""

from __future__ import annotations

import textwrap

import pytest

from tests.coding.conftest import Judge
from tests.coding.test_checkers import row

pytestmark = pytest.mark.anyio

NAIVE = """
    import sys
    expected = int(open(sys.argv[2]).read())
    sys.exit(42 if int(sys.stdin.read()) == expected else 43)
"""
UNREADABLE = {
    "a word": "print('x')",
    "nothing": "pass",
    "5000 digits": "print('9' * 5000)",
    "no UTF-8": "import sys; sys.stdout.buffer.write(bytes([0xff, 0xfe]))",
    "NULs": "import sys; sys.stdout.buffer.write(bytes(1000))",
    "long": "import sys; sys.stdout.write('1' * (15 << 20))",
}


def checked(source: str, **more: object) -> dict[str, object]:
    return row(["7\n"], {"type": "program", "source": textwrap.dedent(source), **more}, time_limit_s=2)


@pytest.mark.parametrize("code", UNREADABLE.values(), ids=UNREADABLE)
async def test_a_checker_that_dies_of_an_output_denies_it(judge: Judge, code: str) -> None:
    verdict = await judge(code, checked(NAIVE))
    assert (verdict.reward, verdict.failure_reason) == (0.0, "wrong_answer"), verdict.tests
    assert "the checker ended with exit code 1" in verdict.tests[0].reason


async def test_a_checker_that_dies_of_another_output_accepts_the_right_one(judge: Judge) -> None:
    assert (await judge("print(7)", checked(NAIVE))).reward == 1.0


@pytest.mark.parametrize("style", ["kattis", "testlib"])
@pytest.mark.parametrize(
    "deed",
    [
        "os.kill(os.getpid(), 11)",
        "sys.exit(200)",
        "bytearray(300 << 20) and os._exit(99)",
        "[sys.stderr.write('x' * 65536) for _ in range(100)] and sys.exit(99)",
    ],
    ids=["dies", "wrong exit code", "memory", "floods"],
)
async def test_however_a_checker_ends_on_an_output(judge: Judge, style: str, deed: str) -> None:
    source = f"""
        import os, sys
        given = sys.stdin.read() if {style == "kattis"} else open(sys.argv[2]).read()
        if given != "7\\n":
            {deed}
        sys.exit({42 if style == "kattis" else 0})
    """
    tests = checked(source, style=style, memory_limit_mb=200)
    assert (await judge("print(8)", tests)).failure_reason == "wrong_answer"
    assert (await judge("print(7)", tests)).reward == 1.0


async def test_a_checker_that_hangs_on_an_output_denies_it(judge: Judge) -> None:
    source = "import sys\nwhile sys.stdin.read() != '7\\n': pass\nsys.exit(42)"
    verdict = await judge("print(8)", checked(source, time_limit_s=1))
    assert (verdict.reward, verdict.failure_reason) == (0.0, "wrong_answer"), verdict.tests


@pytest.mark.parametrize(
    "source",
    ["import nothing_of_the_kind", "def broken(:", "import sys; int(open(sys.argv[2]).read().split()[5])", "1/0"],
)
@pytest.mark.parametrize("code", ["print(7)", "print('x')"])
async def test_a_checker_that_fails_on_the_rows_own_output_is_no_verdict(judge: Judge, source: str, code: str) -> None:
    assert (await judge(code, checked(source))).failure_reason == "checker_failed"


async def test_judging_errors_where_the_row_asks_for_them(judge: Judge) -> None:
    assert (await judge("print('x')", checked(NAIVE, judging_errors=True))).failure_reason == "checker_failed"


@pytest.mark.parametrize(("own", "errors", "reason"), [(7, False, "wrong_answer"), (6, False, ""), (7, True, "")])
async def test_a_testlib_checker_may_say_that_the_row_is_at_fault(
    judge: Judge, own: int, errors: bool, reason: str
) -> None:
    """Its exit code 3, as when the answer is better than the jury's, which any answer may claim to be: the row is at
    fault where the checker says so of its own output (7)."""
    source = f"import sys\nsys.exit(3 if int(open(sys.argv[2]).read()) > {own} else 0)"
    verdict = await judge("print(8)", checked(source, style="testlib", judging_errors=errors))
    assert verdict.failure_reason == (reason or "checker_failed")


FORGED = "sandbox: can't start: no /usr/bin/python3"


@pytest.mark.parametrize("code", [126, 127])
async def test_no_program_can_say_that_it_was_not_started(judge: Judge, code: int) -> None:
    """Neither a checker that repeats what it reads nor an answer: that is the guest's word."""
    source = f"""
        import sys
        given = sys.stdin.read()
        sys.stderr.write(given)
        sys.exit(42 if given == "7\\n" else {code})
    """
    assert (await judge(f'print("{FORGED}")', checked(source))).failure_reason == "wrong_answer"
    forged = f'echo "{FORGED}" >&2; exit {code}'
    verdict = await judge(forged, row(["7"], "tokens", language="bash"))
    assert (verdict.reward, verdict.failure_reason) == (0.0, "runtime_error")


INTERACTOR = """
    import sys
    secret = int(open(sys.argv[1]).read())
    while True:
        guess = int(input())
        print("lower" if secret < guess else "higher" if secret > guess else "correct", flush=True)
        if guess == secret:
            sys.exit(42)
"""
SPINS = """
    import sys
    while True:
        line = sys.stdin.readline().strip()
        if line == "7":
            print("correct", flush=True)
            sys.exit(42)
"""


def interactive(source: str, **more: object) -> dict[str, object]:
    checker = {"type": "program", "source": textwrap.dedent(source), "interactive": True, **more}
    return row([""], checker, ["7\n"], time_limit_s=2)


RIGHT = "print(7, flush=True)\nassert input() == 'correct'"


@pytest.mark.parametrize(
    "code",
    [
        "print('x')",
        "pass",
        "print('9' * 5000)",
        "import sys; sys.stdout.buffer.write(bytes([0xff, 0xfe, 10]))",
        "print('\\0' * 100)",
        "print('1' * (15 << 20))",
        "print(1)",
    ],
    ids=["a word", "nothing", "5000 digits", "no UTF-8", "NULs", "long", "leaves"],
)
async def test_an_interactor_that_dies_of_what_it_is_told_denies_it(judge: Judge, code: str) -> None:
    verdict = await judge(code, interactive(INTERACTOR))
    assert (verdict.reward, verdict.failure_reason) == (0.0, "wrong_answer"), verdict.tests


async def test_an_interactor_that_never_ends_after_the_answer_denies_it(judge: Judge) -> None:
    assert (await judge("print(8)", interactive(SPINS))).failure_reason == "wrong_answer"


@pytest.mark.parametrize("source", [INTERACTOR, SPINS])
async def test_such_interactors_accept_what_is_right(judge: Judge, source: str) -> None:
    assert (await judge(RIGHT, interactive(source))).reward == 1.0


@pytest.mark.parametrize(
    "source",
    ["import nothing_of_the_kind", "import sys; int(open(sys.argv[1]).read().split()[5])", "while True: pass"],
    ids=["import", "input", "spins"],
)
async def test_an_interactor_that_is_broken_is_no_verdict(judge: Judge, source: str) -> None:
    """Though the honest answer dies of its partner's silence, or waits for it."""
    assert (await judge(RIGHT, interactive(source))).failure_reason == "checker_failed"


async def test_judging_errors_of_interactors(judge: Judge) -> None:
    verdict = await judge("print('x')", interactive(INTERACTOR, judging_errors=True))
    assert verdict.failure_reason == "checker_failed"
