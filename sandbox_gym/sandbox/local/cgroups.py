"""Control groups of local boxes, v1 and v2: memory and process caps where this process may make groups.

Owns the files under the cgroup mount; knows nothing of jails. All paths hang off a root, so that tests bring their own.
"""

from __future__ import annotations

import contextlib
import errno
import os
from dataclasses import dataclass
from pathlib import Path

CONTROLLERS_V1 = ("memory", "pids", "cpuacct")
PARENT = "sandbox_gym"


@dataclass(frozen=True, slots=True)
class Group:
    """One box's group: the folder per controller (v1) or the one folder (v2)."""

    folders: dict[str, Path]
    version: int

    @property
    def procs_files(self) -> list[str]:
        """Writing a PID into each of these moves the process into the box's group."""
        return sorted({str(folder / "cgroup.procs") for folder in self.folders.values()})

    def limit(self, memory_bytes: int, processes: int) -> None:
        """Cap the group; no swap where the kernel counts it."""
        memory, pids = self.folders["memory"], self.folders["pids"]
        if self.version == 1:
            swap = memory / "memory.memsw.limit_in_bytes"
            if swap.exists():  # never below the memory limit: so it goes up first and comes down last
                _write(swap, "-1")
            _write(memory / "memory.limit_in_bytes", str(memory_bytes))
            if swap.exists():
                _write(swap, str(memory_bytes))
        else:
            _write(memory / "memory.max", str(memory_bytes))
            with contextlib.suppress(OSError):  # absent on kernels without swap
                _write(memory / "memory.swap.max", "0")
        _write(pids / "pids.max", str(processes))

    def pids(self) -> list[int]:
        """The processes in the group now."""
        return [int(pid) for pid in _read(next(iter(self.folders.values())) / "cgroup.procs").split()]

    def processes(self) -> int:
        """How many processes are in the group now."""
        return len(self.pids())

    def oom_kills(self) -> int:
        """Processes of the group that the kernel killed for memory."""
        events = "memory.oom_control" if self.version == 1 else "memory.events"
        return _counter(self.folders["memory"] / events, "oom_kill")

    def process_cap_hits(self) -> int:
        """Forks that the group's process cap refused."""
        return _counter(self.folders["pids"] / "pids.events", "max")

    def remove(self) -> None:
        """Remove the emptied group; a group that is still busy is left to the next sweep."""
        for folder in set(self.folders.values()):
            with contextlib.suppress(OSError):
                folder.rmdir()


def _counter(path: Path, name: str) -> int:
    for line in _read(path).splitlines():
        key, _, value = line.partition(" ")
        if key == name and value.strip().isdigit():
            return int(value)
    return 0


class Cgroups:
    """Makes groups below `PARENT`. Raises OSError, with the reason, where this process may not."""

    def __init__(self, root: Path = Path("/sys/fs/cgroup")) -> None:
        self._root = root
        self.version = 2 if (root / "cgroup.controllers").exists() else 1
        self._parents = self._v2_parent() if self.version == 2 else self._v1_parents()

    def _v1_parents(self) -> dict[str, Path]:
        parents = {}
        for controller in CONTROLLERS_V1:
            base = self._root / controller
            if not base.is_dir():
                raise OSError(f"no cgroup v1 controller {controller} under {self._root}")
            parents[controller] = base / PARENT
            parents[controller].mkdir(exist_ok=True)
            _must_be_writable(parents[controller])
        return parents

    def _v2_parent(self) -> dict[str, Path]:
        """A delegated group of our own, or, as root, one at the top."""
        base = self._root if os.geteuid() == 0 else self._root / _own_v2_group().lstrip("/")
        parent = base / PARENT
        available = _read(base / "cgroup.controllers").split()
        missing = {"memory", "pids"} - set(available)
        if missing:
            raise OSError(f"cgroup v2 has no controller {', '.join(sorted(missing))} to hand out")
        _must_be_writable(base)
        _hand_out(base)
        parent.mkdir(exist_ok=True)
        _hand_out(parent)
        return dict.fromkeys(("memory", "pids"), parent)

    def make(self, name: str) -> Group:
        """A new group for one box."""
        folders = {controller: parent / name for controller, parent in self._parents.items()}
        for folder in set(folders.values()):
            folder.mkdir()
        return Group(folders, self.version)

    def sweep(self, is_alive: dict[str, bool]) -> list[str]:
        """Remove empty groups whose owner, the PID that starts their name, is not alive; their names."""
        removed = []
        for parent in set(self._parents.values()):
            for folder in parent.iterdir() if parent.is_dir() else ():
                if folder.is_dir() and not is_alive.get(folder.name.split("-")[0], False):
                    with contextlib.suppress(OSError):
                        folder.rmdir()
                        removed.append(folder.name)
        return removed


def _own_v2_group() -> str:
    """This process's group in the unified hierarchy: the line `0::/path` of /proc/self/cgroup."""
    for line in _read(Path("/proc/self/cgroup")).split("\n"):
        if line.startswith("0::"):
            return line[3:]
    return "/"


def _must_be_writable(folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OSError(f"{folder} is not writable")


def _hand_out(folder: Path) -> None:
    """Let children of `folder` have the controllers. A v2 group with processes of its own may not, so those move to a
    leaf first: so it is in a container and in a group that systemd delegated."""
    try:
        _write(folder / "cgroup.subtree_control", "+memory +pids")
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        leaf = folder / f"{PARENT}-server"
        leaf.mkdir(exist_ok=True)
        for pid in _read(folder / "cgroup.procs").split():
            with contextlib.suppress(ProcessLookupError):
                _write(leaf / "cgroup.procs", pid)
        _write(folder / "cgroup.subtree_control", "+memory +pids")


def _write(path: Path, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def cgroups_or_reason(root: Path = Path("/sys/fs/cgroup")) -> tuple[Cgroups | None, str]:
    """Cgroups, or None and why this process can't have them."""
    try:
        return Cgroups(root), ""
    except OSError as error:
        return None, f"{error} (user {os.geteuid()})"
