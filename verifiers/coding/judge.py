"""What the runs were worth. Pure: the same task and state give the same verdict, with or without a sandbox."""

from __future__ import annotations

import json
import signal as signals

from sandbox_gym.contract import (
    DialogueOutcome,
    Outcome,
    Plan,
    State,
    Status,
    StepOutcome,
    TestResult,
    TestStatus,
    Verdict,
)
from sandbox_gym.verifiers.coding.compare import explain_stdout, values_equal
from sandbox_gym.verifiers.coding.plan import planned_nonce
from sandbox_gym.verifiers.coding.task import CodingTask, FunctionTests, StdinTests
from sandbox_gym.verifiers.coding.wire import BadReply, decode, parse_reply

_LIMITS = {
    Status.CPU_TIME_LIMIT: (TestStatus.TIME_LIMIT, "CPU time limit of {0.cpu_time_s:g} s"),
    Status.WALL_TIME_LIMIT: (TestStatus.TIME_LIMIT, "wall time limit of {0.wall_time_s:g} s"),
    Status.MEMORY_LIMIT: (TestStatus.MEMORY_LIMIT, "memory limit of {0.memory_bytes} bytes"),
    Status.OUTPUT_LIMIT: (TestStatus.OUTPUT_LIMIT, "output limit of {0.stdout_bytes} bytes"),
}
_CODES = {TestStatus.PASSED: 1, TestStatus.WRONG_ANSWER: -2, TestStatus.TIME_LIMIT: -3}
_ERROR_NAMES = {-2: "Wrong Answer", -3: "Time Limit Exceeded", -4: "Runtime Error"}
_REPORT_MAX = 100_000
_TAIL_BYTES = 4096


def judge_test(task: CodingTask, index: int, outcome: StepOutcome) -> tuple[TestStatus, str]:
    """One test's status and why. A program that leaves with a nonzero exit code has failed, whatever it printed."""
    if isinstance(outcome, DialogueOutcome):
        return _judge_dialogue(task, outcome)
    failed = _failure(task, outcome)
    if failed:
        return failed
    tests = task.tests
    if isinstance(tests, StdinTests):
        why = explain_stdout(outcome.stdout, tests.outputs[index], task.float_tolerance)
        return (TestStatus.WRONG_ANSWER, why) if why else (TestStatus.PASSED, "")
    if isinstance(tests, FunctionTests):
        return _judge_call(task, tests.outputs[index], outcome)
    return TestStatus.PASSED, ""  # an in-process check: `judge` compares the nonce


def _failure(task: CodingTask, outcome: Outcome) -> tuple[TestStatus, str] | None:
    if outcome.status is Status.OK:
        return None
    if outcome.status in _LIMITS:
        status, text = _LIMITS[outcome.status]
        return status, text.format(task.limits)
    last = _last_line(outcome.stderr)
    if outcome.signal is not None:
        how = f"killed by {_signal_name(outcome.signal)}"
    else:
        how = f"exit code {outcome.exit_code}" if outcome.exit_code is not None else _plain(outcome.detail, 300)
    return TestStatus.RUNTIME_ERROR, f"{how}: {last}" if last else how


def _signal_name(number: int) -> str:
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _last_line(stderr: bytes) -> str:
    return _plain(stderr[-_TAIL_BYTES:].decode("utf-8", "replace").rstrip().rpartition("\n")[2].strip(), 300)


def _plain(text: str, length: int) -> str:
    """At most `length` characters, fit for a terminal and for UTF-8: control characters and lone surrogates, which a
    candidate may send, become escapes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text[:length])


def _judge_call(task: CodingTask, expected: object, outcome: Outcome) -> tuple[TestStatus, str]:
    try:
        reply = parse_reply(outcome.channel)
        if "value" in reply:
            value = decode(reply["value"])
            if values_equal(value, expected, task.float_tolerance):
                return TestStatus.PASSED, ""
            return TestStatus.WRONG_ANSWER, f"got {_short(value)}, expected {_short(expected)}"
    except (BadReply, RecursionError) as error:
        return TestStatus.BAD_VALUE, str(error)
    error_info = reply.get("error")
    if isinstance(error_info, dict):
        return TestStatus.RUNTIME_ERROR, f"{_plain(error_info['type'], 100)}: {_plain(error_info['message'], 300)}"
    return TestStatus.BAD_VALUE, _plain(str(reply["bad_value"]), 300)


def _short(value: object) -> str:
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # integers of over 4,300 digits have no decimal text
        text = f"a {type(value).__name__} too large to show"
    return text if len(text) <= 120 else text[:60] + "…" + text[-60:]


def _judge_dialogue(task: CodingTask, outcome: DialogueOutcome) -> tuple[TestStatus, str]:
    failed = _failure(task, outcome.candidate)
    if failed:
        return failed
    asker = outcome.asker
    if asker.status is not Status.OK:
        status = _LIMITS[asker.status][0] if asker.status in _LIMITS else TestStatus.WRONG_ANSWER
        return status, f"the test itself ended with {asker.status}: {_last_line(asker.stderr)}".rstrip(": ")
    try:
        report = json.loads(asker.stdout[:_REPORT_MAX].decode("utf-8"))
        passed, error = report["passed"], report["error"]
    except (ValueError, RecursionError, KeyError, TypeError):
        return TestStatus.WRONG_ANSWER, "the test gave no report"
    if passed is True and error is None:
        return TestStatus.PASSED, ""
    if not isinstance(error, dict):
        return TestStatus.WRONG_ANSWER, "the test gave no report"
    kind = _plain(str(error.get("type")), 100)
    where = f"line {_plain(str(error.get('line')), 20)}: {_plain(str(error.get('source')), 200)}"
    what = f"{kind}: {_plain(str(error.get('message')), 300)}".rstrip(": ")
    return (TestStatus.WRONG_ANSWER if kind == "AssertionError" else TestStatus.RUNTIME_ERROR), f"{where} ({what})"


def _costs(outcome: StepOutcome) -> Outcome:
    return outcome.candidate if isinstance(outcome, DialogueOutcome) else outcome


def judge(task: CodingTask, plan: Plan, state: State) -> Verdict:
    """Reward 1.0 when every test passed, 0.0 otherwise."""
    results = []
    tamper: list[str] = []
    for index, outcome in enumerate(state.outcomes):
        status, reason = judge_test(task, index, outcome)
        if plan.integrity == "in_process":
            status, reason = _judge_in_process(plan, outcome, status, reason)
        costs = _costs(outcome)
        ends = (outcome.asker, outcome.candidate) if isinstance(outcome, DialogueOutcome) else (outcome,)
        tamper += [sign for end in ends for sign in end.tamper]
        results.append(TestResult(index, status, reason, costs.cpu_time_s, costs.wall_time_s, costs.peak_memory_bytes))
    for index in range(len(results), len(plan.steps)):
        results.append(TestResult(index, TestStatus.SKIPPED, "an earlier test failed"))
    passed = bool(results) and all(result.status is TestStatus.PASSED for result in results)
    first = next((result.status.value for result in results if result.status is not TestStatus.PASSED), "")
    return Verdict(
        reward=1.0 if passed else 0.0,
        tests=tuple(results),
        failure_reason="" if passed else first or "no_code",
        integrity=plan.integrity,
        isolation=state.isolation,
        provider=state.provider,
        tamper=tuple(dict.fromkeys(tamper)),
    )


def _judge_in_process(plan: Plan, outcome: StepOutcome, status: TestStatus, why: str) -> tuple[TestStatus, str]:
    """A failed assertion is a wrong answer; a pass needs the plan's nonce as the last line of output."""
    costs = _costs(outcome)
    if status is TestStatus.RUNTIME_ERROR and _last_line(costs.stderr).startswith("AssertionError"):
        return TestStatus.WRONG_ANSWER, why
    if status is TestStatus.PASSED and costs.stdout.rstrip(b"\n").rpartition(b"\n")[2] != planned_nonce(plan):
        return TestStatus.WRONG_ANSWER, "check did not return"
    return status, why


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
    inputs, expected = "", ""
    if isinstance(tests, StdinTests):
        inputs, expected = tests.inputs[failed.index], tests.outputs[failed.index]
    elif isinstance(tests, FunctionTests):
        inputs, expected = _short(tests.calls[failed.index]), _short(tests.outputs[failed.index])
    return {
        "error_code": code,
        "error_message": f"{_ERROR_NAMES[code]}: {failed.reason}",
        "inputs": _cut(inputs),
        "output": _cut(_returned(outcome) if isinstance(tests, FunctionTests) else _printed(outcome)),
        "expected": _cut(expected),
    }


def _printed(outcome: StepOutcome) -> str:
    return _costs(outcome).stdout.decode("utf-8", "replace")


def _returned(outcome: StepOutcome) -> str:
    """The value that a function gave, as text; empty when it gave none."""
    try:
        reply = parse_reply(_costs(outcome).channel)
        return _short(decode(reply["value"])) if "value" in reply else ""
    except (BadReply, RecursionError):
        return ""


def _cut(text: str, length: int = 300) -> str:
    """As code_gen cuts; lone surrogates, which UTF-8 can't carry, become question marks."""
    cut = text if len(text) <= length else text[: length // 2] + "...(truncated)..." + text[-length // 2 :]
    return cut.encode("utf-8", "replace").decode("utf-8")
