"""What the scheduler asks of whatever joins the machines: which nodes there are, and a way to each one's pool.

Contracts only. `ray_fleet.py` is the one over Ray, `inprocess.py` the one within this process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class NodeLink(Protocol):
    """A way to one node's pool."""

    async def ask(self, operation: str, message: bytes) -> bytes:
        """Its reply. Raises NodeLost when it is gone; may wait for ever: the caller keeps the clock. Cancelling a call
        ends the wait, not what the node does."""
        ...

    async def aclose(self, *, lost: bool = False) -> None:
        """End the pool: in peace, or, where it counts as lost, at once and without a last word on its sessions, for
        another may have taken them over. Idempotent."""
        ...


class Fleet(Protocol):
    """The machines."""

    async def nodes(self) -> Sequence[str]:
        """Names of those that are alive and may hold a pool. Raises NodeLost when no node can be asked now."""
        ...

    async def open(self, node: str) -> NodeLink:
        """Start a pool on a node; it is up when its first `ping` is answered. Raises NodeLost."""
        ...
