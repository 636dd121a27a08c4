"""Prepared compilers for local boxes: what `sandbox/prepared_compilers.py` makes, made in the background on first use.

Owns the folder that boxes are shown: `current`, a link to what was made last, in a folder that only this user may
write. No box waits for it: a compiler that finds nothing prepared does without. Knows neither languages nor answers.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import structlog

from sandbox_gym.sandbox import prepared_compilers
from sandbox_gym.sandbox.local.files import remove_tree
from sandbox_gym.sandbox.pythons import cache_folder

IMAGES: Final = ("polyglot", "polyglot-more")
"""Boxes of other images compile nothing."""
CURRENT: Final = "current"
PREPARE_S: Final = 600.0
CLOSE_S: Final = 10.0
"""For what was killed to be gone."""
CHECK_S: Final = 600.0
"""How often it is seen whether the machine's compilers are still those that all was made of."""
_log = structlog.get_logger(__name__)


def default_folder() -> Path:
    return cache_folder().with_name("compilers")


class PreparedCompilers:
    """What is prepared in `folder`, for this process's boxes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._state = threading.Lock()
        self._checked_at = float("-inf")
        self._thread: threading.Thread | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def for_image(self, image: str) -> Path | None:
        """The folder for a box of `image`; what is not in it yet may come while the box lives. None for boxes that
        need none, and where no such folder can be had."""
        if image not in IMAGES or not prepared_compilers.compilers():
            return None
        try:
            self.folder.mkdir(mode=0o755, parents=True, exist_ok=True)
            if not _is_ours(self.folder):
                _log.warning("compilers_not_prepared", why=f"{self.folder} can be written by others")
                return None
        except OSError as error:
            _log.warning("compilers_not_prepared", why=str(error))
            return None
        self._check()
        return self.folder

    def wait(self, within_s: float = PREPARE_S) -> bool:
        """Whether all is prepared, once what is being made is made."""
        thread = self._thread
        if thread is not None:
            thread.join(within_s)
        return prepared_compilers.is_current(self.folder / CURRENT)

    def close(self) -> None:
        """Stop making what is not made yet."""
        with self._state:
            self._closed = True
            if self._process is not None:
                _kill(self._process)
        if self._thread is not None:
            self._thread.join(CLOSE_S)

    def _check(self) -> None:
        with self._state:
            due = time.monotonic() - self._checked_at >= CHECK_S
            if self._closed or not due or (self._thread is not None and self._thread.is_alive()):
                return
            self._checked_at = time.monotonic()
            self._thread = threading.Thread(target=self._keep_current, name="prepared-compilers", daemon=True)
            self._thread.start()

    def _keep_current(self) -> None:
        try:
            if not prepared_compilers.is_current(self.folder / CURRENT):
                with _locked(self.folder) as first:
                    if first and not prepared_compilers.is_current(self.folder / CURRENT):
                        self._make()
        except (OSError, subprocess.SubprocessError) as error:
            _log.warning("compilers_not_prepared", why=str(error))

    def _make(self) -> None:
        """Beside its place, then there at once. What was made of other compilers goes first. Raises OSError."""
        (self.folder / CURRENT).unlink(missing_ok=True)
        for old in self.folder.iterdir():
            if old.is_dir():
                remove_tree(old)
        new = self.folder / secrets.token_hex(8)
        if not self._prepare(new):
            remove_tree(new)
            return
        link = self.folder / f".{new.name}"
        link.symlink_to(new.name)
        link.rename(self.folder / CURRENT)

    def _prepare(self, new: Path) -> bool:
        """Run the program; whether the folder has what could be made. Raises OSError."""
        argv = ["nice", "-n", "10", sys.executable, "-I", prepared_compilers.__file__, str(new)]
        with self._state:
            if self._closed:
                return False
            self._process = process = subprocess.Popen(
                argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, process_group=0
            )
        try:
            _out, said = process.communicate(timeout=PREPARE_S)
        except subprocess.TimeoutExpired:
            _kill(process)
            _out, said = process.communicate(timeout=CLOSE_S)
        with self._state:
            self._process = None
        if process.returncode and not self._closed:
            _log.warning("compilers_not_prepared", why=said[-500:].decode("utf-8", "replace").strip())
        return (new / prepared_compilers.MANIFEST).exists()


def _is_ours(folder: Path) -> bool:
    """Whether only this user can write it. Raises OSError."""
    found = folder.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Whether no other process makes anything in `folder` meanwhile."""
    fd = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True
    finally:
        os.close(fd)


def _kill(process: subprocess.Popen[bytes]) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
