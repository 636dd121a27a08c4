"""Processes that still hold files of a mount that was taken away from a sandbox: as the kernel knows, not the sandbox.

Blocking; needs to be root. Knows no sessions.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Set
from pathlib import Path

from sandbox_gym.sandbox.local.sessions import mounts


def work_mounts(pids: Iterable[int], point: str) -> frozenset[int]:
    """The ids of what is mounted at `point` in the view of any of `pids`."""
    found: set[int] = set()
    for pid in pids:
        try:
            found.update(mount.mount_id for mount in mounts.mounts(pid) if mount.point == point)
        except OSError:
            continue  # it ended meanwhile
    return frozenset(found)


def holders(pids: Iterable[int], mount_ids: Set[int]) -> int:
    """How many folders, open files and mapped files of `pids` lie in `mount_ids`."""
    return sum(1 for pid in pids for held in _held(pid) if held in mount_ids)


def _held(pid: int) -> Iterator[int]:
    proc = Path(f"/proc/{pid}")
    try:
        open_files = os.listdir(proc / "fdinfo")
        mapped = _foreign_maps(proc)
    except OSError:
        return
    for name in open_files:
        yield _mount_id(proc / "fdinfo" / name)
    for path in (proc / "cwd", proc / "root", *(proc / "map_files" / name for name in mapped)):
        try:
            handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue
        try:
            yield _mount_id(Path(f"/proc/self/fdinfo/{handle}"))
        finally:
            os.close(handle)


def _foreign_maps(proc: Path) -> list[str]:
    """Names in map_files of what is not mapped from the system's own disk: this skips hundreds of libraries."""
    device = os.stat("/usr").st_dev
    system = f"{os.major(device):02x}:{os.minor(device):02x}"
    names = []
    for line in (proc / "maps").read_text("utf-8", "surrogateescape").splitlines():
        where, _mode, _offset, dev, inode = line.split(None, 5)[:5]
        if inode != "0" and dev != system:
            names.append("-".join(f"{int(end, 16):x}" for end in where.split("-")))
    return names


def _mount_id(fdinfo: Path) -> int:
    try:
        lines = fdinfo.read_text("ascii", "replace").splitlines()
    except OSError:
        return -1
    return next((int(line.split(":")[1]) for line in lines if line.startswith("mnt_id:")), -1)
