"""What a Python that lives between cells is made of, whichever driver holds it: streams, one namespace, framed pipes.

Cells come on one pipe and words go on another, each as u32 length and bytes. Forks that a cell makes answer nothing
(forks.py), and signals reach cells alone (interrupts.py).
"""

import ast
import builtins
import gc
import os
import sys
import types

from ..forks import Claim
from . import interrupts

# a cell may replace what the module holds
_read, _write, _exit = os.read, os.write, os._exit


class CellRunner:
    """A new process becomes one: what an interpreter has at its start, and a namespace that is `__main__`'s."""

    def __init__(self, cells, words):
        self._cells, self._words = cells, words
        self._count = 0
        interrupts.hold()
        gc.freeze()
        gc.enable()
        sys.stdin = sys.__stdin__ = open(0, "r", encoding="utf-8", closefd=False)
        sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
        sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
        sys.path.insert(0, "")
        module = sys.modules["__main__"] = types.ModuleType("__main__")
        module.__builtins__ = builtins
        self._namespace = module.__dict__
        self._claim = Claim(cells, words)

    def _receive(self):
        """The next whole message; at the end of the pipe this process ends, and so does a fork."""
        self._claim.leave_if_forked()
        return self._exactly(int.from_bytes(self._exactly(4), "big"))

    def _exactly(self, size):
        data = b""
        while len(data) < size:
            piece = _read(self._cells, min(size - len(data), 1 << 20))
            if not piece:
                _exit(0)
            data += piece
        return data

    def _send(self, body):
        view = memoryview(len(body).to_bytes(4, "big") + body)
        while view:
            view = view[_write(self._words, view) :]


def statements_and_value(tree):
    """A cell's tree without its last expression, and that expression as a tree of its own; None where there is none."""
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    return tree, ast.Expression(last.value) if last is not None else None


def flush(ignored):
    """What the cell has printed by now goes out. `ignored`: what a stream may raise that the cell closed or replaced;
    an interrupt is a cell's to see while it runs."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except ignored:
            pass
