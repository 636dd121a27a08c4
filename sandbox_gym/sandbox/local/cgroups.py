"""Control groups of local boxes, v1 and v2: memory, process and CPU caps where this process may make groups.

Owns the files under the cgroup mount; knows nothing of jails. All paths hang off a root, so that tests bring their own.
"""

from __future__ import annotations

import contextlib
import errno
import os
import signal
from dataclasses import dataclass
from pathlib import Path

from sandbox_gym.guest.runs.evidence import NEAR_CAP
from sandbox_gym.sandbox.channel.strain import Strain

CONTROLLERS_V1 = ("memory", "pids", "cpuacct")
OPTIONAL_V1 = ("cpu", "freezer")
"""Kernels without CFS bandwidth control, and delegated v2 groups, may lack cpu; `Cgroups.caps_cpu` says. freezer is
there so that a frozen sandbox can be thawed before it is killed."""
PARENT = "sandbox_gym"
SHARES_V1 = 1024
WEIGHT_V2 = 100
"""The kernel's default for a group: as much as one process of nice 0 has."""
_WEIGHT_V2_MAX = 10_000
CPU_PERIOD_US = 100_000
_CPU_QUOTA_MIN_US = 1000


@dataclass(frozen=True, slots=True)
class Group:
    """One box's group: the folder per controller (v1) or the one folder (v2)."""

    folders: dict[str, Path]
    version: int

    @property
    def procs_files(self) -> list[str]:
        """Writing a PID into each of these moves the process into the box's group."""
        return sorted({str(folder / "cgroup.procs") for folder in self.folders.values()})

    def limit(self, memory_bytes: int, processes: int, cpus: float) -> None:
        """Cap the group; no swap where the kernel counts it. `cpus` is what the group may use of them at once."""
        memory, pids = self.folders["memory"], self.folders["pids"]
        if self.version == 1:
            swap = memory / "memory.memsw.limit_in_bytes"
            if swap.exists():  # never below the memory limit: so it goes up first and comes down last
                _write(swap, "-1")
            _write(memory / "memory.limit_in_bytes", str(memory_bytes))
            if swap.exists():
                _write(swap, str(memory_bytes))
            elif (memory / "memory.swappiness").exists():
                _write(memory / "memory.swappiness", "0")
        else:
            _write(memory / "memory.max", str(memory_bytes))
            with contextlib.suppress(OSError):  # absent on kernels without swap
                _write(memory / "memory.swap.max", "0")
        _write(pids / "pids.max", str(processes))
        if "cpu" in self.folders:
            self._limit_cpu(self.folders["cpu"], cpus)

    def _limit_cpu(self, folder: Path, cpus: float) -> None:
        """A hard quota. Boxes' weights stay as the kernel sets them, equal: under pressure each gets the same share of
        what `PARENT` has."""
        quota = max(_CPU_QUOTA_MIN_US, round(cpus * CPU_PERIOD_US))
        if self.version == 1:
            _write(folder / "cpu.cfs_period_us", str(CPU_PERIOD_US))
            try:
                _write(folder / "cpu.cfs_quota_us", str(quota))
            except OSError as error:
                if error.errno != errno.EINVAL:  # more than this server itself may use, which caps the sandbox anyway
                    raise
        else:
            _write(folder / "cpu.max", f"{quota} {CPU_PERIOD_US}")

    def oom_kills(self) -> int:
        """Processes of the group that the kernel killed for memory, whichever group was short of it."""
        events = "memory.oom_control" if self.version == 1 else "memory.events"
        return _counter(self.folders["memory"] / events, "oom_kill")

    def times_full(self) -> int:
        """How often the group was at its own memory limit; in v1 whether it was, since `forget_peak`: new kernels leave
        v1's counts at 0, but not its peak."""
        memory = self.folders["memory"]
        if self.version == 1:
            peak, cap = (_number(memory / f"memory.{name}_in_bytes") for name in ("max_usage", "limit"))
            return int(peak >= cap - NEAR_CAP)
        return _counter(memory / "memory.events", "oom")

    def forget_peak(self) -> None:
        """Reset the peak: it is the next task's from now on."""
        if self.version == 1:
            _write_if_there(self.folders["memory"] / "memory.max_usage_in_bytes", "0")

    def strain(self) -> Strain:
        """See `Strain`."""
        cpu, pids = self.folders["cpuacct" if self.version == 1 else "memory"], self.folders["pids"]
        throttled = _counter(self.folders["cpu"] / "cpu.stat", "nr_throttled") if "cpu" in self.folders else 0
        cpu_s = _number(cpu / "cpuacct.usage") / 1e9 or _counter(cpu / "cpu.stat", "usage_usec") / 1e6
        return Strain(throttled, cpu_s, _number(pids / "pids.current"), _number(pids / "pids.max"))

    def pids(self) -> set[int]:
        """The processes in the group now, in any of its folders."""
        folders = set(self.folders.values())
        return {int(pid) for folder in folders for pid in _read(folder / "cgroup.procs").split() if pid != "0"}

    def freeze(self) -> bool:
        """Stop all that is in it, a moment after this, and what is started there later; False where the kernel does
        not."""
        file = self._freezer()
        if file is not None:
            _write(file, "FROZEN" if self.version == 1 else "1")
        return file is not None

    def frozen(self) -> bool:
        """Whether nothing in it runs any more."""
        file = self._freezer()
        if file is None or self.version == 1:
            return file is not None and _read(file).strip() == "FROZEN"
        return bool(_counter(file.with_name("cgroup.events"), "frozen"))

    def _freezer(self) -> Path | None:
        name = "freezer.state" if self.version == 1 else "cgroup.freeze"
        return next((folder / name for folder in self.folders.values() if (folder / name).exists()), None)

    def thaw(self) -> None:
        """Undo a freeze: in v1 frozen processes don't die of SIGKILL."""
        for folder in set(self.folders.values()):
            _write_if_there(folder / "freezer.state", "THAWED")
            _write_if_there(folder / "cgroup.freeze", "0")

    def kill(self) -> None:
        """SIGKILL all that is in it now, thawed first; forks meanwhile need another call."""
        self.thaw()
        for folder in set(self.folders.values()):
            _write_if_there(folder / "cgroup.kill", "1")
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                pidfd = os.pidfd_open(pid)
                try:
                    if pid in self.pids():  # the number may have gone to another process before it was opened
                        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
                finally:
                    os.close(pidfd)

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


def _number(path: Path) -> int:
    text = _read(path).strip()
    return int(text) if text.isdigit() else 0


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
            parents[controller] = base.resolve() / PARENT  # cpu and cpuacct are links to one folder on many machines
        for controller in OPTIONAL_V1:
            if (self._root / controller).is_dir():
                parents[controller] = (self._root / controller).resolve() / PARENT
        for parent in parents.values():
            parent.mkdir(exist_ok=True)
            _must_be_writable(parent)
        if "cpu" in parents:
            _weigh(parents["cpu"] / "cpu.shares", SHARES_V1, SHARES_V1 * _cores())
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
        wanted: list[str] = [controller for controller in ("cpu", "memory", "pids") if controller in available]
        _hand_out(base, wanted)
        parent.mkdir(exist_ok=True)
        _hand_out(parent, wanted)
        if "cpu" in wanted:
            _weigh(parent / "cpu.weight", WEIGHT_V2, min(WEIGHT_V2 * _cores(), _WEIGHT_V2_MAX))
        return dict.fromkeys(wanted, parent)

    @property
    def caps_cpu(self) -> bool:
        """Whether boxes get a CPU quota."""
        return "cpu" in self._parents

    @property
    def caps_swap(self) -> bool:
        """Whether swap is counted against a box's memory; without it swapping is merely discouraged (v1)."""
        name = "memory.memsw.limit_in_bytes" if self.version == 1 else "memory.swap.max"
        return (self._parents["memory"] / name).exists()

    def headroom(self) -> tuple[int, int]:
        """(bytes of memory, processes) that the groups above the boxes still allow; the machine's own limits count."""
        memory = min([_free_memory(), *_left(self._parents["memory"], self._root, _MEMORY)])
        processes = min(
            [_number(Path("/proc/sys/kernel/threads-max")), *_left(self._parents["pids"], self._root, _PIDS)]
        )
        return memory, processes

    def make(self, name: str) -> Group:
        """A new group for one box. Raises OSError, and leaves no part of it then."""
        group = Group({controller: parent / name for controller, parent in self._parents.items()}, self.version)
        try:
            for folder in set(group.folders.values()):
                folder.mkdir()
        except OSError:
            group.remove()
            raise
        return group

    def names(self) -> list[str]:
        """Every group below `PARENT`, of any owner."""
        return sorted(
            {entry.name for parent in set(self._parents.values()) for entry in parent.iterdir() if entry.is_dir()}
        )

    def existing(self, name: str) -> Group:
        """The group of that name, as far as its folders are there. Raises ValueError for what is no bare name."""
        if name in ("", ".", "..") or "/" in name:
            raise ValueError(f"{name!r} is no group's name")
        folders = {controller: parent / name for controller, parent in self._parents.items()}
        return Group({controller: folder for controller, folder in folders.items() if folder.is_dir()}, self.version)


_MEMORY = (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes"))
_PIDS = (("pids.max", "pids.current"),)


def _left(folder: Path, root: Path, names: tuple[tuple[str, str], ...]) -> list[int]:
    """What each group from `folder` up has left of its cap, where it has one."""
    found = []
    while folder not in (root, folder.parent):
        for cap, used in names:
            text = _read(folder / cap).strip()
            if text.isdigit():
                found.append(max(0, int(text) - _number(folder / used)))
        folder = folder.parent
    return found


def _free_memory() -> int:
    for line in _read(Path("/proc/meminfo")).splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


def _own_v2_group() -> str:
    """This process's group in the unified hierarchy: the line `0::/path` of /proc/self/cgroup."""
    for line in _read(Path("/proc/self/cgroup")).split("\n"):
        if line.startswith("0::"):
            return line[3:]
    return "/"


def _cores() -> int:
    return len(os.sched_getaffinity(0))


def _weigh(file: Path, untold: int, weight: int) -> None:
    """All sandboxes together weigh as much as one process for each core: else the scheduler would treat them as one
    process of the machine. A weight that another process gave the group stays."""
    if _read(file).strip() in ("", str(untold)):
        with contextlib.suppress(OSError):  # it is no cap: only the fair share is lost
            _write(file, str(weight))


def _must_be_writable(folder: Path) -> None:
    if not os.access(folder, os.W_OK | os.X_OK):
        raise OSError(f"{folder} is not writable")


def _hand_out(folder: Path, controllers: list[str]) -> None:
    """Let children of `folder` have the controllers. A v2 group with processes of its own may not, so those move to a
    leaf first: so it is in a container and in a group that systemd delegated."""
    text = " ".join(f"+{controller}" for controller in controllers)
    try:
        _write(folder / "cgroup.subtree_control", text)
    except OSError as error:
        if error.errno != errno.EBUSY:
            raise
        leaf = folder / f"{PARENT}-server"
        leaf.mkdir(exist_ok=True)
        for pid in _read(folder / "cgroup.procs").split():
            with contextlib.suppress(ProcessLookupError):
                _write(leaf / "cgroup.procs", pid)
        _write(folder / "cgroup.subtree_control", text)


def _write(path: Path, text: str) -> None:
    with open(path, "w") as file:
        file.write(text)


def _write_if_there(path: Path, text: str) -> None:
    with contextlib.suppress(OSError):
        fd = os.open(path, os.O_WRONLY)
        try:
            os.write(fd, text.encode())
        finally:
            os.close(fd)


def _read(path: Path) -> str:
    """Without a file object: it is read several times in each verify."""
    try:
        fd = os.open(path, os.O_RDONLY)
        try:
            return b"".join(iter(lambda: os.read(fd, 1 << 16), b"")).decode("ascii", "replace")
        finally:
            os.close(fd)
    except OSError:
        return ""


def cgroups_or_reason(root: Path = Path("/sys/fs/cgroup")) -> tuple[Cgroups | None, str]:
    """Cgroups, or None and why this process can't have them."""
    try:
        return Cgroups(root), ""
    except OSError as error:
        return None, f"{error} (user {os.geteuid()})"
