"""Python programs by the mode of their run: a script, an answer that is called, a test that calls it, both in one."""

import sys

from ..interpreter import clean_interpreter
from . import calls, pyrun, shared, together


def run(spec):
    """Run `main` of `spec` in this process and return its exit code. Standard streams are fds 0 to 2."""
    _open_streams()
    clean_interpreter(spec)
    if spec["mode"] == "check":
        return together.serve(spec)
    body = {"call": calls.serve, "ask": calls.ask}.get(spec["mode"], _script)
    if spec["shared"]:
        return shared.serve(spec, body, _open_streams)
    return pyrun.finish(body, spec)


def _script(spec):
    pyrun.load(spec, "__main__")


def _open_streams():
    sys.stdin = sys.__stdin__ = open(0, "r", encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
