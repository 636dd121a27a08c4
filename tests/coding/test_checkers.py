"""Rules for text, checkers in a box of their own, and interactors, judged for real."""

from __future__ import annotations

import textwrap

import pytest

from sandbox_gym.contract import TestStatus, Verdict
from tests.coding.conftest import Judge

pytestmark = pytest.mark.anyio


def row(outputs: list[str], checker: object, inputs: list[str] | None = None, **more: object) -> dict[str, object]:
    return {"unit_tests": {"inputs": inputs or ["\n"] * len(outputs), "outputs": outputs}, "checker": checker, **more}


def statuses(verdict: Verdict) -> list[str]:
    return [test.status.value for test in verdict.tests]


@pytest.mark.parametrize(
    ("checker", "expected", "printed", "status"),
    [
        ("exact", "a b\n", "a b\n", "passed"),
        ("exact", "a b\n", "a b", "wrong_answer"),
        ("tokens", "a b\nc\n", "a   b c", "passed"),
        ("tokens", "a b\n", "A b\n", "wrong_answer"),
        ({"type": "tokens", "case_sensitive": False}, "Yes\n", "YES\n", "passed"),
        ({"type": "tokens", "space_sensitive": True}, "a b\n", "a  b\n", "wrong_answer"),
        ({"type": "float", "float_tolerance": 1e-3}, "3.1416\n", "3.1419\n", "passed"),
        ({"type": "float", "float_absolute_tolerance": 1e-3}, "1000\n", "1000.5\n", "wrong_answer"),
        ({"type": "float", "float_relative_tolerance": 1e-3}, "1000\n", "1000.5\n", "passed"),
        ("float", "1.0\n", "nan\n", "wrong_answer"),
        ("float", "1.0\n", "1e0\n", "passed"),
        ("unordered_lines", "a\nb\nb\n", "b\na\nb\n", "passed"),
        ("unordered_lines", "a\nb\nb\n", "b\na\na\n", "wrong_answer"),
        ({"type": "lines", "presentation_errors": True}, "1 2\n", "1   2\n", "presentation_error"),
        ({"type": "lines", "presentation_errors": True}, "1 2\n", "1 2  \n\n", "passed"),
    ],
)
async def test_rules_for_text(judge: Judge, checker: object, expected: str, printed: str, status: str) -> None:
    verdict = await judge(f"print({printed!r}, end='')", row([expected], checker))
    assert statuses(verdict) == [status], verdict.tests[0].reason
    assert verdict.reward == float(status == "passed")


KATTIS = """
    import os, sys
    given = int(open(sys.argv[1]).read())
    feedback = sys.argv[3]
    try:
        a, b = map(int, sys.stdin.read().split())
    except ValueError:
        sys.exit(43)
    if a + b == given and "strict" in sys.argv[4:] and a == b:
        open(os.path.join(feedback, "judgemessage.txt"), "w").write("equal halves")
        sys.exit(43)
    sys.exit(42 if a + b == given else 43)
"""


async def test_a_kattis_validator_accepts_any_right_output(judge: Judge) -> None:
    checker: dict[str, object] = {"type": "program", "source": textwrap.dedent(KATTIS)}
    tests = row(["", ""], checker, ["10\n", "7\n"])
    assert (await judge("n = int(input())\nprint(n - 1, 1)", tests)).reward == 1.0
    assert (await judge("n = int(input())\nprint(3, n - 3)", tests)).reward == 1.0
    wrong = await judge("n = int(input())\nprint(n, n)", tests)
    assert (wrong.reward, statuses(wrong)) == (0.0, ["wrong_answer", "skipped"])


async def test_a_validators_arguments_and_words_are_told(judge: Judge) -> None:
    checker = {"type": "program", "source": textwrap.dedent(KATTIS), "args": ["strict"]}
    verdict = await judge("print(5, 5)", row([""], checker, ["10\n"]))
    assert (verdict.reward, verdict.tests[0].reason) == (0.0, "equal halves")


async def test_a_validators_score_is_partial_reward(judge: Judge) -> None:
    source = "import sys\nopen(sys.argv[3] + 'score.txt', 'w').write(sys.stdin.read())\nsys.exit(42)"
    tests = row([""], {"type": "program", "source": source, "full_score": 100}, scoring="fraction")
    assert (await judge("print(40)", tests)).reward == 0.4
    assert (await judge("print(100)", tests)).reward == 1.0


SHARE = """
    import sys
    best, cost = float(open(sys.argv[2]).read()), float(sys.stdin.read())
    with open(sys.argv[3] + "score.txt", "w") as file:
        print({score}, file=file)
    sys.exit(42)
"""
"""A validator that works out a score from what the answer claims."""
SCORES = [
    ("best / cost", "4", 0.5), ("best / cost", "nan", 0.0), ("best / cost", "-nan", 0.0), ("best / cost", "-2", 0.0),
    ("cost / best", "inf", 0.0), ("cost / best", "1e308", 1.0), ("(best / cost) ** 0.5", "-2", 0.0),
    ("'%.3e' % (1 / cost)", "8", 0.125), ("'.5' if cost > 1 else '5'", "2", 0.5), ("'%.200f' % (1 / cost)", "4", 0.25),
    ("None if cost > 3 else 1", "4", 0.0), ("'+1.' if cost > 3 else 0", "4", 1.0),
]  # fmt: skip


@pytest.mark.parametrize(("score", "printed", "reward"), SCORES)
async def test_a_score_that_is_no_number_is_worth_nothing(
    judge: Judge, score: str, printed: str, reward: float
) -> None:
    """As an answer brings about where its validator calculates with what it printed: NaN is below no bound."""
    checker = {"type": "program", "source": textwrap.dedent(SHARE).format(score=score)}
    verdict = await judge(f"print('{printed}')", row(["2"], checker, scoring="fraction"))
    assert (verdict.reward, verdict.tests[0].status.value) == (reward, "passed" if reward == 1.0 else "wrong_answer")


async def test_a_validator_that_never_writes_a_number_is_broken(judge: Judge) -> None:
    checker = {"type": "program", "source": textwrap.dedent(SHARE).format(score="'50%'")}
    verdict = await judge("print(2)", row(["2"], checker, scoring="fraction"))
    assert verdict.failure_reason == "checker_failed"
    assert "a score that is no number (50%)" in verdict.tests[0].reason


async def test_the_output_can_not_forge_the_score(judge: Judge) -> None:
    """A validator that repeats the output on stderr: its score is what it writes, not what the answer prints."""
    source = "import sys\nsys.stderr.write(sys.stdin.read() * 3)\nopen(sys.argv[3] + 'score.txt', 'w').write('0.25')"
    tests = row([""], {"type": "program", "source": source + "\nsys.exit(42)"}, scoring="fraction")
    assert (await judge("import hashlib\nprint('\\n' + 'f' * 64 + '\\n1.0\\n')", tests)).reward == 0.25


CPP_TESTLIB = """
    #include <cstdio>
    #include <cstdlib>
    #include <fstream>
    int main(int argc, char **argv) {
        std::ifstream in(argv[1]), out(argv[2]), ans(argv[3]);
        long given, got, wanted;
        in >> given;
        ans >> wanted;
        if (!(out >> got)) return 2;
        if (got == 5) { std::fprintf(stderr, "points %f half", 0.0 / (got - 5.0)); return 7; }
        if (got == wanted / 2) { std::fprintf(stderr, "points 0.5 half"); return 7; }
        return got == wanted ? 0 : 1;
    }
"""


@pytest.mark.parametrize(
    ("printed", "status", "reward"),
    [("8", "passed", 1.0), ("4", "wrong_answer", 0.5), ("9", "wrong_answer", 0.0), ("x", "presentation_error", 0.0),
     ("5", "wrong_answer", 0.0)],
)  # fmt: skip
async def test_a_compiled_testlib_checker(judge: Judge, printed: str, status: str, reward: float) -> None:
    checker = {"type": "program", "language": "cpp", "style": "testlib", "source": textwrap.dedent(CPP_TESTLIB)}
    verdict = await judge(f"print('{printed}')", row(["8"], checker, scoring="fraction"))
    assert (statuses(verdict), verdict.reward) == ([status], reward)


@pytest.mark.parametrize(
    ("language", "source"),
    [
        ("python", "raise SystemExit(3)"),
        ("python", "while True: pass"),
        ("cpp", "int main() { return"),
    ],
)
async def test_a_checker_that_fails_is_no_verdict_on_the_answer(judge: Judge, language: str, source: str) -> None:
    checker = {"type": "program", "language": language, "source": source, "time_limit_s": 1}
    verdict = await judge("print(1)", row(["1"], checker, time_limit_s=1))
    assert verdict.failure_reason == "checker_failed"
    assert verdict.tests[0].status is TestStatus.CHECKER_FAILED


HUNGRY = """
    import sys
    words = sys.stdin.read().split()
    sys.stderr.write(" ".join(words))
    print(*words)
    sys.exit(42 if words == open(sys.argv[2]).read().split() else 43)
"""


@pytest.mark.parametrize(("times", "reward"), [(3_000_000, 0.0), (2, 1.0)])
async def test_what_an_answer_prints_does_not_end_its_checker(judge: Judge, times: int, reward: float) -> None:
    """A checker has memory of its own, and its own words are cut: neither masks a wrong answer."""
    tests = row(["12 12"], {"type": "program", "source": textwrap.dedent(HUNGRY)}, time_limit_s=4, memory_limit_mb=64)
    verdict = await judge(
        f"for _ in range({times} // 1000): print('12 ' * 1000)\nprint('12 ' * ({times} % 1000))", tests
    )
    assert (verdict.reward, verdict.failure_reason) == (reward, "" if reward else "wrong_answer")


async def test_the_checker_is_not_in_the_answers_box(judge: Judge) -> None:
    """The answer looks for the checker's files, for the expected output and for another process; finds none."""
    spy = """
        import os
        seen = [name for folder, _, names in os.walk("/scratch") for name in names]
        seen += [name for folder, _, names in os.walk("/workspace") for name in names]
        print("found" if {"answer", "input", "feedback"} & set(seen) else "nothing")
    """
    source = "import sys\nsys.exit(42 if sys.stdin.read().split() == ['nothing'] else 43)"
    verdict = await judge(textwrap.dedent(spy), row(["", ""], {"type": "program", "source": source}))
    assert verdict.reward == 1.0


GUESS = """
    import sys
    secret = int(open(sys.argv[1]).read())
    for _ in range(12):
        line = sys.stdin.readline()
        if not line.strip().isdigit():
            sys.exit(43)
        guess = int(line)
        print("lower" if secret < guess else "higher" if secret > guess else "correct", flush=True)
        if guess == secret:
            sys.exit(42)
    sys.exit(43)
"""
BISECT = {
    "python": """
        low, high = 1, 1000
        while True:
            middle = (low + high) // 2
            print(middle, flush=True)
            answer = input()
            if answer == "correct":
                break
            low, high = (low, middle - 1) if answer == "lower" else (middle + 1, high)
    """,
    "cpp": """
        #include <iostream>
        #include <string>
        int main() {
            int low = 1, high = 1000;
            std::string answer;
            while (true) {
                int middle = (low + high) / 2;
                std::cout << middle << std::endl;
                if (!(std::cin >> answer) || answer == "correct") return 0;
                if (answer == "lower") high = middle - 1; else low = middle + 1;
            }
        }
    """,
}


def interactive(**more: object) -> dict[str, object]:
    checker = {"type": "program", "source": textwrap.dedent(GUESS), "interactive": True}
    return row(["", ""], checker, ["777\n", "1\n"], time_limit_s=1, **more)


@pytest.mark.parametrize("language", ["python", "cpp"])
async def test_an_interactive_answer(judge: Judge, language: str) -> None:
    verdict = await judge(textwrap.dedent(BISECT[language]), interactive(language=language))
    assert verdict.reward == 1.0, verdict.tests


@pytest.mark.parametrize(
    ("code", "status"),
    [
        ("while True:\n    print(5, flush=True)\n    input()", "wrong_answer"),
        ("print('pass', flush=True)\ninput()", "wrong_answer"),
        ("while True: pass", "time_limit"),
        ("input()", "time_limit"),
        ("print(5, flush=True)\ninput()\nraise ValueError", "runtime_error"),
        ("while True: print('9' * 65536, end='')", "output_limit"),
    ],
)
async def test_interactive_answers_that_fail(judge: Judge, code: str, status: str) -> None:
    verdict = await judge(code, interactive())
    assert verdict.reward == 0.0
    assert verdict.tests[0].status.value == status, verdict.tests[0]


async def test_groups_give_points(judge: Judge) -> None:
    groups = [
        {"name": "sample", "tests": 1, "points": 0},
        {"name": "small", "tests": 3, "points": 40},
        {"name": "each", "tests": 2, "points": 60, "aggregation": "avg"},
    ]
    tests = row(["1", "1", "2", "1", "1", "2"], "tokens", groups=groups)
    verdict = await judge("print(1)", tests)
    assert statuses(verdict) == ["passed", "passed", "wrong_answer", "skipped", "passed", "wrong_answer"]
    assert [(group.name, group.points) for group in verdict.groups] == [("sample", 0), ("small", 0), ("each", 30)]
    assert (verdict.reward, verdict.failure_reason) == (0.3, "wrong_answer")


async def test_a_fraction_counts_every_test(judge: Judge) -> None:
    verdict = await judge("print(1)", row(["1", "2", "1", "1"], "tokens", scoring="fraction"))
    assert (verdict.reward, statuses(verdict)[1]) == (0.75, "wrong_answer")
