"""A plan's run at a node, as its server follows it: outcomes go out in bounded replies, early stop comes in.

The node runs the plan; expected outputs stay with the server, so the server says which steps failed. The node learns of
it one round trip late: what ran meanwhile is cut off again by `Assembly`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import anyio
from anyio.lowlevel import checkpoint

from sandbox_gym.cluster.messages import Finished, NodeLost, Progress, StepReport
from sandbox_gym.contract import Check, Plan, State, StepOutcome, ends_plan
from sandbox_gym.errors import SandboxGymError
from sandbox_gym.judging import outcome_bytes
from sandbox_gym.plans.runner import Passed, PlanResult

REPORT_S: Final = 0.05
"""A run that lasts longer reports its outcomes so far, where they may end it early; and again as often."""
REPLY_BYTES: Final = 32 << 20
"""The most of outcomes in one reply, but for a single larger one; what a program prints is bounded by its own caps."""


class NodeRun:
    """One plan's run at a node: what the node's runner asks of it and ends it with, and what the server is sent."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._ends = group_ends(plan)
        self._attempt, self._last = 1, -1
        self._failed: set[int] = set()
        self._sent: dict[int, StepOutcome] = {}
        self._unsent: list[StepReport] = []
        self._news = anyio.Event()
        self._finished: Finished | None = None
        self._error: SandboxGymError | None = None
        self.over = anyio.Event()

    # -- the node's side

    async def passed(self, index: int, outcome: StepOutcome) -> bool:
        """False once the server knows a failed step of this one's group. Outcomes of an earlier try are void."""
        if index <= self._last:
            self._attempt += 1
            self._failed.clear()
            self._sent.clear()
            self._unsent.clear()
        self._last = index
        self._unsent.append(StepReport(index, outcome))
        self._news.set()
        return not any(failed <= index and self._ends[failed] == self._ends[index] for failed in self._failed)

    def finish(self, result: PlanResult, took_s: float) -> None:
        """The run is over; outcomes that were not sent are to be."""
        state = result.state
        assert state is not None, "a plan without steps does not travel"
        ran = [(index, outcome) for index, outcome in enumerate(state.outcomes) if outcome is not None]
        self._unsent = [StepReport(index, outcome) for index, outcome in ran if self._sent.get(index) is not outcome]
        self._finished = Finished(
            length=len(state.outcomes),
            ran=tuple(index for index, _ in ran),
            isolation=state.isolation,
            provider=state.provider,
            builds=state.builds,
            checks=state.checks,
            attempts=result.attempts,
            timings_s=dict(result.timings_s),
            took_s=took_s,
        )
        self.over.set()
        self._news.set()

    def fail(self, error: SandboxGymError) -> None:
        """There will be no state."""
        self._error = error
        self.over.set()
        self._news.set()

    # -- the server's side

    def stop_at(self, attempt: int, failed: Sequence[int]) -> None:
        """The server's word on the outcomes of a try; nothing where another try has begun."""
        if attempt == self._attempt:
            self._failed.update(index for index in failed if 0 <= index < len(self._ends))

    async def progress(self) -> Progress:
        """What is new, once there is something to tell. Raises what the run ended with."""
        with anyio.move_on_after(REPORT_S if self.plan.early_stop else None):
            await self.over.wait()
        while not self.over.is_set() and not self._unsent:
            self._news = anyio.Event()
            await self._news.wait()
        if self._error is not None:
            raise self._error
        taken = self._take()
        return Progress(self._attempt, taken, self._finished if not self._unsent else None)

    def _take(self) -> tuple[StepReport, ...]:
        """The next outcomes, as many as go into one reply."""
        size = count = 0
        for report in self._unsent:
            size += outcome_bytes(report.outcome)
            if count and size > REPLY_BYTES:
                break
            count += 1
        taken, self._unsent = self._unsent[:count], self._unsent[count:]
        self._sent.update((report.index, report.outcome) for report in taken)
        return tuple(taken)


def group_ends(plan: Plan) -> list[int]:
    """For each step the number of the step after its group's last: names the group."""
    ends: list[int] = []
    for size in plan.groups or (len(plan.steps),):
        ends += [len(ends) + size] * size
    return ends


class Assembly:
    """The server's end: outcomes as they come, which of them failed, and at last the state."""

    def __init__(self, plan: Plan, passed: Passed) -> None:
        self._plan, self._passed = plan, passed
        self._ends = group_ends(plan)
        self._attempt = 0
        self._outcomes: dict[int, StepOutcome] = {}
        self._failed: set[int] = set()

    async def add(self, progress: Progress) -> tuple[int, ...]:
        """Take what came; the steps among it that early stop ends their groups at."""
        if progress.attempt != self._attempt:
            self._attempt = progress.attempt
            self._outcomes.clear()
            self._failed.clear()
        new = []
        for report in progress.outcomes:
            if not 0 <= report.index < len(self._ends):
                raise NodeLost(f"a node told of step {report.index} of {len(self._ends)}")
            self._outcomes[report.index] = report.outcome
            await checkpoint()  # a reply may hold ten thousand steps, and judging each takes its time
            if self._plan.early_stop and not await self._passed(report.index, report.outcome):
                new.append(report.index)
            else:
                self._failed.discard(report.index)
        self._failed.update(new)
        return tuple(new)

    def state(self, finished: Finished) -> State:
        """The whole. Raises NodeLost where a step is missing that nothing excuses."""
        ran = set(finished.ran)
        if not ran <= set(self._outcomes) or finished.length > len(self._ends):
            raise NodeLost("a node's outcomes are incomplete")
        outcomes = [self._outcomes[index] if index in ran else None for index in range(finished.length)]
        built = finished.builds
        if self._plan.early_stop and not any(ends_plan(*one) for one in zip(self._plan.builds, built, strict=False)):
            outcomes = self._trimmed(outcomes)
        return State(tuple(outcomes), finished.isolation, finished.provider, built, _of_what_stands(finished, outcomes))

    def _trimmed(self, outcomes: list[StepOutcome | None]) -> list[StepOutcome | None]:
        """As early stop would have left it here: nothing in a group after its first failed step."""
        ended: set[int] = set()
        full: list[StepOutcome | None] = [*outcomes, *[None] * (len(self._ends) - len(outcomes))]
        for index, outcome in enumerate(full):
            if self._ends[index] in ended:
                full[index] = None
            elif outcome is None:
                raise NodeLost(f"a node left out step {index}, which nothing before it excuses")
            elif index in self._failed:
                ended.add(self._ends[index])
        while full and full[-1] is None:
            full.pop()
        return full


def _of_what_stands(finished: Finished, outcomes: Sequence[StepOutcome | None]) -> tuple[Check, ...]:
    """Checks of steps that early stop left in."""
    return tuple(
        check
        for check in finished.checks
        if 0 <= check.index < len(outcomes) and type(outcomes[check.index]) is type(check.outcome)
    )
