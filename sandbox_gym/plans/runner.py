"""What runs a plan, on this machine or on a cluster's nodes: the caller, when to stop early, the result."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

import anyio

from sandbox_gym.contract import Plan, State, StepOutcome
from sandbox_gym.errors import PoolFull


@dataclass(frozen=True, slots=True)
class Caller:
    """Whose share of the sandboxes a plan takes, for how many seconds its result is wanted, and for which step of
    which run, which changes nothing but what is on record."""

    tenant: str = ""
    deadline_s: float | None = None
    run: str = ""
    step: int | None = None


ANYONE = Caller()
PATIENCE_S: Final = 600.0
"""Where the caller says nothing of how long the answer is wanted."""
T = TypeVar("T")

Passed = Callable[[int, StepOutcome], Awaitable[bool]]
"""Whether step number `index`, which ended so, passed: early stop ends its group where it did not."""


async def all_pass(index: int, outcome: StepOutcome) -> bool:
    """For a plan that is judged only after it has run."""
    return True


@dataclass(frozen=True, slots=True)
class PlanResult:
    """What a plan did: no state where it had nothing to run. `attempts`: how many tries that took, 0 for a plan that
    was not run since it had ended sandboxes before."""

    state: State | None
    attempts: int = 1
    timings_s: Mapping[str, float] = field(default_factory=dict)
    """Seconds by phase: queue, acquire, run; on a cluster also `cluster`, the way to the node and back."""


class PlanRunner(Protocol):
    """Runs plans in sandboxes."""

    @property
    def provider_name(self) -> str: ...

    async def run(self, plan: Plan, passed: Passed = all_pass, caller: Caller = ANYONE) -> PlanResult:
        """Raises Unavailable, within the caller's deadline or the runner's own, whichever is sooner."""
        ...

    def stats(self) -> dict[str, int]:
        """Counters since the start and gauges, by name."""
        ...

    def queues(self) -> dict[str, int]:
        """Requests that wait, by tenant."""
        ...

    def nodes(self) -> dict[str, dict[str, str | int]]:
        """Each node of a cluster by name: its status, why it is in it, its slots and leases; none without one."""
        ...


async def patiently(call: Callable[[], Awaitable[T]], caller: Caller) -> T:
    """What the call gives once there is a place: a refusal would throw away runs that were made already.

    Raises PoolFull where there is none within the caller's deadline, and whatever else the call raises."""
    until = anyio.current_time() + (caller.deadline_s if caller.deadline_s is not None else PATIENCE_S)
    while True:
        try:
            return await call()
        except PoolFull as error:
            if anyio.current_time() + error.retry_after_s >= until:
                raise
            await anyio.sleep(error.retry_after_s)
