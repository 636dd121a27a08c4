"""Folders and files that are the server's alone: answers, hidden tests, tokens and sessions' files are in them.

Every folder of the state is made here. Knows no layout.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

from sandbox_gym.errors import ConfigurationError

_OURS: Final = frozenset({"e2b", "owners", "scratch", "sessions", "sites", "lost+found"})
"""What a state folder holds; and the files of the journal and of the sessions' key."""
_REMEDY: Final = "set SANDBOX_GYM_STATE_DIR to a folder of the server's own"


def make_private(folder: Path) -> Path:
    """Make `folder` and what is missing above it, each for its owner alone. Raises OSError."""
    missing = [folder]
    while not missing[-1].parent.exists():
        missing.append(missing[-1].parent)
    for one in reversed(missing):
        one.mkdir(mode=0o700, exist_ok=True)
    return folder


def state_folder(folder: Path) -> Path:
    """The state folder, made, or closed to others where it holds nothing but state.

    Raises ConfigurationError where it is another user's, or is open to others and holds other things too: it would
    not do to close somebody's home, or /tmp.
    """
    try:
        make_private(folder)
        found = folder.stat()
        if found.st_uid not in (os.geteuid(), 0):
            raise PermissionError(0, f"belongs to user {found.st_uid}")
        if found.st_mode & 0o077:
            strange = sorted(name for name in os.listdir(folder) if not _is_ours(name))
            if strange or found.st_mode & stat.S_ISVTX:
                what = f"holds {strange[0]!r}" if strange else "is shared by all (sticky)"
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


def write_whole(path: Path, data: bytes) -> None:
    """All of `data` or nothing, for the owner's eyes. Raises OSError."""
    new = path.with_suffix(".new")
    try:
        with open(new, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write(data)
        new.rename(path)
    except BaseException:
        new.unlink(missing_ok=True)
        raise
