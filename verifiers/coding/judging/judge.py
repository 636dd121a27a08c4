"""Judges the runs of a plan. Pure: the same task and state give the same verdict, with or without a sandbox."""

from __future__ import annotations

import signal as signals
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from sandbox_gym.contract import (
    CheckedOutcome,
    DialogueOutcome,
    Outcome,
    Plan,
    State,
    Status,
    StepOutcome,
    TestResult,
    TestStatus,
    Verdict,
    answers_outcome,
    earlier_passes,
)
from sandbox_gym.errors import Starved
from sandbox_gym.verifiers.coding.compare import values_equal
from sandbox_gym.verifiers.coding.diagnostics import TAIL_BYTES, last_line, plain
from sandbox_gym.verifiers.coding.functions.reference import (
    ReferenceFailed,
    ReferenceTests,
    equal_to_reference,
    expected_values,
)
from sandbox_gym.verifiers.coding.functions.shapes import CheckTests, FunctionTests, StdinTests
from sandbox_gym.verifiers.coding.functions.wire import BadReply, decode, parse_reply
from sandbox_gym.verifiers.coding.judging.check import goes_on, judge_check
from sandbox_gym.verifiers.coding.judging.processes import is_shared
from sandbox_gym.verifiers.coding.judging.short import short
from sandbox_gym.verifiers.coding.judging.signs import convicting, ignored_input, reaching, signs_of
from sandbox_gym.verifiers.coding.judging.texts import is_no_number, judge_text
from sandbox_gym.verifiers.coding.running.checkers import ProgramChecker
from sandbox_gym.verifiers.coding.running.checking import answers_limits, is_broken, judge_checker, missing
from sandbox_gym.verifiers.coding.running.programs import COMPILE_LIMITS
from sandbox_gym.verifiers.coding.task import CodingTask

_LIMITS = {
    Status.CPU_TIME_LIMIT: (TestStatus.TIME_LIMIT, "CPU time limit of {0.cpu_time_s:g} s"),
    Status.WALL_TIME_LIMIT: (TestStatus.TIME_LIMIT, "wall time limit of {0.wall_time_s:g} s"),
    Status.MEMORY_LIMIT: (TestStatus.MEMORY_LIMIT, "memory limit of {0.memory_bytes} bytes"),
    Status.OUTPUT_LIMIT: (TestStatus.OUTPUT_LIMIT, "output limit of {0.stdout_bytes} bytes"),
}
_MESSAGE_CHARS = 2000
_SIGXFSZ: Final = 25  # on Linux, where answers run; verdicts are judged again on systems that have none


@dataclass(frozen=True, slots=True)
class _Judged:
    """One test: its status, the reason, and its score."""

    status: TestStatus
    reason: str = ""
    score: float | None = None
    got: str = ""

    @property
    def points(self) -> float:
        return float(self.status is TestStatus.PASSED) if self.score is None else self.score


class Judged:
    """The results of `passes`, so that `judge` need not parse long replies again. Changes no verdict."""

    def __init__(self) -> None:
        self._task: CodingTask | None = None
        self._found: dict[int, tuple[StepOutcome, _Judged]] = {}

    def of(self, task: CodingTask, index: int, outcome: StepOutcome, expected: tuple[object, ...] = ()) -> _Judged:
        """How a test ended, as `_judge_one` says."""
        if task is not self._task:
            self._task, self._found = task, {}
        known = self._found.get(index)
        if known is not None and known[0] is outcome and not expected:
            return known[1]
        judged = _judge_one(task, index, outcome, expected)
        self._found[index] = (outcome, judged)
        return judged


def passes(task: CodingTask, index: int, outcome: StepOutcome, known: Judged) -> bool:
    """Whether testing goes on after a test: it passed, or its failure settles nothing."""
    if isinstance(task.tests, CheckTests):
        return goes_on(task.tests, index, outcome)
    if isinstance(task.tests, ReferenceTests):  # the values to compare with come with the whole state
        return answers_outcome(outcome).status is Status.OK or not task.scoring.stops_at(index)
    return known.of(task, index, outcome).status is TestStatus.PASSED or not task.scoring.stops_at(index)


def _judge_one(task: CodingTask, index: int, outcome: StepOutcome, expected: tuple[object, ...]) -> _Judged:
    """Judges one test. `expected`: the reference's values, where there is one."""
    tests = task.tests
    if isinstance(outcome, DialogueOutcome) and isinstance(task.checker, ProgramChecker):
        return _judge_interactive(task, task.checker, outcome)
    answer = answers_outcome(outcome)
    failed = _failure(task, answer)
    if failed:
        return _Judged(*failed)
    if isinstance(outcome, CheckedOutcome) and isinstance(task.checker, ProgramChecker):
        if outcome.checker is None:
            return _Judged(TestStatus.CHECKER_FAILED, "the checker was not run")
        judged = _Judged(*judge_checker(task.checker, outcome.checker, outcome.self_test))
        return _without_nan(task.checker, tests, index, answer, judged)
    if isinstance(tests, StdinTests) and not isinstance(task.checker, ProgramChecker):
        return _Judged(*judge_text(task.checker, answer.stdout, tests.outputs[index]))
    if isinstance(tests, FunctionTests):
        return _judge_call(tests.outputs[index], answer, lambda got, want: _equal(task, got, want))
    if isinstance(tests, ReferenceTests):
        if index >= len(expected):
            return _Judged(TestStatus.CHECKER_FAILED, "the reference gave no value")
        return _judge_call(expected[index], answer, lambda got, want: equal_to_reference(tests, index, got, want))
    return _Judged(TestStatus.PASSED)  # a check in one process: together.py judges it


def _without_nan(checker: ProgramChecker, tests: object, index: int, answer: Outcome, judged: _Judged) -> _Judged:
    """What a checker said of an output in which a number is none."""
    if checker.passes > 1 or not judged.score or not isinstance(tests, StdinTests):
        return judged
    if not is_no_number(answer.stdout, tests.inputs[index], tests.outputs[index], checker.source):
        return judged
    return _Judged(TestStatus.WRONG_ANSWER, "printed no number where the row's own output has numbers alone", 0.0)


def _equal(task: CodingTask, got: object, expected: object) -> bool:
    return values_equal(got, expected, task.tolerance, task.comparison)


def _judge_interactive(task: CodingTask, checker: ProgramChecker, outcome: DialogueOutcome) -> _Judged:
    """An interactor that rejected the answer and ended first decides, however the answer's program ended after that;
    otherwise the program must have ended well too. No verdict where the row's interactor is broken."""
    failed = _failure(task, outcome.candidate)
    if failed and outcome.asker.exit_code is None and not is_broken(checker, outcome.asker, outcome.self_test):
        return _Judged(*failed)  # what an interactor is left with says nothing
    status, reason, score = judge_checker(checker, outcome.asker, outcome.self_test)
    denied = status in (TestStatus.WRONG_ANSWER, TestStatus.PRESENTATION_ERROR) and score == 0.0
    if denied and (outcome.first == "asker" or not failed):
        return _Judged(status, reason, score)
    if failed and not is_broken(checker, outcome.asker, outcome.self_test):
        return _Judged(*failed)
    return _Judged(status, reason, score)


def _failure(task: CodingTask, outcome: Outcome) -> tuple[TestStatus, str] | None:
    """Why a program did not end well. Raises ToolchainMissing where its toolchain is not installed."""
    if outcome.status is Status.OK:
        return None
    language, limits = task.language, task.language.limits(task.limits) if not task.language.forks else task.limits
    if isinstance(task.checker, ProgramChecker):
        limits = answers_limits(task.checker, limits)
    if outcome.status is Status.START_ERROR and not language.compile and not language.forks:
        raise missing(language)
    if outcome.status in _LIMITS:
        status, text = _LIMITS[outcome.status]
        return status, text.format(limits)
    last = last_line(outcome.stderr)
    if any(sign in outcome.stderr[-TAIL_BYTES:] for sign in language.memory_signs):
        return TestStatus.MEMORY_LIMIT, f"{_LIMITS[Status.MEMORY_LIMIT][1].format(limits)}: {last}"
    how = _how_ended(outcome)
    return TestStatus.RUNTIME_ERROR, f"{how}: {last}" if last else how


def _how_ended(outcome: Outcome) -> str:
    if outcome.signal is not None:
        return f"killed by {_signal_name(outcome.signal)}"
    return f"exit code {outcome.exit_code}" if outcome.exit_code is not None else plain(outcome.detail, 300)


def _signal_name(number: int) -> str:
    try:
        return signals.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _judge_call(expected: object, outcome: Outcome, equal: Callable[[object, object], bool]) -> _Judged:
    try:
        reply = parse_reply(outcome.channel)
        if "value" in reply:
            value = decode(reply["value"])
            if equal(value, expected):
                return _Judged(TestStatus.PASSED)
            got = short(value)
            return _Judged(TestStatus.WRONG_ANSWER, f"got {got}, expected {short(expected)}", got=got)
    except (BadReply, RecursionError) as error:
        return _Judged(TestStatus.BAD_VALUE, str(error))
    error_info = reply.get("error")
    if isinstance(error_info, dict):
        said = f"{plain(error_info['type'], 100)}: {plain(error_info['message'], 300)}"
        return _Judged(TestStatus.RUNTIME_ERROR, said)
    return _Judged(TestStatus.BAD_VALUE, plain(str(reply["bad_value"]), 300))


def judge(task: CodingTask, plan: Plan, state: State, known: Judged) -> Verdict:
    """The reward by the task's scoring. Raises Unavailable where the state allows no verdict. `known`: tests that were
    judged while the plan ran."""
    failed_build = _failed_build(task, plan, state)
    integrity, why, refused, inverted = plan.integrity, "", False, None
    found: Mapping[str, str] = {}
    if isinstance(task.tests, CheckTests):
        checked = judge_check(task, plan, state, _failure)
        results, integrity, why = list(checked.results), checked.integrity, checked.integrity_reason
        refused, inverted, found = checked.refused, checked.inverted, checked.signs
    elif failed_build is not None:
        results = [TestResult(0, failed_build.status, failed_build.reason)]
    else:
        results = _standing(task, state, known)
    steps = 0 if isinstance(task.tests, CheckTests) else len(plan.steps)
    for index in range(len(results), steps):
        results.append(TestResult(index, TestStatus.SKIPPED, "an earlier test failed"))
    reward, groups = task.scoring.earned([result.score for result in results])
    first = next((result.status.value for result in results if result.status not in _GOOD), "")
    signs = {**found, **signs_of(plan, state)}
    if reward and isinstance(task.tests, StdinTests) and task.language.name in _PYTHONS:
        signs |= ignored_input(task.tests.inputs, plan)
    if integrity == "in_process" and isinstance(task.tests, CheckTests):
        found = {**found, **reaching(plan, task.tests.said)}
        signs = {**signs, **found}
    convicted = bool(found) or convicting(task.fail_on_tamper, signs)
    settled = not any(result.status is TestStatus.CHECKER_FAILED for result in results)
    return Verdict(
        reward=reward if settled and not convicted else 0.0,
        tests=tuple(results),
        failure_reason=IN_PROCESS if refused else _reason(first if results else "no_code", convicted, reward, settled),
        integrity=integrity,
        integrity_reason=why,
        isolation=state.isolation,
        provider=state.provider,
        tamper=tuple(signs),
        evidence=signs,
        inverted=inverted,
        processes="shared" if is_shared(state) else "own",
        checked=len(state.checks),
        groups=groups,
    )


IN_PROCESS: Final = "in_process"
"""The failure reason of a verdict that would have needed one process, which the server's setting does not allow."""
_PYTHONS = ("python", "pypy")
_GOOD = (TestStatus.PASSED, TestStatus.SKIPPED)


def _reason(first: str, convicted: bool, reward: float, settled: bool) -> str:
    """Why the reward is not full."""
    if not settled:
        return TestStatus.CHECKER_FAILED.value
    if convicted:
        return "tampered"
    return "" if reward == 1.0 else first or "partial"


def _failed_build(task: CodingTask, plan: Plan, state: State) -> _Judged | None:
    """The verdict on a failed build. Of the answer: it does not compile, also where its compiler hangs, as on an
    `#include` of a device. Of the row's own programs: no verdict."""
    for build, outcome in zip(plan.builds, state.builds, strict=False):
        if outcome.status is Status.OK or build.advisory:
            continue
        own = isinstance(task.checker, ProgramChecker) and build.name == "checker"
        language = task.checker.language if own and isinstance(task.checker, ProgramChecker) else task.language
        if outcome.status is Status.START_ERROR:
            raise missing(language)
        if build.name != "answer":
            hung = outcome.status is Status.WALL_TIME_LIMIT and outcome.cpu_time_s < COMPILE_LIMITS.cpu_time_s / 2
            if hung and outcome.starved_s is None:
                raise Starved(f"{build.run.name} got too little CPU: {outcome.cpu_time_s:.1f} s")
            return _Judged(TestStatus.CHECKER_FAILED, f"the row's {build.name} failed: {_build_words(outcome)}")
        return _Judged(TestStatus.COMPILE_ERROR, _build_words(outcome))
    return None


def _build_words(outcome: Outcome) -> str:
    """The compiler's message, or the cap that it met."""
    if outcome.status in _LIMITS:
        return f"the compiler met its {_LIMITS[outcome.status][1].format(COMPILE_LIMITS)}"
    if outcome.signal == _SIGXFSZ or b"File size limit exceeded" in outcome.stderr:
        return f"the compiler met its file size limit of {COMPILE_LIMITS.file_bytes} bytes"
    text = outcome.stderr[: 4 * _MESSAGE_CHARS].decode("utf-8", "replace").strip()
    said = "\n".join(plain(line, 300) for line in text.split("\n"))[:_MESSAGE_CHARS]
    return said or f"the compiler ended without a word: {_how_ended(outcome)}"


def _results(task: CodingTask, state: State, known: Judged) -> list[TestResult]:
    expected = _expected(task, state)
    if isinstance(expected, str):
        return [TestResult(0, TestStatus.CHECKER_FAILED, expected)]
    results = []
    for index, outcome in enumerate(state.outcomes):
        if outcome is None:
            results.append(TestResult(index, TestStatus.SKIPPED, "an earlier test of its group failed"))
            continue
        judged = known.of(task, index, outcome, expected)
        results.append(_result(index, judged, outcome))
    return results


def _standing(task: CodingTask, state: State, known: Judged) -> list[TestResult]:
    """Of a test that was run once more in a process of its own, that run's result."""
    alone = _alone(task, state)
    return [alone.get(result.index, result) for result in _results(task, state, known)]


def _alone(task: CodingTask, state: State) -> dict[int, TestResult]:
    """What stands of tests that were run once more in a process of their own."""
    if not state.checks:
        return {}
    expected = _expected(task, state)
    if isinstance(expected, str):
        return {}
    checks = ((check, _judge_one(task, check.index, check.outcome, expected)) for check in state.checks)
    return {check.index: _result(check.index, judged, check.outcome) for check, judged in checks}


def differing_alone(task: CodingTask, state: State, known: Judged) -> list[int]:
    """Tests that ended otherwise in a process of their own than in the shared one."""
    found = {result.index: result.status for result in _results(task, state, known)} if state.checks else {}
    alone = _alone(task, state).items()
    return [index for index, result in alone if found.get(index, result.status) is not result.status]


def _result(index: int, judged: _Judged, outcome: StepOutcome) -> TestResult:
    """With several passes the costs are those of the dearest pass, since each pass has the full limits."""
    earlier = earlier_passes(outcome)
    runs = [*(one.answer for one in earlier), answers_outcome(outcome)]
    return TestResult(
        index,
        judged.status,
        f"pass {len(runs)}: {judged.reason}" if earlier and judged.reason else judged.reason,
        judged.points,
        max(run.cpu_time_s for run in runs),
        max(run.wall_time_s for run in runs),
        max(run.peak_memory_bytes for run in runs),
        judged.got,
    )


def _expected(task: CodingTask, state: State) -> tuple[object, ...] | str:
    """The reference's values, or why there are none."""
    if not isinstance(task.tests, ReferenceTests):
        return ()
    try:
        return tuple(expected_values(task.tests, state.builds[0])) if state.builds else "the reference was not run"
    except ReferenceFailed as failed:
        return str(failed)
