"""Python programs by the mode of their run: a script, an answer that is called, a test that calls it, both in one."""

import sys

from ..interpreter import clean_interpreter
from . import calls, pyrun, shared, together


def run(spec, beginning):
    """Run `main` of `spec` in this process and return its exit code. Standard streams are fds 0 to 2. `beginning` is
    over once code of an answer runs here."""
    with beginning.ours():
        _open_streams()
        clean_interpreter(spec)
        pyrun.read(spec, spec["main"])
    if spec["mode"] == "check":
        return together.serve(spec, beginning)
    if spec["mode"] == "ask":
        return pyrun.finish(lambda spec: calls.ask(spec, beginning), spec)
    body = calls.serve if spec["mode"] == "call" else _script
    if spec["shared"]:
        return shared.serve(spec, body, _open_streams, beginning)
    beginning.over()
    return pyrun.finish(body, spec)


def _script(spec):
    pyrun.load(spec, "__main__")


def _open_streams():
    sys.stdin = sys.__stdin__ = open(0, "r", encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)
    sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
