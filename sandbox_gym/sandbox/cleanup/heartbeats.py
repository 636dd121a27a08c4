"""Whether a lock file in a shared folder is still renewed, by what its observers see and no comparison of wall clocks.

A file's time counts as a heartbeat of any value: what matters is that it changes. How long it has not is measured by
the observer's monotonic clock alone, so that a clock that is corrected, or another machine's that differs, proves
nothing. What this boot's processes saw is in a file beside the locks, for commands that look once and end.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox_gym.private import write_whole

_SUFFIX: Final = ".seen"
_KEEP_S: Final = 24 * 3600.0
"""What another boot saw is of no use to it after a restart, and is removed when it is so old."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A file as it was first seen in its present state; `since_s`: this boot's monotonic clock."""

    inode: int
    time_ns: int
    since_s: float

    def still_holds(self, found: os.stat_result, now_s: float) -> bool:
        """Whether the file is as it was."""
        return (self.inode, self.time_ns) == (found.st_ino, found.st_mtime_ns) and self.since_s <= now_s


class Heartbeats:
    """What was seen of the locks in `folder`, by this process and, through a file, by others of the same boot."""

    def __init__(self, folder: Path, boot: str) -> None:
        self._folder = folder
        self._file = folder / f"{boot}{_SUFFIX}"
        self._seen: dict[str, Seen] = {}

    def silent_s(self, lock: Path) -> float:
        """For how many seconds, as far as it was looked at, `lock` has stood unchanged. Raises OSError where there is
        none."""
        found, now = lock.stat(), time.monotonic()
        seen = self._seen.get(lock.name)
        if seen is None or not seen.still_holds(found, now):
            seen = self._kept().get(lock.name)
        if seen is not None and seen.still_holds(found, now):
            self._seen[lock.name] = seen
            return now - seen.since_s
        self._seen[lock.name] = Seen(found.st_ino, found.st_mtime_ns, now)
        self._keep()
        return 0.0

    def _kept(self) -> dict[str, Seen]:
        """What was written down; nothing where it can't be read."""
        with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
            text = self._file.read_bytes()
            return {name: Seen(int(i), int(t), float(s)) for name, (i, t, s) in json.loads(text).items()}
        return {}

    def _keep(self) -> None:
        """Of locks that are there. A disk that is full loses no more than what later processes would have known."""
        with contextlib.suppress(OSError):
            known = {**self._kept(), **self._seen}
            self._seen = {name: seen for name, seen in known.items() if (self._folder / name).exists()}
            rows = {name: (seen.inode, seen.time_ns, seen.since_s) for name, seen in self._seen.items()}
            write_whole(self._file, json.dumps(rows).encode())
            for other in self._folder.glob(f"*{_SUFFIX}"):
                if other != self._file and time.time() - other.stat().st_mtime > _KEEP_S:
                    other.unlink()
