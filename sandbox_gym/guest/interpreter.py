"""A fork of the zygote made to look like a fresh Python interpreter, and the number of a program's channel."""

import gc
import os
import signal
import sys

CHANNEL_FD = 3
CONTROL_FD = 63
"""Of a process that runs its program again and again: between two inputs it speaks with the supervisor there."""


def clean_interpreter(spec):
    """Make this fork of the zygote look like an interpreter that has just started `python main.py`."""
    os.environ.clear()
    os.environ.update(spec["env"])
    sys.argv[:] = [spec["main"]]
    sys.path.insert(0, spec["workdir"])
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if spec["recursion_limit"]:
        sys.setrecursionlimit(spec["recursion_limit"])
    gc.enable()
