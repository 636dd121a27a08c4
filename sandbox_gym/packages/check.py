"""A package judged by itself: every submission must get a verdict that it was filed under."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from sandbox_gym.contract import CONTEST_CODES, Answer, TestStatus, Verdict
from sandbox_gym.engine import Engine
from sandbox_gym.errors import RequestError, Unavailable
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.packages.expectations import matches
from sandbox_gym.packages.package import Expected, Package, PackageError, Rule, Submission
from sandbox_gym.packages.rows import package_row
from sandbox_gym.verifiers.coding import (
    CodingVerifier,
    Language,
    Sources,
    fenced,
    fenced_files,
    language_named,
    parse_task,
)

_NO_WORD = {"PE": "WA", "MLE": "RTE", "OLE": "RTE"}
"""Verdicts that `submissions.yaml` has no word for, and what they count as there."""
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Got:
    """A submission's verdict: overall, by test in the package's order, and its share of all points."""

    verdict: str
    tests: tuple[tuple[str, str], ...]
    """(name, verdict) of each that was run."""
    reward: float
    points: float
    whole: bool
    """Every test was run, whatever failed."""


def got(package: Package, verdict: Verdict, *, whole: bool) -> Got:
    """What a verdict says of the package's tests."""
    ran = [test for test in verdict.tests if test.status is not TestStatus.SKIPPED]
    tests = tuple((package.cases[test.index].name, CONTEST_CODES[test.status]) for test in ran)
    points = verdict.reward * sum(group.points for group in package.groups)
    return Got(verdict.contest, tests, verdict.reward, points, whole)


def decided(submission: Submission, result: Got) -> bool:
    """Whether the tests after the first failure would change nothing."""
    if result.whole or result.verdict in ("AC", "CE"):
        return True
    return not submission.rules and (result.verdict not in submission.also or agrees(submission, result))


def agrees(submission: Submission, result: Got) -> bool:
    """Whether this is one of the verdicts that are expected."""
    if submission.rules:
        return all(_keeps(rule, result) for rule in submission.rules)
    verdicts = {verdict for _, verdict in result.tests} or {result.verdict}
    if any(_is(expected, result.verdict, result.reward) for expected in submission.expected):
        return True
    bad = verdicts - {"AC"}
    expected = {word for word in bad if any(_is(one, word, result.reward) for one in submission.expected)}
    return result.whole and bool(expected) and bad - expected <= set(submission.also)


def _is(expected: Expected, verdict: str, reward: float) -> bool:
    if expected == "partial":
        return 0.0 < reward < 1.0
    if expected == "rejected":
        return verdict not in ("AC", "JE")
    return verdict == expected or (expected == "WA" and verdict == "PE") or (expected == "RTE" and verdict == "MLE")


def _keeps(rule: Rule, result: Got) -> bool:
    """Whether a rule of `submissions.yaml` holds."""
    verdicts = _words(verdict for name, verdict in result.tests if not rule.tests or matches(rule.tests, name))
    if rule.score is not None:
        least, most = rule.score
        near = _ROUNDING * max(1.0, abs(most))
        if not least - near <= result.points <= most + near:
            return False
    if not verdicts:  # no such tests, or none could be run
        return result.verdict != "CE"
    return set(verdicts) <= rule.permitted and any(verdict in rule.required for verdict in verdicts)


def _words(verdicts: Iterable[str]) -> Sequence[str]:
    return [_NO_WORD.get(verdict, verdict) for verdict in verdicts]


CEILING_S = 20.0
"""CPU seconds that a submission may take where the package sets no limit."""
Status = Literal["agrees", "disagrees", "refused"]


@dataclass(frozen=True, slots=True)
class SubmissionResult:
    """One submission: what was expected, what came, and what it cost; or why it was not judged."""

    submission: Submission
    got: str
    reward: float
    cpu_time_s: float
    reason: str = ""
    status: Status = "disagrees"

    @property
    def agrees(self) -> bool:
        return self.status == "agrees"


async def time_limit(engine: Engine, package: Package) -> float:
    """The package's limit in CPU seconds; where it has none, its multiplier times the slowest accepted submission's
    time, the next multiple of its resolution. Raises PackageError when none is accepted."""
    if package.time_limit_s is not None:
        return package.time_limit_s
    times = []
    for submission in package.submissions:
        if submission.expected == ("AC",):
            finding = await judged(engine, package, submission, CEILING_S)
            if finding.got == "AC":
                times.append(finding.cpu_time_s)
    if not times:
        raise PackageError(f"{package.name}: no time limit, and no accepted submission is right; set limits.time_limit")
    step = package.time_resolution_s
    return float(step * max(1, math.ceil(package.time_multiplier * max(times) / step)))


async def check(engine: Engine, package: Package, limit_s: float) -> AsyncIterator[SubmissionResult]:
    """Each submission's finding, in order. Raises PackageError for a row that can't be judged."""
    if not any(_accepted(submission) for submission in package.submissions):
        raise PackageError(f"{package.name}: has no accepted submission; put one into submissions/accepted")
    for submission in package.submissions:
        yield await judged(engine, package, submission, limit_s)


def _accepted(submission: Submission) -> bool:
    return "AC" in submission.expected or any("AC" in rule.required for rule in submission.rules)


async def judged(engine: Engine, package: Package, submission: Submission, limit_s: float) -> SubmissionResult:
    """One submission's verdict under this time limit; all tests are run where the first failure does not decide."""
    if submission.refused:
        return _refused(submission, submission.refused)
    language = language_named(submission.language)
    assert language is not None, "the reader names languages of ours"
    try:
        answer = _answer(submission, language)
    except RequestError as error:
        return _refused(submission, str(error))
    whole = bool(submission.rules)
    try:
        several = bool(submission.main)
        verdict = await _verdict(engine, package, answer, language, limit_s, several=several, whole=whole)
        result = got(package, verdict, whole=whole)
        if not decided(submission, result):
            verdict = await _verdict(engine, package, answer, language, limit_s, several=several, whole=True)
            result = got(package, verdict, whole=True)
    except RequestError as error:
        raise PackageError(f"{package.name}: {error}") from None
    except Unavailable as error:
        return SubmissionResult(submission, "no verdict", 0.0, 0.0, str(error))
    return _finding(package, submission, verdict, result)


def _answer(submission: Submission, language: Language) -> Answer:
    """The submission as the text of an answer. Raises RequestError for one that no text holds."""
    if not submission.main:
        return Answer(fenced(submission.source, language))
    return Answer(fenced_files(Sources(submission.main, submission.source, submission.files), language))


async def _verdict(
    engine: Engine, package: Package, answer: Answer, language: Language, limit_s: float, *, several: bool, whole: bool
) -> Verdict:
    row = package_row(package, time_limit_s=limit_s, language=language.name, multi_file=several)
    limits = Limits(cpu_time_s=limit_s, wall_time_s=3 * limit_s + 2, memory_bytes=package.memory_limit_mb * MIB)
    task = replace(parse_task(row["verifier_metadata"], limits=limits, early_stop=True), early_stop=not whole)
    return (await engine.verify(CodingVerifier(), task, answer)).verdict


def _finding(package: Package, submission: Submission, verdict: Verdict, result: Got) -> SubmissionResult:
    slowest = max((test.cpu_time_s for test in verdict.tests), default=0.0)
    status: Status = "agrees" if agrees(submission, result) else "disagrees"
    return SubmissionResult(submission, result.verdict, verdict.reward, slowest, _why(package, verdict), status)


def _refused(submission: Submission, why: str) -> SubmissionResult:
    return SubmissionResult(submission, "refused", 0.0, 0.0, why, "refused")


def _why(package: Package, verdict: Verdict) -> str:
    """The first test that did not pass, by the package's own name for it."""
    for test in verdict.tests:
        if test.status not in ("passed", "skipped"):
            return f"{package.cases[test.index].name}: {test.reason}"
    return ""
