"""Plans on this machine's provider: lease, put, run, get, release, with tries and a deadline.

Owns the order of these, which failure is tried again, and when a plan is held to have ended its sandboxes. Judges
nothing.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from typing import Final

import anyio
import structlog

from sandbox_gym.contract import Doubt, Isolation, Plan, Query, SnapshotRef, State, Status, StepOutcome
from sandbox_gym.errors import BoxLost, DeadlineExceeded, LossEvidence, ProviderDown, Unavailable
from sandbox_gym.faults import as_provider_down
from sandbox_gym.observe import traces
from sandbox_gym.observe.metrics import Metrics
from sandbox_gym.plans.builds import Builds
from sandbox_gym.plans.quarantine import Quarantine
from sandbox_gym.plans.runner import ANYONE, Caller, Passed, PlanResult, all_pass
from sandbox_gym.plans.starvation import Doubted, QuietSlot, is_starved, no_verdict
from sandbox_gym.plans.steps import PlanRun, boxes_for
from sandbox_gym.sandbox.pool.pool import Pool
from sandbox_gym.sandbox.pool.services import Services
from sandbox_gym.sandbox.pressure import machine_pressure

EVIDENCE_S: Final = 5.0
QUIET_S: Final = 3.0
"""How long a doubted time limit waits for other work to end before it is tried again."""
BUSY: Final = 0.2
MACHINE: Final = "the machine refused what a verify needs"
_log = structlog.get_logger(__name__)


def machine_is_busy() -> bool:
    """Whether tasks of this machine have waited for a CPU for much of the last seconds."""
    return machine_pressure() > BUSY


class LocalPlanRunner:
    """Runs plans in the pool's boxes, and plans of queries in services."""

    def __init__(
        self,
        pool: Pool,
        metrics: Metrics,
        *,
        attempts: int = 3,
        deadline_s: float = 600.0,
        services: Services | None = None,
        busy: Callable[[], bool] = machine_is_busy,
    ) -> None:
        self._pool, self._metrics, self._services = pool, metrics, services
        self._attempts, self._deadline_s, self._busy = attempts, deadline_s, busy
        self._builds = Builds()
        self._quarantine = Quarantine(metrics, pool.provider.name)
        self._crashes = 0
        self._show()

    def _show(self) -> None:
        metrics, pool = self._metrics, self._pool
        metrics.watch_all("pool", pool.stats_dict)
        metrics.watch("pool_boxes", "Sandboxes alive at once, at most", lambda: pool.boxes)
        metrics.watch("pool_queue_size", "Requests that may wait", lambda: pool.admission.queue_size)
        metrics.watch("builds_made", "Compilations and the like that were made", lambda: self._builds.made)
        metrics.watch("builds_reused", "Builds answered from what was kept", lambda: self._builds.reused)
        if pool.provider.doctor.costs():
            metrics.watch_all(pool.provider.name, pool.provider.doctor.costs)
        if self._services is not None:
            metrics.watch_all("services", self._services.stats_dict)

    @property
    def provider_name(self) -> str:
        return self._pool.provider.name

    def stats(self) -> dict[str, int]:
        """The pool's counters, and how many sandboxes were lost in use."""
        return {**self._pool.stats_dict(), "crashes": self._crashes}

    def queues(self) -> dict[str, int]:
        """Requests that wait, by tenant."""
        waiting = Counter(self._pool.admission.by_tenant())
        waiting.update(self._services.by_tenant() if self._services is not None else {})
        return dict(waiting)

    def nodes(self) -> dict[str, dict[str, str | int]]:
        """There is this machine only."""
        return {}

    async def run(self, plan: Plan, passed: Passed = all_pass, caller: Caller = ANYONE) -> PlanResult:
        """What the plan did in the first sandboxes that lived through it. Raises Unavailable."""
        if not plan.steps:
            return PlanResult(None)
        quarantined = self._quarantine.state_of(plan)
        if quarantined is not None:
            return PlanResult(quarantined, attempts=0)
        timings: dict[str, float] = {}
        deadline_s = min(caller.deadline_s or self._deadline_s, self._deadline_s)
        deadline = time.monotonic() + deadline_s
        failure: Unavailable | None = None
        kills: list[LossEvidence] = []
        doubted = False
        for attempt in range(1, self._attempts + 1):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            if failure is not None:
                self._note_retry(failure, attempt)
            # the last try counts: else who kills itself each time would never have a verdict
            doubted = doubted or isinstance(failure, Doubted) or attempt == self._attempts
            try:
                # only this scope is the deadline: a TimeoutError from below is the machine's, as any OSError
                with anyio.move_on_after(left), traces.span("attempt", {"attempt": attempt}), as_provider_down(MACHINE):
                    if isinstance(plan.steps[0], Query):
                        state = await self._run_queries(plan, timings, caller.tenant)
                    else:
                        state = await self._run_attempt(plan, passed, timings, caller.tenant, doubted=doubted)
                    return PlanResult(state, attempt, timings)
                break
            except BoxLost as error:
                failure = error
                self._note_crash(error, attempt)
                kills += [error.evidence] if error.evidence.points_at_program else []
                if len(kills) == 2:
                    return PlanResult(self._quarantine.add(plan, kills), attempt, timings)
            except ProviderDown as error:
                failure = error
                self._note_provider_down(error, attempt)
                await anyio.sleep(min(0.2 * attempt, max(0.0, deadline - time.monotonic())))
        if failure is not None and time.monotonic() < deadline:
            raise failure
        raise DeadlineExceeded(f"no verdict within {deadline_s:g} s" + (f"; last: {failure}" if failure else ""))

    # -- reports of failures

    def _note_retry(self, failure: Unavailable, attempt: int) -> None:
        self._metrics.retries.inc()
        self._metrics.feed.note("retry", why=str(failure), attempt=attempt)
        traces.event("retry", {"attempt": attempt, "after": failure.failure_kind})

    def _note_crash(self, error: BoxLost, attempt: int) -> None:
        evidence = error.evidence
        cause = evidence.cause
        self._crashes += 1
        self._metrics.crashes.labels(cause).inc()
        traces.event("box_lost", {"attempt": attempt, "cause": cause, "oom_kills": evidence.oom_kills})
        why = f"{error}; {evidence.detail}" if evidence.detail else str(error)
        self._metrics.feed.note("crash", cause=cause, why=why, attempt=attempt)
        _log.warning("box_lost", attempt=attempt, cause=cause, evidence=evidence.detail, why=str(error))

    def _note_provider_down(self, error: ProviderDown, attempt: int) -> None:
        self._metrics.feed.note("provider_down", cause=error.failure_kind, why=str(error), attempt=attempt)
        _log.warning("attempt_failed", attempt=attempt, kind=error.failure_kind, why=str(error))

    def _note_rerun(self, doubt: Doubt) -> None:
        self._metrics.reruns.labels(doubt.value).inc()
        traces.event("run_repeated", {"why": doubt.value})

    # -- one try

    async def _run_attempt(
        self, plan: Plan, passed: Passed, timings: dict[str, float], tenant: str, *, doubted: bool
    ) -> State:
        started = time.perf_counter()
        async with self._pool.lease(plan.image, boxes_for(plan), tenant=tenant) as lease:
            leased, boxes = time.perf_counter(), lease.boxes
            timings["queue"] = timings.get("queue", 0.0) + lease.queued_s
            timings["acquire"] = timings.get("acquire", 0.0) + leased - started - lease.queued_s
            quiet = QuietSlot(self._busy, lambda: self._pool.quiet(len(boxes), within_s=QUIET_S), self._note_rerun)
            work = PlanRun(plan, boxes, self._builds, quiet, passed, doubted=doubted)
            try:
                state = await work.state(self.provider_name)
            except BoxLost as error:
                if error.evidence is BoxLost.evidence:  # else it came with what was seen
                    with anyio.CancelScope(shield=True), anyio.move_on_after(EVIDENCE_S):
                        error.evidence = await boxes[0].evidence()  # a judge's box is no answer's to end
                raise
            timings["run"] = timings.get("run", 0.0) + time.perf_counter() - leased
        if isinstance(plan.image, SnapshotRef):  # such a box serves one plan, and candidates come in groups
            self._pool.prefetch(plan.image, 1)
        return state

    async def _run_queries(self, plan: Plan, timings: dict[str, float], tenant: str) -> State:
        """A plan of queries. Wall time that ran out is the machine's doing, whose CPU time did not: asked once more.
        Raises Starved where the service's worker then was kept from its CPU again."""
        if self._services is None:
            raise ProviderDown(f"provider {self.provider_name} holds no services; use local, docker or e2b")
        started, queued_s = time.perf_counter(), 0.0
        outcomes: list[StepOutcome | None] = []
        isolation: Isolation = "none"
        for index, query in enumerate(plan.steps):
            assert isinstance(query, Query)
            with traces.span("query", {"index": index, "service": query.service.name}) as span:
                outcome, box, waited_s = await self._services.ask(query, tenant=tenant)
                if outcome.status is Status.WALL_TIME_LIMIT:
                    self._note_rerun(Doubt.UNMEASURED if outcome.starved_s is None else Doubt.STARVED)
                    async with self._pool.quiet(0, within_s=QUIET_S):
                        outcome, box, waited_s = await self._services.ask(query, tenant=tenant)
                    over = outcome.status is Status.WALL_TIME_LIMIT
                    if over and is_starved(outcome, query.limits.wall_time_s):
                        raise no_verdict(query.service.name, outcome)
                span.note({"box_id": box.box_id, "status": outcome.status.value, "cpu_time_s": outcome.cpu_time_s})
            outcomes.append(outcome)
            isolation, queued_s = box.isolation, queued_s + waited_s
        timings["queue"] = timings.get("queue", 0.0) + queued_s
        timings["run"] = timings.get("run", 0.0) + time.perf_counter() - started - queued_s
        return State(tuple(outcomes), isolation, self.provider_name)
