"""A folder of a node's own for its sessions, found again by the next node on the same machine. Blocking, and quick."""

from __future__ import annotations

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from sandbox_gym.errors import ConfigurationError
from sandbox_gym.private import make_private, state_folder

MOST: Final = 256
"""Nodes of one server on one machine."""


@contextmanager
def claimed_folder(state_dir: Path, server: str) -> Iterator[str]:
    """`<server>/<host>-<number>`: the first that no living process holds. Raises ConfigurationError.

    The host is in the name, so that machines may share one state folder.
    """
    parent = state_dir / "sessions" / server
    try:
        state_folder(state_dir)
        make_private(parent)
        name, lock = _claim(parent)
    except OSError as error:
        raise ConfigurationError(f"state_dir {state_dir}: {error.strerror}; name another folder") from None
    try:
        yield f"{server}/{name}"
    finally:
        os.close(lock)


def _claim(parent: Path) -> tuple[str, int]:
    for number in range(MOST):
        name = f"{socket.gethostname()[:64]}-{number}"
        lock = os.open(parent / f"{name}.claim", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return name, lock
        except BlockingIOError:
            os.close(lock)
    raise ConfigurationError(f"{MOST} nodes keep their sessions in {parent} already")
