"""CPU seconds of sandboxes, those that have ended included.

When a sandbox is ended the kernel throws its processes' times away: nobody waited for them. Its cgroup has them while
it lives, so a thread reads the groups of our servers all the time and keeps the last word of each.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from pathlib import Path

from sandbox_gym.sandbox.cleanup.owner import owner_of
from sandbox_gym.sandbox.local.cgroups import PARENT

EVERY_S = 0.05
_ROOT = Path("/sys/fs/cgroup")
_CONTAINER = re.compile(r"(docker-)?[0-9a-f]{64}(\.scope)?")


class BoxClock:
    """Reads while the context lasts. `servers`: the processes whose sandboxes count."""

    def __init__(self, servers: Callable[[], Collection[int]], root: Path = _ROOT) -> None:
        self._servers, self._root = servers, root
        self._seen: dict[str, float] = {}
        self._parents: list[Path] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._lock = threading.Lock()

    def __enter__(self) -> BoxClock:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._over.set()
        self._thread.join()

    def seconds(self) -> float:
        """Of all sandboxes that were ever seen; 0 where they have no groups."""
        self._read()
        return sum(self._seen.values())

    def _run(self) -> None:
        while not self._over.wait(EVERY_S):
            self._read()

    def _read(self) -> None:
        with self._lock:
            for group in self._groups():
                self._note(group)

    def _groups(self) -> Iterator[Path]:
        """Those that count, now."""
        if not self._parents:
            self._parents = [one for one in self._root.glob(f"**/{PARENT}") if _counts(one)][:1]
        servers = set(self._servers())
        for parent in self._parents:
            for group in parent.iterdir():
                owner = owner_of(group.name)
                if owner is not None and owner.pid in servers:
                    yield group

    def _note(self, group: Path) -> None:
        with suppress(OSError, ValueError):  # it ended meanwhile
            self._seen[group.name] = max(self._seen.get(group.name, 0.0), _usage_s(group))


class ContainerClock(BoxClock):
    """Of all containers that the Engine has meanwhile: in a system's turn nobody else's do anything."""

    def __init__(self, root: Path = _ROOT) -> None:
        super().__init__(lambda: (), root)

    def _groups(self) -> Iterator[Path]:
        if not self._parents:
            folders = [*self._root.glob("**/docker"), *self._root.glob("**/system.slice")]
            self._parents = [one for one in folders if _counts(one)]
        for parent in self._parents:
            for group in parent.iterdir():
                if _CONTAINER.fullmatch(group.name):
                    yield group


def _counts(group: Path) -> bool:
    """Whether it is of a hierarchy that counts CPU time."""
    with suppress(OSError, ValueError):
        return _usage_s(group) >= 0
    return False


def _usage_s(group: Path) -> float:
    """What a group has used: v1 in nanoseconds, v2 in microseconds among other lines. Raises OSError, ValueError."""
    with suppress(FileNotFoundError):
        return int((group / "cpuacct.usage").read_text()) / 1e9
    for line in (group / "cpu.stat").read_text().splitlines():
        name, _, value = line.partition(" ")
        if name == "usage_usec":
            return int(value) / 1e6
    raise ValueError(f"{group} does not count CPU time")
