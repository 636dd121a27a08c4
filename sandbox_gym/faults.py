"""Faults of this process's surroundings: no descriptors, threads, memory, disk. And what a background task does then.

Two rules hold everywhere. A shortage is ours and passes: where a sandbox is made or used it becomes ProviderDown, which
is tried again and then answered 503. A task that works for the server as a whole outlives any Exception of one of its
rounds; one that dies in spite of it ends the process with its reason (`server/serving.py`).
"""

from __future__ import annotations

import errno
import subprocess
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import structlog

from sandbox_gym.errors import ProviderDown, SandboxGymError

SHORTAGES: Final = frozenset(
    {
        *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.ENOSPC, errno.EDQUOT, errno.ENOBUFS),
        *(errno.ETIMEDOUT, errno.EROFS, errno.EIO, errno.EINTR),
    }
)
"""What a machine says that has no more of something now."""
_NO_THREAD: Final = "can't start new thread"
_log = structlog.get_logger(__name__)


def is_shortage(error: BaseException) -> bool:
    """Whether this machine or process had no more of something: our fault, and passing."""
    if isinstance(error, OSError):
        return error.errno in SHORTAGES
    return isinstance(error, MemoryError) or (isinstance(error, RuntimeError) and _NO_THREAD in str(error))


def is_of_machine(error: BaseException) -> bool:
    """A shortage, or any other refusal of the operating system: what a try elsewhere or later may not meet."""
    return is_shortage(error) or isinstance(error, OSError | subprocess.SubprocessError)


def provider_down(what: str, error: BaseException) -> ProviderDown:
    """The error to raise of a fault of the machine."""
    return ProviderDown(f"{what}: {type(error).__name__}: {str(error)[:300] or 'no reason given'}")


@contextmanager
def as_provider_down(what: str) -> Iterator[None]:
    """Raises ProviderDown for whatever the operating system refuses the body; all else passes as it is."""
    try:
        yield
    except Exception as error:
        if not is_of_machine(error):
            raise
        raise provider_down(what, error) from error


class Rounds:
    """How a task that must not die goes on after a round that failed: later each time, and said so each time, so that
    the waits bound the log as well."""

    def __init__(self, event: str, *, first_s: float = 1.0, most_s: float = 30.0) -> None:
        self._event, self._first_s, self._most_s = event, first_s, most_s
        self._again_in_s = 0.0

    def failed(self, error: Exception) -> float:
        """Log it; the seconds to wait before the next round."""
        self._again_in_s = min(self._most_s, max(self._first_s, 2 * self._again_in_s))
        log_failure(self._event, error, again_in_s=self._again_in_s)
        return self._again_in_s

    def done(self) -> None:
        """A round went well."""
        self._again_in_s = 0.0


def log_failure(event: str, error: Exception, **told: object) -> None:
    """A line at WARNING for what is expected of a machine or provider; with frames at ERROR for all else."""
    if isinstance(error, SandboxGymError) or is_of_machine(error):
        _log.warning(event, why=f"{type(error).__name__}: {str(error)[:500]}", **told)
    else:  # no message, no locals: they may hold answers
        frames = "".join(traceback.format_tb(error.__traceback__))
        _log.error(event, type=type(error).__name__, frames=frames, **told)
