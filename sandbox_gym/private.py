"""Private folders and files of the server: they hold answers, hidden tests, tokens and sessions' files.

Creates every folder of the state directory. Knows no layout.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sandbox_gym.errors import ConfigurationError

_OURS: Final = frozenset({"e2b", "images", "owners", "scratch", "sessions", "sites", "lost+found"})
"""Names in a state directory, besides the files of the journal and of the sessions' key."""
_UNFINISHED: Final = ".new"
_REMEDY: Final = "set SANDBOX_GYM_STATE_DIR to a folder of the server's own"


def own_user() -> int:
    """Who this process is. A system without numbers for users has 0 for all files, too."""
    if sys.platform == "win32":
        return 0
    return os.geteuid()


def make_private(folder: Path) -> Path:
    """Make `folder` and its missing parents, each readable by its owner alone. Raises OSError."""
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for one in reversed(missing):
        one.mkdir(mode=0o700, exist_ok=True)
    return folder


def state_folder(folder: Path) -> Path:
    """Create the state directory, or close it to other users where it holds nothing but state.

    Raises ConfigurationError where it belongs to another user, or is open to others and holds other files too: a home
    folder or /tmp must not be closed.
    """
    try:
        make_private(folder)
        found = folder.stat()
        if found.st_uid not in (own_user(), 0):
            raise PermissionError(0, f"belongs to user {found.st_uid}")
        if found.st_mode & 0o077:
            strange = sorted(name for name in os.listdir(folder) if not _is_ours(name))
            if strange or found.st_mode & stat.S_ISVTX:
                what = f"holds {strange[0]!r}" if strange else "is shared by all users (sticky)"
                raise ConfigurationError(
                    f"state_dir {folder} is open to other users (mode {found.st_mode & 0o7777:o}) and {what}; "
                    f"chmod 700 it, or {_REMEDY}"
                )
            folder.chmod(0o700)
    except OSError as error:
        raise ConfigurationError(f"state_dir {folder} can't be used ({error.strerror}); {_REMEDY}") from error
    return folder


def _is_ours(name: str) -> bool:
    return name in _OURS or name.startswith(("journal.sqlite", "session.key"))


def write_whole(path: Path, data: bytes, *, durable: bool = False) -> None:
    """Write `data` atomically, readable by the owner alone; `durable`: it survives a crash of the machine. A failure
    leaves nothing. Raises OSError."""
    new = path.with_suffix(_UNFINISHED)
    try:
        with open(new, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        new.rename(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise


def write_together(files: Mapping[Path, bytes]) -> None:
    """Write each durably, in their order; all or none. Raises OSError."""
    try:
        for path, data in files.items():
            write_whole(path, data, durable=True)
    except BaseException:
        for path in files:
            path.unlink(missing_ok=True)
        raise


def remove_unfinished(folder: Path) -> None:
    """What a process that was killed was about to write there; its successor alone may say so. Raises OSError."""
    for path in folder.glob(f"*{_UNFINISHED}"):
        path.unlink(missing_ok=True)
