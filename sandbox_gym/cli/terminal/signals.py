"""SIGINT and SIGTERM end every command cleanly, however its process was started.

A shell runs background jobs with SIGINT ignored, and Python then raises no KeyboardInterrupt; SIGTERM by default ends
a process at once. Here both unwind the running command, so that sandboxes and files are closed. Servers have handlers
of their own while they serve (`server/serving.py`).
"""

from __future__ import annotations

import signal
from types import FrameType

_seen: list[int] = []


def take_signals() -> None:
    """Install the handlers for this process; children start with the defaults. Call it in the main thread."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _terminate)


def note_signal(number: int) -> None:
    """Note a signal that a command's own handler has received."""
    _seen.append(number)


def interrupted_code() -> int:
    """The exit code of a command that a signal ended, as in shells: 130 or 143."""
    return 128 + (_seen[0] if _seen else signal.SIGINT)


def _terminate(number: int, _frame: FrameType | None) -> None:
    """Treat SIGTERM as SIGINT: asyncio's runner cancels its task, other code gets KeyboardInterrupt."""
    note_signal(number)
    signal.raise_signal(signal.SIGINT)
