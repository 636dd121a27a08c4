"""A long-lived child of a session's driver: started by fork, watched, interrupted, and in the end killed."""

import os
import select
import signal
import time

from . import processes
from .clip import Clip

IDLE_BYTES = 64 * 1024
"""What background jobs print between calls is kept up to here."""
NOT_BEGUN = 198
"""The exit code of a fork that did not come to be what it was forked for."""
INTERRUPT_S = 1.5
"""How long an interrupted call may take to come back before its processes are killed."""


class Gone(Exception):
    """The child ended."""


class Child:
    """`_fork` runs a body in a fork of this process; the two speak over pipes that a subclass makes."""

    _ends = ()
    """Names of the attributes with descriptors of this end."""

    def __init__(self, home, environment, channel):
        self.cwd = self._home = home
        self.environment = environment
        self._channel = channel
        self.pid = 0
        self.starts = 0
        self._adopted = ""
        self.output = Clip(IDLE_BYTES)

    def _fork(self, body, child_fds):
        """Start; in the child `body` executes a program, or returns what is then called and must never return."""
        pid = os.fork()
        if pid == 0:
            code = NOT_BEGUN
            try:
                self._channel.close()
                signal.signal(signal.SIGINT, signal.SIG_DFL)
                signal.signal(signal.SIGPIPE, signal.SIG_DFL)
                self._enter()
                serve = body()
                code = 127
                serve()
            finally:
                os._exit(code)
        for fd in child_fds:
            os.close(fd)
        self.pid = pid
        self.starts += 1
        self._adopted = ""

    def _adopt(self, pid):
        """Go on with a process that is not this one's child; False when it is not there."""
        self._adopted = _birth(pid)
        self.pid = pid if self._adopted else 0
        return bool(self._adopted)

    def _enter(self):
        for folder in (self.cwd, self._home, "/"):
            try:
                os.chdir(folder)
                return
            except OSError:
                continue

    def _close(self):
        """Close this end of the pipes: what ran at the other end is this one's no more."""
        for name in self._ends:
            fd = getattr(self, name, -1)
            if fd >= 0:
                os.close(fd)
                setattr(self, name, -1)
        self.pid = 0

    def alive(self):
        """Whether the child runs; reaps it when it has ended."""
        if not self.pid:
            return False
        if self._adopted:
            if _birth(self.pid) != self._adopted:
                self.pid, self.exit_code = 0, 137
            return bool(self.pid)
        try:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
        except ChildProcessError:
            pid, status = self.pid, 0
        if pid:
            self.pid = 0
            self.exit_code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else 128 + os.WTERMSIG(status)
            return False
        return True

    def _drain(self, fd, clip):
        """Take what is there; False at the end of the stream."""
        while True:
            try:
                data = os.read(fd, 65536)
            except BlockingIOError:
                return True
            except OSError:
                return False
            if not data:
                return False
            clip.add(data)

    def _push(self, fd, data):
        """Write what is taken now; what is left, none of it where nobody takes it any more."""
        while data:
            try:
                data = data[os.write(fd, data) :]
            except BlockingIOError:
                break
            except OSError:
                return data[:0]
        return data

    def _wait(self, streams, done, timeout_s):
        """Drain `streams` ({fd: clip}) until `done()` is true. Returns "", "interrupted" or "killed"; raises Gone."""
        outcome, deadline = "", time.monotonic() + timeout_s
        poll = select.poll()
        for fd in list(streams) + self._watched():
            poll.register(fd, select.POLLIN)
        while not done():
            left = deadline - time.monotonic()
            if left <= 0:
                outcome = self._escalate(outcome)
                deadline = time.monotonic() + INTERRUPT_S
                continue
            for fd, _events in poll.poll(min(left, 0.25) * 1000):
                if fd in streams and not self._drain(fd, streams[fd]):
                    poll.unregister(fd)
            if not self.alive():
                raise Gone
        for fd, clip in streams.items():
            self._drain(fd, clip)
        return outcome

    def _watched(self):
        return []

    def _escalate(self, outcome):
        """First ask, then kill what the child started, then the child itself."""
        if not outcome:
            for pid in processes.descendants(self.pid) + [self.pid]:
                processes.send(pid, signal.SIGINT)
            return "interrupted"
        below = processes.descendants(self.pid)
        if outcome == "interrupted" and below:
            for pid in below:
                processes.send(pid, signal.SIGKILL)
            return "children killed"
        self.kill()
        raise Gone

    def kill(self):
        for pid in processes.descendants(self.pid):
            processes.send(pid, signal.SIGKILL)
        if self.pid:
            processes.send(self.pid, signal.SIGKILL)
            try:
                os.waitpid(self.pid, 0)
            except ChildProcessError:
                pass  # reaped already
        self.pid = 0
        self.exit_code = 137


def _birth(pid):
    """When a process was started, as /proc has it; empty for one that is dead or reaped."""
    try:
        fields = processes.stat_fields(pid)
    except OSError:
        return ""
    return "" if fields[0] in (b"Z", b"X") else fields[19].decode("ascii")
