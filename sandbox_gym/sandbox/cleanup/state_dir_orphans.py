"""Orphans in the state folder: mounts, scratch folders, locks of dead owners. Never looks outside that folder.

Layout: `<state_dir>/<kind>/<owner>[-name]/...`. Mounts of any kind are ours to undo, folders of kind scratch to remove.
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import shutil
import time
from collections.abc import Sequence
from pathlib import Path

import anyio.to_thread

from sandbox_gym.sandbox.cleanup.owner import EXPIRY_GRACE_S, Owner, Owners, is_near, owner_of, parse_owner
from sandbox_gym.sandbox.cleanup.reaper import Orphan

_MNT_DETACH, _UMOUNT_NOFOLLOW = 2, 8
_ESCAPE = re.compile(r"\\([0-7]{3})")


class StateDirOrphans:
    """The state folder's own OrphanSource. `lifetime_s`: when a thing without a visible lock counts as expired."""

    def __init__(self, state_dir: Path, *, lifetime_s: float) -> None:
        self._root = Path(os.path.realpath(state_dir))
        self._owners = Owners(self._root)
        self._keep_s = lifetime_s + EXPIRY_GRACE_S

    async def orphans(self) -> Sequence[Orphan]:
        return await anyio.to_thread.run_sync(self._orphans, abandon_on_cancel=True)

    async def remove(self, orphan: Orphan) -> None:
        await anyio.to_thread.run_sync(self._remove, orphan, abandon_on_cancel=True)

    def _orphans(self) -> list[Orphan]:
        found = [orphan for point in reversed(mounts_below(self._root)) if (orphan := self._mount(point))]
        for entry in _entries(self._root / "scratch"):
            owner = owner_of(entry.name)
            why = self._owners.why_dead(owner, self._expires_at(entry)) if owner else ""
            if owner and why:
                found.append(Orphan("scratch", entry.name, str(owner), why))
        return found + self._locks()

    def _mount(self, point: Path) -> Orphan | None:
        """A mount point as an orphan. Its owner is in the second part of its path below the state folder."""
        parts = point.relative_to(self._root).parts
        owner = owner_of(parts[1]) if len(parts) > 1 else None
        if owner is None:
            return None
        why = self._owners.why_dead(owner, self._expires_at(self._root / parts[0] / parts[1]))
        return Orphan("mount", str(point), str(owner), why) if why else None

    def _locks(self) -> list[Orphan]:
        """Another namespace's lock stays until all that it may own has expired: it proves that the owner is dead."""
        found = []
        for entry in _entries(self._root / "owners"):
            owner = parse_owner(entry.name.removesuffix(".lock"))
            if owner is None or not entry.name.endswith(".lock"):
                continue
            why = self._owners.why_dead(owner)
            if why and (is_near(owner) or time.time() > self._expires_at(entry)):
                found.append(Orphan("lock", entry.name, str(owner), why))
        return found

    def _expires_at(self, path: Path) -> float:
        try:
            return path.lstat().st_mtime + self._keep_s
        except OSError:
            return float("inf")

    def _remove(self, orphan: Orphan) -> None:
        owner = parse_owner(orphan.owner)
        if owner is None or not self._is_still_dead(owner, orphan):
            raise PermissionError(f"{orphan.owner} is no dead owner")
        if orphan.kind == "mount":
            self._unmount(Path(orphan.name))
        elif orphan.kind == "scratch":
            self._remove_folder(self._named(orphan, "scratch", owner))
        elif orphan.kind == "lock":
            self._named(orphan, "owners", owner).unlink(missing_ok=True)
        else:
            raise ValueError(f"the state folder holds no {orphan.kind}")

    def _is_still_dead(self, owner: Owner, orphan: Orphan) -> bool:
        kept = Path(orphan.name) if orphan.kind == "mount" else self._root / "scratch" / orphan.name
        return bool(self._owners.why_dead(owner, self._expires_at(kept)))

    def _named(self, orphan: Orphan, kind: str, owner: Owner) -> Path:
        """The path that a name stands for; raises unless it is the owner's own and of one part."""
        bare = orphan.name.removesuffix(".lock") if kind == "owners" else orphan.name
        if owner_of(bare) != owner:
            raise PermissionError(f"{orphan.name!r} is not a name of {owner}")
        return self._root / kind / orphan.name

    def _unmount(self, point: Path) -> None:
        """Unmount lazily: a busy file system goes with its last user. Only mounts below the state folder right now."""
        if point not in mounts_below(self._root) or self._mount(point) is None:
            return
        if _libc().umount2(os.fsencode(point), _MNT_DETACH | _UMOUNT_NOFOLLOW) != 0:
            code = ctypes.get_errno()
            if code not in (errno.EINVAL, errno.ENOENT):  # not mounted any more
                raise OSError(code, f"umount {point}: {os.strerror(code)}")

    def _remove_folder(self, folder: Path) -> None:
        """Remove without following links or crossing mounts: a mount that is left keeps its folder."""
        inside = [point for point in mounts_below(self._root) if point.is_relative_to(folder)]
        if inside:
            raise OSError(errno.EBUSY, f"{len(inside)} mounts are still in {folder}")
        if folder.is_symlink() or not folder.is_dir():
            folder.unlink(missing_ok=True)
            return
        try:
            shutil.rmtree(folder)
        except FileNotFoundError:
            return
        except PermissionError:  # a program removed its own access rights, or overlayfs did
            _open_up(folder)
            shutil.rmtree(folder)


def _open_up(folder: Path) -> None:
    for parent, names, _files in os.walk(folder):
        for name in names:
            path = os.path.join(parent, name)
            if not os.path.islink(path):
                os.chmod(path, 0o700)


def _entries(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def mounts_below(root: Path) -> list[Path]:
    """Mount points strictly below `root`, in the order they were mounted; one mounted over another comes twice."""
    points = []
    for line in Path("/proc/self/mountinfo").read_text(errors="surrogateescape").splitlines():
        fields = line.split(" ")
        text = _ESCAPE.sub(lambda match: chr(int(match[1], 8)), fields[4])
        point = Path(text)
        if point != root and point.is_relative_to(root) and ".." not in point.parts:
            points.append(point)
    return points


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
