"""What the engine asks of a verifier. Pure functions of a task, an answer and what was run."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from random import Random
from typing import Generic, Protocol, TypeVar, runtime_checkable

from sandbox_gym.contract.outcome import State, StepOutcome
from sandbox_gym.contract.plan import Answer, Plan
from sandbox_gym.contract.verdict import Judgement, Verdict

T = TypeVar("T")
T_contra = TypeVar("T_contra", contravariant=True)

FollowUp = Generator[Sequence[T], Sequence[Judgement], Verdict]
"""More runs over the same answer, round by round: yields the tasks of a round, is sent their judgements in the tasks'
order, and returns the verdict that stands. The runs of a round may go at the same time."""


class Verifier(Protocol, Generic[T_contra]):
    """Two pure functions, and the pure question early stop asks.

    `plan` raises RequestError. `judge` raises Unavailable for a state that allows no verdict, as where a compiler is
    not installed.
    """

    def plan(self, task: T_contra, answer: Answer) -> Plan: ...

    def passed(self, task: T_contra, index: int, outcome: StepOutcome) -> bool: ...

    def judge(self, task: T_contra, answer: Answer, plan: Plan, state: State) -> Verdict: ...


@runtime_checkable
class SupportsFollowUp(Protocol, Generic[T]):
    """A verifier whose verdict may need more runs, such as a second one of tests that may be flaky."""

    def follow_up(self, task: T, answer: Answer, first: Judgement, random: Random) -> FollowUp[T]:
        """What to run after the first run. Everything that chance decides comes from `random`."""
        ...
