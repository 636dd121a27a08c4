"""One Python that lives between cells: one namespace, the last expression echoed once, output before the traceback."""

import ast
import builtins
import json
import linecache
import os
import pickle
import signal
import sys
import traceback
import types

from .child import Child, Gone, pipe
from .clip import Clip

MAX_CELL = 1 << 20
MAX_GLOBALS = 16 << 20


class Repl(Child):
    """The driver's end: cells go down one pipe, a word for each comes back on another, output on two more."""

    def __init__(self, home, environment, channel):
        Child.__init__(self, home, environment, channel)
        self._saved = b""

    def run(self, cell, timeout_s, output_bytes):
        """(reply, stdout and stderr): `status` is ok, error, interrupted or killed."""
        if len(cell) > MAX_CELL:
            return {"ok": False, "error": "a cell is at most %d bytes" % MAX_CELL}, b""
        reset = self._ensure()
        out, err = Clip(output_bytes), Clip(output_bytes)
        reply = {"ok": True, "reset": reset, "status": "killed"}
        try:
            outcome = self._exchange(b"x" + cell, timeout_s, {self._out: out, self._err: err})
            reply["status"] = "interrupted" if outcome else self._word.get("status", "error")
        except Gone:
            self._drain(self._out, out)
            self._drain(self._err, err)
            self._close()
        out_body, out_sizes = out.take()
        err_body, err_sizes = err.take()
        reply.update(sizes=out_sizes, stderr_sizes=err_sizes)
        return reply, out_body + err_body

    def _ensure(self):
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
            Worker(*keep).serve()

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
            return len(self._pending) >= 4 and len(self._pending) >= 4 + int.from_bytes(self._pending[:4], "big")

        outcome = self._wait({**streams, self._words: words}, done, timeout_s)
        size = int.from_bytes(self._pending[:4], "big")
        word, self._pending = self._pending[4 : 4 + size], self._pending[4 + size :]
        head, _nul, self._blob = word.partition(b"\0")
        try:
            self._word = json.loads(head.decode("utf-8"))
        except ValueError:
            self._word = {}
        return outcome

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

    def serve(self):
        sys.stdin = sys.__stdin__ = open(0, "r", encoding="utf-8", closefd=False)
        sys.stdout = sys.__stdout__ = open(1, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
        sys.stderr = sys.__stderr__ = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
        sys.path.insert(0, "")
        module = sys.modules["__main__"] = types.ModuleType("__main__")
        module.__builtins__ = builtins
        self._namespace = module.__dict__
        while True:
            head = self._read(4)
            message = self._read(int.from_bytes(head, "big"))
            kind, body = message[:1], message[1:]
            if kind == b"x":
                self._say({"status": self._cell(body)})
            elif kind == b"s":
                self._save()
            else:
                self._restore(body)

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

    def _cell(self, source):
        self._count += 1
        name = "<cell %d>" % self._count
        status = "ok"
        signal.signal(signal.SIGINT, signal.default_int_handler)
        try:
            text = source.decode("utf-8")
            linecache.cache[name] = (len(text), None, text.splitlines(True), name)
            self._execute(text, name)
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

    def _execute(self, text, name):
        tree = ast.parse(text, name)
        last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, name, "exec"), self._namespace)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), name, "eval"), self._namespace)
            if value is not None:
                self._namespace["_"] = value
                sys.stdout.write("%r\n" % (value,))

    def _report(self, name):
        kind, error, trace = sys.exc_info()
        while trace is not None and trace.tb_frame.f_code.co_filename != name:
            trace = trace.tb_next
        sys.stderr.write("".join(traceback.format_exception(kind, error, trace)))

    def _save(self):
        kept, lost = {}, []
        size = 0
        for name, value in self._namespace.items():
            if name.startswith("__"):
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
