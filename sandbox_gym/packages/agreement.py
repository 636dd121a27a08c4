"""Whether what a submission got is what it is filed under. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sandbox_gym.contract import CONTEST_CODES, TestStatus, Verdict
from sandbox_gym.packages.expectations import matches
from sandbox_gym.packages.package import Expected, Package, Rule, Submission

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
