"""Whether a row can be trained on: its own fix resolves it, an empty patch does not, and its tests do not flake."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import Engine
from sandbox_gym.errors import RequestError, Unavailable
from sandbox_gym.swe.judging import judge_patch
from sandbox_gym.verifiers.swe import CaseStatus, SweJob, statuses, weak_spots

MAX_NAMED = 20


@dataclass(frozen=True, slots=True)
class Validation:
    """One row's finding. `problem`: why nothing more is known."""

    instance_id: str
    problem: str = ""
    gold_resolves: bool = False
    empty_resolves: bool = False
    gold_reason: str = ""
    weak: tuple[str, ...] = ()
    """Tests whose status before any patch is not what their list says."""
    flaky: tuple[str, ...] = ()
    """Tests that ended differently in runs of the same patch."""
    signs: tuple[str, ...] = ()
    """Signs of tampering that the row's own fix gives."""
    invertible: int = 0
    """How many of its deciding tests have a variant that fails over the row's own fix."""
    not_inverted: str = ""
    """Why none has."""
    gold_s: float = 0.0
    """Seconds of one verify of the fix, the median."""

    @property
    def sound(self) -> bool:
        return not (self.problem or self.empty_resolves or self.weak or self.flaky) and self.gold_resolves


async def validate(engine: Engine, job: SweJob, *, runs: int) -> Validation:
    """Run the empty patch and the row's own, `runs` times each; the job must have the empty one run. Never raises
    RequestError or Unavailable."""
    task = job.task
    if not task.patch:
        return Validation(task.instance_id, "the row has no patch of its own")
    try:
        before = [await _ran(engine, job, "") for _ in range(runs)]
        after = [await _ran(engine, job, task.patch) for _ in range(runs)]
    except (RequestError, Unavailable) as error:
        return Validation(task.instance_id, str(error)[:1000])
    bad = next((verdict for verdict, _, _ in after if verdict.reward != 1.0), None)
    return Validation(
        task.instance_id,
        gold_resolves=bad is None,
        empty_resolves=any(verdict.reward == 1.0 for verdict, _, _ in before),
        gold_reason=bad.failure_reason if bad is not None else "",
        weak=tuple(weak_spots(task, before[0][1]))[:MAX_NAMED],
        flaky=_flaky([found for _, found, _ in before], [found for _, found, _ in after]),
        signs=after[0][0].tamper,
        invertible=sum(test.decides for test in job.reference.tests) if job.reference is not None else 0,
        not_inverted=job.reference.why_none if job.reference is not None else "",
        gold_s=sorted(seconds for _, _, seconds in after)[len(after) // 2],
    )


async def _ran(engine: Engine, job: SweJob, patch: str) -> tuple[Verdict, dict[str, CaseStatus], float]:
    started = time.monotonic()
    judged = await judge_patch(engine, job, Answer(patch))
    found = statuses(job, judged.report) if judged.report is not None else {}
    return judged.verdict, found, time.monotonic() - started


def _flaky(*series: list[dict[str, CaseStatus]]) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for runs in series:
        for test in {test for run in runs for test in run}:
            if len({run.get(test) for run in runs}) > 1:
                found[test] = None
    return tuple(sorted(found))[:MAX_NAMED]
