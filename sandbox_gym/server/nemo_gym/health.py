"""Whether the engine gives verdicts now: a recent one is the proof, an empty program's is the probe.

Owns the rule for "up"; knows nothing of HTTP.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import anyio

from sandbox_gym.contract import Answer, Plan, Program, Run, State, StepOutcome, Verdict
from sandbox_gym.engine import Engine
from sandbox_gym.errors import DeadlineExceeded, PoolFull, Unavailable
from sandbox_gym.limits import Limits
from sandbox_gym.plans.runner import Caller
from sandbox_gym.server.protocol.wire import Document

FRESH_S = 10.0
"""How long a verdict, or a probe's finding, stands."""
PROBE_DEADLINE_S = 15.0


class _Probe:
    """A verifier whose one program does nothing."""

    def plan(self, task: None, answer: Answer) -> Plan:
        limits = Limits(cpu_time_s=5.0, wall_time_s=10.0)
        return Plan((Run("health", Program(mode="fork", files={"main.py": b""}), limits=limits),))

    def passed(self, task: None, index: int, outcome: StepOutcome) -> bool:
        return True

    def judge(self, task: None, answer: Answer, plan: Plan, state: State) -> Verdict:
        return Verdict(1.0, isolation=state.isolation, provider=state.provider)


_PROBER = Caller("health", PROBE_DEADLINE_S)


@dataclass(frozen=True, slots=True)
class HealthFinding:
    """`up` or not, why not, and when that was found (monotonic)."""

    up: bool
    reason: str
    at: float


class Health:
    """Answers from what verifies showed lately; probes, one probe at a time, when they showed nothing."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._lock = anyio.Lock()
        self._found: HealthFinding | None = None
        self._verdict_at = float("-inf")
        self.isolation = "unknown"

    def saw_verdict(self, fields: Document) -> None:
        """A verify's answer: if anything ran for it, that is proof, and better than a probe."""
        verdict = fields.get("verdict")
        isolation = verdict.get("isolation") if isinstance(verdict, dict) else None
        if isolation and isolation != "none":
            self._verdict_at, self.isolation = time.monotonic(), str(isolation)

    async def check(self) -> HealthFinding:
        """What is known, or a probe's finding. Never raises Unavailable."""
        async with self._lock:
            now = time.monotonic()
            if now - self._verdict_at < FRESH_S:
                return HealthFinding(True, "", self._verdict_at)
            if self._found is None or now - self._found.at > FRESH_S:
                self._found = await self._probe()
            return self._found

    async def _probe(self) -> HealthFinding:
        started = time.monotonic()
        try:
            with anyio.fail_after(PROBE_DEADLINE_S + 5):
                state = (await self._engine.verify(_Probe(), None, Answer(""), caller=_PROBER)).state
        except PoolFull:
            return HealthFinding(True, "busy: the queue is full", time.monotonic())
        except (DeadlineExceeded, TimeoutError) as error:
            if self._verdict_at >= started:
                return HealthFinding(True, "busy: verdicts come, the probe waited in vain", time.monotonic())
            return HealthFinding(False, str(error) or "no verdict within the probe's deadline", time.monotonic())
        except Unavailable as error:
            return HealthFinding(False, str(error) or error.failure_kind, time.monotonic())
        if state is not None:
            self.isolation = state.isolation
        return HealthFinding(True, "", time.monotonic())
