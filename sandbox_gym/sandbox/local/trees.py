"""Work folders of local sessions: filled from layers, cut into new layers. Blocking; callers are in worker threads.

`OverlayTrees` needs the right to mount: a cut is one more overlay, whatever was written. `CopyTrees` needs nothing: a
cut copies the folder. Both give hostile trees nothing but storage: links are not followed and nothing in them is run.

What is kept is STORED_UID's, in memory and on disk; a slot shows it as the files of the session's own user.
"""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol

from sandbox_gym.limits import Limits
from sandbox_gym.private import make_private
from sandbox_gym.sandbox.local import idmaps, mounts

COPY_TIMEOUT_S = 120
MAX_COVERED = 8
STORED_UID: Final = 0x6FFF0000
"""As root, whose all kept layers are, so that any session can go on from any; no process has it where sessions can have
users of their own."""


@dataclass(frozen=True, slots=True)
class Space:
    """How much may be written above the layers."""

    size_bytes: int
    inodes: int


class Slots(Protocol):
    """Folders that a jail binds before it is known what they will hold."""

    own_users: bool
    """Whether each slot can be another user's, whatever it is filled with."""

    def slot(self, name: str, uid: int = 0) -> Path:
        """A new slot that is `uid`'s and root's alone, whatever mode the session gives it; 0: the storing user's."""
        ...

    def renew(self) -> None:
        """The folder of all slots, anew where it is gone."""
        ...

    def dispose(self, slot: Path) -> None:
        """Remove a slot and what was written in it since its last cut. Idempotent."""
        ...

    def close(self) -> None:
        """Take away what was made for all slots, once they are gone."""
        ...


class Trees(Slots, Protocol):
    """Slots whose content is layers."""

    kind: Literal["overlay", "copy"]

    def fill(self, slot: Path, layers: Sequence[Path], space: Space | None = None) -> None: ...

    def cut(self, slot: Path) -> Path:
        """What was written since the slot was filled or last cut, as a layer that is written no more."""
        ...

    def rebase(self, slot: Path, layers: Sequence[Path]) -> bool:
        """Put a slot on other layers of the same content; False when it was written meanwhile, or needs none."""
        ...

    def drop(self, cut: Path) -> None:
        """A cut is needed no longer: its bytes are in the store, or nowhere. Idempotent."""
        ...


def copy_tree(source: Path, target: Path) -> None:
    """All of `source` into the new folder `target`: modes, owners, links, holes, overlay's marks. Raises OSError."""
    target.mkdir(parents=True)
    command = ["cp", "--archive", "--no-dereference", "--sparse=always", "--reflink=auto", f"{source}/.", str(target)]
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=COPY_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise OSError(f"copying a work folder took over {COPY_TIMEOUT_S} s") from error
    if done.returncode:
        raise OSError(f"copying a work folder failed: {done.stderr[-300:].decode('utf-8', 'replace').strip()}")


def give_tree(folder: Path, uid: int) -> None:
    """All of `folder` becomes `uid`'s, without following links. Raises OSError."""
    waiting = [os.fspath(folder)]
    os.chown(folder, uid, uid, follow_symlinks=False)
    while waiting:
        with os.scandir(waiting.pop()) as entries:
            for entry in entries:
                mode = entry.stat(follow_symlinks=False).st_mode
                os.chown(entry.path, uid, uid, follow_symlinks=False)
                if mode & (stat.S_ISUID | stat.S_ISGID) and stat.S_ISREG(mode):  # a change of owner drops them
                    os.chmod(entry.path, stat.S_IMODE(mode))
                if stat.S_ISDIR(mode):
                    waiting.append(entry.path)


def remove_tree(folder: Path) -> None:
    """Whatever a program made of a folder goes, without following links. Raises OSError."""
    if not folder.exists():
        return
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):  # unreadable modes as an unprivileged user, or nesting beyond Python's patience
        subprocess.run(["chmod", "-R", "u+rwX", str(folder)], capture_output=True, timeout=COPY_TIMEOUT_S, check=False)
        subprocess.run(["rm", "-rf", "--", str(folder)], capture_output=True, timeout=COPY_TIMEOUT_S, check=True)


def _closed_slot(root: Path, name: str, gid: int) -> Path:
    """A folder in a folder that only `gid` and root can pass: no mode that a session gives the inner one opens it."""
    closed = root / name
    closed.mkdir(mode=0o700)
    if gid:
        os.chown(closed, -1, gid)
        closed.chmod(0o710)
    slot = closed / "w"
    slot.mkdir(mode=0o755)
    return slot


class OverlayTrees:
    """Each slot: an overlay of read-only layers under a sized tmpfs. `root` must be a folder of this process alone."""

    kind: Literal["overlay", "copy"] = "overlay"

    def __init__(self, root: Path, store: Path, *, limits: Limits) -> None:
        """`store`: where layers on disk are. Raises OSError where nothing can be mounted."""
        self._root, self._limits = root, limits
        self._stacks: dict[Path, list[Path]] = {}
        self._covered: dict[Path, int] = {}
        self._spaces: dict[Path, Space] = {}
        self._mappings: dict[Path, int] = {}
        """Slot -> the user namespace that makes what is stored its session's."""
        self._count = 0
        self.renew()
        self.why_shared = self._unmappable(store)
        self.own_users = not self.why_shared

    def renew(self) -> None:
        make_private(self._root)
        mounts.share(self._root)

    def _unmappable(self, store: Path) -> str:
        """Why what is stored can't be shown as another user's here; empty where it can."""
        trial = self._root / "trial"
        trial.mkdir()
        try:
            mounts.tmpfs(trial, size_bytes=1 << 16, inodes=2, uid=0)
            namespace = idmaps.mapping(STORED_UID, STORED_UID + 1)
            try:
                with idmaps.seen_through([trial, store], namespace, self._root / "view"):
                    return ""
            finally:
                os.close(namespace)
        except OSError as error:
            return str(error)
        finally:
            mounts.unmount(trial)
            trial.rmdir()

    def slot(self, name: str, uid: int = 0) -> Path:
        namespace = idmaps.mapping(STORED_UID, uid) if uid and self.own_users else -1
        try:
            slot = _closed_slot(self._root, name, uid)
        except BaseException:
            if namespace >= 0:
                os.close(namespace)
            raise
        if namespace >= 0:
            self._mappings[slot] = namespace
        return slot

    def fill(self, slot: Path, layers: Sequence[Path], space: Space | None = None) -> None:
        self._spaces[slot] = space or Space(self._limits.scratch_bytes, self._limits.scratch_inodes)
        # a layer that comes again below hides nothing of itself, and overlay refuses to see it twice
        self._stack(slot, list(dict.fromkeys(layers)) or [self._empty()])

    def cut(self, slot: Path) -> Path:
        below = self._stacks[slot]
        self._covered[slot] = self._covered.get(slot, 0) + 1
        if self._covered[slot] > MAX_COVERED:
            self._uncover(slot)
        self._stack(slot, below)
        return below[0]

    def rebase(self, slot: Path, layers: Sequence[Path]) -> bool:
        upper = self._stacks[slot][0]
        if any(upper.iterdir()):
            return False
        self._uncover(slot)
        self.drop(upper)
        self.fill(slot, layers)
        return True

    def _uncover(self, slot: Path) -> None:
        """Take every mount off a slot. Each costs milliseconds, so a cut mounts over, and this comes later."""
        while mounts.unmount(slot):
            pass
        self._covered.pop(slot, None)

    def _stack(self, slot: Path, below: list[Path]) -> None:
        self._count += 1
        upper = self._root / f"u{self._count}"
        upper.mkdir(mode=0o700)
        space = self._spaces[slot]
        mounts.tmpfs(upper, size_bytes=space.size_bytes, inodes=space.inodes, uid=STORED_UID)
        for name in ("u", "w"):
            (upper / name).mkdir(mode=0o755)
            os.chown(upper / name, STORED_UID, STORED_UID)
        namespace = self._mappings.get(slot)
        if namespace is None:
            mounts.overlay(slot, below, upper=upper / "u", work=upper / "w")
        else:
            with idmaps.seen_through([upper, *below], namespace, self._root / f"v{self._count}") as (top, *shown):
                mounts.overlay(slot, shown, upper=top / "u", work=top / "w")
        self._stacks[slot] = [upper / "u", *below]

    def _empty(self) -> Path:
        empty = self._root / "empty"
        empty.mkdir(mode=0o700, exist_ok=True)
        os.chown(empty, STORED_UID, STORED_UID)
        return empty

    def dispose(self, slot: Path) -> None:
        stack = self._stacks.pop(slot, None)
        self._spaces.pop(slot, None)
        namespace = self._mappings.pop(slot, -1)
        if namespace >= 0:
            os.close(namespace)
        self._uncover(slot)
        if slot.exists():
            slot.rmdir()
            slot.parent.rmdir()
        if stack is not None:
            self.drop(stack[0])

    def drop(self, cut: Path) -> None:
        upper = cut.parent
        if upper.parent == self._root and upper.exists():
            mounts.unmount(upper)
            upper.rmdir()

    def close(self) -> None:
        mounts.unmount_below(self._root)
        remove_tree(self._root)


class CopyTrees:
    """Each slot is a plain folder of its session's user: for processes that may not mount. Disk is bounded by file size
    alone."""

    kind: Literal["overlay", "copy"] = "copy"
    own_users = True

    def __init__(self, root: Path) -> None:
        self._root = root
        self._count = 0
        self._uids: dict[Path, int] = {}
        self.renew()

    def renew(self) -> None:
        make_private(self._root)

    def slot(self, name: str, uid: int = 0) -> Path:
        slot = _closed_slot(self._root, name, uid)
        if uid:
            os.chown(slot, uid, uid)
            self._uids[slot] = uid
        return slot

    def fill(self, slot: Path, layers: Sequence[Path], space: Space | None = None) -> None:
        if layers:  # a copy's cut is whole, so the topmost layer is all there is
            command = ["cp", "--archive", "--no-dereference", "--reflink=auto", f"{layers[0]}/.", str(slot)]
            subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=COPY_TIMEOUT_S, check=True)
            if slot in self._uids:
                give_tree(slot, self._uids[slot])

    def cut(self, slot: Path) -> Path:
        self._count += 1
        cut = self._root / f"c{self._count}" / "u"
        copy_tree(slot, cut)
        return cut

    def rebase(self, slot: Path, layers: Sequence[Path]) -> bool:
        return False

    def dispose(self, slot: Path) -> None:
        self._uids.pop(slot, None)
        remove_tree(slot.parent)

    def drop(self, cut: Path) -> None:
        if cut.parent.parent == self._root:
            remove_tree(cut.parent)

    def close(self) -> None:
        remove_tree(self._root)
