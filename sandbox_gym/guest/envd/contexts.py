"""Notebook contexts in the driver: a process each, one cell at a time; messages and output go to the host."""

import codecs
import errno
import fcntl
import json
import os
import resource
import signal
import time

from . import cells
from .flow import Credit, Inlet, Outlet

MAX_CONTEXTS = 32
MAX_WORD = 10 << 20
LANGUAGES = ("python", "bash")


class Context:
    """`run` sends a cell to the process and passes its messages to `tell`, until the event "end"."""

    def __init__(self, selector, language, folder, environment):
        self._selector, self.language, self.folder, self._environment = selector, language, folder, environment
        if language not in LANGUAGES:
            raise OSError(
                errno.EINVAL, "no kernel for language %r here; there are %s" % (language, ", ".join(LANGUAGES))
            )
        if not os.path.isdir(folder):
            raise OSError(errno.ENOTDIR, "cwd %r does not exist" % folder)
        self._tell = None
        self.pid = 0

    def start(self):
        """Start a new process, without the state of an earlier one."""
        self.stop()
        (cells_read, cells_write), (words_read, words), (out_read, out), (err_read, err) = [
            os.pipe2(os.O_CLOEXEC) for _ in range(4)
        ]
        pid = os.fork()
        if pid == 0:
            _become(self, (cells_read, words, out, err))
        for fd in (cells_read, words, out, err):
            os.close(fd)
        self.pid = pid
        self._pending = b""
        self._decoders = {name: codecs.getincrementaldecoder("utf-8")("replace") for name in ("stdout", "stderr")}
        self._credit = Credit(1 << 20)
        self._cells = Outlet(self._selector, cells_write)
        self._inlets = [
            Inlet(self._selector, out_read, self._credit, lambda data: self._printed("stdout", data)),
            Inlet(self._selector, err_read, self._credit, lambda data: self._printed("stderr", data)),
            Inlet(self._selector, words_read, self._credit, self._words),
        ]

    @property
    def busy(self):
        return self._tell is not None

    def run(self, code, environment, window, tell):
        if not self.pid:
            self.start()
        self._tell = tell
        self._credit.grant(window - self._credit.left)
        body = json.dumps({"code": code, "env": environment}).encode("utf-8")
        self._cells.put(len(body).to_bytes(4, "big") + body, lambda why: None)

    def granted(self, size):
        if self.pid:
            self._credit.grant(size)

    def interrupt(self):
        if self.pid and self.busy:
            try:
                os.killpg(self.pid, signal.SIGINT)
            except OSError:
                pass  # it ended

    def _printed(self, name, data):
        text = self._decoders[name].decode(data)
        if text and self._tell is not None:
            word = {"type": name, "text": text, "timestamp": time.time()}
            self._tell({"event": "word"}, json.dumps(word).encode("utf-8"))

    def _words(self, data):
        if not data:
            self._gone()
            return
        self._pending += data
        while len(self._pending) >= 4:
            size = int.from_bytes(self._pending[:4], "big")
            if size > MAX_WORD:
                self.stop()
                return
            if len(self._pending) < 4 + size:
                return
            word, self._pending = self._pending[4 : 4 + size], self._pending[4 + size :]
            self._on_word(word)

    def _on_word(self, word):
        try:
            kind = json.loads(word.decode("utf-8"))["type"]
        except (ValueError, KeyError, TypeError):
            return  # the cell wrote into the pipe itself
        if kind != "done":
            if self._tell is not None:
                self._tell({"event": "word"}, word)
            return
        for inlet in self._inlets[:2]:
            while inlet.open and inlet.read():
                pass
        self._end()

    def _end(self):
        tell, self._tell = self._tell, None
        if tell is not None:
            tell({"event": "end"}, b"")

    def _gone(self):
        """The process ended, in a cell or between two; the next cell starts another."""
        word = {
            "type": "error", "name": "KernelDied", "traceback": "",
            "value": "the kernel ended; variables are gone and the next cell starts another",
        }  # fmt: skip
        if self._tell is not None:
            self._tell({"event": "word"}, json.dumps(word).encode("utf-8"))
        self.stop()

    def stop(self):
        """End the process, and with it the current cell."""
        if self.pid:
            try:
                os.killpg(self.pid, signal.SIGKILL)
            except OSError:
                pass  # it ended
            self.pid = 0
            self._cells.close()
            for inlet in self._inlets:
                inlet.close()
        self._end()


def _become(context, fds):
    """In the child: never returns."""
    try:
        os.setsid()
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.set_wakeup_fd(-1)
        source, words, out, err = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 20) for fd in fds]
        null = os.open("/dev/null", os.O_RDONLY)
        for target, fd in ((0, null), (1, out), (2, err)):
            os.dup2(fd, target)
        keep = sorted((source, words))
        os.closerange(3, keep[0])
        os.closerange(keep[0] + 1, keep[1])
        os.closerange(keep[1] + 1, resource.getrlimit(resource.RLIMIT_NOFILE)[0])
        os.environ.clear()
        os.environ.update(context._environment, MPLBACKEND="agg", PWD=context.folder)
        os.chdir(context.folder)
        if context.language == "bash":
            cells.serve_bash(source, words)
        else:
            cells.Notebook(source, words).serve()
    finally:
        os._exit(1)
