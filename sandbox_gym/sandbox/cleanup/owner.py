"""Owners of what is left outside a process: a name for each process, and the proof of whether it still lives.

A name is `boot-pidnamespace-pid-start`: the boot's id, the PID namespace's inode, the PID, and its start in clock ticks
since boot (field 22 of /proc/PID/stat), so that a recycled PID is another owner. It is safe in labels and file names.
Knows nothing of what is owned.
"""

from __future__ import annotations

import contextlib
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from sandbox_gym.errors import ConfigurationError
from sandbox_gym.private import make_private, state_folder
from sandbox_gym.sandbox.cleanup.heartbeats import Heartbeats

LEASE_S = 900.0
"""An owner of another boot whose lock was seen unchanged for so long is dead; owners renew every minute."""
EXPIRY_GRACE_S = 3600.0
"""How long after a box's lifetime its label expires: replacing it, and clocks that differ, fit in here."""
_ID = r"([0-9a-f]{32})-([0-9]{1,12})-([0-9]{1,10})-([0-9]{1,20})"
_OWNER = re.compile(_ID)
_OWNED = re.compile(rf"{_ID}-[0-9A-Za-z_.-]{{1,64}}")
_LOCK_WAIT_S = 5.0


@dataclass(frozen=True, slots=True)
class Owner:
    """One process, for good: no other process of any machine has the same four."""

    boot: str
    pid_namespace: int
    pid: int
    started: int

    def __str__(self) -> str:
        return f"{self.boot}-{self.pid_namespace}-{self.pid}-{self.started}"


def parse_owner(text: str) -> Owner | None:
    """The owner that `text` names, exactly as it prints itself; None for anything else."""
    return _owner(_OWNER.fullmatch(text), text)


def owner_of(name: str) -> Owner | None:
    """The owner of a thing called `owner` or `owner-something`; None for any other name."""
    match = _OWNER.fullmatch(name) or _OWNED.fullmatch(name)
    return _owner(match, name)


def _owner(match: re.Match[str] | None, text: str) -> Owner | None:
    if match is None:
        return None
    boot, namespace, pid, started = match.groups()
    owner = Owner(boot, int(namespace), int(pid), int(started))
    # leading zeros would give one owner two names
    return owner if text == str(owner) or text.startswith(f"{owner}-") else None


def this_owner() -> Owner:
    """This process."""
    return _owner_of_pid(os.getpid())


def is_near(owner: Owner) -> bool:
    """Whether it lives, or lived, in this PID namespace: then the process table knows."""
    this = this_owner()
    return (owner.boot, owner.pid_namespace) == (this.boot, this.pid_namespace)


@lru_cache(maxsize=2)
def _owner_of_pid(pid: int) -> Owner:
    started = _started(pid)
    if started is None:
        raise ConfigurationError("/proc/self/stat can't be read: mount /proc")
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip().replace("-", "")
    return Owner(boot, os.stat("/proc/self/ns/pid").st_ino, pid, started)


def _started(pid: int) -> int | None:
    """When `pid` was started, in ticks; None when there is no such process, or only its zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = text.rpartition(")")[2].split()  # the command's name may hold spaces and parentheses
    return None if fields[0] in "ZX" else int(fields[19])


def _process_lives(owner: Owner) -> bool:
    """Of an owner in this PID namespace. A process that /proc hides from us, as with hidepid, counts as alive."""
    if owner.pid < 1:
        return False
    started = _started(owner.pid)
    if started is not None:
        return started == owner.started
    if Path(f"/proc/{owner.pid}").exists():
        return False  # a zombie
    try:
        os.kill(owner.pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


class Owners:
    """Finds out which owners are dead, and never guesses.

    In this PID namespace the process table says it. Elsewhere a lock in the state folder does: a living owner holds it.
    An owner without a lock that can be seen, as another machine's process on a shared Docker Engine, counts as dead
    when what it owns has expired, and not before.
    """

    def __init__(self, state_dir: Path | None = None) -> None:
        self._locks = state_dir / "owners" if state_dir else None
        self._heartbeats = Heartbeats(self._locks, this_owner().boot) if self._locks else None
        self._began = time.time() - time.monotonic()

    def why_dead(self, owner: Owner, expires_at: float | None = None) -> str:
        """Why `owner` is certainly gone; empty when it is alive or may be. `expires_at`: Unix seconds."""
        near = is_near(owner)
        if near and _process_lives(owner):
            return ""
        held = self._is_held(owner)
        if held:
            return ""
        if near:
            return "its process is gone"
        if held is False:  # which tells more than an expiry does
            is_over = owner.boot == this_owner().boot or self._lease_is_over(owner)
            return "no process holds its lock" if is_over else ""
        if expires_at is not None and self._wall_clock() > expires_at:
            return "it has expired"
        return ""

    def _wall_clock(self) -> float:
        """Unix seconds. That the clock was put forward since this began makes nothing older."""
        return min(time.time(), self._began + time.monotonic())

    def _is_held(self, owner: Owner) -> bool | None:
        """Whether a process holds the owner's lock; None where there is no lock."""
        import fcntl

        if self._locks is None:
            return None
        try:
            fd = os.open(self._locks / f"{owner}.lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError:
            return True  # it can't be read, so nothing is proven
        try:
            fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:
            return True
        finally:
            os.close(fd)
        return False

    def _lease_is_over(self, owner: Owner) -> bool:
        """Locks of another machine on a shared folder may not be seen from here: that their files change is."""
        assert self._locks is not None
        assert self._heartbeats is not None
        with contextlib.suppress(OSError):
            return self._heartbeats.silent_s(self._locks / f"{owner}.lock") > LEASE_S
        return False


class OwnerLease:
    """This process's lock, while it is held, and the scratch folder that goes with it."""

    def __init__(self, state_dir: Path, fd: int) -> None:
        self._state_dir = state_dir
        self._fd = fd

    def renew(self) -> None:
        """Renew the sign that this process lives, for processes that see the folder and not the lock."""
        os.utime(self._fd)

    def scratch(self) -> Path:
        """This process's own scratch folder. Its users remove what they put in; after a death the next sweep does."""
        folder = self._state_dir / "scratch" / str(this_owner())
        return make_private(folder)


_held: dict[tuple[int, Path], tuple[int, int]] = {}
"""(pid, lock file) -> (descriptor, holders in this process)."""


@contextmanager
def held_lease(state_dir: Path) -> Iterator[OwnerLease]:
    """Hold this process's lock; several holders share it. Raises ConfigurationError where the folder can't be used."""
    path = state_dir.resolve() / "owners" / f"{this_owner()}.lock"
    key = (os.getpid(), path)
    fd, holders = _held.get(key, (-1, 0))
    if not holders:
        state_folder(state_dir.resolve())
        fd = _take(path)
    _held[key] = (fd, holders + 1)
    try:
        yield OwnerLease(state_dir.resolve(), fd)
    finally:
        fd, holders = _held.pop(key)
        if holders > 1:
            _held[key] = (fd, holders - 1)
        else:
            with contextlib.suppress(OSError):  # no scratch folder, or one that is still in use
                (state_dir.resolve() / "scratch" / str(this_owner())).rmdir()
            with contextlib.suppress(OSError):
                path.unlink()
            os.close(fd)


def _take(path: Path) -> int:
    """The descriptor of `path`, locked. A sweeper may hold it for a moment, or remove it before it is locked."""
    import fcntl  # here, as everywhere on the way of a command that makes no sandboxes: Windows has none

    deadline = time.monotonic() + _LOCK_WAIT_S
    try:
        make_private(path.parent)
        if path.parent.stat().st_uid != os.geteuid():
            raise PermissionError(f"{path.parent} belongs to another user")
        while True:
            fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
            with contextlib.suppress(OSError):
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.stat(path).st_ino == os.fstat(fd).st_ino:
                    return fd
            os.close(fd)
            if time.monotonic() > deadline:
                raise OSError(f"{path} is locked by another process")
            time.sleep(0.01)
    except OSError as error:
        raise ConfigurationError(
            f"state_dir {path.parent.parent} can't be used ({error}); set SANDBOX_GYM_STATE_DIR to a folder of your own"
        ) from error
