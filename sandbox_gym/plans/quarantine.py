"""Plans that ended two sandboxes, with evidence that points at the program: known by content, and not run again."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from typing import Final

import structlog

from sandbox_gym.contract import (
    Checked,
    CheckedOutcome,
    Dialogue,
    DialogueOutcome,
    Outcome,
    Plan,
    Query,
    Run,
    State,
    Status,
    StepOutcome,
)
from sandbox_gym.errors import LossEvidence
from sandbox_gym.observe import traces
from sandbox_gym.observe.metrics import Metrics

MAX_QUARANTINE: Final = 1000
_log = structlog.get_logger(__name__)


class Quarantine:
    """The latest such plans; their outcome is the program's fault, now and whenever they are asked for again."""

    def __init__(self, metrics: Metrics, provider: str) -> None:
        self._metrics, self._provider = metrics, provider
        self._outcomes: OrderedDict[bytes, Outcome] = OrderedDict()

    def state_of(self, plan: Plan) -> State | None:
        """The state of a plan that is in quarantine; None for any other."""
        return self._found(plan, _digest(plan)) if self._outcomes else None

    def _found(self, plan: Plan, digest: bytes) -> State | None:
        outcome = self._outcomes.get(digest)
        if outcome is None:
            return None
        self._metrics.quarantined.inc()
        traces.event("quarantined")
        return self._state(plan, outcome)

    def add(self, plan: Plan, kills: Sequence[LossEvidence]) -> State:
        """Put a plan that killed sandboxes into quarantine; its state."""
        memory = any(kill.oom_kills for kill in kills)
        status, how = (Status.MEMORY_LIMIT, "memory") if memory else (Status.WALL_TIME_LIMIT, "process")
        detail = f"ended {len(kills)} sandboxes, each at its {how} cap"
        outcome = Outcome(status, detail=detail, tamper=("sandbox_killed",))
        digest = _digest(plan)
        self._outcomes[digest] = outcome
        while len(self._outcomes) > MAX_QUARANTINE:
            self._outcomes.popitem(last=False)
        self._metrics.feed.note("quarantine", cause=f"program_{'memory' if memory else 'processes'}", why=detail)
        _log.warning("plan_quarantined", plan=digest.hex()[:16], why=detail)
        return self._state(plan, outcome)

    def _state(self, plan: Plan, outcome: Outcome) -> State:
        first: StepOutcome = outcome
        if isinstance(plan.steps[0], Dialogue):
            first = DialogueOutcome(asker=Outcome(Status.OK), candidate=outcome)
        elif isinstance(plan.steps[0], Checked):
            first = CheckedOutcome(outcome, None)
        return State((first,), "none", self._provider)


def _digest(plan: Plan) -> bytes:
    """Names a plan by what it runs: programs, inputs and caps."""
    digest = hashlib.sha256(str(plan.image).encode())
    for step in plan.steps:
        if isinstance(step, Query):
            digest.update(step.request)
    for run in _runs_of(plan):
        program = run.program
        head = (program.mode, program.main, program.argv, sorted(program.env.items()), program.entry_point)
        digest.update(repr((head, run.limits, sorted(program.files))).encode("utf-8", "surrogatepass"))
        for path in sorted(program.files):
            digest.update(hashlib.sha256(program.files[path]).digest())
        digest.update(hashlib.sha256(run.stdin).digest())
    return digest.digest()


def _runs_of(plan: Plan) -> list[Run]:
    """Every run of a plan, builds first."""
    runs = [build.run for build in plan.builds]
    for step in plan.steps:
        if isinstance(step, Dialogue):
            runs += [step.asker, step.candidate]
        elif isinstance(step, Checked):
            runs += [step.answer, step.checker]
        elif isinstance(step, Run):
            runs.append(step)
    return runs
