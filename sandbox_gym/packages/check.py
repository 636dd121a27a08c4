"""A package judged by itself: every submission must get a verdict that it was filed under."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from dataclasses import dataclass

from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.errors import RequestError, Unavailable
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.packages.package import Expected, Package, PackageError, Submission
from sandbox_gym.packages.rows import package_row
from sandbox_gym.server.resources import JudgingEngine
from sandbox_gym.verifiers.coding import CodingVerifier, fenced, language_named, parse_task

CEILING_S = 20.0
"""CPU seconds that a submission may take where the package sets no limit."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One submission: what was expected, what came, and what it cost."""

    submission: Submission
    got: str
    reward: float
    cpu_time_s: float
    reason: str = ""

    @property
    def agrees(self) -> bool:
        return any(_is(expected, self) for expected in self.submission.expected)


def _is(expected: Expected, finding: Finding) -> bool:
    if expected == "partial":
        return 0.0 < finding.reward < 1.0
    if expected == "rejected":
        return finding.got not in ("AC", "no verdict")
    return finding.got == expected or (expected == "WA" and finding.got == "PE")


async def time_limit(engine: JudgingEngine, package: Package) -> float:
    """The package's limit in CPU seconds; where it has none, its multiplier times the slowest accepted submission's
    time, a whole number of at least 1. Raises PackageError when none is accepted."""
    if package.time_limit_s is not None:
        return package.time_limit_s
    times = []
    for submission in package.submissions:
        if submission.expected == ("AC",):
            finding = await judged(engine, package, submission, CEILING_S)
            if finding.agrees:
                times.append(finding.cpu_time_s)
    if not times:
        raise PackageError(f"{package.name}: no time limit, and no accepted submission is right; set limits.time_limit")
    return float(max(1, math.ceil(package.time_multiplier * max(times))))


async def check(engine: JudgingEngine, package: Package, limit_s: float) -> AsyncIterator[Finding]:
    """Each submission's finding, in order. Raises PackageError for a row that can't be judged."""
    if not any("AC" in submission.expected for submission in package.submissions):
        raise PackageError(f"{package.name}: has no accepted submission; put one into submissions/accepted")
    for submission in package.submissions:
        yield await judged(engine, package, submission, limit_s)


async def judged(engine: JudgingEngine, package: Package, submission: Submission, limit_s: float) -> Finding:
    """One submission's verdict under this time limit."""
    language = language_named(submission.language)
    assert language is not None, "the reader names languages of ours"
    row = package_row(package, time_limit_s=limit_s, language=language.name)
    limits = Limits(cpu_time_s=limit_s, wall_time_s=3 * limit_s + 2, memory_bytes=package.memory_limit_mb * MIB)
    try:
        task = parse_task(row["verifier_metadata"], limits=limits, early_stop=True)
        answer = Answer(fenced(submission.source, language))
        verdict, _plan, _state = await engine.judged(CodingVerifier(), task, answer)
    except RequestError as error:
        raise PackageError(f"{package.name}: {error}") from None
    except Unavailable as error:
        return Finding(submission, "no verdict", 0.0, 0.0, str(error))
    slowest = max((test.cpu_time_s for test in verdict.tests), default=0.0)
    return Finding(submission, verdict.contest, verdict.reward, slowest, _why(package, verdict))


def _why(package: Package, verdict: Verdict) -> str:
    """The first test that did not pass, by the package's own name for it."""
    for test in verdict.tests:
        if test.status not in ("passed", "skipped"):
            return f"{package.cases[test.index].name}: {test.reason}"
    return ""
