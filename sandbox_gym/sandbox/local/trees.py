"""Work folders of local sessions: filled from layers, cut into new layers. Blocking; callers are in worker threads.

`OverlayTrees` needs the right to mount: a cut is one more overlay, whatever was written. `CopyTrees` needs nothing: a
cut copies the folder. Both give hostile trees nothing but storage: links are not followed and nothing in them is run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.local import mounts

COPY_TIMEOUT_S = 120
MAX_COVERED = 8


@dataclass(frozen=True, slots=True)
class Space:
    """How much may be written above the layers."""

    size_bytes: int
    inodes: int


class Trees(Protocol):
    """Slots are folders that a jail binds before it is known what they will hold."""

    kind: Literal["overlay", "copy"]

    def slot(self, name: str) -> Path: ...

    def renew(self) -> None:
        """The folder of all slots, anew where it is gone."""
        ...

    def fill(self, slot: Path, layers: Sequence[Path], space: Space | None = None) -> None: ...

    def cut(self, slot: Path) -> Path:
        """What was written since the slot was filled or last cut, as a layer that is written no more."""
        ...

    def rebase(self, slot: Path, layers: Sequence[Path]) -> bool:
        """Put a slot on other layers of the same content; False when it was written meanwhile, or needs none."""
        ...

    def dispose(self, slot: Path) -> None:
        """Remove a slot and what was written in it since its last cut. Idempotent."""
        ...

    def drop(self, cut: Path) -> None:
        """A cut is needed no longer: its bytes are in the store, or nowhere. Idempotent."""
        ...

    def close(self) -> None:
        """Take away what was made for all slots, once they are gone."""
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


def remove_tree(folder: Path) -> None:
    """Whatever a program made of a folder goes, without following links. Raises OSError."""
    if not folder.exists():
        return
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):  # unreadable modes as an unprivileged user, or nesting beyond Python's patience
        subprocess.run(["chmod", "-R", "u+rwX", str(folder)], capture_output=True, timeout=COPY_TIMEOUT_S, check=False)
        subprocess.run(["rm", "-rf", "--", str(folder)], capture_output=True, timeout=COPY_TIMEOUT_S, check=True)


class OverlayTrees:
    """Each slot: an overlay of read-only layers under a sized tmpfs. `root` must be a folder of this process alone."""

    kind: Literal["overlay", "copy"] = "overlay"

    def __init__(self, root: Path, *, uid: int, limits: Limits) -> None:
        self._root, self._uid, self._limits = root, uid, limits
        self._stacks: dict[Path, list[Path]] = {}
        self._covered: dict[Path, int] = {}
        self._spaces: dict[Path, Space] = {}
        self._count = 0
        self.renew()

    def renew(self) -> None:
        self._root.mkdir(parents=True, exist_ok=True)
        mounts.share(self._root)

    def slot(self, name: str) -> Path:
        slot = self._root / name
        slot.mkdir(mode=0o755)
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
        upper.mkdir()
        space = self._spaces[slot]
        mounts.tmpfs(upper, size_bytes=space.size_bytes, inodes=space.inodes, uid=self._uid)
        for name in ("u", "w"):
            (upper / name).mkdir(mode=0o755)
            os.chown(upper / name, self._uid, self._uid)
        mounts.overlay(slot, below, upper=upper / "u", work=upper / "w")
        self._stacks[slot] = [upper / "u", *below]

    def _empty(self) -> Path:
        empty = self._root / "empty"
        empty.mkdir(mode=0o755, exist_ok=True)
        os.chown(empty, self._uid, self._uid)
        return empty

    def dispose(self, slot: Path) -> None:
        stack = self._stacks.pop(slot, None)
        self._spaces.pop(slot, None)
        self._uncover(slot)
        if slot.exists():
            slot.rmdir()
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
    """Each slot a plain folder of the caller's own; for those who may not mount. Disk is bounded by file size alone."""

    kind: Literal["overlay", "copy"] = "copy"

    def __init__(self, root: Path) -> None:
        self._root = root
        self._count = 0
        self.renew()

    def renew(self) -> None:
        self._root.mkdir(parents=True, exist_ok=True)

    def slot(self, name: str) -> Path:
        slot = self._root / name
        slot.mkdir(mode=0o755)
        return slot

    def fill(self, slot: Path, layers: Sequence[Path], space: Space | None = None) -> None:
        if layers:  # a copy's cut is whole, so the topmost layer is all there is
            command = ["cp", "--archive", "--no-dereference", "--reflink=auto", f"{layers[0]}/.", str(slot)]
            subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=COPY_TIMEOUT_S, check=True)

    def cut(self, slot: Path) -> Path:
        self._count += 1
        cut = self._root / f"c{self._count}" / "u"
        copy_tree(slot, cut)
        return cut

    def rebase(self, slot: Path, layers: Sequence[Path]) -> bool:
        return False

    def dispose(self, slot: Path) -> None:
        remove_tree(slot)

    def drop(self, cut: Path) -> None:
        if cut.parent.parent == self._root:
            remove_tree(cut.parent)

    def close(self) -> None:
        remove_tree(self._root)
