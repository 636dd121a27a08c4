"""A place in a full queue is waited for where a refusal would throw away runs that were made already."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

import anyio

from sandbox_gym.errors import PoolFull
from sandbox_gym.plans.runner import Caller

PATIENCE_S: Final = 600.0
"""Where the caller says nothing of how long the answer is wanted."""
T = TypeVar("T")


async def patiently(call: Callable[[], Awaitable[T]], caller: Caller) -> T:
    """What the call gives once there is a place. Raises PoolFull where there is none within the caller's deadline, and
    whatever else the call raises."""
    until = anyio.current_time() + (caller.deadline_s if caller.deadline_s is not None else PATIENCE_S)
    while True:
        try:
            return await call()
        except PoolFull as error:
            if anyio.current_time() + error.retry_after_s >= until:
                raise
            await anyio.sleep(error.retry_after_s)
