"""What every system is to the harness."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AsyncExitStack
from typing import Self

from benchmarks.side_by_side.workloads import Job, Workload


class Failed(Exception):
    """No verdict: an error of the system's, not a wrong answer."""


class System(ABC):
    """One way to judge answers. Entered once; stays up between its turns."""

    name: str
    title: str
    isolation: str
    """What keeps the program from the machine and from other tests, in a word or two."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_exception: object) -> None:
        await self._stack.aclose()

    @abstractmethod
    def lacks(self, workload: Workload) -> str:
        """Why it can't do this work; empty when it can."""

    async def prepare(self, workload: Workload) -> None:
        """Start what the work needs, unless it runs. Raises Failed."""
        return

    @abstractmethod
    async def verify(self, workload: Workload, job: Job, number: int) -> bool:
        """Whether the answer is worth a full reward. `number` is no other call's. Raises Failed."""

    @abstractmethod
    async def cpu_s(self) -> float:
        """CPU seconds so far of all that works for it, the harness's client left out."""

    async def quiesce(self) -> None:
        """After a warm-up: until what it does in its idle seconds is done."""
        return
