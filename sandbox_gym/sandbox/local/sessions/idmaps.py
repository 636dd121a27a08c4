"""The same files under another owner: mounts that show one user's files as another's (mount_setattr(2)).

Layers are one user's wherever they are kept, and each session that is built on them has a user of its own. Linux 6.3
or later, for tmpfs; not every file system of a state folder can. Everything blocks; callers are in worker threads.
"""

from __future__ import annotations

import ctypes
import os
import struct
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sandbox_gym.sandbox.local.sessions import mounts

START_S: Final = 15.0
_OPEN_TREE, _MOVE_MOUNT, _MOUNT_SETATTR = 428, 429, 442
"""The same numbers on every architecture."""
_AT_FDCWD, _AT_EMPTY_PATH, _CLONE, _CLOEXEC, _FROM_EMPTY_PATH = -100, 0x1000, 1, os.O_CLOEXEC, 4
_ATTR_IDMAP = 0x00100000
_libc = ctypes.CDLL(None, use_errno=True)


def mapping(stored: int, seen: int) -> int:
    """A user namespace, as a descriptor to close, through which `stored`'s files are `seen`'s. Root's, as overlay's
    own marks are, stay root's. Raises OSError."""
    command = ["unshare", "--user", "cat"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(b"\n")
            process.stdin.flush()
            if not process.stdout.read(1):  # it echoes: it is past the call that makes the namespace
                raise OSError("a user namespace can't be made (unshare --user)")
            for name in ("uid_map", "gid_map"):
                Path(f"/proc/{process.pid}/{name}").write_text(f"0 0 1\n{stored} {seen} 1\n")
            return os.open(f"/proc/{process.pid}/ns/user", os.O_RDONLY | os.O_CLOEXEC)
        finally:
            process.kill()


@contextmanager
def seen_through(folders: Sequence[Path], namespace: int, stage: Path) -> Iterator[list[Path]]:
    """Paths where `folders` are seen through a mapping, for a mount to be made of them; `stage` is a new folder that
    is gone afterwards. Raises OSError."""
    stage.mkdir(mode=0o700)
    try:
        mounts.tmpfs(stage, size_bytes=1 << 16, inodes=len(folders) + 1, uid=0)
        try:
            shown = []
            for number, folder in enumerate(folders):
                place = stage / str(number)
                place.mkdir(mode=0o700)
                _show(folder, namespace, place)
                shown.append(place)
            yield shown
        finally:
            mounts.unmount(stage)  # and all below: detaching takes the whole tree
    finally:
        stage.rmdir()


def _show(folder: Path, namespace: int, place: Path) -> None:
    tree = _call(_OPEN_TREE, _AT_FDCWD, os.fsencode(folder), ctypes.c_uint(_CLONE | _CLOEXEC), what=f"open {folder}")
    try:
        wanted = ctypes.create_string_buffer(struct.pack("QQQQ", _ATTR_IDMAP, 0, 0, namespace))
        flags, size = ctypes.c_uint(_AT_EMPTY_PATH), ctypes.c_size_t(32)
        _call(_MOUNT_SETATTR, tree, b"", flags, wanted, size, what=f"map the users of {folder}")
        flags = ctypes.c_uint(_FROM_EMPTY_PATH)
        _call(_MOVE_MOUNT, tree, b"", _AT_FDCWD, os.fsencode(place), flags, what=f"mount {folder}")
    finally:
        os.close(tree)


def _call(number: int, *arguments: object, what: str) -> int:
    result = int(_libc.syscall(ctypes.c_long(number), *arguments))
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, f"{what}: {os.strerror(code)}")
    return result
