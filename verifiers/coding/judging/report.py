"""A verdict in code_gen's format: its `result` codes and its `metadata` of the first failure."""

from __future__ import annotations

from sandbox_gym.contract import State, StepOutcome, TestStatus, Verdict, answers_outcome
from sandbox_gym.verifiers.coding.functions.shapes import FunctionTests, StdinTests
from sandbox_gym.verifiers.coding.judging.short import short
from sandbox_gym.verifiers.coding.task import CodingTask

_CODES = {
    TestStatus.PASSED: 1,
    TestStatus.WRONG_ANSWER: -2,
    TestStatus.PRESENTATION_ERROR: -2,
    TestStatus.TIME_LIMIT: -3,
}
_SHOWN_BYTES = 1 << 12
_ERROR_NAMES = {-2: "Wrong Answer", -3: "Time Limit Exceeded", -4: "Runtime Error"}


def result_codes(verdict: Verdict) -> list[int | bool]:
    """code_gen's `result`: true for a pass, -2 wrong answer, -3 time limit, -4 other failures; it ends where testing
    ended."""
    codes: list[int | bool] = []
    for result in verdict.tests:
        if result.status is TestStatus.PASSED:
            codes.append(True)
        elif result.status is not TestStatus.SKIPPED:
            codes.append(_CODES.get(result.status, -4))
    return codes


def result_metadata(task: CodingTask, verdict: Verdict, state: State | None) -> dict[str, object]:
    """code_gen's `metadata`: the first failure's error, input, output and expected output, or the time that all tests
    took."""
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
        "output": _cut(failed.got if isinstance(tests, FunctionTests) else _printed(outcome)),
        "expected": _cut(expected),
    }


def _printed(outcome: StepOutcome) -> str:
    """The two ends of a long output, which `_cut` shortens further."""
    raw = answers_outcome(outcome).stdout
    return (raw if len(raw) <= 4 * _SHOWN_BYTES else raw[:_SHOWN_BYTES] + raw[-_SHOWN_BYTES:]).decode(
        "utf-8", "replace"
    )


def _cut(text: str, length: int = 300) -> str:
    """The text shortened as code_gen does; lone surrogates, which UTF-8 can't encode, become question marks."""
    cut = text if len(text) <= length else text[: length // 2] + "...(truncated)..." + text[-length // 2 :]
    return cut.encode("utf-8", "replace").decode("utf-8")
