"""One held session, as the manager and its overview know it. Values only."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import anyio

from sandbox_gym.sandbox.session.records import SessionRecord
from sandbox_gym.sandbox.session.session import Session


@dataclass(slots=True, eq=False)
class HeldSession:
    """Where a session is: in a sandbox, in a snapshot, or both. Its lock is held while that changes."""

    session_id: str
    created_at: float
    last_used: float
    used_at: float = field(default_factory=time.monotonic)
    """As `last_used`, by `time.monotonic`: a correction of the machine's clock makes no session older."""
    box: Session | None = None
    snapshot_id: str | None = None
    base: str | None = None
    """The snapshot that it begins from, which its owner deletes."""
    dirty_since: float | None = None
    restored: bool = False
    stale: bool = False
    """With `restored`: what earlier calls did may be gone, and no call has told of it yet."""
    closed: bool = False
    calls: int = 0
    root: bool = False
    """Whoever seeded it asked for root."""
    lock: anyio.Lock = field(default_factory=anyio.Lock)

    def touch(self) -> None:
        """It is used now."""
        self.last_used, self.used_at = time.time(), time.monotonic()

    def record(self) -> SessionRecord:
        """What of it is written down. It has been kept at least once."""
        assert self.snapshot_id is not None
        of = (self.session_id, self.created_at, self.last_used)
        return SessionRecord(*of, self.snapshot_id, self.base, root=self.root)

    @classmethod
    def of_record(cls, record: SessionRecord) -> HeldSession:
        """As another process left it. Only what was put away in order is known to be whole."""
        of = (record.session_id, record.created_at, record.last_used)
        known = cls(*of, snapshot_id=record.snapshot_id, base=record.base, root=record.root)
        known.used_at -= max(0.0, time.time() - record.last_used)
        known.restored, known.stale = True, not record.whole
        return known


@dataclass(frozen=True, slots=True)
class SessionGlance:
    """One session as an overview shows it. Times as the session's records have them."""

    session_id: str
    created_at: float
    last_used: float
    live: bool
    calls: int


@dataclass(slots=True)
class SessionStats:
    """Counters since the start."""

    opened: int = 0
    woken: int = 0
    hibernated: int = 0
    lost: int = 0
    closed: int = 0
    checkpoints: int = 0
    snapshot_failures: int = 0
