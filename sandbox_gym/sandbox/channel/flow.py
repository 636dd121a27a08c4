"""How much input a guest holds that its programs have not read yet. Owns that count; knows no frames.

A guest always listens, whatever its programs do, because the host never sends it more than it can keep.
"""

from __future__ import annotations

from typing import Final

import anyio

from sandbox_gym.guest.protocol import frames

WINDOW_BYTES: Final[int] = frames.MAX_BACKLOG


class InputFlow:
    """One guest's. A run's input counts from when it is sent until the guest says that it was taken, or that the run
    is over."""

    def __init__(self) -> None:
        self._held: dict[int, int] = {}
        self._change: anyio.Event | None = None
        """There is one while a sender waits: making one costs more than counting a short run's input."""

    def fits(self, size: int) -> bool:
        """Whether so many bytes may be sent now."""
        held = sum(self._held.values())
        return not held or held + size <= WINDOW_BYTES

    def begin(self, run_id: int) -> None:
        """A run is about to be sent."""
        self._held[run_id] = 0

    def live(self, run_id: int) -> bool:
        """Whether a run that was sent goes on, as far as is known."""
        return run_id in self._held

    def sent(self, run_id: object, size: int) -> None:
        if isinstance(run_id, int) and run_id in self._held:
            self._held[run_id] += size

    def took(self, run_id: object, size: object) -> None:
        """What the guest says of a run; of one that is over it may come late. Raises ValueError for nonsense."""
        if type(run_id) is not int or type(size) is not int or size < 0:
            raise ValueError("a took frame without a run and a size")
        if run_id in self._held:
            self._held[run_id] = max(0, self._held[run_id] - size)
        self.changed()

    def ended(self, run_id: object) -> None:
        """A run is over: what it did not take is gone."""
        if isinstance(run_id, int):
            self._held.pop(run_id, None)
        self.changed()

    def clear(self) -> None:
        """No run is left."""
        self._held.clear()
        self.changed()

    def changed(self) -> None:
        change, self._change = self._change, None
        if change is not None:
            change.set()

    async def wait(self) -> None:
        """Until something changes."""
        if self._change is None:
            self._change = anyio.Event()
        await self._change.wait()
