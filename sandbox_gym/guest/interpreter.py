"""A fork of the zygote made to look like a fresh Python interpreter, and the number of a program's channel."""

import _signal
import gc
import os
import random
import sys
import threading

CHANNEL_FD = 3
CONTROL_FD = 63
"""Of a process that runs its program again and again: between two inputs it speaks with the supervisor there."""


def clean_interpreter(spec):
    """Make this fork of the zygote look like an interpreter that has just started `python main.py`."""
    threading._main_thread._set_native_id()
    seed()
    os.environ.clear()
    for name, value in spec["env"].items():
        os.environ[name] = value
    sys.argv[:] = [spec["main"]]
    getattr(sys, "orig_argv", [])[:] = [sys.executable, spec["main"]]
    sys.path.insert(0, spec["workdir"])
    _signal.signal(_signal.SIGINT, _signal.default_int_handler)
    if spec["recursion_limit"]:
        sys.setrecursionlimit(spec["recursion_limit"])
    gc.enable()


def seed():
    """Seed the generators of random numbers that are loaded, as each interpreter does for itself."""
    random.seed()
    numpy = sys.modules.get("numpy.random.mtrand")
    if numpy is not None:
        numpy._rand.__init__()  # its seed() would leave no SeedSequence, from which programs may spawn others
