"""Processes of a sandbox's user: start, input, output, signals, terminal size, and their end."""

import errno
import fcntl
import os
import signal
import struct
import termios
import time

from ..session import processes
from .flow import Credit, Inlet, Outlet

MAX_PROCESSES = 128


class Process:
    """One process and its process group. `tell(event, body)` gets its output and its end."""

    def __init__(self, selector, request, home, environment, tell):
        self._selector, self._tell = selector, tell
        self.credit = Credit(request["window"])
        self.size = request.get("size")
        self.input = None
        self.status = None
        self._timed_out = self._killed = self.ended = False
        folder = os.path.join(home, os.path.expanduser(request["cwd"])) if request["cwd"] else home
        if not os.path.isdir(folder):
            raise NotADirectoryError(errno.ENOTDIR, "cwd %r does not exist" % request["cwd"])
        argv = [request["cmd"]] + request["args"]
        self._start(argv, folder, dict(environment, **request["envs"]), request["stdin"])
        limit = request.get("timeout_s", 0)
        self.deadline = time.monotonic() + limit if limit > 0 else 0

    # -- start

    def _start(self, argv, folder, environment, wants_input):
        ours, theirs = self._terminal() if self.size else self._pipes(wants_input)
        try:
            self.pid = processes.start(argv, folder, environment, theirs, bool(self.size))
        except OSError:
            for fd in set(ours):
                if fd >= 0:
                    os.close(fd)
            raise
        finally:
            for fd in set(theirs):
                os.close(fd)
        self._attach(ours)

    def _terminal(self):
        master, slave = os.openpty()
        for fd in (master, slave):
            os.set_inheritable(fd, False)
        self.resize(self.size, master)
        return (os.dup(master), master, -1), (slave, slave, slave)

    def _pipes(self, wants_input):
        out_read, out = os.pipe2(os.O_CLOEXEC)
        err_read, err = os.pipe2(os.O_CLOEXEC)
        if wants_input:
            read, write = os.pipe2(os.O_CLOEXEC)
        else:
            read, write = os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC), -1
        return (write, out_read, err_read), (read, out, err)

    def _attach(self, ours):
        write, out, err = ours
        if write >= 0:
            self.input = Outlet(self._selector, write)
        self._terminal_fd = out if self.size else -1
        names = (("pty", out),) if self.size else (("stdout", out), ("stderr", err))
        self._inlets = {}
        for name, fd in names:
            got = lambda data, name=name: self._got(name, data)  # noqa: E731
            self._inlets[name] = Inlet(self._selector, fd, self.credit, got)

    def resize(self, size, fd=-1):
        """(rows, columns) of the terminal."""
        rows, columns = (max(1, min(int(one), 10000)) for one in size)
        target = fd if fd >= 0 else self._terminal_fd
        if target < 0 or (fd < 0 and not self._inlets["pty"].open):
            raise OSError(errno.ENOTTY, "the process has no terminal")
        fcntl.ioctl(target, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    # -- life

    def _got(self, name, data):
        if data:
            self._tell({"event": name}, data)
        else:
            self.settle()

    def reaped(self, status):
        """The process has ended; some of its output may still be unread."""
        self.status = status
        self._finish_reading()
        self.settle()

    def _finish_reading(self):
        """A terminal stays open while any background process has it, and so does a killed process's output: what is
        there now is all that counts."""
        if self.status is not None and (self.size or self._killed):
            for inlet in self._inlets.values():
                while inlet.open and self.credit.left > 0 and inlet.read():
                    pass
                if self.credit.left > 0:
                    inlet.close()

    def settle(self):
        """Report the end once the process is gone and its output was read."""
        if self.ended or self.status is None or any(inlet.open for inlet in self._inlets.values()):
            return
        self.ended = True
        if self.input is not None:
            self.input.close("the process has ended")
        exited = os.WIFEXITED(self.status)
        code = os.WEXITSTATUS(self.status) if exited else 128 + os.WTERMSIG(self.status)
        number = 0 if exited else os.WTERMSIG(self.status)
        self._tell({"event": "end", "code": code, "signal": number, "timed_out": self._timed_out}, b"")

    def granted(self, size):
        self.credit.grant(size)
        self._finish_reading()
        self.settle()

    def signal(self, number):
        """Signal the whole process group. Raises OSError where it is gone."""
        os.killpg(self.pid, number)

    def postpone(self, seconds):
        """Give a process that much more time."""
        if self.deadline:
            self.deadline += seconds

    def expire(self, now):
        """Kill a process whose time is up, and stop waiting for other holders of its output."""
        if self.deadline and now >= self.deadline and not self.ended:
            self.deadline, self._timed_out = 0, True
            self.kill()

    def kill(self):
        """Kill the process group, and stop waiting for more output."""
        self._killed = True
        processes.send_group(self.pid, signal.SIGKILL)
        self._finish_reading()
        self.settle()
