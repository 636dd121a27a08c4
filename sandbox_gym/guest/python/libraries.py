"""A library that many programs import, loaded before they are forked: they then import what is there already.

It takes long to import, can be forked, and starts no thread in the environment that programs have. Its files are the
image's own, which no program can change.
"""

import gc
import os

from . import library

NAMES = ("numpy", "pandas", "scipy")
"""numpy, and what is built on it: programs that import one of these have numpy from their start."""
_ENVIRONMENT = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "LANG": "C.UTF-8"}
"""As programs have it. With more threads loading would start some, which no fork would have."""


def load():
    """Import numpy; whether it is there now. If not, this process may hold a part of it, and must fork no program."""
    os.environ.update(_ENVIRONMENT)
    try:
        import numpy.random  # noqa: F401
    except Exception:
        return False
    os.environ.clear()
    library.prepare()
    gc.freeze()  # what stays needs no look by a program's collector
    return os.stat("/proc/self/task").st_nlink == 3
