"""Where the slots of local sessions are mounted, whose they are, and their removal when the owner is dead.

As root they are below /run, which any box's user can pass through: `/run/sandbox-gym/<name>/`, beside it `<name>.root`
with the path of the state they belong to. Only root can list these folders, and a slot is closed to all but its
box's user. A state folder's owner holds a lock in it for as long as it lives.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
from collections.abc import Sequence
from pathlib import Path

import anyio.to_thread

from sandbox_gym.errors import ConfigurationError
from sandbox_gym.sandbox.cleanup.reaper import Orphan
from sandbox_gym.sandbox.local.files import remove_tree
from sandbox_gym.sandbox.local.sessions import mounts
from sandbox_gym.sandbox.users import RUN, run_folder

_NAME = re.compile(r"[0-9a-f]{12}")


def own(root: Path) -> int:
    """The lock on a state folder, held until it is closed. Raises ConfigurationError when another process has it."""
    lock = _try_lock(root)
    if lock is None:
        raise ConfigurationError(f"state_dir: another process keeps its sessions in {root}; name another folder")
    return lock


def _try_lock(root: Path) -> int | None:
    lock = os.open(root / "owner.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def live_folder(root: Path) -> Path:
    """The folder for the slots of `root`'s sessions, empty: what a killed owner left there is gone."""
    if os.geteuid() != 0:
        live = root / "live"
    else:
        name = hashlib.sha256(os.fsencode(root.resolve())).hexdigest()[:12]
        live = RUN / name
        mark(live, root)
    _clear(live)
    make_live(live)
    return live


def make_live(live: Path) -> None:
    """The folder itself, unless it is there."""
    live.mkdir(mode=0o700, exist_ok=True)
    if os.geteuid() == 0:
        live.chmod(0o711)  # boxes' users pass through, to the slot that is theirs


def mark(live: Path, root: Path) -> None:
    """Mark whose slots are in `live`, for sweeps; for root only."""
    if live.parent != RUN:
        return
    run_folder()
    new = RUN / f"{live.name}.{os.getpid()}"
    new.touch(mode=0o600)
    new.write_bytes(os.fsencode(root.resolve()))
    new.rename(RUN / f"{live.name}.root")  # whole at once: others sweep here


def forget(live: Path) -> None:
    """The owner ends and has emptied its slots."""
    live.with_name(f"{live.name}.root").unlink(missing_ok=True)


def _clear(live: Path) -> None:
    mounts.unmount_below(live)
    remove_tree(live)


class SlotOrphans:
    """Slots of killed servers, as an OrphanSource. `run` is /run/sandbox-gym but in tests."""

    def __init__(self, run: Path = RUN) -> None:
        self._run = run

    async def orphans(self) -> Sequence[Orphan]:
        return await anyio.to_thread.run_sync(self._orphans)

    async def remove(self, orphan: Orphan) -> None:
        await anyio.to_thread.run_sync(self._remove, orphan.name)

    def _orphans(self) -> list[Orphan]:
        found = []
        for path in sorted(self._run.glob("*.root")) if self._run.is_dir() else []:
            name = path.stem
            root = self._root(name)
            if root is not None and (lock := _lock_of_the_dead(root)) is not None:
                os.close(lock)
                found.append(Orphan("mount", name, str(root), "no process holds the lock of its state folder"))
        return found

    def _root(self, name: str) -> Path | None:
        """Whose slots `name` are; None for what we did not write."""
        if not _NAME.fullmatch(name):
            return None
        try:
            root = Path(os.fsdecode((self._run / f"{name}.root").read_bytes()))
        except OSError:
            return None
        return root if root.is_absolute() else None

    def _remove(self, name: str) -> None:
        root = self._root(name)
        lock = _lock_of_the_dead(root) if root is not None else None
        if lock is None:
            return  # gone, or owned again
        try:
            _clear(self._run / name)
            (self._run / f"{name}.root").unlink(missing_ok=True)
        finally:
            os.close(lock)


def _lock_of_the_dead(root: Path) -> int | None:
    """A descriptor to close: the lock of a state folder without an owner, or of nothing where the folder is gone. None
    for an owner that lives, and for another user's folder."""
    try:
        return _try_lock(root)
    except FileNotFoundError:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except PermissionError:
        return None
