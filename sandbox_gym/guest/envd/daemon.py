"""The driver of an E2B sandbox: many processes, files, watches, notebooks and connections at once.

Runs as the sandbox's user, like all that it starts; the host trusts nothing that it says. Requests are frames on fd 3,
`{"op", "id", ...}`; the reply is `{"id", "ok", ...}`, in any order. The id of a request that opens a stream is also the
stream's number: its events are `{"stream": id, "event", ...}`, up to the bytes that the host has granted.
"""

import errno
import os
import selectors
import signal
import socket
import time

from ..interpreter import CHANNEL_FD
from ..protocol import frames
from ..session import files, processes
from . import entries
from .connections import Connections
from .fileops import FileOps
from .notebooks import Notebooks
from .processes import MAX_PROCESSES, Process

MAX_REQUEST = 2 << 20
HOLD_S = 2.0
"""Seconds for all processes together to stop."""
_CODES = {
    errno.ENOENT: "not_found", errno.EEXIST: "already_exists", errno.EACCES: "permission_denied",
    errno.EPERM: "permission_denied", errno.EROFS: "permission_denied", errno.ENOSPC: "no_space",
    errno.EDQUOT: "no_space", errno.EFBIG: "no_space", errno.ESRCH: "not_found", errno.ECHILD: "not_found",
    errno.EAGAIN: "resource_exhausted", errno.EMFILE: "resource_exhausted",
    errno.ENOMEM: "resource_exhausted", errno.ENFILE: "resource_exhausted", errno.ENOBUFS: "resource_exhausted",
    errno.EIO: "internal", errno.ECONNREFUSED: "refused", errno.EPIPE: "failed_precondition",
}  # fmt: skip


def serve(spec):
    """Answer requests until the host closes the channel. `spec` is the run's; its `env` is what programs get."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    channel = socket.socket(fileno=os.dup(CHANNEL_FD))
    os.set_inheritable(channel.fileno(), False)
    os.close(CHANNEL_FD)
    os.environ.clear()
    os.environ.update(spec["env"])
    Envd(channel, spec).serve()


class Envd:
    def __init__(self, channel, spec):
        self._channel = channel
        channel.setblocking(False)
        self._reader = frames.FrameReader(max_body=MAX_REQUEST)
        self._out = bytearray()
        self._home, self._environment = spec["workdir"], dict(spec["env"])
        self.selector = selectors.DefaultSelector()
        self.selector.register(channel, selectors.EVENT_READ, self._on_channel)
        wake, self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        signal.set_wakeup_fd(self._wake, warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        self.selector.register(wake, selectors.EVENT_READ, lambda _events: self._drain(wake))
        self._processes, self.streams = {}, {}
        """`streams`: by number, what sends events up to the bytes that it is `granted`."""
        self._files = FileOps(self, self._home)
        self._connections = Connections(self)
        self._notebooks = Notebooks(self, self._home, self._environment)
        self._ended = False
        self._held_at = 0

    # -- the loop

    def serve(self):
        while not self._ended:
            for key, events in self.selector.select(self._pause()):
                if self.selector.get_map().get(key.fd) is key or self._is_current(key):
                    key.data(events)
            self._reap()
            now = time.monotonic()
            for process in list(self._processes.values()) if not self._held_at else ():
                process.expire(now)
            self._files.sweep()
            self._flush()

    def _is_current(self, key):
        """Whether the selector still has this callback for the descriptor: an earlier callback may have changed
        that."""
        found = self.selector.get_map().get(key.fd)
        return found is not None and found.data == key.data

    def _pause(self):
        due = [process.deadline for process in self._processes.values() if process.deadline]
        return min(max(0.0, min(due) - time.monotonic()), 30.0) if due else 30.0

    def _drain(self, fd):
        try:
            while os.read(fd, 4096):
                pass
        except BlockingIOError:
            pass

    def _on_channel(self, events):
        if events & selectors.EVENT_READ:
            try:
                data = self._channel.recv(1 << 18)
            except BlockingIOError:
                data = None
            if data == b"":
                self._ended = True
            elif data:
                self._reader.feed(data)
                for request, body in self._reader:
                    self._answer(request, body)
        self._flush()

    def _flush(self):
        while self._out:
            try:
                sent = self._channel.send(memoryview(self._out)[: 1 << 18])
            except BlockingIOError:
                break
            except OSError:
                self._ended = True
                return
            del self._out[:sent]
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if self._out else 0)
        if self.selector.get_key(self._channel).events != wanted:
            self.selector.modify(self._channel, wanted, self._on_channel)

    def say(self, header, body=b""):
        self._out += frames.pack(header, body)

    def _reap(self):
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            process = self._processes.get(pid)
            if process is not None:
                process.reaped(status)
            else:
                self._notebooks.reaped(pid)

    # -- requests

    def _answer(self, request, body):
        number = request.get("id", 0)
        try:
            reply = self._operation(str(request.get("op")))(request, body)
        except OSError as error:
            self._refuse(number, _CODES.get(error.errno, "invalid_argument"), _why(error))
            return
        except Exception as error:  # of this request alone: without its driver the sandbox ends
            self._refuse(number, "invalid_argument", "%s: %s" % (type(error).__name__, error))
            return
        if reply is not None:
            header, content = reply
            self.say(dict(header, id=number, ok=True), content)

    def _refuse(self, number, code, why):
        self.say({"id": number, "ok": False, "code": code, "why": str(why)[:1000]})

    def _operation(self, name):
        for part in (self, self._files, self._connections, self._notebooks):
            found = getattr(part, "op_" + name, None)
            if found is not None:
                return found
        raise ValueError("no such operation: %r" % name)

    def op_ping(self, request, body):
        """Reply after all events that the watches have seen so far."""
        self._files.look()
        return {}, b""

    def later(self, number):
        """The callback with which an outlet replies once a request's bytes are written."""

        def done(why):
            if why:
                self._refuse(number, "failed_precondition", why)
            else:
                self.say({"id": number, "ok": True})

        return done

    # -- processes

    def op_start(self, request, body):
        if len(self._processes) >= MAX_PROCESSES:
            raise OSError(errno.EAGAIN, "%d processes run already" % len(self._processes))
        number = request["id"]
        tell = lambda event, content: self._on_event(process, number, event, content)  # noqa: E731
        environment = dict(self._environment, **request["base"])
        process = Process(self.selector, request, self._home, environment, tell)
        self._processes[process.pid] = self.streams[number] = process
        return {"pid": process.pid}, b""

    def _on_event(self, process, number, event, body):
        self.say(dict(event, stream=number), body)
        if event["event"] == "end":
            self._processes.pop(process.pid, None)
            self.streams.pop(number, None)

    def _process(self, request):
        if request["pid"] not in self._processes:
            raise OSError(errno.ESRCH, "process with pid %s not found" % request["pid"])
        return self._processes[request["pid"]]

    def op_input(self, request, body):
        process = self._process(request)
        if process.input is None:
            raise OSError(errno.EPIPE, "stdin not enabled or closed")
        process.input.put(body, self.later(request["id"]))

    def op_end_input(self, request, body):
        process = self._process(request)
        if process.input is None or process.size:
            raise OSError(errno.EPIPE, "the process has no stdin of its own to close")
        process.input.end()
        return {}, b""

    def op_signal(self, request, body):
        process = self._process(request)
        if request["number"] == signal.SIGKILL:
            process.kill()
        else:
            process.signal(request["number"])
        return {}, b""

    def op_resize(self, request, body):
        self._process(request).resize(request["size"])
        return {}, b""

    def op_hold(self, request, body):
        """With `on` stop all processes, so that a snapshot sees files at rest; without, continue them. Their number."""
        running, now = 0, time.monotonic()
        if request["on"]:
            self._held_at = self._held_at or now
        elif self._held_at:
            for process in self._processes.values():
                process.postpone(now - self._held_at)
            self._held_at = 0
        # a shell stops before its children and continues after them, else it takes them for jobs that the user stopped
        deadline = time.monotonic() + HOLD_S
        for pid in sorted(self._others(), reverse=not request["on"]):
            try:
                os.kill(pid, signal.SIGSTOP if request["on"] else signal.SIGCONT)
                running += 1
            except OSError:
                continue  # it has ended
            while request["on"] and not _has_stopped(pid) and time.monotonic() < deadline:
                time.sleep(0.001)
        return {"running": running}, b""

    def _others(self):
        """Every process of this user but init and this one; of root's, those that this one has started."""
        if os.getuid() == 0:  # others of root's serve the sandbox
            yield from (pid for pid in processes.descendants(os.getppid()) if pid != os.getpid())
            return
        for pid in processes.pids():
            try:
                if pid not in (1, os.getpid()) and os.stat("/proc/%d" % pid).st_uid == os.getuid():
                    yield pid
            except OSError:
                continue  # it has ended

    def op_quit_all(self, request, body):
        """End every process before the sandbox is destroyed or snapshotted."""
        for process in list(self._processes.values()):
            process.kill()
        self._notebooks.stop()
        return {}, b""

    # -- the rest

    def op_grant(self, request, body):
        """The host took so many bytes of a stream and grants them again."""
        stream = self.streams.get(request["stream"])
        if stream is not None:
            stream.granted(request["bytes"])

    def op_usage(self, request, body):
        """CPU, memory and disk use of the sandbox, as its own processes see it."""
        ticks, pages = 0, 0
        for pid in processes.pids():
            try:
                fields = processes.stat_fields(pid)
            except OSError:
                continue
            ticks += sum(int(field) for field in fields[11:15])  # its own and those of its reaped children
            pages += int(fields[21])
        disk = os.statvfs(self._home)
        used = (disk.f_blocks - disk.f_bfree) * disk.f_frsize
        if disk.f_blocks * disk.f_frsize > request["disk_bytes"]:  # a file system shared with others
            used, _count = files.weigh(self._home, entries.MAX_COUNTED)
        memory = pages * os.sysconf("SC_PAGE_SIZE")
        return {"cpu_s": ticks / os.sysconf("SC_CLK_TCK"), "memory": memory, "disk_used": used}, b""

    def op_settle(self, request, body):
        """The home folder was mounted anew: enter it again and renew the watches."""
        os.chdir(self._home)
        self._files.settle()
        return {}, b""

    def op_save(self, request, body):
        return {"cwd": "", "env": {}}, b""

    def op_restore(self, request, body):
        return {}, b""


def _why(error):
    """An OSError as a text that names its path; of an open file there is only its descriptor."""
    said = "path '%s' does not exist" if error.errno == errno.ENOENT else "%s: '%%s'" % error.strerror
    named = isinstance(error.filename, (str, bytes))
    return said % entries.text(error.filename) if named else error.strerror or str(error)


def _has_stopped(pid):
    """Whether a process has stopped or ended; a signal takes effect a moment after it is sent."""
    try:
        return processes.stat_fields(pid)[0] in (b"T", b"t", b"Z", b"X")
    except OSError:
        return True
