"""Users of this machine for sandboxes: each living sandbox has its own, whichever process of the machine started it.

The kernel keeps many limits per user: inotify, descriptors in flight, pages of pipes, epoll, locked memory, pending
signals. A claim is a lock on one byte per uid of one file below /run; it ends with the last descriptor of it, which the
sandbox's own first process may hold too, so that no uid comes back while anything runs under it. Knows no provider.
"""

from __future__ import annotations

import errno
import fcntl
import os
import secrets
import stat
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox_gym.errors import ConfigurationError, ProviderDown
from sandbox_gym.limits import UID_BASE, UID_COUNT

RUN: Final = Path("/run/sandbox-gym")
"""As root: what is this machine's and not a server's. Others may pass through by name, and list nothing."""
_END: Final = 1 << 31
"""Uids from here on are negative numbers to some programs."""
_FLOCK: Final = "hhqqi4x"
"""struct flock of 64-bit Linux: type, whence, start, length, pid."""


@dataclass(slots=True)
class User:
    """Uids from `uid` on that are this sandbox's alone, until `close`."""

    uid: int
    fd: int = -1
    """Holds the claim, as does every copy of it in another process; -1: nothing is held."""

    def close(self) -> None:
        """Give them back. Idempotent."""
        fd, self.fd = self.fd, -1
        if fd >= 0:
            os.close(fd)


class Users:
    """The uids from `base` on, `count` of them. `run`: RUN but in tests.

    Raises ConfigurationError for a range that this machine uses for something else.
    """

    def __init__(
        self, base: int = UID_BASE, count: int = UID_COUNT, *, run: Path = RUN, etc: Path = Path("/etc")
    ) -> None:
        self._base, self._count, self._run = base, count, run
        if base + count > _END:
            raise ConfigurationError(f"uid_base + uid_count is {base + count}; at most {_END} (2^31)")
        for what, first, size in _assigned(etc):
            if first < base + count and base < first + size:
                last = f"-{first + size - 1}" if size > 1 else ""
                raise ConfigurationError(
                    f"uid_base, uid_count: {base}-{base + count - 1} overlaps {first}{last} of {what}; "
                    "name a range of no other use (SANDBOX_GYM_UID_BASE, SANDBOX_GYM_UID_COUNT)"
                )

    def can_claim(self) -> bool:
        """Whether claims can be made here: as root, where RUN can be written, as not in a read-only container."""
        try:
            fd = self._open() if os.geteuid() == 0 else -1
        except OSError:
            return False
        if fd >= 0:
            os.close(fd)
        return fd >= 0

    def holds(self, uid: int) -> bool:
        """Whether `uid` is in the range."""
        return self._base <= uid < self._base + self._count

    def claim(self, size: int = 1) -> User:
        """`size` uids that no sandbox of this machine has. Raises ProviderDown where none are left."""
        last = self._base + self._count - size
        if last >= self._base:
            middle = self._base + secrets.randbelow(last - self._base + 1)
            for uid, end in ((middle, last), (self._base, middle - 1)):
                found = self._first(uid, end, size)
                if found is not None:
                    return found
        raise ProviderDown(
            f"all users for sandboxes are taken: uid_count is {self._count}, and this sandbox needs {size}; "
            "set uid_count (SANDBOX_GYM_UID_COUNT) higher"
        )

    def any(self, size: int) -> int:
        """The first of `size` uids, by chance and unclaimed: for processes that may not claim."""
        return self._base + size * secrets.randbelow(max(1, self._count // size))

    def claim_at(self, uid: int, size: int = 1) -> User | None:
        """These uids; None where another sandbox has one of them. Raises ProviderDown."""
        return self._first(uid, uid, size)

    def _first(self, uid: int, end: int, size: int) -> User | None:
        """The first free uids from `uid` to `end`."""
        try:
            fd = self._open()
            try:
                while uid <= end:
                    taken = _lock(fd, uid, size)
                    if not taken:
                        fd, mine = -1, fd
                        return User(uid, mine)
                    uid = taken
            finally:
                if fd >= 0:
                    os.close(fd)
        except OSError as error:
            remedy = "make it writable (--tmpfs /run in a container), or run the server as another user than root"
            raise ProviderDown(f"no user for a sandbox: {self._run}: {error.strerror}; {remedy}") from error
        return None

    def _open(self) -> int:
        run_folder(self._run)
        return os.open(self._run / "uids", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def run_folder(run: Path = RUN) -> Path:
    """`run`, made unless it is there: its user's own, to be passed through and not listed. Raises OSError."""
    run.mkdir(mode=0o711, parents=True, exist_ok=True)
    found = run.lstat()
    if not stat.S_ISDIR(found.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "is no folder")
    if found.st_uid != os.geteuid():
        raise PermissionError(errno.EPERM, f"belongs to user {found.st_uid}")
    if found.st_mode & 0o777 != 0o711:
        run.chmod(0o711)
    return run


def _lock(fd: int, start: int, size: int) -> int:
    """Lock bytes of a file; 0 when that is done, else the first byte after a lock that is in the way."""
    wanted = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, start, size, 0)
    while True:
        try:
            fcntl.fcntl(fd, fcntl.F_OFD_SETLK, wanted)
            return 0
        except (BlockingIOError, PermissionError):
            kind, _whence, first, length, _pid = struct.unpack(_FLOCK, fcntl.fcntl(fd, fcntl.F_OFD_GETLK, wanted))
        if kind != fcntl.F_UNLCK:  # else it was let go meanwhile
            return int(first + length)


def _assigned(etc: Path) -> Iterator[tuple[str, int, int]]:
    """(file and line's name, first uid, how many) of what this machine has given to others."""
    for name, field in (("passwd", 2), ("group", 2), ("subuid", 1), ("subgid", 1)):
        try:
            lines = (etc / name).read_text("utf-8", "replace").splitlines()
        except OSError:
            continue
        for line in lines:
            parts = line.split(":")
            numbers = parts[field : field + 2] if name.startswith("sub") else [*parts[field : field + 1], "1"]
            if len(numbers) == 2 and all(number.isascii() and number.isdigit() for number in numbers):
                yield f"{parts[0]!r} in {etc / name}", int(numbers[0]), int(numbers[1])
