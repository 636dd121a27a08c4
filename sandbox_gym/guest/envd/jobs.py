"""Processes of a sandbox's user: started, fed, read, signalled, resized, and told of when they end."""

import errno
import fcntl
import os
import signal
import struct
import termios
import time

from .flow import Credit, Inlet, Outlet

MAX_JOBS = 128


class Job:
    """One process and its session. `tell(event, body)` carries its output and its end."""

    def __init__(self, selector, request, home, environment, tell):
        self._selector, self._tell = selector, tell
        self.credit = Credit(request["window"])
        self.size = request.get("size")
        self.input = None
        self._streams = set()
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
        report, failure = os.pipe2(os.O_CLOEXEC)
        ours, theirs = self._terminal() if self.size else self._pipes(wants_input)
        self.pid = os.fork()
        if self.pid == 0:
            _become(argv, folder, environment, theirs, failure, bool(self.size))
        for fd in set(theirs) | {failure}:
            os.close(fd)
        why = os.read(report, 4096)
        os.close(report)
        if why:
            for fd in set(ours):
                if fd >= 0:
                    os.close(fd)
            os.waitpid(self.pid, 0)
            code, _, text = why.decode("utf-8", "replace").partition(" ")
            raise OSError(int(code), text)
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
            self._streams.add(name)
            self._inlets[name] = Inlet(self._selector, fd, self.credit, lambda data, name=name: self._got(name, data))

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
            self._streams.discard(name)
            self.settle()

    def reaped(self, status):
        """The process has ended; what it printed may still be on its way."""
        self.status = status
        self._finish_reading()
        self.settle()

    def _finish_reading(self):
        """A terminal stays open while any background job has it, and so does a killed process's output: what is there
        now is all that counts."""
        if self.status is not None and (self.size or self._killed):
            for name in list(self._streams):
                self._empty(name)

    def _empty(self, name):
        inlet = self._inlets[name]
        while inlet.open and self.credit.left > 0 and inlet.read():
            pass
        if inlet.open and self.credit.left > 0:
            inlet.close()
            self._streams.discard(name)

    def settle(self):
        """Tell of the end once the process is gone and its output was read."""
        if self.ended or self.status is None or self._streams:
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
        """To the whole process group; raises OSError when it is gone."""
        os.killpg(self.pid, number)

    def expire(self, now):
        """Kill a process whose time is up, and stop waiting for who holds its output."""
        if self.deadline and now >= self.deadline and not self.ended:
            self.deadline, self._timed_out = 0, True
            self.kill()

    def kill(self):
        """The process, its group, and its claim on output that nobody will finish."""
        self._killed = True
        try:
            os.killpg(self.pid, signal.SIGKILL)
        except OSError:
            pass  # all of it ended
        self._finish_reading()
        self.settle()


def _become(argv, folder, environment, stdio, failure, terminal):
    """In the child: never returns."""
    try:
        os.setsid()
        for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        failure = fcntl.fcntl(failure, fcntl.F_DUPFD_CLOEXEC, 10)
        held = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in stdio]
        for target, fd in enumerate(held):
            os.dup2(fd, target)
        if terminal:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        os.chdir(folder)
        environment = dict(environment, PWD=folder)
        if terminal:
            environment.setdefault("TERM", "xterm-256color")
        os.execvpe(argv[0], argv, environment)
    except OSError as error:
        os.write(failure, ("%d %s: %s" % (error.errno or 5, argv[0], error.strerror)).encode("utf-8", "replace"))
    except BaseException as error:
        os.write(failure, ("22 %s" % error).encode("utf-8", "replace"))
    finally:
        os._exit(127)
