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
    """As the interpreter does: of line ends only `\\n` is one, and they have names."""
    sys.stdin = sys.__stdin__ = _stream(0, "<stdin>", "r", "surrogateescape", -1)
    sys.stdout = sys.__stdout__ = _stream(1, "<stdout>", "w", "surrogateescape", -1)
    sys.stderr = sys.__stderr__ = _stream(2, "<stderr>", "w", "backslashreplace", 1)


def _stream(fd, name, mode, errors, buffering):
    stream = open(fd, mode, buffering, "utf-8", errors, "\n", closefd=False)
    stream.buffer.raw.name = name
    return stream
