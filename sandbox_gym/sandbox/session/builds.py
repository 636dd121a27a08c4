"""Snapshots that something was built into, such as a repository: who builds them, and what others need to know of one.

Knows neither what is built nor where: requests and records are the builder's own bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from sandbox_gym.config import Settings
from sandbox_gym.sandbox.session.manager import Sessions


@dataclass(frozen=True, slots=True)
class BuiltSnapshot:
    """Equal requests have one `key`; `record` is the builder's. `further`: snapshots that plans begin from, too."""

    key: str
    snapshot_id: str
    record: bytes
    further: tuple[str, ...] = ()


class SnapshotBuilder(Protocol):
    """Builds on this machine."""

    async def build(self, request: bytes) -> BuiltSnapshot:
        """What is asked for, built unless it is kept. Raises Unavailable, and CodecError for no request of its own."""
        ...

    def kept(self) -> Sequence[BuiltSnapshot]:
        """All that is built."""
        ...


MakeBuilder = Callable[[Sessions, Settings], SnapshotBuilder]
