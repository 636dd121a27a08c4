"""Tests that were run in one process in turn: which are run again in one of their own, and what then stands. Pure.

A pass in a shared process counts, a failure does not: it is run again in a process of its own, and that outcome stands.
If CONFIRMED failures are alike in both, the rest is believed. Where one is not, the answer is run again with a process
for each test, and so where a pass that was chosen after the run fails in a process of its own. An answer that guesses
gets no second guess that way: a test that failed must pass STEADY times more first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Final

from sandbox_gym.contract import FollowUp, Judgement, State, TestResult, TestStatus, Verdict, answers_outcome
from sandbox_gym.verifiers.coding.functions.reference import ReferenceTests
from sandbox_gym.verifiers.coding.functions.shapes import FunctionTests, StdinTests
from sandbox_gym.verifiers.coding.running.checkers import ProgramChecker
from sandbox_gym.verifiers.coding.scoring import Scoring
from sandbox_gym.verifiers.coding.task import CodingTask

CONFIRMED: Final = 3
"""Failures that were alike in a shared process and in one of their own: then the process is believed."""
STEADY: Final = 3
"""Runs, each in a process of its own, that a test must pass which failed in a shared process and then passed alone."""


def is_shared(state: State | None) -> bool:
    """Whether a test's process had run another test before."""
    return state is not None and any(
        outcome is not None and answers_outcome(outcome).shared for outcome in state.outcomes
    )


def confirmed(task: CodingTask, first: Judgement, differing: Sequence[int]) -> FollowUp[CodingTask]:
    """`differing`: tests that were checked already and ended otherwise in a process of their own."""
    verdict = first.verdict
    if verdict.processes == "own" or verdict.failure_reason == "tampered":
        return verdict
    recovered = [index for index in differing if not _failed(verdict.tests[index])]
    left = [] if differing else [*_unconfirmed(first), *_unchecked_pass(first)]
    if left:
        (own,) = yield [_only(task, left)]
        differing, recovered = _differing(verdict, own.verdict, left)
        verdict = replace(verdict, checked=verdict.checked + len(left))
    if recovered:
        again = recovered * STEADY
        (own,) = yield [_only(task, again)]
        verdict = replace(verdict, checked=verdict.checked + len(again))
        if any(map(_failed, own.verdict.tests)):
            return _with_failures(task, verdict, own.verdict, again)
    if not differing:
        return verdict
    (own,) = yield [replace(task, processes="alone")]
    signs = {**verdict.evidence, **own.verdict.evidence}
    return replace(own.verdict, checked=verdict.checked, tamper=tuple(signs), evidence=signs)


def _differing(shared: Verdict, own: Verdict, chosen: Sequence[int]) -> tuple[list[int], list[int]]:
    """(those of the `chosen` tests that ended otherwise alone, those of them that passed there)."""
    pairs = list(zip(chosen, own.tests, strict=True))
    differing = [index for index, alone in pairs if alone.status is not shared.tests[index].status]
    passed = {index for index, alone in pairs if not _failed(alone)}
    return differing, [index for index in differing if index in passed]


def _with_failures(task: CodingTask, verdict: Verdict, own: Verdict, chosen: Sequence[int]) -> Verdict:
    """The verdict with the failures of tests that passed at one time and failed at another."""
    failed = {
        index: replace(alone, index=index) for index, alone in zip(chosen, own.tests, strict=True) if _failed(alone)
    }
    tests = tuple(failed.get(test.index, test) for test in verdict.tests)
    reward, groups = task.scoring.earned([test.score for test in tests])
    reason = next(test.status.value for test in tests if _failed(test))
    return replace(verdict, tests=tests, reward=min(verdict.reward, reward), groups=groups, failure_reason=reason)


def _unchecked_pass(first: Judgement) -> list[int]:
    """A passing test of the shared process where something was earned and none was checked: a failing one was.

    Which one follows from the times that were measured: no answer foresees them, and they are on record, so that the
    verify can be judged again.
    """
    state, tests = first.state, first.verdict.tests
    assert state is not None, "what was shared was run"
    checked = {check.index for check in state.checks}
    passing = [
        index
        for index, outcome in enumerate(state.outcomes)
        if outcome is not None and answers_outcome(outcome).shared and not _failed(tests[index])
    ]
    if first.verdict.reward == 0.0 or not passing or checked.intersection(passing):
        return []
    times = [answers_outcome(outcome).wall_time_s for outcome in state.outcomes if outcome is not None]
    return [Random(repr(times)).choice(passing)]


def _unconfirmed(first: Judgement) -> list[int]:
    """The first failures of the shared process that no run in one of its own confirmed yet, as many as are needed."""
    state = first.state
    assert state is not None, "what was shared was run"
    checked = {check.index for check in state.checks}
    failed = [test.index for test in first.verdict.tests if _failed(test)]
    shared = [index for index in failed if (one := state.outcomes[index]) is not None and answers_outcome(one).shared]
    return [index for index in shared if index not in checked][: max(0, CONFIRMED - len(checked.intersection(failed)))]


def _failed(test: TestResult) -> bool:
    return test.status not in (TestStatus.PASSED, TestStatus.SKIPPED)


def _only(task: CodingTask, chosen: list[int]) -> CodingTask:
    """These tests alone, each run whatever the others gave."""
    tests, checker = task.tests, task.checker
    if isinstance(tests, StdinTests):
        inputs, outputs = ([each[index] for index in chosen] for each in (tests.inputs, tests.outputs))
        tests = StdinTests(tuple(inputs), tuple(outputs))
    elif isinstance(tests, FunctionTests):
        calls, values = [tests.calls[index] for index in chosen], [tests.outputs[index] for index in chosen]
        tests = replace(tests, calls=tuple(calls), outputs=tuple(values))
    elif isinstance(tests, ReferenceTests):
        base = sum(index < tests.base for index in chosen)
        tests = replace(tests, calls=tuple(tests.calls[index] for index in chosen), base=base)
    if isinstance(checker, ProgramChecker) and checker.test_args:
        checker = replace(checker, test_args=tuple(checker.test_args[index] for index in chosen))
    scoring = Scoring("fraction")
    return replace(task, tests=tests, checker=checker, scoring=scoring, early_stop=False, processes="alone")
