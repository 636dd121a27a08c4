"""plan -> lease -> put -> run -> get -> release -> judge, retried, with a deadline. Only this file knows it."""

from __future__ import annotations

import hashlib
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeVar

import anyio
import structlog

from sandbox_gym import judging
from sandbox_gym.builds import Builds
from sandbox_gym.config import Settings
from sandbox_gym.contract import (
    Answer,
    Checked,
    CheckedOutcome,
    Dialogue,
    DialogueOutcome,
    Isolation,
    Outcome,
    Plan,
    Query,
    SnapshotRef,
    State,
    Status,
    StepOutcome,
    Verdict,
    Verifier,
)
from sandbox_gym.errors import BoxLost, DeadlineExceeded, LossEvidence, ProviderDown, Unavailable
from sandbox_gym.faults import as_provider_down
from sandbox_gym.network import Network
from sandbox_gym.observe import traces
from sandbox_gym.observe.loop_lag import measure_loop
from sandbox_gym.observe.metrics import Metrics
from sandbox_gym.observe.verdicts import attributes_of
from sandbox_gym.sandbox.api import Provider, SessionFolder
from sandbox_gym.sandbox.cleanup.owner import held_lease
from sandbox_gym.sandbox.cleanup.reaper import Reaper, reaping
from sandbox_gym.sandbox.pool.pool import Pool
from sandbox_gym.sandbox.pool.pressure import machine_pressure
from sandbox_gym.sandbox.pool.services import Services, serving
from sandbox_gym.sandbox.registry import make_provider, orphan_sources, session_policy
from sandbox_gym.sandbox.session.holding import holding
from sandbox_gym.sandbox.session.manager import Sessions
from sandbox_gym.starvation import Doubt, Doubted, QuietSlot, is_starved, no_verdict
from sandbox_gym.steps import PlanRun, boxes_for, runs_of

EVIDENCE_S: Final = 5.0
QUIET_S: Final = 3.0
"""How long a doubted time limit waits for other work to end before it is tried again."""
BUSY: Final = 0.2
MAX_QUARANTINE: Final = 1000
MACHINE: Final = "the machine refused what a verify needs"
_log = structlog.get_logger(__name__)
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks: whose share of the sandboxes it takes, and how long the answer is wanted."""

    tenant: str = ""
    deadline_s: float | None = None


ANYONE = Caller()


class Engine:
    """Runs plans in the pool's boxes and has them judged."""

    def __init__(
        self,
        pool: Pool,
        *,
        attempts: int = 3,
        deadline_s: float = 600.0,
        image: str = "python",
        sessions: Sessions | None = None,
        services: Services | None = None,
        busy: Callable[[], bool] = lambda: machine_pressure() > BUSY,
    ) -> None:
        self.sessions = sessions
        self._services = services
        self._builds = Builds()
        self._busy = busy
        self.metrics = Metrics()
        self._pool = pool
        self._attempts = attempts
        self._deadline_s = deadline_s
        self._image = image
        self._quarantine: OrderedDict[bytes, Outcome] = OrderedDict()
        self._crashes = 0
        self._verdicts = 0
        self.metrics.watch_all("pool", pool.stats_dict)
        self.metrics.watch("pool_boxes", "Sandboxes alive at once, at most", lambda: pool.boxes)
        self.metrics.watch("pool_queue_size", "Requests that may wait", lambda: pool.admission.queue_size)
        self.metrics.watch("builds_made", "Compilations and the like that were made", lambda: self._builds.made)
        self.metrics.watch("builds_reused", "Builds answered from what was kept", lambda: self._builds.reused)
        if pool.provider.doctor.costs():
            self.metrics.watch_all(pool.provider.name, pool.provider.doctor.costs)
        if services is not None:
            self.metrics.watch_all("services", services.stats_dict)
        if sessions is not None:
            self.metrics.watch_all("sessions", sessions.stats_dict)
            self.metrics.watch("snapshot_bytes", "Disk that snapshots take", lambda: sessions.budget.used_bytes)
            self.metrics.watch("snapshot_limit_bytes", "Disk that they may take", lambda: sessions.budget.limit_bytes)

    @property
    def provider_name(self) -> str:
        return self._pool.provider.name

    def stats(self) -> dict[str, int]:
        """Counters since the start: the pool's, verdicts and crashes, and how often the event loop stood still."""
        own = {"verdicts": self._verdicts, "crashes": self._crashes, "loop_stalls": self.metrics.loop_stalls}
        return {**self._pool.stats_dict(), **own}

    def queues(self) -> dict[str, int]:
        """Requests that wait, by tenant."""
        waiting = Counter(self._pool.admission.by_tenant())
        waiting.update(self._services.by_tenant() if self._services is not None else {})
        return dict(waiting)

    def prefetch(self, image: str, count: int) -> None:
        """A hint that `count` verifies on `image` come next."""
        self._pool.prefetch(image, count)

    async def check(self) -> None:
        """Have one box. Raises Unavailable when none can be had."""
        async with self._pool.lease(self._image):
            pass

    async def verify(
        self, verifier: Verifier[T], task: T, answer: Answer, *, deadline_s: float | None = None
    ) -> Verdict:
        """The verdict on `answer`. Raises RequestError from the plan, Unavailable when there can be no verdict."""
        return (await self.judged(verifier, task, answer, caller=Caller(deadline_s=deadline_s)))[0]

    async def judged(
        self, verifier: Verifier[T], task: T, answer: Answer, *, caller: Caller = ANYONE
    ) -> tuple[Verdict, Plan, State | None]:
        """`verify`, with the plan and what it did; no state where the plan had nothing to run."""
        with traces.span("verify", {"provider": self.provider_name, "tenant": caller.tenant}) as span:
            verdict, plan, state = await self._judged(verifier, task, answer, caller)
            span.note(attributes_of(verdict))
            return verdict, plan, state

    async def _judged(
        self, verifier: Verifier[T], task: T, answer: Answer, caller: Caller
    ) -> tuple[Verdict, Plan, State | None]:
        began = time.perf_counter()
        plan = verifier.plan(task, answer)
        timings: dict[str, float] = {}
        state, attempts = None, 1
        if plan.steps:
            try:
                state, attempts = await self._attempt(verifier, task, plan, timings, caller)
            except Unavailable as error:
                self.metrics.no_verdicts.labels(error.failure_kind).inc()
                raise
        started = time.perf_counter()
        judged_state = state or State((), "none", self.provider_name)
        with traces.span("judge"):
            verdict = await judging.judge(verifier, task, answer, plan, judged_state)
        timings["judge"] = time.perf_counter() - started
        self._verdicts += 1
        self.metrics.count(verdict, time.perf_counter() - began, timings)
        return replace(verdict, attempts=attempts, timings_s=timings), plan, state

    async def run(self, plan: Plan, *, caller: Caller = ANYONE) -> State:
        """What a plan did, outside any verdict: the tools' way in. Raises Unavailable."""
        return (await self._attempt(None, None, plan, {}, caller))[0]

    async def _attempt(
        self, verifier: Verifier[T] | None, task: T, plan: Plan, timings: dict[str, float], caller: Caller
    ) -> tuple[State, int]:
        """The plan's state from the first box that lives through it, and how many tries that took."""
        guilty = self._quarantine.get(_digest(plan))
        if guilty is not None:
            self.metrics.quarantined.inc()
            traces.event("quarantined")
            return self._convicted(plan, guilty), 0
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
                self.metrics.retries.inc()
                self.metrics.feed.note("retry", why=str(failure), attempt=attempt)
                traces.event("retry", {"attempt": attempt, "after": failure.failure_kind})
            try:
                # only this scope is the deadline: a TimeoutError from below is the machine's, as any OSError
                with anyio.move_on_after(left), traces.span("attempt", {"attempt": attempt}), as_provider_down(MACHINE):
                    if isinstance(plan.steps[0], Query):
                        return await self._answered(plan, timings, caller.tenant), attempt
                    # the last try counts: else who kills itself each time would never have a verdict
                    doubted = doubted or isinstance(failure, Doubted) or attempt == self._attempts
                    return await self._once(verifier, task, plan, timings, caller.tenant, doubted=doubted), attempt
                break
            except BoxLost as error:
                failure = error
                self._note_crash(error, attempt)
                kills += [error.evidence] if error.evidence.points_at_program else []
                if len(kills) == 2:
                    return self._convicted(plan, self._convict(plan, kills)), attempt
            except ProviderDown as error:
                failure = error
                self.metrics.feed.note("provider_down", cause=error.failure_kind, why=str(error), attempt=attempt)
                _log.warning("attempt_failed", attempt=attempt, kind=error.failure_kind, why=str(error))
                await anyio.sleep(min(0.2 * attempt, max(0.0, deadline - time.monotonic())))
        if failure is not None and time.monotonic() < deadline:
            raise failure
        raise DeadlineExceeded(f"no verdict within {deadline_s:g} s" + (f"; last: {failure}" if failure else ""))

    def _note_crash(self, error: BoxLost, attempt: int) -> None:
        evidence = error.evidence
        cause = "program_memory" if evidence.points_at_program else "unexplained"
        self._crashes += 1
        self.metrics.crashes.labels(cause).inc()
        traces.event("box_lost", {"attempt": attempt, "cause": cause, "oom_kills": evidence.oom_kills})
        told = f"{error}; {evidence.detail}" if evidence.detail else str(error)
        self.metrics.feed.note("crash", cause=cause, why=told, attempt=attempt)
        _log.warning("box_lost", attempt=attempt, cause=cause, evidence=evidence.detail, why=str(error))

    def _note_rerun(self, doubt: Doubt) -> None:
        self.metrics.reruns.labels(doubt.value).inc()
        traces.event("run_again", {"why": doubt.value})

    def _convict(self, plan: Plan, kills: Sequence[LossEvidence]) -> Outcome:
        """A plan that killed two boxes, with evidence: the program's fault, now and when it is asked again."""
        detail = f"ended {len(kills)} sandboxes, each at its memory cap"
        outcome = Outcome(Status.MEMORY_LIMIT, detail=detail, tamper=("sandbox_killed",))
        digest = _digest(plan)
        self._quarantine[digest] = outcome
        while len(self._quarantine) > MAX_QUARANTINE:
            self._quarantine.popitem(last=False)
        self.metrics.feed.note("quarantine", cause="program_memory", why=detail)
        _log.warning("plan_quarantined", plan=digest.hex()[:16], why=detail)
        return outcome

    def _convicted(self, plan: Plan, outcome: Outcome) -> State:
        first: StepOutcome = outcome
        if isinstance(plan.steps[0], Dialogue):
            first = DialogueOutcome(asker=Outcome(Status.OK), candidate=outcome)
        elif isinstance(plan.steps[0], Checked):
            first = CheckedOutcome(outcome, None)
        return State((first,), "none", self.provider_name)

    async def _once(
        self,
        verifier: Verifier[T] | None,
        task: T,
        plan: Plan,
        timings: dict[str, float],
        tenant: str,
        *,
        doubted: bool,
    ) -> State:
        started = time.perf_counter()
        async with self._pool.lease(plan.image, boxes_for(plan), tenant=tenant) as lease:
            leased, boxes = time.perf_counter(), lease.boxes
            timings["queue"] = timings.get("queue", 0.0) + lease.queued_s
            timings["acquire"] = timings.get("acquire", 0.0) + leased - started - lease.queued_s
            quiet = QuietSlot(self._busy, lambda: self._pool.quiet(len(boxes), within_s=QUIET_S), self._note_rerun)

            async def passed(index: int, outcome: StepOutcome) -> bool:
                return verifier is None or await judging.passed(verifier, task, index, outcome)

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

    async def _answered(self, plan: Plan, timings: dict[str, float], tenant: str) -> State:
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


def _digest(plan: Plan) -> bytes:
    """Names a plan by what it runs: programs, inputs and caps."""
    digest = hashlib.sha256(str(plan.image).encode())
    for step in plan.steps:
        if isinstance(step, Query):
            digest.update(step.request)
    for run in runs_of(plan):
        program = run.program
        head = (program.mode, program.main, program.argv, sorted(program.env.items()), program.entry_point)
        digest.update(repr((head, run.limits, sorted(program.files))).encode("utf-8", "surrogatepass"))
        for path in sorted(program.files):
            digest.update(hashlib.sha256(program.files[path]).digest())
        digest.update(hashlib.sha256(run.stdin).digest())
    return digest.digest()


@asynccontextmanager
async def open_engine(settings: Settings, *, sessions: str = "") -> AsyncIterator[Engine]:
    """An engine over a pool of the settings' provider; both closed at the end. Raises ConfigurationError.

    `sessions`: hold stateful sandboxes too, kept under this name in the state folder; a plan may then begin from a
    snapshot of theirs.
    """
    folder = settings.state_dir / "sessions" / sessions
    with held_lease(settings.state_dir) as lease:
        provider = make_provider(settings, SessionFolder(folder, settings.session_limits()) if sessions else None)
        pool = Pool(
            provider,
            boxes=settings.boxes,
            box_max_tasks=settings.box.max_tasks,
            queue_size=settings.queue_size,
            weights=settings.tenant_weights,
        )
        try:
            await _check(provider)
            reaper = Reaper(orphan_sources(settings, [provider]), lease.renew)
            async with (
                reaping(reaper),
                _sessions(settings, provider, folder) as held,
                serving(provider, queue_size=settings.queue_size, weights=settings.tenant_weights) as services,
                anyio.create_task_group() as tasks,
            ):
                tasks.start_soon(pool.run)
                try:
                    engine = Engine(
                        pool,
                        attempts=settings.attempts,
                        deadline_s=settings.deadline_s,
                        sessions=held,
                        services=services,
                    )
                    tasks.start_soon(measure_loop, engine.metrics)
                    yield engine
                finally:
                    tasks.cancel_scope.cancel()
        finally:
            await pool.aclose()


async def _check(provider: Provider) -> None:
    """Raises ConfigurationError for what will never work; what may pass is left to each verify."""
    try:
        await provider.doctor.check()
    except ProviderDown as error:
        _log.warning("provider_down_at_start", provider=provider.name, why=str(error))


@asynccontextmanager
async def _sessions(settings: Settings, provider: Provider, folder: Path) -> AsyncIterator[Sessions | None]:
    if provider.snapshots is None:
        yield None
        return
    network = Network(allow=tuple(settings.allow_out) or None)
    limits, policy = settings.session_limits(), session_policy(settings)
    async with holding(provider, folder / "held", limits, policy, network=network) as held:
        yield held
