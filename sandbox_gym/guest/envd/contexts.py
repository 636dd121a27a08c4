"""Notebook contexts in the driver: a process each, one cell at a time; messages and output go to the host."""

import codecs
import fcntl
import json
import os
import signal
import time

from .. import kernel
from ..session import processes
from . import cells, kernels
from .flow import Credit, Inlet, Outlet

MAX_CONTEXTS = 32
MAX_WORD = 10 << 20
MAX_PIPE = 1 << 20
PIECE = 1 << 16
"""A longer message goes to the host in pieces, so that it never has to wait for more room than a stream has."""


class Context:
    """`run` sends a cell to the process and passes its messages to `tell`, until the event "end". `source`: the program
    of the kernel (kernels.py). `forkserver`: where the processes of Python's contexts come from; None where they are
    forks of this one."""

    def __init__(self, selector, language, folder, environment, source, forkserver):
        self._selector, self.language, self.folder, self._environment = selector, language, folder, environment
        self._source = source
        self._forkserver = forkserver if language == "python" else None
        kernels.check(language, environment.get("PATH"))
        os.makedirs(folder, exist_ok=True)
        self._tell = None
        self._running = False
        self.pid = 0

    def start(self):
        """Start a new process, without the state of an earlier one."""
        self.stop()
        (cells_read, cells_write), (words_read, words), (out_read, out), (err_read, err) = [
            os.pipe2(os.O_CLOEXEC) for _ in range(4)
        ]
        theirs = (cells_read, words, out, err)
        try:
            if self._forkserver is not None:
                self._forkserver.fork(theirs)
            else:
                self.pid = os.fork()
                if self.pid == 0:
                    become(theirs, self._program)
        finally:
            for fd in theirs:
                os.close(fd)
        self._running = True
        self._pending, self._held, self._size, self._count = b"", {}, 0, 0
        self._decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}
        self._credit = Credit(1 << 20)
        self._cells = Outlet(self._selector, cells_write)
        self._inlets = [
            Inlet(self._selector, out_read, self._credit, lambda data: self._printed("stdout", data), False),
            Inlet(self._selector, err_read, self._credit, lambda data: self._printed("stderr", data), False),
            Inlet(self._selector, words_read, self._credit, self._words, False),
        ]
        if self.language == "python":
            self._send({"env": self._environment, "folder": self.folder})

    def _program(self, source, words):
        """In the child: be the kernel."""
        if self.language == "python":
            cells.Notebook(source, words).serve()
        os.environ.clear()
        os.environ.update(self._environment)
        cells.enter(self.folder)
        for target, fd in ((3, source), (4, words)):
            os.dup2(fd, target)
        kernel.close_from(5)
        kernels.execute(self.language, self._source)

    def _send(self, message):
        body = json.dumps(message).encode("ascii")
        self._cells.put(len(body).to_bytes(4, "big") + body, lambda why: None)

    @property
    def busy(self):
        return self._tell is not None

    def run(self, code, environment, window, tell):
        if not self._running:
            self.start()
        self._tell = tell
        self._credit.grant(window - self._credit.left)
        if self.language == "python":
            self._send({"code": code, "env": environment})
            return
        self._count += 1
        self._word({"type": "number_of_executions", "execution_count": self._count})
        texts = [code, str(len(environment)), *(text for pair in environment.items() for text in pair)]
        body = "".join("%s\0" % text.replace("\0", "") for text in texts).encode("utf-8", "replace")
        self._cells.put(body, lambda why: None)

    def granted(self, size):
        if self._running:
            self._credit.grant(size)

    def interrupt(self, children):
        """End the cell, but not the kernel. `children`: kill what it started, which ignored an interrupt."""
        if not self.busy or not self.pid:
            return
        if self.language in kernels.INTERRUPTED_BY_WORD:
            self._cells.put(b"\0-1\0", lambda why: None)
            self._signal_others(signal.SIGINT)
        else:
            self._signal(signal.SIGINT)
        if children:
            self._signal_others(signal.SIGKILL)

    def _signal_others(self, number):
        """Signal the kernel's process group without the kernel."""
        for pid in processes.pids():
            try:
                if pid != self.pid and os.getpgid(pid) == self.pid:
                    os.kill(pid, number)
            except OSError:
                pass  # it ended

    def reaped(self, pid):
        """A child of this process ended. What it started may have its pipes yet."""
        if self._running and pid == self.pid:
            self._drain(self._inlets)
            if self.pid == pid:
                self._gone()

    def _signal(self, number):
        if self.pid:
            processes.send_group(self.pid, number)

    def _printed(self, name, data):
        text = self._held.pop(name, "") + self._decoders[name].decode(data)
        if self.language == "r" and data and len(text) < PIECE:  # R writes a line in several parts
            end = text.rfind("\n") + 1
            text, self._held[name] = text[:end], text[end:]
        if text:
            self._word({"type": name, "text": text, "timestamp": time.time_ns()})

    def _word(self, word):
        self._say({"event": "word"}, json.dumps(word).encode("utf-8"))

    def _say(self, event, body):
        """The host grants again what each message takes of its memory, which may be many times what was read for it."""
        if self._tell is not None:
            self._credit.spend(len(body))
            self._tell(event, body)

    def _words(self, data):
        if not data:
            self._gone()
            return
        for inlet in self._inlets[:2]:  # what was printed before the message was written
            while inlet.open and self._credit.left > 0 and inlet.read():
                pass
        self._pending += data
        while self._pending:
            end = self._pending.find(b"\n") + 1
            if not end and len(self._pending) < PIECE:
                return
            piece = self._pending[: end or PIECE]
            self._pending = self._pending[len(piece) :]
            first, self._size = self._size == 0, self._size + len(piece)
            if self._size > MAX_WORD:
                self._gone("the kernel was ended: it wrote a message of over %d bytes" % MAX_WORD)
                return
            if end:
                self._size = 0
            if not (first and end and self._is_own(piece)):
                self._say({"event": "word"} if first and end else {"event": "word", "more": not end}, piece)

    def _is_own(self, line):
        """Act on a message that is for this process; whether it was. A cell may have written it itself."""
        try:
            word = json.loads(line.decode("utf-8"))
            kind = word["type"]
        except (ValueError, KeyError, TypeError, RecursionError):
            return True  # nothing that the host would take
        if kind == "pid" and not self.pid and isinstance(word.get("pid"), int) and word["pid"] > 1:
            self.pid = word["pid"]
        elif kind == "done":
            self._drain(self._inlets[:2])
            self._end()
        return kind in ("pid", "done")

    def _drain(self, inlets):
        """Take what was written before the kernel said that it is done, or ended: no more than what pipes hold, as what
        the kernel started may go on writing."""
        for inlet in inlets:
            for _piece in range(MAX_PIPE // PIECE + 1):
                if not inlet.open or not inlet.read():
                    break
        for name in list(self._held):
            self._printed(name, b"")

    def _end(self):
        tell, self._tell = self._tell, None
        if tell is not None:
            tell({"event": "end"}, b"")

    def _gone(self, why="the kernel ended"):
        """The process ended, in a cell or between two; the next cell starts another."""
        value = why + "; variables are gone and the next cell starts another"
        self._word({"type": "error", "name": "KernelDied", "value": value, "traceback": ""})
        self.stop()

    def stop(self):
        """End the process, and with it the current cell."""
        if self._running:
            self._running = False
            self._signal(signal.SIGKILL)
            self.pid = 0
            self._cells.close()
            for inlet in self._inlets:
                inlet.close()
        self._end()


def become(fds, run):
    """In a fork: a kernel with these descriptors, which runs run(cells, words). Never returns."""
    try:
        os.setsid()
        for number in (signal.SIGPIPE, signal.SIGCHLD, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        source, words, out, err = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for fd in fds]
        null = os.open("/dev/null", os.O_RDONLY)
        for target, fd in ((0, null), (1, out), (2, err)):
            os.dup2(fd, target)
        first, second = sorted((source, words))
        os.closerange(3, first)
        os.closerange(first + 1, second)
        kernel.close_from(second + 1)
        run(source, words)
    finally:
        os._exit(1)
