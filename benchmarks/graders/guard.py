"""What in-process graders take away from the interpreter before a candidate runs in it.

The list is the one of HumanEval and LiveCodeBench (EvalPlus takes `open` too): names are replaced by None in the
modules that a program would reach for. None of them calls it a sandbox, and `ctypes`, frames and `gc` are untouched.
"""

from __future__ import annotations

import builtins
import faulthandler
import os
import shutil
import subprocess
import sys

OS_NAMES = (
    "kill",
    "system",
    "putenv",
    "remove",
    "removedirs",
    "rmdir",
    "fchdir",
    "setuid",
    "fork",
    "forkpty",
    "killpg",
    "rename",
    "renames",
    "truncate",
    "replace",
    "unlink",
    "fchmod",
    "fchown",
    "chmod",
    "chown",
    "chroot",
    "lchflags",
    "lchmod",
    "lchown",
    "getcwd",
    "chdir",
)
MODULES = ("ipdb", "joblib", "resource", "psutil", "tkinter")


def guard(*, keep_exit: bool = False) -> None:
    """Disarm this interpreter; `keep_exit` leaves `exit()` to programs, as LiveCodeBench does."""
    faulthandler.disable()
    os.environ["OMP_NUM_THREADS"] = "1"
    taken: list[tuple[object, str]] = [(os, name) for name in OS_NAMES]
    taken += [(shutil, name) for name in ("rmtree", "move", "chown")]
    taken += [(subprocess, "Popen"), (builtins, "quit"), (builtins, "help")]
    if not keep_exit:
        taken.append((builtins, "exit"))
    for owner, name in taken:
        setattr(owner, name, None)
    sys.modules.update(dict.fromkeys(MODULES))  # type: ignore[arg-type] # None makes their import fail
