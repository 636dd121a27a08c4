"""One Python that lives between cells: one namespace, the last expression echoed once, output before the traceback.

Before each cell the Python forks a copy of itself that waits. A cell that has to be killed, or that ends the process,
costs what it did and no more: the copy goes on, with everything as it was before the cell.
"""

import ast
import builtins
import importlib.util
import json
import linecache
import os
import pickle
import signal
import sys
import time
import traceback
import types

from .child import Child, Gone, pipe
from .clip import Clip

MAX_CELL = 1 << 20
MAX_GLOBALS = 16 << 20
MAX_VALUE = 64 << 10
GO_ON = signal.SIGUSR1
_fork, _kill, _waitpid = os.fork, os.kill, os.waitpid  # a cell may replace them


class Repl(Child):
    """The driver's end: cells go down one pipe, a word for each comes back on another, output on two more."""

    def __init__(self, home, environment, channel):
        Child.__init__(self, home, environment, channel)
        self._saved = b""
        self._copy = 0

    def run(self, cell, timeout_s, output_bytes, echo=True, preload=()):
        """(reply, stdout and stderr): `status` is ok, error, interrupted or killed.

        `echo`: the last expression's value goes to stdout; if not, its repr is the reply's `value`. `preload`: pairs of
        a name and a module that the name stands for from the start, imported when it is first used. `rolled_back`: the
        cell's process is gone and its copy from before the cell goes on.
        """
        if len(cell) > MAX_CELL:
            return {"ok": False, "error": "a cell is at most %d bytes" % MAX_CELL}, b""
        reset = self._ensure(preload)
        out, err = Clip(output_bytes), Clip(output_bytes)
        reply = {"ok": True, "reset": reset, "status": "killed", "rolled_back": False}
        self._copy = 0
        started = time.monotonic()
        try:
            kind = b"x" if echo else b"v"
            outcome = self._exchange(kind + cell, timeout_s, {self._out: out, self._err: err})
            reply["status"] = "interrupted" if outcome else self._word.get("status", "error")
            value = self._word.get("value")
            reply["value"] = value if isinstance(value, str) else None
        except Gone:
            self._drain(self._out, out)
            self._drain(self._err, err)
            if time.monotonic() - started < timeout_s:
                reply["status"] = "died"
            reply["rolled_back"] = self._roll_back()
            if not reply["rolled_back"]:
                self._close()
        out_body, out_sizes = out.take()
        err_body, err_sizes = err.take()
        reply.update(sizes=out_sizes, stderr_sizes=err_sizes)
        return reply, out_body + err_body

    def _roll_back(self):
        """Have the copy go on, where there is one; what the cell's process still says is thrown away."""
        copy, self._copy, self._pending = self._copy, 0, b""
        if not copy or not self._adopt(copy):
            return False
        os.kill(copy, GO_ON)
        return True

    def _ensure(self, preload=()):
        if self.alive():
            return False
        had = self.starts > 0
        if had:
            self._close()
        read, self._in = pipe(nonblocking_read=False)
        self._out, out = pipe()
        self._err, err = pipe()
        self._words, words = pipe()
        self._pending = b""

        def body():
            os.environ.clear()
            os.environ.update(self.environment)
            null = os.open("/dev/null", os.O_RDONLY)
            for target, fd in enumerate((null, out, err)):
                os.dup2(fd, target)
            keep = [os.dup(read), os.dup(words)]
            os.closerange(3, min(keep))
            Worker(*keep).serve(preload)

        self._fork(body, (read, out, err, words))
        if self._saved:
            saved, self._saved = self._saved, b""
            self._exchange(b"r" + saved, 10, {self._out: Clip(4096), self._err: Clip(4096)})
        return had

    def _close(self):
        for name in ("_in", "_out", "_err", "_words"):
            fd = getattr(self, name, -1)
            if fd >= 0:
                os.close(fd)
                setattr(self, name, -1)
        self.pid = 0

    def _exchange(self, message, timeout_s, streams):
        words = Clip(MAX_GLOBALS * 2)
        rest = [memoryview(len(message).to_bytes(4, "big") + message)]
        os.set_blocking(self._in, False)

        def done():
            while rest[0]:
                try:
                    rest[0] = rest[0][os.write(self._in, rest[0]) :]
                except BlockingIOError:
                    break
                except OSError:
                    rest[0] = memoryview(b"")
            body, _sizes = words.take()
            self._pending += body
            self._heed_copy()
            return self._whole_word()

        try:
            outcome = self._wait({**streams, self._words: words}, done, timeout_s)
        except Gone:
            self._drain(self._words, words)  # it may have died before its word of the copy was read
            self._pending += words.take()[0]
            self._heed_copy()
            raise
        size = int.from_bytes(self._pending[:4], "big")
        word, self._pending = self._pending[4 : 4 + size], self._pending[4 + size :]
        head, _nul, self._blob = word.partition(b"\0")
        try:
            self._word = json.loads(head.decode("utf-8"))
        except ValueError:
            self._word = {}
        return outcome

    def _heed_copy(self):
        """Take the word that names the cell's copy out of what was read."""
        if self._whole_word() and self._pending[4:5] == b"@":
            size = int.from_bytes(self._pending[:4], "big")
            self._copy = int(self._pending[5 : 4 + size])
            self._pending = self._pending[4 + size :]

    def _whole_word(self):
        return len(self._pending) >= 4 and len(self._pending) >= 4 + int.from_bytes(self._pending[:4], "big")

    def settle(self):
        if self.alive():
            self.run(b"import os as _os; _os.chdir(_os.environ.get('PWD') or '.'); del _os", 5, 4096)

    def save(self):
        """(pickled globals, names that could not be pickled). Nothing where there is no Python yet."""
        if not self.alive():
            return self._saved, []
        try:
            self._exchange(b"s", 20, {self._out: Clip(4096), self._err: Clip(4096)})
        except Gone:
            self._close()
            return b"", ["everything: Python ended while it was saved"]
        lost = self._word.get("lost")
        return self._blob[:MAX_GLOBALS], [str(name)[:100] for name in lost][:1000] if isinstance(lost, list) else []

    def restore(self, blob):
        self._saved = blob


class Worker:
    """The Python itself: reads cells, answers each with a word."""

    def __init__(self, cells, words):
        self._cells, self._words = cells, words
        self._count = 0

    def serve(self, preload):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        sys.stdin = sys.__stdin__ = open(0, "r", encoding="utf-8", closefd=False)
        sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
        sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
        sys.path.insert(0, "")
        module = sys.modules["__main__"] = types.ModuleType("__main__")
        module.__builtins__ = builtins
        self._namespace = module.__dict__
        for name, wanted in preload:
            self._bind_lazily(name, wanted)
        while True:
            head = self._read(4)
            message = self._read(int.from_bytes(head, "big"))
            kind, body = message[:1], message[1:]
            if kind in (b"x", b"v"):
                copy = self._stand_by()
                if copy == 0:
                    continue  # this is the copy, and its turn has come: the cell is not run again
                self._value = None
                word = {"status": self._cell(body, kind == b"x")}
                if self._value is not None:
                    word["value"] = self._value
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

        By way of a process that ends at once, so that the copy is nobody's child: a cell may wait for all of its own.
        """
        read, write = os.pipe2(os.O_CLOEXEC)
        signal.pthread_sigmask(signal.SIG_BLOCK, (GO_ON,))
        try:
            between = _fork()
        except OSError:
            between = -1
        if between == 0:
            try:
                pid = _fork()
            except OSError:
                os._exit(0)
            if pid:
                os.write(write, b"%d" % pid)
                os._exit(0)
            os.close(read)
            os.close(write)
            signal.sigwait((GO_ON,))
            signal.pthread_sigmask(signal.SIG_UNBLOCK, (GO_ON,))
            return 0
        signal.pthread_sigmask(signal.SIG_UNBLOCK, (GO_ON,))
        os.close(write)
        pid = os.read(read, 20)
        os.close(read)
        if between > 0:
            _waitpid(between, 0)
        if not pid:
            return -1
        os.write(self._words, (1 + len(pid)).to_bytes(4, "big") + b"@" + pid)
        return int(pid)

    def _read(self, size):
        data = b""
        while len(data) < size:
            piece = os.read(self._cells, min(size - len(data), 1 << 20))
            if not piece:
                os._exit(0)
            data += piece
        return data

    def _say(self, word, blob=b""):
        body = json.dumps(word).encode("utf-8") + (b"\0" + blob if blob else b"")
        view = memoryview(len(body).to_bytes(4, "big") + body)
        while view:
            view = view[os.write(self._words, view) :]

    def _cell(self, source, echo):
        self._count += 1
        name = "<cell %d>" % self._count
        status = "ok"
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            text = source.decode("utf-8")
            linecache.cache[name] = (len(text), None, text.splitlines(True), name)
            self._execute(text, name, echo)
        except SystemExit as leaving:
            status = "ok" if leaving.code in (None, 0) else "error"
            if leaving.code not in (None, 0):
                sys.stderr.write("SystemExit: %s\n" % (leaving.code,))
        except KeyboardInterrupt:
            status = "interrupted"
            self._report(name)
        except BaseException:
            status = "error"
            self._report(name)
        finally:
            signal.signal(signal.SIGINT, signal.SIG_IGN)
        for stream in (sys.stdout, sys.stderr):
            try:
                stream.flush()
            except BaseException:
                pass  # the cell closed or replaced it
        return status

    def _execute(self, text, name, echo):
        tree = ast.parse(text, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), self._namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), self._namespace)
            if value is None:
                return
            self._namespace["_"] = value
            if echo:
                sys.stdout.write("%r\n" % (value,))
            else:
                self._value = repr(value)[:MAX_VALUE]

    def _report(self, name):
        kind, error, trace = sys.exc_info()
        while trace is not None and trace.tb_frame.f_code.co_filename != name:
            trace = trace.tb_next
        sys.stderr.write("".join(traceback.format_exception(kind, error, trace)))

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
