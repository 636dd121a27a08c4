"""One command beside the session's shell and Python: a process tree of its own, bounded output, a wall limit.

Between the driver and the command stands a runner, a fork of the driver that adopts what the command leaves behind. It
kills all of it when the command ends. Where it is to stay, the runner goes on reading what it prints, so that a
background process never writes to a closed pipe.
"""

import errno
import os
import select
import signal
import time

from .. import kernel
from . import processes
from .child import INTERRUPT_S

KILL_S = 5.0
"""How long killing a tree that forks on and on is repeated."""
LATE_S = 0.5
"""How long output is awaited that what a command leaves behind still writes, such as `tee` in `> >(tee log)`."""
MAX_PIPE = 1 << 20
"""What a pipe can hold at most."""
SHORT = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ENOBUFS)


class Commands:
    """Runs one command at a time."""

    def __init__(self):
        self._runners = []

    def run(self, command, stdin, timeout_s, clips, keep):
        """The reply; output goes to the two `clips`. `command` is (argv, folder, environment, account). `keep`: what it
        leaves behind stays. Raises OSError where no process can be made."""
        self._runners = [pid for pid in self._runners if _runs(pid)]
        running = _Running(command, stdin, clips, keep)
        try:
            reply = running.reply(timeout_s)
        finally:
            running.close()
        if running.stays:
            self._runners.append(running.pid)
        else:
            os.waitpid(running.pid, 0)
        if running.failure:
            raise OSError(running.failure, os.strerror(running.failure))
        return reply


class _Running:
    """The driver's side: feeds the command, reads it, ends it when its time is up."""

    def __init__(self, command, stdin, clips, keep):
        self.stays, self.failure, self.not_begun = False, 0, ""
        self._told, self._input = b"", memoryview(stdin)
        self._fds = []
        try:
            self._start(command, len(stdin) > 0, clips, keep)
        except OSError:
            self.close()
            raise

    def _start(self, command, fed, clips, keep):
        self._status, status = self._pipe()
        released, _release = self._pipe()
        out_read, out = self._pipe()
        err_read, err = self._pipe()
        self._streams = {out_read: clips[0], err_read: clips[1]}
        read, self._in = self._pipe(nonblocking_read=False) if fed else (os.open("/dev/null", os.O_RDONLY), -1)
        if fed:
            os.set_blocking(self._in, False)
        else:
            self._fds.append(read)
        self.pid = os.fork()
        if self.pid == 0:
            _Runner(command, (read, out, err), (out_read, err_read), status, released, keep).serve()
        for fd in (status, released, out, err, read):
            self._close(fd)

    def _pipe(self, nonblocking_read=True):
        ends = processes.pipe(nonblocking_read)
        self._fds += ends
        return ends

    def _close(self, fd):
        if fd in self._fds:
            self._fds.remove(fd)
            os.close(fd)

    def close(self):
        """Let go of the command: its runner goes on by itself where it stays."""
        for fd in list(self._fds):
            self._close(fd)

    def reply(self, timeout_s):
        timed_out = self._wait(timeout_s)
        status = self._ended()
        self._take_rest(LATE_S if self.stays and not timed_out else 0)
        if self.stays and timed_out:
            for pid in processes.descendants(self.pid):
                processes.send(pid, signal.SIGKILL)
        number = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        code = 128 + number if number else os.WEXITSTATUS(status)
        return {"ok": True, "exit_code": code, "signal": number, "timed_out": timed_out, "not_begun": self.not_begun}

    def _take_rest(self, within_s):
        """What is in the streams, and what comes until all have closed them, or for so long."""
        poll, deadline = select.poll(), time.monotonic() + within_s
        left = {fd: MAX_PIPE for fd in self._streams if fd in self._fds}
        for fd in left:
            poll.register(fd, select.POLLIN)
        while left:
            ready = poll.poll(max(0, deadline - time.monotonic()) * 1000)
            for fd, _events in ready:
                left[fd] -= self._take(fd) or MAX_PIPE
                if left[fd] <= 0:
                    poll.unregister(fd)
                    del left[fd]
            if not ready:
                return

    def _ended(self):
        """The command's wait status as the runner told it; of a runner that was killed, that of a killed command."""
        words = self._told.split()
        if len(words) >= 3:
            self.failure, self.stays = (int(words[2]), False) if words[1] == b"failed" else (0, words[2] == b"1")
            self.not_begun = words[3].decode("ascii") if len(words) > 3 else ""
            return 0 if self.failure else int(words[1])
        if words:
            processes.send_group(int(words[0]), signal.SIGKILL)
        return signal.SIGKILL

    def _wait(self, timeout_s):
        """Whether the command's time ran out before the runner had told its end."""
        stage, deadline = 0, time.monotonic() + timeout_s
        poll = select.poll()
        for fd in [self._status, *self._streams]:
            poll.register(fd, select.POLLIN)
        if self._in >= 0:
            poll.register(self._in, select.POLLOUT)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                stage, deadline = stage + 1, time.monotonic() + self._escalate(stage)
                continue
            for fd, _events in poll.poll(left * 1000 + 1):
                if fd == self._status:
                    data = os.read(fd, 4096)
                    if not data:
                        return stage > 0
                    self._told += data
                elif not (self._feed() if fd == self._in else self._take(fd) is not None):
                    poll.unregister(fd)
                    self._close(fd)

    def _escalate(self, stage):
        """Interrupt, then kill what the command started, again and again, then the runner; seconds until the next."""
        for pid in processes.descendants(self.pid):
            processes.send(pid, signal.SIGKILL if stage else signal.SIGINT)
        if stage * 0.1 > KILL_S:
            processes.send(self.pid, signal.SIGKILL)
        return 0.1 if stage else INTERRUPT_S

    def _feed(self):
        """Write what the command takes now; False once it has all of it, or takes no more."""
        try:
            self._input = self._input[os.write(self._in, self._input[:65536]) :]
        except BlockingIOError:
            return True
        except BrokenPipeError:
            return False
        return len(self._input) > 0

    def _take(self, fd):
        """Read once: how many bytes, 0 where there are none now, None at the end of the stream."""
        try:
            data = os.read(fd, 65536)
        except BlockingIOError:
            return 0
        except OSError:
            return None
        self._streams[fd].add(data)
        return len(data) or None


class _Runner:
    """In the fork. `serve` never returns."""

    def __init__(self, command, stdio, streams, status, released, keep):
        self._argv, self._folder, self._environment, self._account = command
        self._stdio, self._streams, self._status = stdio, streams, status
        self._released, self._keep = released, keep

    def serve(self):
        told = b"0 "
        try:
            self._alone()
            pid = self._start()
            self._tell(b"%d\n" % pid)
            told = b""
            status = self._wait(pid)
            if not self._keep:
                _end_all()
            stays = self._keep and _children_left()
            self._tell(b"%d %d\n" % (status, stays))
            os.close(self._status)
            if stays:
                self._linger()
        except OSError as error:  # of a step of this process's, not of the command's
            self._tell(told + b"failed %d\n" % (error.errno or errno.EIO))
        finally:
            os._exit(0)

    def _alone(self):
        """Keep no descriptor of the driver's, and adopt what the command leaves behind."""
        null = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(null, fd)
        first = 3
        for fd in sorted({*self._stdio, *self._streams, self._status, self._released}):
            os.closerange(first, fd)
            first = fd + 1
        kernel.close_from(first)
        try:
            kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
        except OSError:
            pass  # then only the command's children are known

    def _start(self):
        try:
            os.chdir(self._folder)
        except OSError as error:
            if error.errno in (*SHORT, errno.EIO):
                raise
            self._leave(1, error, "cd: %s: " % self._folder)
        try:
            pid = self._execute(self._argv)
        except OSError as error:
            if error.errno in SHORT or isinstance(error, processes.NoProcess):
                raise
            self._leave(127 if error.errno == errno.ENOENT else 126, error)
        for fd in self._stdio:
            os.close(fd)
        os.chdir("/")
        return pid

    def _execute(self, argv):
        try:
            return processes.start(argv, self._folder, self._environment, self._stdio, account=self._account)
        except OSError as error:
            if error.errno != errno.ENOEXEC:
                raise
        return self._execute(["/bin/bash", "--", *argv])  # a script that names no interpreter

    def _leave(self, code, error, where=""):
        """The command did not start, as a shell would tell of it."""
        os.write(self._stdio[2], ("%s%s\n" % (where, error.strerror)).encode("utf-8", "surrogateescape")[:4096])
        why = errno.errorcode.get(error.errno, "EIO")
        self._tell(b"0\n%d 0 %s\n" % (code << 8, why.encode("ascii")))
        os._exit(0)

    def _tell(self, line):
        os.write(self._status, line)

    def _wait(self, command):
        while True:
            pid, status = os.waitpid(-1, 0)
            if pid == command:
                return status

    def _linger(self):
        """Until all that was left behind has ended, read what it prints."""
        os.set_blocking(self._released, True)
        os.read(self._released, 1)  # until then the output is the driver's
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps what ends from here on
        poll = select.poll()
        for fd in self._streams:
            poll.register(fd, select.POLLIN)
        left = len(self._streams)
        while left and _children_left():
            for fd, _events in poll.poll():
                if _ended(fd):
                    poll.unregister(fd)
                    left -= 1
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            pass  # all have ended


def _ended(fd):
    try:
        return not os.read(fd, 65536)
    except BlockingIOError:
        return False


def _children_left():
    """Whether there are processes below this one; those that have ended are reaped."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _end_all():
    """Kill all that is below this process, also what is forked meanwhile."""
    deadline = time.monotonic() + KILL_S
    while _children_left() and time.monotonic() < deadline:
        for pid in processes.descendants(os.getpid()):
            processes.send(pid, signal.SIGKILL)
        time.sleep(0.002)


def _runs(pid):
    """Whether a runner still runs; one that has ended is reaped."""
    return os.waitpid(pid, os.WNOHANG)[0] == 0
