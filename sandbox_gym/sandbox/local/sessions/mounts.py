"""Mounts on this machine, by system call: what is mounted where, tmpfs, overlay, and taking them away again.

Knows no sessions and no snapshots. Everything blocks; callers are in worker threads.
"""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_NOSUID: Final = 2
_NODEV: Final = 4
_BIND: Final = 4096
_SHARED: Final = 1 << 20
_DETACH: Final = 2
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Mount:
    """One line of mountinfo(5)."""

    mount_id: int
    point: str
    kind: str


def mounts(pid: int | str = "self") -> list[Mount]:
    """Every mount that `pid` sees, later ones over earlier ones. Raises OSError when there is no such process."""
    lines = Path(f"/proc/{pid}/mountinfo").read_text("utf-8", "surrogateescape").splitlines()
    return [_parse(line) for line in lines]


def _parse(line: str) -> Mount:
    head, _, tail = line.partition(" - ")
    fields = head.split(" ")
    point = fields[4].encode("utf-8", "surrogateescape").decode("unicode_escape") if "\\" in fields[4] else fields[4]
    return Mount(int(fields[0]), point, tail.split(" ", 1)[0])


def share(folder: Path) -> None:
    """Make `folder` a mount of its own whose later mounts reach the jails that see it. Idempotent."""
    if all(mount.point != str(folder) for mount in mounts()):
        _mount(str(folder), folder, "", _BIND, "")
    _mount("none", folder, "", _SHARED, "")


def tmpfs(folder: Path, *, size_bytes: int, inodes: int, uid: int) -> None:
    """A sized memory file system whose root belongs to `uid`."""
    options = f"size={size_bytes},nr_inodes={inodes},mode=700,uid={uid},gid={uid}"
    _mount("tmpfs", folder, "tmpfs", _NOSUID | _NODEV, options)


def overlay(folder: Path, lowers: Sequence[Path], *, upper: Path, work: Path) -> None:
    """`lowers` (topmost first) under `upper`, at `folder`. Raises OSError; names must hold neither ':' nor ','."""
    layers = ":".join(str(lower) for lower in lowers)
    # volatile: the upper is in memory, so there is nothing to sync; a redirect that a layer brings is not followed
    options = f"lowerdir={layers},upperdir={upper},workdir={work},volatile,redirect_dir=nofollow"
    if len(options) > 4000:
        raise OSError(errno.E2BIG, "too many layers for one mount")
    _mount("overlay", folder, "overlay", _NOSUID | _NODEV, options)


def unmount(folder: Path) -> bool:
    """Detach the topmost mount at `folder`; False when there is none."""
    if _libc.umount2(os.fsencode(folder), _DETACH) == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOENT):
        return False
    raise OSError(code, f"umount {folder}: {os.strerror(code)}")


def unmount_below(folder: Path) -> int:
    """Detach everything mounted at or below `folder`; how many that were."""
    prefix = f"{folder}/"
    points = [mount.point for mount in mounts() if mount.point == str(folder) or mount.point.startswith(prefix)]
    return sum(unmount(Path(point)) for point in reversed(points))


def _mount(source: str, folder: Path, kind: str, flags: int, options: str) -> None:
    result = _libc.mount(
        source.encode(), os.fsencode(folder), kind.encode() or None, ctypes.c_ulong(flags), options.encode() or None
    )
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"mount {kind or 'bind'} at {folder}: {os.strerror(code)}")
