"""Judges runs of a test in the answer's own process: those of the true test, and those of variants that must fail.

Pure. The guest reports behind the run's key how `check` ended. The answer shares the process whose end is reported, so
that one report proves nothing: a pass counts where the variants failed, as they do on the row's own solution.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from sandbox_gym.contract import InvertedTests, Outcome, Plan, Run, State, Status, TestResult, TestStatus
from sandbox_gym.errors import ToolchainMissing
from sandbox_gym.verifiers.coding.diagnostics import last_line, plain
from sandbox_gym.verifiers.coding.functions.inverted import Inverted, doubt_of, order_of, pool_of, seed_of, why_none
from sandbox_gym.verifiers.coding.functions.shapes import CheckTests
from sandbox_gym.verifiers.coding.plan import REHEARSAL, TOGETHER
from sandbox_gym.verifiers.coding.tamper import CHANGED as _CHANGED
from sandbox_gym.verifiers.coding.tamper import FORGED as _FORGED
from sandbox_gym.verifiers.coding.tamper import SIGNS
from sandbox_gym.verifiers.coding.task import CodingTask

_WORD_MAX = 10_000
_REPORT_MAX = 100_000
_CAPS = (TestStatus.TIME_LIMIT, TestStatus.MEMORY_LIMIT, TestStatus.OUTPUT_LIMIT)
Failed = Callable[[CodingTask, Outcome], "tuple[TestStatus, str] | None"]


@dataclass(frozen=True, slots=True)
class Together:
    """How the runs in one process ended. `signs`: tamper signs, each of which costs the reward."""

    result: TestResult
    inverted: InvertedTests | None = None
    signs: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Word:
    """The guest's report of a run. `genuine`: it stands behind the run's key."""

    end: str = ""
    genuine: bool = False
    assertion: bool = False
    changed: str = ""
    reached: str = ""
    """By which name the answer looked for its test."""

    @property
    def raised(self) -> bool:
        return self.genuine and self.end == "raised"


def has_returned(outcome: Outcome) -> bool:
    """Whether the guest reports that `check` returned, under any key."""
    return outcome.status is Status.OK and _word(outcome, "").end == "returned"


def judge_together(task: CodingTask, plan: Plan, state: State, failed: Failed) -> Together:
    """The result of the runs in one process. Raises ToolchainMissing where pytest is not installed."""
    pairs = zip(plan.steps, state.outcomes, strict=False)
    runs = [(step, out) for step, out in pairs if isinstance(step, Run) and isinstance(out, Outcome)]
    runs = [(step, outcome) for step, outcome in runs if step.name == TOGETHER]
    (_, outcome), words = runs[0], [_word(outcome, step.stdin.decode()) for step, outcome in runs]
    signs = _seen(words, task.tests.said if isinstance(task.tests, CheckTests) else "")
    status, reason = _true_end(task, outcome, words[0], failed)
    inverted = None
    if status is TestStatus.PASSED and isinstance(task.tests, CheckTests):
        source = runs[0][0].program.files["main.py"].decode("utf-8", "surrogatepass")
        seed = task.seed or seed_of(task.tests, source, task.secret)
        rest = list(zip(order_of(task.tests, seed), words[1:], [one for _, one in runs[1:]], strict=False))
        judged = _Inversion(task, _rehearsed(task.tests, plan, state), failed).judged(rest, seed)
        inverted, signs = judged.inverted, {**signs, **judged.signs}
        status, reason = judged.status, judged.reason
        if signs and status is TestStatus.PASSED:
            status, reason = TestStatus.WRONG_ANSWER, next(iter(signs.values()))
    return Together(_result(status, reason, outcome), inverted, signs)


def _word(outcome: Outcome, key: str) -> _Word:
    head, _, text = outcome.channel[:_WORD_MAX].partition(b" ")
    try:
        said = json.loads(text)
        return _Word(
            end=str(said["end"]),
            genuine=bool(key) and head == key.encode(),
            assertion=said.get("assertion") is True,
            changed=plain(str(said.get("changed") or ""), 100),
            reached=plain(" ".join(map(str, said.get("reached") or ())), 100),
        )
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError):
        return _Word()


def _seen(words: Sequence[_Word], row: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for index, word in enumerate(words):
        if word.changed:
            found.setdefault(_CHANGED, f"run {index}: {word.changed}")
        if word.reached and word.reached not in row:
            found.setdefault("source_reaches_test", f"run {index}: {word.reached}")
        if word.end == "forged":
            found.setdefault(_FORGED, f"run {index}: {SIGNS[_FORGED]}")
    return found


def _true_end(task: CodingTask, outcome: Outcome, word: _Word, failed: Failed) -> tuple[TestStatus, str]:
    """A failed assertion is a wrong answer; a pass needs the guest's report that `check` returned."""
    if word.genuine and word.end == "no_pytest":
        raise ToolchainMissing(
            "the sandboxes have no pytest; run `apt-get install python3-pytest` on this machine, or"
            " `-m pip install pytest` with the interpreter that SANDBOX_GYM_LOCAL_PYTHON names"
        )
    ended = failed(task, outcome)
    if ended is None:
        if word.genuine and word.end == "returned":
            return TestStatus.PASSED, ""
        return TestStatus.WRONG_ANSWER, "check did not return"
    status, reason = ended
    if status is TestStatus.RUNTIME_ERROR and last_line(outcome.stderr).startswith("AssertionError"):
        status = TestStatus.WRONG_ANSWER
    return status, reason


@dataclass(frozen=True, slots=True)
class _Judged:
    status: TestStatus
    reason: str
    inverted: InvertedTests
    signs: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Inversion:
    """Judges the runs after the first. `rehearsed`: how each variant of the pool ended on the row's own solution; empty
    where that is unknown."""

    task: CodingTask
    rehearsed: Mapping[Inverted, str]
    failed: Failed

    def judged(self, runs: Sequence[tuple[Inverted | None, _Word, Outcome]], seed: str) -> _Judged:
        signs: dict[str, str] = {}
        counts = {"variants": 0, "failed": 0, "unchanged": 0}
        status, reason = TestStatus.PASSED, ""
        assert isinstance(self.task.tests, CheckTests)
        doubts = doubt_of(self.task.tests)
        for variant, word, outcome in runs:
            if variant is not None and not self._usable(variant):
                continue
            if variant not in doubts:
                counts["unchanged" if variant is None else "variants"] += 1
            capped = self._capped(outcome, word)
            sign = "" if capped else self._sign(variant, word, outcome)
            if capped and status is TestStatus.PASSED:
                status, reason = capped
            elif sign:
                where = f"{variant.evidence}: " if variant is not None else ""
                signs.setdefault(sign, f"{where}{SIGNS[sign]}")
                status, reason = TestStatus.WRONG_ANSWER, signs[sign]
            elif variant is not None and variant not in doubts and not capped:
                counts["failed"] += 1
        why = "" if counts["variants"] else self._why_none()
        return _Judged(status, reason, InvertedTests(**counts, why_none=why, seed=seed), signs)

    def _usable(self, variant: Inverted) -> bool:
        if variant in self.rehearsed:
            end = self.rehearsed[variant]
            return end == "returned" if variant.kind == "doubted" else end not in ("", "returned", "forged")
        return variant.certain

    def _capped(self, outcome: Outcome, word: _Word) -> tuple[TestStatus, str] | None:
        """The cap that the run met. It is no sign of tampering, and no pass."""
        ended = None if word.raised else self.failed(self.task, outcome)
        return ended if ended is not None and ended[0] in _CAPS else None

    def _sign(self, variant: Inverted | None, word: _Word, outcome: Outcome) -> str:
        returned = word.genuine and word.end == "returned" and outcome.status is Status.OK
        if variant is None or variant.kind == "doubted":
            return "" if returned else "inverted_test_disturbed"
        if returned:
            return "inverted_test_survived"
        asserts = self._asserts(variant)
        return "" if word.raised and (word.assertion or not asserts) else "inverted_test_ended_otherwise"

    def _asserts(self, variant: Inverted) -> bool:
        """Whether the variant fails by an AssertionError."""
        if variant in self.rehearsed:
            return self.rehearsed[variant] == "AssertionError"
        assert isinstance(self.task.tests, CheckTests)
        if variant.kind == "other_operand":  # comparing with another kind of value may raise
            return False
        return self.task.tests.style != "check" or variant.kind != "other_exception"

    def _why_none(self) -> str:
        assert isinstance(self.task.tests, CheckTests)
        if self.rehearsed:
            return "no variant of the test fails on the row's own solution"
        return why_none(self.task.tests)


def _rehearsed(tests: CheckTests, plan: Plan, state: State) -> Mapping[Inverted, str]:
    """How the variants ended on the row's own solution, where the true test passes on it."""
    for build, outcome in zip(plan.builds, state.builds, strict=False):
        if build.name == REHEARSAL and outcome.status is Status.OK:
            try:
                said = json.loads(outcome.stdout[:_REPORT_MAX])
                if said["together"] is True:
                    return dict(zip((*pool_of(tests), *doubt_of(tests)), map(str, said["inverted"]), strict=False))
            except (ValueError, RecursionError, LookupError, TypeError):
                return {}
    return {}


def _result(status: TestStatus, reason: str, costs: Outcome) -> TestResult:
    score = float(status is TestStatus.PASSED)
    return TestResult(0, status, reason, score, costs.cpu_time_s, costs.wall_time_s, costs.peak_memory_bytes)
