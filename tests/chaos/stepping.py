"""`sandbox-gym` with a wall clock that jumps: the seconds in a file are added to what `time.time` says.

The kernel's clock is the whole machine's, and a time namespace moves only the monotonic ones.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

_real, _real_ns = time.time, time.time_ns
_file = Path(os.environ["SANDBOX_GYM_TEST_CHAOS_CLOCK"])


def _offset_s() -> int:
    try:
        return int(_file.read_text() or "0")
    except (OSError, ValueError):  # it is being written
        return 0


def _time() -> float:
    return _real() + _offset_s()


def _time_ns() -> int:
    return _real_ns() + 1_000_000_000 * _offset_s()


time.time, time.time_ns = _time, _time_ns

if __name__ == "__main__":
    from sandbox_gym.cli import main

    main()
