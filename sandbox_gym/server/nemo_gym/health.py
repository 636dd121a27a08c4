"""Whether the engine gives verdicts now: a recent one is the proof, an empty program's is the probe.

Owns the rule for "up"; knows nothing of HTTP.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import anyio

from sandbox_gym.contract import Answer, Plan, Program, Run, State, StepOutcome, Verdict
from sandbox_gym.engine import Caller
from sandbox_gym.errors import DeadlineExceeded, PoolFull, Unavailable
from sandbox_gym.limits import Limits
from sandbox_gym.server.protocol.resources import JudgingEngine

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
class Finding:
    """`up` or not, why not, and when that was found (monotonic)."""

    up: bool
    reason: str
    at: float


class Health:
    """Answers from what verifies showed lately; probes, one probe at a time, when they showed nothing."""

    def __init__(self, engine: JudgingEngine) -> None:
        self._engine = engine
        self._lock = anyio.Lock()
        self._found: Finding | None = None
        self._verdict_at = float("-inf")
        self.isolation = "unknown"

    def saw_verdict(self, isolation: str | None) -> None:
        """A verify came through: that is proof, and better than a probe."""
        self._verdict_at = time.monotonic()
        if isolation and isolation != "none":
            self.isolation = isolation

    async def check(self) -> Finding:
        """What is known, or a probe's finding. Never raises Unavailable."""
        async with self._lock:
            now = time.monotonic()
            if now - self._verdict_at < FRESH_S:
                return Finding(True, "", self._verdict_at)
            if self._found is None or now - self._found.at > FRESH_S:
                self._found = await self._probe()
            return self._found

    async def _probe(self) -> Finding:
        started = time.monotonic()
        try:
            with anyio.fail_after(PROBE_DEADLINE_S + 5):
                _, _, state = await self._engine.judged(_Probe(), None, Answer(""), caller=_PROBER)
        except PoolFull:
            return Finding(True, "busy: the queue is full", time.monotonic())
        except (DeadlineExceeded, TimeoutError) as error:
            if self._verdict_at >= started:
                return Finding(True, "busy: verdicts come, the probe waited in vain", time.monotonic())
            return Finding(False, str(error) or "no verdict within the probe's deadline", time.monotonic())
        except Unavailable as error:
            return Finding(False, str(error) or error.failure_kind, time.monotonic())
        if state is not None:
            self.isolation = state.isolation
        return Finding(True, "", time.monotonic())
