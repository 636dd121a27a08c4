"""Where a verifier's functions are called: on the event loop, or in a thread where a box or a caller wrote much.

Verifiers stay pure and know nothing of it. What they read was written by a candidate, and one long reply read on the
loop would stop every other verify, heartbeats of boxes included.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from typing import Final, TypeVar

import anyio
import anyio.to_thread
from anyio.lowlevel import RunVar

from sandbox_gym.contract import (
    Answer,
    CheckedOutcome,
    DialogueOutcome,
    Outcome,
    Plan,
    State,
    StepOutcome,
    Verdict,
    Verifier,
    earlier_passes,
)

AT_ONCE_BYTES: Final = 64 << 10
"""So much is read in a few milliseconds at worst; a thread costs each verify a tenth of one."""
TESTS_WEIGH: Final = 8
"""A byte of a test's text takes as long to plan as so many others to read: up to 40 ms for a KiB."""
READERS: Final = 2
"""Threads that read at once: they share one interpreter's lock with the loop, so that more would only slow it."""
asked_bytes: Final[ContextVar[int]] = ContextVar("sandbox_gym_asked_bytes", default=0)
"""Of the body of the request at work."""
T = TypeVar("T")
R = TypeVar("R")
_limiter: Final[RunVar[anyio.CapacityLimiter]] = RunVar("sandbox_gym_readers")
_askers: Final[RunVar[anyio.CapacityLimiter]] = RunVar("sandbox_gym_askers")
"""Apart, so that verdicts do not wait for callers' long rows."""


async def passed(verifier: Verifier[T], task: T, index: int, outcome: StepOutcome) -> bool:
    """Whether early stop goes on after a step."""
    return await read(outcome_bytes(outcome), partial(verifier.passed, task, index, outcome))


async def judge(verifier: Verifier[T], task: T, answer: Answer, plan: Plan, state: State) -> Verdict:
    """Raises Unavailable where the state allows no verdict."""
    return await read(state_bytes(state), partial(verifier.judge, task, answer, plan, state))


async def asked(call: Callable[[], R]) -> R:
    """What `call` makes of the request's body, or of what came of it. A cancellation waits for its end."""
    return await read(asked_bytes.get(), call, _askers)


def weigh_tests(*texts: object) -> None:
    """Count tests of the request at work, which are read and planned by `asked` from here on; what is no text is
    refused there."""
    size_bytes = sum(len(text) for text in texts if isinstance(text, str))
    asked_bytes.set(asked_bytes.get() + TESTS_WEIGH * size_bytes)


async def read(size_bytes: int, call: Callable[[], R], among: RunVar[anyio.CapacityLimiter] = _limiter) -> R:
    """What `call` makes of `size_bytes` that boxes wrote. A cancellation waits for its end."""
    if size_bytes <= AT_ONCE_BYTES:
        return call()
    try:
        limiter = among.get()
    except LookupError:
        limiter = anyio.CapacityLimiter(READERS)
        among.set(limiter)
    return await anyio.to_thread.run_sync(_uncollected, call, limiter=limiter)


def _uncollected(call: Callable[[], R]) -> R:
    """The call, without the collector of cycles: it walks through all that a long reply became, again and again, and
    lets no other thread run meanwhile. Values from boxes have no cycles."""
    collected = gc.isenabled()
    gc.disable()
    try:
        return call()
    finally:
        if collected:  # else another reader's pause, or the process's own setting
            gc.enable()


def state_bytes(state: State | None) -> int:
    """What all programs of a plan wrote, in bytes."""
    if state is None:
        return 0
    ran = (outcome for outcome in state.outcomes if outcome is not None)
    return sum(map(outcome_bytes, ran)) + sum(map(outcome_bytes, state.builds))


def outcome_bytes(outcome: StepOutcome) -> int:
    """What the programs of a step wrote, in bytes."""
    earlier = sum(outcome_bytes(one.answer) + outcome_bytes(one.checker) for one in earlier_passes(outcome))
    if isinstance(outcome, DialogueOutcome):
        return earlier + outcome_bytes(outcome.asker) + outcome_bytes(outcome.candidate)
    if isinstance(outcome, CheckedOutcome):
        return earlier + outcome_bytes(outcome.answer) + (outcome_bytes(outcome.checker) if outcome.checker else 0)
    assert isinstance(outcome, Outcome)
    return len(outcome.stdout) + len(outcome.stderr) + len(outcome.channel)
