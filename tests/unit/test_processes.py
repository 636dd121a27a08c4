"""Which runs of a shared process are checked, and what stands where they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from sandbox_gym.contract import (
    Answer,
    Check,
    Judgement,
    Outcome,
    Plan,
    Program,
    Run,
    State,
    Status,
    TestStatus,
    Verdict,
)
from sandbox_gym.limits import Limits
from sandbox_gym.plans.steps import steps_to_check
from sandbox_gym.verifiers.coding import CodingTask, CodingVerifier, parse_task
from sandbox_gym.verifiers.coding.functions.shapes import StdinTests
from sandbox_gym.verifiers.coding.judging.judge import Judged, differing_alone, judge
from sandbox_gym.verifiers.coding.judging.processes import STEADY, confirmed

ANSWER = Answer("```python\nprint(input())\n```")
RIGHT, WRONG = True, False


def task_of(tests: int, **more: object) -> CodingTask:
    texts = [str(number) for number in range(tests)]
    return parse_task({"unit_tests": {"inputs": texts, "outputs": texts}, **more}, limits=Limits(), early_stop=False)


def inputs_of(task: CodingTask) -> Sequence[str]:
    assert isinstance(task.tests, StdinTests)
    return task.tests.inputs


def ran(number: int, right: bool, *, shared: bool, tamper: tuple[str, ...] = ()) -> Outcome:
    return Outcome(Status.OK, 0, stdout=str(number if right else -1).encode(), shared=shared, tamper=tamper)


def judged(
    task: CodingTask, rights: Sequence[bool], checks: Sequence[tuple[int, bool]] = (), tamper: tuple[str, ...] = ()
) -> Judgement:
    """Of a run whose tests ended so; of a shared process all but the first went on in it. `tamper`: of the first."""
    shared = task.processes == "auto"
    numbers = [int(text) for text in inputs_of(task)]
    outcomes = tuple(
        ran(number, right, shared=shared and index > 0, tamper=() if index else tamper)
        for index, (number, right) in enumerate(zip(numbers, rights, strict=True))
    )
    found = tuple(Check(index, ran(numbers[index], right, shared=False)) for index, right in checks)
    state = State(outcomes, "namespace", "fake", (), found)
    plan = CodingVerifier().plan(task, ANSWER)
    return Judgement(plan, state, judge(task, plan, state, Judged()))


def stands(task: CodingTask, first: Judgement, *rounds: Sequence[bool]) -> tuple[Verdict, list[int]]:
    """The verdict where the further runs end so, and how many tests each had."""
    assert first.state is not None
    follow_up = confirmed(task, first, differing_alone(task, first.state, Judged()))
    asked: list[int] = []
    answers = iter(rounds)
    try:
        (wanted,) = next(follow_up)
        while True:
            rights = next(answers)
            assert wanted.processes == "alone"
            asked.append(len(rights))
            (wanted,) = follow_up.send([judged(wanted, rights)])
    except StopIteration as end:
        assert next(answers, None) is None, "all rounds were asked for"
        verdict: Verdict = end.value
        return verdict, asked


def test_a_checked_pass_that_holds_ends_it() -> None:
    task = task_of(4)
    verdict, asked = stands(task, judged(task, [RIGHT] * 4, [(2, RIGHT)]))
    assert (verdict.reward, verdict.processes, verdict.checked, asked) == (1.0, "shared", 1, [])


def test_a_checked_pass_that_fails_alone_has_all_run_alone() -> None:
    task = task_of(4)
    verdict, asked = stands(task, judged(task, [RIGHT] * 4, [(2, WRONG)]), [RIGHT, RIGHT, WRONG, WRONG])
    assert (verdict.reward, verdict.processes, verdict.checked, asked) == (0.0, "own", 1, [4])


def test_what_passes_alone_must_do_so_steadily_before_all_is_run_alone() -> None:
    task = task_of(3)
    first = judged(task, [RIGHT, WRONG, RIGHT], [(1, RIGHT)])
    verdict, asked = stands(task, first, [RIGHT] * STEADY, [RIGHT] * 3)
    assert (verdict.reward, verdict.processes, asked) == (1.0, "own", [STEADY, 3])


@pytest.mark.parametrize("scoring", ["all", "fraction"])
def test_what_passes_alone_at_times_only_has_failed(scoring: str) -> None:
    task = task_of(4, scoring=scoring)
    first = judged(task, [RIGHT, WRONG, RIGHT, RIGHT], [(1, RIGHT)])
    verdict, asked = stands(task, first, [RIGHT, RIGHT, WRONG])
    assert verdict.reward == (0.75 if scoring == "fraction" else 0.0)
    assert [test.status is TestStatus.PASSED for test in verdict.tests] == [True, False, True, True]
    assert [test.index for test in verdict.tests] == [0, 1, 2, 3]
    assert (verdict.failure_reason, verdict.checked, asked) == ("wrong_answer", 4, [STEADY])


def guessed(task: CodingTask, chance: Random) -> float:
    """What an answer earns whose second test is right half the time, whose pass is never the one checked."""
    right = chance.random() < 0.5
    first = judged(task, [RIGHT, right], [(1, right or chance.random() < 0.5)])
    assert first.state is not None
    follow_up = confirmed(task, first, differing_alone(task, first.state, Judged()))
    try:
        (wanted,) = next(follow_up)
        while True:
            rights = [text == "0" or chance.random() < 0.5 for text in inputs_of(wanted)]
            (wanted,) = follow_up.send([judged(wanted, rights)])
    except StopIteration as end:
        verdict: Verdict = end.value
        return verdict.reward


def test_a_guess_that_is_right_half_the_time_gains_little() -> None:
    """0.516 and no more; with one run alone before the whole answer it would be 0.625."""
    chance, task, tries = Random(7), task_of(2), 4000
    assert sum(guessed(task, chance) for _ in range(tries)) / tries == pytest.approx(0.5 + 0.5**6, abs=0.03)


def test_where_something_was_earned_a_passing_test_is_checked() -> None:
    task = task_of(4, scoring="fraction")
    first = judged(task, [RIGHT, WRONG, RIGHT, RIGHT], [(1, WRONG)])
    verdict, asked = stands(task, first, [RIGHT])
    assert (verdict.reward, verdict.processes, verdict.checked, asked) == (0.75, "shared", 2, [1])
    verdict, asked = stands(task, first, [WRONG], [RIGHT, WRONG, WRONG, WRONG])
    assert (verdict.reward, verdict.processes, asked) == (0.25, "own", [1, 4])


def test_signs_of_the_shared_process_are_kept() -> None:
    task = task_of(3)
    first = judged(task, [RIGHT] * 3, [(1, WRONG)], tamper=("debugging: ptrace 1 times",))
    verdict, _asked = stands(task, first, [RIGHT] * 3)
    assert (verdict.reward, verdict.tamper) == (1.0, ("debugging",))


def test_a_sign_that_costs_the_reward_needs_no_further_run() -> None:
    task = task_of(3, fail_on_tamper=["debugging"])
    verdict, asked = stands(task, judged(task, [RIGHT] * 3, [(1, WRONG)], tamper=("debugging: ptrace 1 times",)))
    assert (verdict.reward, verdict.failure_reason, asked) == (0.0, "tampered", [])


def plan_of(sizes: Sequence[int], groups: tuple[int, ...] = ()) -> Plan:
    """A run for each size of its input."""
    program = Program(mode="fork", files={"main.py": b""})
    return Plan(tuple(Run("test", program, b"x" * size) for size in sizes), groups=groups)


def test_every_test_of_a_shared_process_may_be_chosen_and_large_inputs_are_more_often() -> None:
    outcomes = [ran(number, RIGHT, shared=number > 0) for number in range(11)]
    plan = plan_of([100] * 10 + [900])
    chosen = Counter(steps_to_check(plan, outcomes, [])[0] for _ in range(4000))
    assert set(chosen) == set(range(1, 11)), "not the first, whose process was its own"
    assert chosen[10] / 4000 == pytest.approx((1 / 10 + 1 / 2) / 2, abs=0.05)


def test_of_a_plan_that_was_stopped_only_the_stop_is_checked() -> None:
    outcomes = [ran(number, number < 3, shared=number > 0) for number in range(4)]
    assert steps_to_check(plan_of([1] * 6), outcomes, [3]) == [3]
    assert len(steps_to_check(plan_of([1] * 6, groups=(3, 3)), outcomes, [3])) == 2
