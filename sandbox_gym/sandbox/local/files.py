"""Trees of files that programs have made: copied, given to another user, removed. Follows no link."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from pathlib import Path
from typing import Final

COPY_TIMEOUT_S: Final = 120
STORED_UID: Final = 0x6FFF0000
"""As root, whose all kept layers are, so that any session can go on from any; no process has it where sessions can have
users of their own."""


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
