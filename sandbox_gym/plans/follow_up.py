"""The further runs that a verifier asks for over the same answer: round by round, a few at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Final, TypeVar

import anyio

from sandbox_gym import judging
from sandbox_gym.contract import FollowUp, Judgement, Verdict
from sandbox_gym.errors import SandboxGymError
from sandbox_gym.plans.runner import Caller, patiently

AT_ONCE: Final = 2
"""Runs of one round."""
T = TypeVar("T")
Judge = Callable[[T], Awaitable[Judgement]]


async def run_follow_up(
    follow_up: FollowUp[T], judge: Judge[T], caller: Caller, judgements: list[Judgement]
) -> Verdict:
    """The verdict that stands after every round. `judgements` holds the first run's, and takes what each round adds, as
    far as it came. Raises Unavailable where a run has no verdict."""
    worth: Sequence[Judgement] | None = None
    while True:
        size_bytes = sum(judging.state_bytes(one.state) for one in (worth if worth is not None else judgements))
        step = await judging.read(size_bytes, partial(_next, follow_up, worth))
        if isinstance(step, Verdict):
            return step
        worth = await _round(step, judge, caller, judgements)


def _next(follow_up: FollowUp[T], worth: Sequence[Judgement] | None) -> Sequence[T] | Verdict:
    """The tasks of the next round, or the verdict."""
    try:
        return next(follow_up) if worth is None else follow_up.send(worth)
    except StopIteration as end:
        verdict: Verdict = end.value
        return verdict


async def _round(tasks: Sequence[T], judge: Judge[T], caller: Caller, judgements: list[Judgement]) -> list[Judgement]:
    """Each task in sandboxes of its own; judgements in the tasks' order. A full queue is waited for."""
    found: dict[int, Judgement] = {}
    failed: list[SandboxGymError] = []
    slots = anyio.Semaphore(AT_ONCE)

    async def one(number: int) -> None:
        try:
            async with slots:
                found[number] = await patiently(partial(judge, tasks[number]), caller)
        except SandboxGymError as error:
            failed.append(error)

    async with anyio.create_task_group() as group:
        for number in range(len(tasks)):
            group.start_soon(one, number)
    judgements += [found[number] for number in sorted(found)]
    if failed:
        raise failed[0]
    return [found[number] for number in range(len(tasks))]
