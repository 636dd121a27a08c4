"""How a grader's process tells its verdict: by its exit code, which no child of it can choose."""

from __future__ import annotations

import multiprocessing
import os
import sys
import traceback
from collections.abc import Callable

from benchmarks.graders.corpus import Job

ACCEPTED, REJECTED, CRASHED = 40, 41, 1
"""Unlike anything a shell, bubblewrap or a signal makes of a dead process."""


def answer(grade: Callable[[Job], bool]) -> None:
    """Grade the job on standard input and leave at once: what the program left behind must not delay the verdict."""
    multiprocessing.set_start_method("fork")
    job = Job.from_json(sys.stdin.read())
    try:
        code = ACCEPTED if grade(job) else REJECTED
    except Exception:  # whatever a peer raises is the peer's crash, and is what we measure
        traceback.print_exc()
        code = CRASHED
    sys.stderr.flush()
    os._exit(code)
