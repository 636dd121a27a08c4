"""The Python of a session: one namespace, the last expression echoed once, output before the traceback.

Before each cell it forks a copy of itself that waits, for repl.py to go on with. Forks that a cell makes are programs
of their own: they run the rest of the cell and end (forks.py).
"""

import ast
import importlib.util
import json
import linecache
import os
import pickle
import signal
import sys
import types

from ..forks import CELL, tell
from . import interrupts
from .cell_runner import CellRunner, flush, statements_and_value

MAX_GLOBALS = 16 << 20
MAX_VALUE = 64 << 10
GO_ON = signal.SIGUSR1
# a cell may replace what the module holds
_read, _write, _kill, _waitpid, _close = os.read, os.write, os.kill, os.waitpid, os.close
_exit, _pipe, _setpgid, _mask, _dumps = os._exit, os.pipe2, os.setpgid, signal.pthread_sigmask, json.dumps


class Worker(CellRunner):
    """The Python itself: reads cells, answers each with a word."""

    def serve(self, preload):
        _setpgid(0, 0)  # a cell that signals its group reaches what cells started, not the driver
        for name, wanted in preload:
            self._bind_lazily(name, wanted)
        while True:
            message = self._receive()
            kind, body = message[:1], message[1:]
            if kind in (b"x", b"v"):
                copy = self._stand_by()
                if copy == 0:
                    continue  # this is the copy, and its turn has come: the cell is not run again
                self._value = None
                word = {"status": self._cell(body, kind == b"x")}
                if self._value is not None:
                    word["value"] = self._value
                self._claim.leave_if_forked()
                if copy > 0:
                    _kill(copy, signal.SIGKILL)
                self._say(word)
            elif kind == b"s":
                self._save()
            else:
                self._restore(body)

    def _bind_lazily(self, name, wanted):
        """`name` stands for a module that is imported when it is first used."""
        spec = importlib.util.find_spec(wanted)
        if spec is None or spec.loader is None:
            return
        if wanted not in sys.modules:
            spec.loader = importlib.util.LazyLoader(spec.loader)
            module = importlib.util.module_from_spec(spec)
            sys.modules[wanted] = module
            spec.loader.exec_module(module)
        self._namespace[name] = sys.modules[wanted]

    def _stand_by(self):
        """Fork a copy that waits: its pid, -1 where none could be made; 0 in the copy, once it is to go on.

        An intermediate process forks it and ends at once, so that the copy is no child of this one: a cell may wait for
        all children.
        """
        read, write = _pipe(os.O_CLOEXEC)
        _mask(signal.SIG_BLOCK, (GO_ON,))
        try:
            between = self._claim.copy()
        except OSError:
            between = -1
        if between == 0:
            self._fork_copy(read, write)
            return 0
        _mask(signal.SIG_UNBLOCK, (GO_ON,))
        _close(write)
        pid = _read(read, 20)
        _close(read)
        if between > 0:
            try:
                _waitpid(between, 0)
            except ChildProcessError:
                pass  # cells ignore SIGCHLD, or reap whatever ends
        if not pid:
            return -1
        _write(self._words, (1 + len(pid)).to_bytes(4, "big") + b"@" + pid)
        return int(pid)

    def _fork_copy(self, read, write):
        """In the process between: fork and tell. Returns in the copy alone, when its turn has come."""
        try:
            pid = self._claim.copy()
            if pid:
                _setpgid(pid, pid)  # out of reach of a cell that signals its group, before the cell begins
        except OSError:
            _exit(0)
        if pid:
            _write(write, b"%d" % pid)
            _exit(0)
        _close(read)
        _close(write)
        signal.sigwait((GO_ON,))
        _mask(signal.SIG_UNBLOCK, (GO_ON,))
        self._claim.take_over()

    def _say(self, word, blob=b""):
        self._claim.leave_if_forked()
        self._send(_dumps(word).encode("utf-8") + (b"\0" + blob if blob else b""))

    def _cell(self, source, echo):
        """Run a cell: ok, error or interrupted. A fork that the cell made never comes back from here."""
        self._count += 1
        name = "%s %d>" % (CELL, self._count)
        failure = None
        interrupts.let_in(tell)
        try:
            text = source.decode("utf-8")
            linecache.cache[name] = (len(text), None, text.splitlines(True), name)
            self._execute(text, name, echo)
        except BaseException as error:
            failure = error
        self._claim.leave_if_forked(failure)
        interrupts.hold()
        status = self._status(failure)
        failure = None  # its traceback has this frame, which has it
        flush(BaseException)
        return status

    def _status(self, failure):
        if failure is None or (isinstance(failure, SystemExit) and failure.code in (None, 0)):
            return "ok"
        tell(failure, "SystemExit: ")
        return "interrupted" if isinstance(failure, KeyboardInterrupt) else "error"

    def _execute(self, text, name, echo):
        tree, last = statements_and_value(ast.parse(text, name))
        exec(compile(tree, name, "exec"), self._namespace)
        if last is not None:
            value = eval(compile(last, name, "eval"), self._namespace)
            if value is None or not self._claim.mine():  # the echo answers the caller, which a fork does not
                return
            self._namespace["_"] = value
            if echo:
                sys.stdout.write("%r\n" % (value,))
            else:
                self._value = repr(value)[:MAX_VALUE]

    def _save(self):
        kept, lost = {}, []
        size = 0
        for name, value in self._namespace.items():
            if name.startswith("__") or type(value).__name__ == "_LazyModule":
                continue
            if isinstance(value, types.ModuleType):
                kept[name] = ("module", value.__name__)
                continue
            try:
                blob = pickle.dumps(value)
                pickle.loads(blob)
            except BaseException:
                lost.append(name)
                continue
            size += len(blob)
            if size > MAX_GLOBALS - (1 << 20):
                lost.append(name)
                continue
            kept[name] = ("value", blob)
        self._say({"lost": lost}, pickle.dumps(kept))

    def _restore(self, blob):
        """In the session's own Python, of its own globals: what they do when unpickled they could do before."""
        for name, (kind, content) in pickle.loads(blob).items():
            try:
                self._namespace[name] = __import__(content) if kind == "module" else pickle.loads(content)
            except BaseException:
                continue  # a cell will say NameError, which is the truth
        self._say({"status": "ok"})
