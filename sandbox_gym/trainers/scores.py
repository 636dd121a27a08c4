"""Answers' rewards from a running server, for functions that trainers call. Knows no trainer.

The server is SANDBOX_GYM_URL (several, between spaces), its token SANDBOX_GYM_TOKEN; where one data set has rows of
several kinds, SANDBOX_GYM_MATH_URL and SANDBOX_GYM_SWE_URL name those of math and SWE rows.
"""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from itertools import chain, groupby
from math import isfinite
from typing import Final

import anyio.to_thread
from anyio.lowlevel import RunVar

from sandbox_gym.client import Client, NoVerdict

Row = Mapping[str, object]
AT_ONCE: Final = 256
"""Verifies of one event loop: trainers that score one answer at a time ask for many at once."""
_WHOLE: Final = ("verifier_metadata", "expected_answer", "FAIL_TO_PASS")
"""Fields of which a whole row has one."""
_slots: RunVar[anyio.CapacityLimiter] = RunVar("sandbox_gym.trainers.slots")


def row_of(label: object) -> Row:
    """The row that a data set's column tells: an object, or JSON of one, is a coding row's `verifier_metadata`, or a
    whole row where it has `verifier_metadata`, `expected_answer` or FAIL_TO_PASS; a list of objects is such a row's
    tests; anything else is a math problem's expected answer."""
    held = label
    if isinstance(label, str):
        with suppress(ValueError, RecursionError):
            held = json.loads(label)
    if isinstance(held, Mapping):
        return held if any(name in held for name in _WHOLE) else {"verifier_metadata": held}
    if isinstance(held, list) and held and isinstance(held[0], Mapping):  # cases, as DeepCoder has them
        return {"verifier_metadata": {"tests": held}}
    if isinstance(label, str) and label.lstrip().startswith('{"'):  # damaged: refused, and no math problem
        return {"verifier_metadata": label}
    if isinstance(label, float) and not isfinite(label):  # what a table has where it has nothing
        return {"expected_answer": None}
    number = isinstance(label, int | float) and not isinstance(label, bool)
    return {"expected_answer": str(label) if number else held if isinstance(held, str) else label}


def reward(row: Row, answer: str) -> float:
    """One answer's reward from 0 to 1. Raises NoVerdict after all patience, RequestRefused where the row is wrong."""
    return client(row).verify(row, answer).reward


async def reward_soon(row: Row, answer: str) -> float:
    """`reward` for an event loop."""
    slots = _slots.get(None)
    if slots is None:
        slots = anyio.CapacityLimiter(AT_ONCE)
        _slots.set(slots)
    return await anyio.to_thread.run_sync(reward, row, answer, limiter=slots, abandon_on_cancel=True)


def rewards_of(rows: Sequence[Row], answers: Sequence[str]) -> list[float | None]:
    """`reward` of many answers at once, each to its row; None without a verdict. Raises RequestRefused."""
    pairs = list(zip(rows, answers, strict=True))
    asked: dict[Client, list[int]] = {}
    for number, row in enumerate(rows):
        asked.setdefault(client(row), []).append(number)
    found: list[float | None] = [None] * len(rows)
    with ThreadPoolExecutor(max(1, len(asked))) as servers:  # a data set may be for several
        verdicts = servers.map(lambda one: one.verify_many([pairs[number] for number in asked[one]]), asked)
        for number, verdict in zip(chain(*asked.values()), chain.from_iterable(verdicts), strict=True):
            if verdict.error is not None and not isinstance(verdict.error, NoVerdict):
                raise verdict.error
            found[number] = verdict.reward
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


def client(row: Row) -> Client:
    """One for all calls to the same servers, in whatever thread or child process."""
    tests = row.get("verifier_metadata")
    math = "expected_answer" in (tests if isinstance(tests, Mapping) else row)
    kind = "SANDBOX_GYM_SWE_URL" if "FAIL_TO_PASS" in row else "SANDBOX_GYM_MATH_URL" if math else ""
    return _client(
        os.environ.get(kind) or os.environ.get("SANDBOX_GYM_URL", ""), os.environ.get("SANDBOX_GYM_TOKEN", "")
    )


@cache
def _client(urls: str, token: str) -> Client:
    return Client(urls, token=token)
