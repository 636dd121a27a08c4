"""Coding answers: programs judged by their output, functions by their values, check functions across two boxes."""

from __future__ import annotations

from sandbox_gym.contract import Answer, Plan, State, StepOutcome, TestStatus, Verdict
from sandbox_gym.verifiers.coding.extract import extract_code, has_reasoning_format_violation
from sandbox_gym.verifiers.coding.judge import judge, judge_test, result_codes, result_metadata
from sandbox_gym.verifiers.coding.plan import make_plan
from sandbox_gym.verifiers.coding.task import CodingTask, parse_task

__all__ = [
    "CodingTask",
    "CodingVerifier",
    "extract_code",
    "has_reasoning_format_violation",
    "parse_task",
    "result_codes",
    "result_metadata",
]


class CodingVerifier:
    """The coding verifier: pure functions under the names the engine calls."""

    def plan(self, task: CodingTask, answer: Answer) -> Plan:
        return make_plan(task, answer)

    def passed(self, task: CodingTask, index: int, outcome: StepOutcome) -> bool:
        return judge_test(task, index, outcome)[0] is TestStatus.PASSED

    def judge(self, task: CodingTask, plan: Plan, state: State) -> Verdict:
        return judge(task, plan, state)
