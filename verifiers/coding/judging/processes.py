"""Tests that were run in one process in turn: which are run again in one of their own, and what then stands. Pure.

A pass in a shared process counts, a failure does not: it is run again in a process of its own, and that outcome stands.
If CONFIRMED failures are alike in both, the rest is believed. Where one is not, the answer is run again with a process
for each test, and so where a pass that was chosen after the run fails in a process of its own.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from sandbox_gym.contract import FollowUp, Judgement, State, TestResult, TestStatus, answers_outcome
from sandbox_gym.verifiers.coding.functions.reference import ReferenceTests
from sandbox_gym.verifiers.coding.functions.shapes import FunctionTests, StdinTests
from sandbox_gym.verifiers.coding.running.checkers import ProgramChecker
from sandbox_gym.verifiers.coding.scoring import Scoring
from sandbox_gym.verifiers.coding.task import CodingTask

CONFIRMED: Final = 3
"""Failures that were alike in a shared process and in one of their own: then the process is believed."""


def is_shared(state: State | None) -> bool:
    """Whether a test's process had run another test before."""
    return state is not None and any(
        outcome is not None and answers_outcome(outcome).shared for outcome in state.outcomes
    )


def confirmed(task: CodingTask, first: Judgement, differs: bool) -> FollowUp[CodingTask]:
    """`differs`: whether a test that was checked already ended otherwise in a process of its own."""
    verdict = first.verdict
    if verdict.processes == "own":
        return verdict
    if not differs and (left := _unconfirmed(first)):
        (own,) = yield [_only(task, left)]
        differs = [test.status for test in own.verdict.tests] != [verdict.tests[index].status for index in left]
        verdict = replace(verdict, checked=verdict.checked + len(left))
    if not differs:
        return verdict
    (own,) = yield [replace(task, processes="own")]
    return replace(own.verdict, checked=verdict.checked)


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
    return replace(task, tests=tests, checker=checker, scoring=scoring, early_stop=False, processes="own")
