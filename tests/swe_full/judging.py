"""One patch of a row, judged by us, and the log that the row's own command prints in a box with the same files."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Outcome, Run, State
from sandbox_gym.engine import Engine
from sandbox_gym.server.swe.server import SweResources
from sandbox_gym.swe.building import Instance
from sandbox_gym.verifiers.swe import CaseStatus, Grade, SweJob, SweTask, SweVerifier, statuses

PREPARE = ".verify/prepare.json"
LOG_S = 300
TABLE: list[tuple[str, ...]] = []
"""A line for each row and provider: the report of the run."""
DIFFERENCES: list[str] = []
"""Tests of a wrong patch that ended otherwise in the row's own command: those that lean on their neighbours."""


@dataclass(frozen=True)
class Judged:
    """`grade` is None where no test ran."""

    grade: Grade | None
    statuses: dict[str, CaseStatus]
    tamper: tuple[str, ...]
    wall_s: float


class Judging:
    """Patches on one engine."""

    def __init__(self, engine: Engine, settings: Settings) -> None:
        self.engine = engine
        self.provider = engine.provider_name
        self._resources = SweResources(settings)

    async def built(self, task: SweTask) -> Instance:
        return await self._resources.instances(self.engine).ensure(task)

    async def job(self, task: SweTask) -> SweJob:
        """With what the row's own fix did, as the server judges."""
        return replace(await self._resources.job(self.engine, task), run_empty=True)

    async def judged(self, task: SweTask, patch: str) -> Judged:
        """The first run's verdict; nothing is run again."""
        verifier, job, answer = SweVerifier(), await self.job(task), Answer(patch)
        plan = verifier.plan(job, answer)
        result = await self.engine.runner.run(plan)
        state = result.state
        verdict = verifier.judge(job, answer, plan, state or State((), "none", self.provider))
        report = verifier.report(job, answer, state)
        found = statuses(job, report) if report is not None else {}
        grade = verifier.grade_of(job, answer, state)
        return Judged(grade, found, verdict.tamper, result.timings_s.get("run", 0.0))

    async def log(self, task: SweTask, patch: str) -> str:
        """What the row's test command prints, prepared as for a verdict: only the watcher's place is taken by it."""
        job = await self.job(task)
        plan = SweVerifier().plan(job, Answer(patch))
        step = plan.steps[0]
        assert isinstance(step, Run)
        files = dict(step.program.files)
        script = f"cd {job.checkout.workdir} && timeout {LOG_S} {task.test_command} 2>&1"
        files[PREPARE] = json.dumps({**json.loads(files[PREPARE]), "watch": ["/bin/bash", "-c", script]}).encode()
        state = await self.engine.run(replace(plan, steps=(replace(step, program=replace(step.program, files=files)),)))
        outcome = state.outcomes[0]
        assert isinstance(outcome, Outcome)
        return outcome.stdout.decode("utf-8", "replace")
