"""Answers' rewards from a running server, for functions that trainers call. Knows no trainer.

The server is SANDBOX_GYM_URL (several, between spaces), its token SANDBOX_GYM_TOKEN.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Mapping, Sequence
from functools import cache
from itertools import groupby
from typing import Final

import anyio.to_thread
from anyio.lowlevel import RunVar

from sandbox_gym.client import Client, NoVerdict

Row = Mapping[str, object]
AT_ONCE: Final = 256
"""Verifies of one event loop: trainers that score one answer at a time ask for many at once."""
_slots: RunVar[anyio.CapacityLimiter] = RunVar("sandbox_gym.trainers.slots")


def reward(row: Row, answer: str) -> float:
    """One answer's reward from 0 to 1. Raises NoVerdict after all patience, RequestRefused where the row is wrong."""
    return client().verify(row, answer).reward


async def reward_soon(row: Row, answer: str) -> float:
    """`reward` for an event loop."""
    slots = _slots.get(None)
    if slots is None:
        slots = anyio.CapacityLimiter(AT_ONCE)
        _slots.set(slots)
    return await anyio.to_thread.run_sync(reward, row, answer, limiter=slots, abandon_on_cancel=True)


def rewards_of(rows: Sequence[Row], answers: Sequence[str]) -> list[float | None]:
    """`reward` of many answers at once, each to its row; None without a verdict. Raises RequestRefused."""
    found: list[float | None] = []
    for one in client().verify_many(list(zip(rows, answers, strict=True))):
        if one.error is not None and not isinstance(one.error, NoVerdict):
            raise one.error
        found.append(one.reward)
    return found


def filled(groups: Sequence[Hashable], found: Sequence[float | None]) -> list[float]:
    """What has no verdict as the mean of its group, so that its advantage over the group is 0 and it moves nothing.

    Neighbours of one group are a group. One without any verdict is 0 throughout: no advantage in it either.
    """
    result: list[float] = []
    for _, members in groupby(zip(groups, found, strict=True), key=lambda pair: pair[0]):
        values = [value for _, value in members]
        known = [value for value in values if value is not None]
        mean = sum(known) / len(known) if known else 0.0
        result += [mean if value is None else value for value in values]
    return result


def client() -> Client:
    """One for all calls to the same servers, in whatever thread or child process."""
    return _client(os.environ.get("SANDBOX_GYM_URL", ""), os.environ.get("SANDBOX_GYM_TOKEN", ""))


@cache
def _client(urls: str, token: str) -> Client:
    return Client(urls, token=token)
