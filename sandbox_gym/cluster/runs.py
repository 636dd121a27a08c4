"""A plan's run at a node, as its server follows it: outcomes go out in bounded replies, early stop comes in.

The node's engine runs the plan; expected outputs stay with the server, so the server says which steps failed. The node
knows of it one round trip late: what ran meanwhile is cut off again by `Assembly`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import anyio

from sandbox_gym.cluster.messages import Finished, NodeLost, Progress, Seen
from sandbox_gym.contract import (
    Answer,
    Plan,
    State,
    StepOutcome,
    Verdict,
    ends_plan,
)
from sandbox_gym.errors import SandboxGymError
from sandbox_gym.judging import outcome_bytes

REPORT_S: Final = 0.05
"""A run that lasts longer tells its outcomes so far, where they may end it early; and again as often."""
REPLY_BYTES: Final = 32 << 20
"""The most of outcomes in one reply, but for a single larger one; what a program prints is bounded by its own caps."""


class FollowedRun:
    """One plan's run. To the node's engine it is a verifier that knows no more than what the server said."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.on_loop: Final = True
        self._ends = group_ends(plan)
        self._attempt, self._last = 1, -1
        self._failed: set[int] = set()
        self._told: dict[int, StepOutcome] = {}
        self._untold: list[Seen] = []
        self._news = anyio.Event()
        self._finished: Finished | None = None
        self._error: SandboxGymError | None = None
        self.over = anyio.Event()

    # -- the engine's side

    def plan(self, task: None, answer: Answer) -> Plan:
        return self._plan

    def passed(self, task: None, index: int, outcome: StepOutcome) -> bool:
        """False once the server knows a failed step of this one's group. Outcomes of an earlier try are void."""
        if index <= self._last:
            self._attempt += 1
            self._failed.clear()
            self._told.clear()
            self._untold.clear()
        self._last = index
        self._untold.append(Seen(index, outcome))
        self._news.set()
        return not any(failed <= index and self._ends[failed] == self._ends[index] for failed in self._failed)

    def judge(self, task: None, answer: Answer, plan: Plan, state: State) -> Verdict:
        """Nothing: the server judges."""
        return Verdict(0.0)

    def finish(self, state: State, verdict: Verdict, took_s: float) -> None:
        """The run is over; outcomes that were not told are to be."""
        ran = [(index, outcome) for index, outcome in enumerate(state.outcomes) if outcome is not None]
        self._untold = [Seen(index, outcome) for index, outcome in ran if self._told.get(index) is not outcome]
        self._finished = Finished(
            length=len(state.outcomes),
            ran=tuple(index for index, _ in ran),
            isolation=state.isolation,
            provider=state.provider,
            builds=state.builds,
            attempts=verdict.attempts,
            timings_s=dict(verdict.timings_s),
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
        with anyio.move_on_after(REPORT_S if self._plan.early_stop else None):
            await self.over.wait()
        while not self.over.is_set() and not self._untold:
            self._news = anyio.Event()
            await self._news.wait()
        if self._error is not None:
            raise self._error
        told = self._take()
        return Progress(self._attempt, told, self._finished if not self._untold else None)

    def _take(self) -> tuple[Seen, ...]:
        """The next outcomes, as many as go into one reply."""
        size = count = 0
        for seen in self._untold:
            size += outcome_bytes(seen.outcome)
            if count and size > REPLY_BYTES:
                break
            count += 1
        taken, self._untold = self._untold[:count], self._untold[count:]
        self._told.update((seen.index, seen.outcome) for seen in taken)
        return tuple(taken)


def group_ends(plan: Plan) -> list[int]:
    """For each step the number of the step after its group's last: names the group."""
    ends: list[int] = []
    for size in plan.groups or (len(plan.steps),):
        ends += [len(ends) + size] * size
    return ends


class Assembly:
    """The server's end: outcomes as they come, which of them failed, and at last the state."""

    def __init__(self, plan: Plan, passed: Callable[[int, StepOutcome], bool]) -> None:
        self._plan, self._passed = plan, passed
        self._ends = group_ends(plan)
        self._attempt = 0
        self._outcomes: dict[int, StepOutcome] = {}
        self._failed: set[int] = set()

    def add(self, progress: Progress) -> tuple[int, ...]:
        """Take what came; the steps among it that early stop ends their groups at."""
        if progress.attempt != self._attempt:
            self._attempt = progress.attempt
            self._outcomes.clear()
            self._failed.clear()
        new = []
        for seen in progress.outcomes:
            if not 0 <= seen.index < len(self._ends):
                raise NodeLost(f"a node told of step {seen.index} of {len(self._ends)}")
            self._outcomes[seen.index] = seen.outcome
            if self._plan.early_stop and not self._passed(seen.index, seen.outcome):
                new.append(seen.index)
            else:
                self._failed.discard(seen.index)
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
        return State(tuple(outcomes), finished.isolation, finished.provider, built)

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
