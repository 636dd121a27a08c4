"""A verdict in code_gen's own terms: its `result` codes and its `metadata` of the first failure."""

from __future__ import annotations

from sandbox_gym.contract import State, StepOutcome, TestStatus, Verdict, answers_outcome
from sandbox_gym.verifiers.coding.shapes import FunctionTests, StdinTests
from sandbox_gym.verifiers.coding.task import CodingTask
from sandbox_gym.verifiers.coding.wire import BadReply, decode, parse_reply

_CODES = {
    TestStatus.PASSED: 1,
    TestStatus.WRONG_ANSWER: -2,
    TestStatus.PRESENTATION_ERROR: -2,
    TestStatus.TIME_LIMIT: -3,
}
_ERROR_NAMES = {-2: "Wrong Answer", -3: "Time Limit Exceeded", -4: "Runtime Error"}


def short(value: object) -> str:
    """A value in at most 121 characters."""
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # integers of over 4,300 digits have no decimal text
        text = f"a {type(value).__name__} too large to show"
    return text if len(text) <= 120 else text[:60] + "…" + text[-60:]


def result_codes(verdict: Verdict) -> list[int | bool]:
    """code_gen's `result`: true for a pass, -2 wrong answer, -3 time limit, -4 the rest; ends where testing did."""
    codes: list[int | bool] = []
    for result in verdict.tests:
        if result.status is TestStatus.PASSED:
            codes.append(True)
        elif result.status is not TestStatus.SKIPPED:
            codes.append(_CODES.get(result.status, -4))
    return codes


def result_metadata(task: CodingTask, verdict: Verdict, state: State | None) -> dict[str, object]:
    """code_gen's `metadata`: the first failure's error, input, output and expectation, or the time it all took."""
    failed = next((result for result in verdict.tests if result.status is not TestStatus.PASSED), None)
    if failed is None or state is None or failed.index >= len(state.outcomes):
        return {"execution time": sum(result.wall_time_s for result in verdict.tests)}
    code = _CODES.get(failed.status, -4)
    outcome, tests = state.outcomes[failed.index], task.tests
    if outcome is None:
        return {"error_code": code, "error_message": f"{_ERROR_NAMES[code]}: {failed.reason}"}
    inputs, expected = "", ""
    if isinstance(tests, StdinTests):
        inputs, expected = tests.inputs[failed.index], tests.outputs[failed.index]
    elif isinstance(tests, FunctionTests):
        inputs, expected = short(tests.calls[failed.index]), short(tests.outputs[failed.index])
    return {
        "error_code": code,
        "error_message": f"{_ERROR_NAMES[code]}: {failed.reason}",
        "inputs": _cut(inputs),
        "output": _cut(_returned(outcome) if isinstance(tests, FunctionTests) else _printed(outcome)),
        "expected": _cut(expected),
    }


def _printed(outcome: StepOutcome) -> str:
    return answers_outcome(outcome).stdout.decode("utf-8", "replace")


def _returned(outcome: StepOutcome) -> str:
    """The value that a function gave, as text; empty when it gave none."""
    try:
        reply = parse_reply(answers_outcome(outcome).channel)
        return short(decode(reply["value"])) if "value" in reply else ""
    except (BadReply, RecursionError):
        return ""


def _cut(text: str, length: int = 300) -> str:
    """As code_gen cuts; lone surrogates, which UTF-8 can't carry, become question marks."""
    cut = text if len(text) <= length else text[: length // 2] + "...(truncated)..." + text[-length // 2 :]
    return cut.encode("utf-8", "replace").decode("utf-8")
