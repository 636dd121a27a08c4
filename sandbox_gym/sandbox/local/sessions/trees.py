"""Work folders of local sessions: filled from layers, cut into new layers. Blocking; callers are in worker threads.

`OverlayTrees` needs the right to mount: a cut is one more overlay, whatever was written. `CopyTrees` needs nothing: a
cut copies the folder. Both give hostile trees nothing but storage: links are not followed and nothing in them is run.

What is kept is STORED_UID's, in memory and on disk; a slot shows it as the files of the session's own user.
"""

from __future__ import annotations

import itertools
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandbox_gym.limits import Limits
from sandbox_gym.private import make_private
from sandbox_gym.sandbox.local.files import COPY_TIMEOUT_S, STORED_UID, copy_tree, give_tree, remove_tree
from sandbox_gym.sandbox.local.sessions import idmaps, mounts

MAX_COVERED = 8


@dataclass(frozen=True, slots=True)
class Space:
    """How much may be written above the layers."""

    size_bytes: int
    inodes: int


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
        """By slot: the user namespace that shows stored files as its session's."""
        self._numbers = itertools.count(1)  # threads take theirs at once
        self.renew()
        self.why_shared = self._unmappable(store)
        self.own_users = not self.why_shared

    def renew(self) -> None:
        """The folder of all slots, anew where it is gone."""
        make_private(self._root)
        mounts.share(self._root)

    def _unmappable(self, store: Path) -> str:
        """Why stored files can't be shown as another user's here; empty where they can."""
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
        """A new slot that is `uid`'s and root's alone, whatever mode the session gives it; 0: the storing user's."""
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
        """Put a slot on layers, topmost first."""
        self._spaces[slot] = space or Space(self._limits.scratch_bytes, self._limits.scratch_inodes)
        # overlay refuses a layer that comes twice; the upper one hides nothing of it
        self._stack(slot, list(dict.fromkeys(layers)) or [self._empty()])

    def cut(self, slot: Path) -> Path:
        """What was written since the slot was filled or last cut, as a layer that is written no more."""
        below = self._stacks[slot]
        self._covered[slot] = self._covered.get(slot, 0) + 1
        if self._covered[slot] > MAX_COVERED:
            self._uncover(slot)
        self._stack(slot, below)
        return below[0]

    def rebase(self, slot: Path, layers: Sequence[Path]) -> bool:
        """Put a slot on other layers of the same content; False when it was written meanwhile, or needs none."""
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
        number = next(self._numbers)
        upper = self._root / f"u{number}"
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
            with idmaps.seen_through([upper, *below], namespace, self._root / f"v{number}") as (top, *shown):
                mounts.overlay(slot, shown, upper=top / "u", work=top / "w")
        self._stacks[slot] = [upper / "u", *below]

    def _empty(self) -> Path:
        empty = self._root / "empty"
        empty.mkdir(mode=0o700, exist_ok=True)
        os.chown(empty, STORED_UID, STORED_UID)
        return empty

    def dispose(self, slot: Path) -> None:
        """Remove a slot and what was written in it since its last cut. Idempotent."""
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
        """A cut is needed no longer: its bytes are in the store, or nowhere. Idempotent."""
        upper = cut.parent
        if upper.parent == self._root and upper.exists():
            mounts.unmount(upper)
            upper.rmdir()

    def close(self) -> None:
        """Take away what was made for all slots, once they are gone."""
        mounts.unmount_below(self._root)
        remove_tree(self._root)


class CopyTrees:
    """Each slot is a plain folder of its session's user: for processes that may not mount. Disk is bounded by file size
    alone."""

    kind: Literal["overlay", "copy"] = "copy"
    own_users = True

    def __init__(self, root: Path) -> None:
        self._root = root
        self._numbers = itertools.count(1)  # threads take theirs at once
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
        cut = self._root / f"c{next(self._numbers)}" / "u"
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


Trees = OverlayTrees | CopyTrees
"""Slots are folders that a jail binds before it is known what they will hold; what they hold is layers."""
