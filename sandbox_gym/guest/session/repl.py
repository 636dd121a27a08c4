"""One Python that lives between cells, as the driver holds it: cells in, a word for each out, output on two pipes.

A cell that has to be killed, or that ends the process, costs what it did and no more: the copy that the Python forked
before the cell goes on, with everything as it was.
"""

import errno
import json
import os
import time

from .child import NOT_BEGUN, Child, Gone
from .clip import Clip
from .processes import pipe
from .repl_worker import GO_ON, MAX_GLOBALS, Worker

MAX_CELL = 1 << 20


class Repl(Child):
    """The driver's end: cells go down one pipe, a word for each comes back on another, output on two more."""

    _ends = ("_in", "_out", "_err", "_words")

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
        had = self.starts
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
            if self.starts > had and self.exit_code == NOT_BEGUN:
                self.starts = had
                self._close()
                raise OSError(errno.EIO, "Python does not start") from None
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
            worker = Worker(*keep)
            return lambda: worker.serve(preload)

        self._fork(body, (read, out, err, words))
        if self._saved:
            saved, self._saved = self._saved, b""
            self._exchange(b"r" + saved, 10, {self._out: Clip(4096), self._err: Clip(4096)})
        return had

    def _exchange(self, message, timeout_s, streams):
        words = Clip(MAX_GLOBALS * 2)
        rest = memoryview(len(message).to_bytes(4, "big") + message)
        os.set_blocking(self._in, False)

        def done():
            nonlocal rest
            rest = self._push(self._in, rest)
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
