"""What a snapshot is. Values and errors only; knows no provider.

A snapshot holds files, the shell's folder and environment, and, on request, Python's picklable globals. It holds no
processes. Whatever a program left in it is data: restoring it runs nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from sandbox_gym.errors import RequestError, SandboxGymError

FORGOTTEN_S: Final = 7 * 24 * 3600
"""A snapshot that no record has named for so long, as after a crash before it was written, goes with the next
collection. No sooner: a server of an older version that ran meanwhile may not have read all records."""


class SnapshotFailed(SandboxGymError):
    """The work folder can't be kept: it nests too deep, or the disk budget is used up. The program's doing."""


class NoSuchSnapshot(SandboxGymError):
    """There is no snapshot of that id, or no longer."""


class RootedSnapshot(RequestError):
    """No verdict begins from what root, or what came after root, left: it may have replaced any program there."""

    def __init__(self, snapshot_id: str) -> None:
        problem = f"is snapshot {snapshot_id}, of a session that had root"
        super().__init__("snapshot", problem, "begin from one of a session that never had it")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One kept state. Ids are random; `digest` names the content, so that equal layers are stored once."""

    snapshot_id: str
    parent_id: str | None
    digest: str
    """sha256 over the topmost layer's entries, or the image's id; empty while it is in memory only."""
    size_bytes: int
    """Disk that the topmost layer takes; the parents' layers are not counted again."""
    files: int
    created_at: float
    """Seconds since the epoch."""
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    lost_globals: Sequence[str] = ()
    """Python names that could not be pickled, where globals were asked for."""
    rooted: bool = False
    """Its session, or one that it goes back to, had root."""


@dataclass(frozen=True, slots=True)
class SavedState:
    """What a session goes on from, beside its files. The pickled globals are read inside the sandbox and nowhere
    else."""

    snapshot: Snapshot
    globals_blob: bytes = b""


@dataclass(frozen=True, slots=True)
class Saving:
    """A snapshot that is being made: what the driver said of shell and Python; the files are still to be kept."""

    snapshot: Snapshot
    globals_blob: bytes
    durable: bool
    """False: in memory is enough, in milliseconds, gone with this process."""
    busy: bool
    """Programs run that go on after the snapshot: it must be a copy, so that nothing moves below them."""
    settle: Callable[[str], Awaitable[None]]
    """To be called with the work folder's path when it was mounted anew: shell and Python step into it by name."""
