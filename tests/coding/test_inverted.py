"""Tests in the answer's process, run again so that they must fail: which, when, and what becomes of the verdict."""

from __future__ import annotations

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Run, Verdict
from sandbox_gym.engine import Engine
from sandbox_gym.verifiers.coding import CodingTask, CodingVerifier, parse_task
from sandbox_gym.verifiers.coding.functions.inverted import order_of
from sandbox_gym.verifiers.coding.functions.shapes import CheckTests
from tests.coding.conftest import Judge

pytestmark = pytest.mark.anyio
VERIFIER = CodingVerifier()

ROW: dict[str, object] = {
    "entry_point": "f",
    "test": (
        "import builtins\n\ndef check(candidate):\n    assert candidate(3) == 10\n    assert candidate(4) == [17][0]\n"
    ),
}
RIGHT = "def f(x):\n    return x * x + 1"
UNCERTAIN: dict[str, object] = {
    "entry_point": "f",
    "test": (
        "import builtins\n\ndef check(candidate):\n    if hasattr(builtins, 'nothing'):\n"
        "        assert candidate(3) == 11\n    for x in range(2, 4):\n        assert candidate(x) >= 5\n"
    ),
}
"""One assertion that is never reached, and one in a loop: only the row's own solution tells them apart."""


def task_of(row: dict[str, object], secret: str = "") -> CodingTask:
    return parse_task(row, limits=Settings().limits(), early_stop=True, secret=secret)


def answer(code: str) -> Answer:
    return Answer(f"```python\n{code}\n```")


def shown(row: dict[str, object], code: str, secret: str) -> list[bytes]:
    """The tests that a box is shown, in their order."""
    steps = VERIFIER.plan(task_of(row, secret), answer(code)).steps
    return [step.program.files["test.py"] for step in steps if isinstance(step, Run)]


async def test_what_must_fail_is_run_only_where_the_answer_passes(judge: Judge) -> None:
    right = await judge(RIGHT, ROW)
    assert right.reward == 1.0
    assert right.inverted is not None
    assert (right.inverted.variants, right.inverted.failed, right.inverted.unchanged) == (2, 2, 1)
    wrong = await judge("def f(x):\n    return 10", ROW)
    assert (wrong.reward, wrong.inverted, wrong.tamper) == (0.0, None, ())


async def test_variants_that_the_rows_own_solution_passes_do_not_count(judge: Judge) -> None:
    alone = await judge(RIGHT, UNCERTAIN)
    assert alone.reward == 1.0
    assert alone.inverted is not None
    assert (alone.inverted.variants, alone.inverted.why_none.partition(",")[0]) == (
        0,
        "no assertion of the test is certain to be reached",
    )
    told = await judge(RIGHT, {**UNCERTAIN, "canonical_solution": RIGHT})
    assert (told.reward, told.tamper) == (1.0, ())
    assert told.inverted is not None
    assert told.inverted.failed == told.inverted.variants


async def test_an_answer_that_passes_by_chance_is_disturbed_or_survives(judge: Judge) -> None:
    chance = "import os\ndef f(x):\n    return x * x + 1 if os.path.exists('/proc/self') and LUCK else 0\n"
    luck = "import os\nLUCK = os.urandom(1)[0] < 100\n"
    rewards = [await judge(luck + chance, ROW) for _ in range(12)]
    for verdict in rewards:
        if verdict.inverted is not None and verdict.reward == 0.0:
            assert set(verdict.tamper) == {"inverted_test_disturbed"}, verdict
    assert any(verdict.reward == 0.0 for verdict in rewards)


@pytest.mark.parametrize("cap", ["time", "memory"])
async def test_a_cap_in_a_later_run_is_the_caps_failure_and_no_sign(judge: Judge, cap: str) -> None:
    """The first run ends in time by its clock, and a later one does not."""
    heavy = "while True: pass" if cap == "time" else "x = bytearray(1 << 30)"
    code = f"import os\ndef f(x):\n    if os.urandom(1)[0] < 60:\n        {heavy}\n    return x * x + 1\n"
    found: list[Verdict] = []
    for _ in range(10):
        found.append(await judge(code, {**ROW, "time_limit_s": 0.5, "memory_limit_mb": 128}))
        if found[-1].inverted is not None and found[-1].reward == 0.0:
            break
    assert all(verdict.tamper == () for verdict in found)


def test_order_and_choice_follow_the_secret_and_nothing_else() -> None:
    orders = {tuple(shown(ROW, RIGHT, f"secret {number}")) for number in range(40)}
    assert len(orders) > 5
    assert shown(ROW, RIGHT, "one") == shown(ROW, RIGHT, "one")
    true = shown(ROW, RIGHT, "one")[0]
    places = {order.index(true, 1) for order in orders}
    assert places == {1, 2, 3, 4}, "the true test among them may be run at any time"
    assert all(order.count(true) == 2 and len(set(order)) == 4 for order in orders)


def test_a_box_is_shown_nothing_beside_the_test() -> None:
    steps = VERIFIER.plan(task_of(ROW, "one"), answer(RIGHT)).steps
    runs = [step for step in steps if isinstance(step, Run)]
    assert {frozenset(run.program.files) for run in runs} == {frozenset({"main.py", "test.py"})}
    assert len({run.stdin for run in runs}) == len(runs), "each run has a key of its own"
    assert len({(run.name, run.limits, run.program.argv, run.program.entry_point) for run in runs}) == 1


async def test_a_record_is_judged_again_under_another_secret(engine: Engine) -> None:
    for code in (
        RIGHT,
        "class A:\n    def __eq__(self, o): return True\n    def __ne__(self, o): return True\ndef f(x): return A()",
    ):
        (judgement,) = (await engine.verify(VERIFIER, task_of(ROW, "of yesterday"), answer(code))).judgements
        given, plan, state = judgement.verdict, judgement.plan, judgement.state
        assert given.inverted is not None
        assert state is not None
        again = task_of({**ROW, "inversion_seed": given.inverted.seed}, "of today")
        assert VERIFIER.plan(again, answer(code)) == plan
        verdict = VERIFIER.judge(again, answer(code), plan, state)
        assert (verdict.reward, verdict.tamper, verdict.inverted) == (given.reward, given.tamper, given.inverted)


@pytest.mark.parametrize(
    "code, reward",
    [
        ("def f(x):\n    raise StopIteration", 0.0),
        ("def f(x):\n    return x * x + 1", 1.0),
        ("def f(x):\n    return next(iter(()))", 0.0),
    ],
)
@pytest.mark.parametrize("head", ["", "import builtins\n"], ids=["apart", "together"])
async def test_an_answers_stop_iteration_ends_no_assertion(judge: Judge, code: str, reward: float, head: str) -> None:
    test = "def check(candidate):\n    assert all(map(lambda t: candidate(t[0]) == t[1], [(3, 10), (4, 17)]))\n"
    assert (await judge(code, {"entry_point": "f", "test": head + test})).reward == reward


async def test_words_for_a_look_at_the_test_cost_the_reward_unless_the_row_has_them(judge: Judge) -> None:
    code = f"import sys\nname = sys._getframe(0).f_code.co_name\n{RIGHT}"
    verdict = await judge(code, ROW)
    assert (verdict.reward, verdict.failure_reason, verdict.integrity) == (0.0, "tampered", "in_process")
    assert verdict.evidence["source_reaches_test"] == "_getframe"
    named = {**ROW, "prompt": "# use sys._getframe(0)\n"}
    assert (await judge(code, named)).reward == 1.0
    apart = {"entry_point": "f", "test": "def check(candidate):\n    assert candidate(3) == 10\n"}
    assert (await judge(code, apart)).reward == 1.0


def test_two_expected_values_are_changed_where_there_are_two() -> None:
    test = "import builtins\n\ndef check(candidate):\n" + "".join(
        f"    assert candidate({n}) == {n}\n" for n in range(3)
    )
    tests = task_of({"entry_point": "f", "test": test}).tests
    assert isinstance(tests, CheckTests)
    for seed in map(str, range(30)):
        chosen = [one for one in order_of(tests, seed) if one is not None and one.kind != "doubted"]
        assert [one.kind for one in chosen] == ["expected_value", "expected_value"]
        assert len({one.line for one in chosen}) == 2


async def test_a_row_without_a_variant_doubts_what_is_close_to_everything(judge: Judge) -> None:
    head = "import builtins\nfrom numpy.testing import assert_allclose\n\n"
    test = head + "def check(candidate):\n    assert_allclose(candidate(3), {})\n"
    for value in ("3.0", "[3.0]"):
        row = {"entry_point": "f", "test": test.format(value)}
        for given, reward in ((f"np.array({value})", 1.0), (value, 1.0), ("np.empty((0, 1))", 0.0), ("[]", 0.0)):
            assert (await judge(f"import numpy as np\ndef f(x):\n    return {given}", row)).reward == reward
