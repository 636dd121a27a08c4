"""Judges a check by the values that its calls returned (plain_asserts.py), or sees that it must be run. Pure."""

from __future__ import annotations

from dataclasses import replace

from sandbox_gym.contract import FollowUp, Judgement, Outcome, Status, TestStatus
from sandbox_gym.verifiers.coding.diagnostics import plain
from sandbox_gym.verifiers.coding.functions.plain_asserts import Assertion, plain_asserts
from sandbox_gym.verifiers.coding.functions.plain_operations import AnswerRaised, Replies
from sandbox_gym.verifiers.coding.functions.shapes import CheckTests
from sandbox_gym.verifiers.coding.plan import ASSERTED
from sandbox_gym.verifiers.coding.task import CodingTask

Ended = tuple[TestStatus, str]


def judge_asserted(tests: CheckTests, outcome: Outcome, ended: Ended | None) -> Ended | None:
    """How a check ended; None where the values do not settle it. `ended`: how the program ended, where not well. The
    first assertion that fails decides, whatever later calls did: the check would not have made them."""
    asserted = plain_asserts(tests)
    assert asserted is not None, "planned for such a row"
    replies = Replies(outcome.channel)
    for assertion in asserted.assertions:
        try:
            if not assertion.holds(replies):
                return TestStatus.WRONG_ANSWER, _at(assertion, "AssertionError", assertion.message)
        except AnswerRaised as error:
            wrong = error.kind == "AssertionError" or tests.style != "check"
            status = TestStatus.WRONG_ANSWER if wrong else TestStatus.RUNTIME_ERROR
            return status, _at(assertion, error.kind, str(error))
        except Exception:  # NoPlainValue, BadReply, and what Python's operators raise of an answer's values
            return None if _may_end_otherwise(tests, outcome) else ended
    if ended:
        return None if _may_end_otherwise(tests, outcome) else ended
    return TestStatus.PASSED, ""


def is_unsettled(task: CodingTask, first: Judgement) -> bool:
    """Whether the test must be run, since the values that it asks for did not settle it."""
    if not isinstance(task.tests, CheckTests) or first.state is None or first.plan.steps[0].name != ASSERTED:
        return False
    (outcome,) = first.state.outcomes
    assert isinstance(outcome, Outcome), "one run was planned"
    ended = None if outcome.status is Status.OK else (TestStatus.RUNTIME_ERROR, "")
    return judge_asserted(task.tests, outcome, ended) is None


def run_as_dialogue(task: CodingTask) -> FollowUp[CodingTask]:
    """The verdict of the test as it is written."""
    (run,) = yield [replace(task, dialogue=True)]
    return run.verdict


def _may_end_otherwise(tests: CheckTests, outcome: Outcome) -> bool:
    """Whether the test, when it is run, may end otherwise than its calls alone did: more may cross in a dialogue."""
    if outcome.status is Status.RUNTIME_ERROR:
        return bool(tests.reference)
    return outcome.status in (Status.OK, Status.OUTPUT_LIMIT)


def _at(assertion: Assertion, kind: str, message: str) -> str:
    return where({"line": assertion.line, "source": assertion.source, "type": kind, "message": message})


def where(error: object) -> str:
    """A failure's line, source, type and message."""
    said = error if isinstance(error, dict) else {}
    place = f"line {plain(str(said.get('line')), 20)}: {plain(str(said.get('source')), 200)}"
    what = f"{plain(str(said.get('type')), 100)}: {plain(str(said.get('message')), 300)}".rstrip(": ")
    return f"{place} ({what})"
