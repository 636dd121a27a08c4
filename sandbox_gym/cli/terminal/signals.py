"""SIGINT and SIGTERM end every command in order, however its process was started.

A shell runs background jobs with SIGINT ignored, and Python then raises no KeyboardInterrupt; SIGTERM by default ends
a process where it stands. Here both unwind what runs, so that sandboxes and files are closed. Servers have handlers of
their own while they serve (`server/serving.py`).
"""

from __future__ import annotations

import signal
from types import FrameType

_seen: list[int] = []


def take_signals() -> None:
    """From now on, for this process; children begin with the defaults. In the main thread."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _terminate)


def note_signal(number: int) -> None:
    """A command that waits for signals by itself has seen one."""
    _seen.append(number)


def interrupted_code() -> int:
    """The exit code of a command that a signal ended, as shells have it: 130 or 143."""
    return 128 + (_seen[0] if _seen else signal.SIGINT)


def _terminate(number: int, _frame: FrameType | None) -> None:
    """Asyncio's runner cancels its task at SIGINT, and everything else sees KeyboardInterrupt: the same for SIGTERM."""
    note_signal(number)
    signal.raise_signal(signal.SIGINT)
