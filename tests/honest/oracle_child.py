"""Runs whole programs in plain CPython, each in a forked child in a folder of its own. Standard library only.

Reads one JSON job a line ({"files": {...}, "main": ..., "style": ...}) and writes one JSON line for each: whether its
program came to its end, and its last words. Run by the interpreter that boxes use.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import shutil
import signal
import sys
import tempfile
import traceback
import types
from typing import Any

LIMIT_S = 60
PRELOADED = ("asyncio", "unittest.mock", "numpy", "pytest")  # what takes long to import, once for all children
Job = Any  # {"files": {...}, "main": ..., "style": ...}, out of JSON


def main() -> None:
    for name in PRELOADED:
        importlib.import_module(name)
    gc.freeze()
    for line in sys.stdin:
        folder = tempfile.mkdtemp(prefix="oracle-")
        try:
            answer = _in_child(json.loads(line), folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


def _in_child(job: Job, folder: str) -> dict[str, object]:
    words = os.path.join(folder, "words.txt")
    work = os.path.join(folder, "work")
    os.mkdir(work)
    pid = os.fork()
    if pid == 0:
        os._exit(_child(job, work, words))
    _, status = os.waitpid(pid, 0)
    with open(words, encoding="utf-8", errors="replace") as file:
        return {"passed": os.waitstatus_to_exitcode(status) == 0, "said": file.read()[-2000:]}


def _child(job: Job, work: str, words: str) -> int:
    """0 where the program ran to its end, else 1; what it printed and how it failed goes to `words`."""
    signal.alarm(LIMIT_S)
    os.chdir(work)
    for name, text in job["files"].items():
        with open(name, "w", encoding="utf-8", errors="surrogatepass") as file:
            file.write(text)
    _redirect(words)
    code = 1
    try:
        code = {"plain": _plain, "unittest": _unittest, "pytest": _pytest}[job["style"]](job["main"])
    except BaseException:
        traceback.print_exc()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    return code


def _redirect(words: str) -> None:
    fd = os.open(words, os.O_WRONLY | os.O_CREAT, 0o600)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(fd, 1)
    os.dup2(fd, 2)
    sys.path.insert(0, os.getcwd())
    sys.argv[:] = ["main.py"]
    for name, number, mode in (("stdin", 0, "r"), ("stdout", 1, "w"), ("stderr", 2, "w")):
        errors = "backslashreplace" if number else None
        stream = open(number, mode, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115, it stays open
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _plain(main: str) -> int:
    """The file as `python file` runs it."""
    module = types.ModuleType("__main__")
    module.__file__ = os.path.abspath(main)
    sys.modules["__main__"] = module
    with open(main, encoding="utf-8", errors="surrogatepass") as file:
        exec(compile(file.read(), module.__file__, "exec", dont_inherit=True), module.__dict__)
    return 0


def _unittest(main: str) -> int:
    import unittest

    _plain(main)
    result = unittest.TextTestRunner().run(unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]))
    return 0 if result.wasSuccessful() and result.testsRun > len(result.skipped) else 1


def _pytest(main: str) -> int:
    import pytest

    return int(pytest.main(["-q", "-p", "no:cacheprovider", "--noconftest", "-c", "/dev/null", "--rootdir", ".", main]))


if __name__ == "__main__":
    main()
