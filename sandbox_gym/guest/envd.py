"""The driver of a sandbox that is used as a small machine: many processes, files, watches and connections at once.

Runs as the sandbox's own user, like all that it starts; the host believes nothing of it. Requests are frames on fd 3,
`{"op", "id", ...}`; each is answered by `{"id", "ok", ...}`, some later. A request that opens a stream is also the
stream's number: its events are `{"stream": id, "event", ...}`, as many bytes of them as the host has granted.
"""

import errno
import json
import os
import selectors
import signal
import socket
import time

from . import entries, frames, inotify, program
from .contexts import MAX_CONTEXTS, Context
from .inlet import Credit, Inlet
from .jobs import MAX_JOBS, Job
from .outlet import Outlet

MAX_REQUEST = 2 << 20
MAX_LINKS = 256
_CODES = {
    errno.ENOENT: "not_found", errno.EEXIST: "already_exists", errno.EACCES: "permission_denied",
    errno.EPERM: "permission_denied", errno.EROFS: "permission_denied", errno.ENOSPC: "no_space",
    errno.EDQUOT: "no_space", errno.EFBIG: "no_space", errno.ESRCH: "not_found", errno.ECHILD: "not_found",
    errno.EAGAIN: "resource_exhausted", errno.EMFILE: "resource_exhausted", errno.E2BIG: "resource_exhausted",
    errno.ENOMEM: "resource_exhausted", errno.ECONNREFUSED: "refused", errno.EPIPE: "failed_precondition",
}  # fmt: skip


def serve(spec):
    """Answer requests until the host closes the channel. `spec` is the run's; its `env` is what programs get."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    channel = socket.socket(fileno=os.dup(program.CHANNEL_FD))
    os.set_inheritable(channel.fileno(), False)
    os.close(program.CHANNEL_FD)
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
        self._jobs, self._links, self._watchers, self._contexts, self._cells = {}, {}, {}, {}, {}
        self._streams = {}
        self._handles = entries.Handles()
        self._ended = False

    # -- the loop

    def serve(self):
        while not self._ended:
            for key, events in self.selector.select(self._pause()):
                if self.selector.get_map().get(key.fd) is key or self._still(key):
                    key.data(events)
            self._reap()
            now = time.monotonic()
            for job in list(self._jobs.values()):
                job.expire(now)
            self._handles.sweep()
            self._flush()

    def _still(self, key):
        """Whether a callback is still the one for its descriptor: an earlier one may have closed or changed it."""
        found = self.selector.get_map().get(key.fd)
        return found is not None and found.data == key.data

    def _pause(self):
        due = [job.deadline for job in self._jobs.values() if job.deadline]
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
                frame = self._reader.next()
                while frame is not None:
                    self._answer(*frame)
                    frame = self._reader.next()
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

    def _say(self, header, body=b""):
        self._out += frames.pack(header, body)

    def _reap(self):
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            job = self._jobs.get(pid)
            if job is not None:
                job.reaped(status)

    # -- requests

    def _answer(self, request, body):
        number = request.get("id", 0)
        try:
            reply = getattr(self, "_op_" + str(request.get("op")), self._unknown)(request, body)
        except OSError as error:
            self._refuse(number, _CODES.get(error.errno, "invalid_argument"), error.strerror or str(error))
            return
        except (KeyError, TypeError, ValueError) as error:
            self._refuse(number, "invalid_argument", "%s: %s" % (type(error).__name__, error))
            return
        if reply is not None:
            header, content = reply
            self._say(dict(header, id=number, ok=True), content)

    def _refuse(self, number, code, why):
        self._say({"id": number, "ok": False, "code": code, "why": str(why)[:1000]})

    def _unknown(self, request, body):
        raise ValueError("no such operation: %r" % (request.get("op"),))

    def _op_ping(self, request, body):
        """Answered after what watches have seen until now."""
        for watcher, _kept in self._watchers.values():
            watcher.read()
        return {}, b""

    def _later(self, number):
        """What an outlet calls once a request's bytes are written."""

        def done(why):
            if why:
                self._refuse(number, "failed_precondition", why)
            else:
                self._say({"id": number, "ok": True})

        return done

    def _path(self, request, name="path"):
        return entries.resolve(request[name], self._home)

    # -- processes

    def _op_start(self, request, body):
        if len(self._jobs) >= MAX_JOBS:
            raise OSError(errno.EAGAIN, "%d processes run already" % len(self._jobs))
        number = request["id"]
        tell = lambda event, content: self._told(job, number, event, content)  # noqa: E731
        environment = dict(self._environment, **request["base"])
        job = Job(self.selector, request, self._home, environment, tell)
        self._jobs[job.pid] = self._streams[number] = job
        return {"pid": job.pid}, b""

    def _told(self, job, number, event, body):
        self._say(dict(event, stream=number), body)
        if event["event"] == "end":
            self._jobs.pop(job.pid, None)
            self._streams.pop(number, None)

    def _job(self, request):
        if request["pid"] not in self._jobs:
            raise OSError(errno.ESRCH, "process with pid %s not found" % request["pid"])
        return self._jobs[request["pid"]]

    def _op_input(self, request, body):
        job = self._job(request)
        if job.input is None:
            raise OSError(errno.EPIPE, "stdin not enabled or closed")
        job.input.put(body, self._later(request["id"]))

    def _op_end_input(self, request, body):
        job = self._job(request)
        if job.input is None or job.size:
            raise OSError(errno.EPIPE, "the process has no stdin of its own to close")
        job.input.end()
        return {}, b""

    def _op_signal(self, request, body):
        job = self._job(request)
        if request["number"] == signal.SIGKILL:
            job.kill()
        else:
            job.signal(request["number"])
        return {}, b""

    def _op_resize(self, request, body):
        self._job(request).resize(request["size"])
        return {}, b""

    def _op_hold(self, request, body):
        """Stop what runs while the files are kept, `on`; let it go on, not `on`. How many there are."""
        number = signal.SIGSTOP if request["on"] else signal.SIGCONT
        for pid in list(self._jobs) + [context.pid for context in self._contexts.values() if context.pid]:
            try:
                os.killpg(pid, number)
            except OSError:
                continue  # it ended
        return {"running": len(self._jobs) + sum(context.busy for context in self._contexts.values())}, b""

    def _op_quit_all(self, request, body):
        """End every process, before the sandbox is put away."""
        for job in list(self._jobs.values()):
            job.kill()
        for context in self._contexts.values():
            context.stop()
        return {}, b""

    # -- files

    def _op_stat(self, request, body):
        return {"entry": entries.info(self._path(request))}, b""

    def _op_list(self, request, body):
        found = entries.listing(self._path(request), request["depth"])
        return {}, json.dumps(found).encode("utf-8")

    def _op_make_dir(self, request, body):
        path = self._path(request)
        entries.make_folder(path)
        return {"entry": entries.info(path)}, b""

    def _op_move(self, request, body):
        target = self._path(request, "target")
        entries.move(self._path(request), target)
        return {"entry": entries.info(target)}, b""

    def _op_remove(self, request, body):
        entries.remove(self._path(request))
        return {}, b""

    def _op_open(self, request, body):
        handle, size, piece = self._handles.open(self._path(request))
        return {"handle": handle, "size": size}, piece

    def _op_read(self, request, body):
        return {}, self._handles.read(request["handle"])

    def _op_create(self, request, body):
        path = self._path(request)
        handle = self._handles.create(path, body, request["notes"])
        if not request["more"]:
            self._handles.close(handle)
            handle = 0
        return {"handle": handle, "path": entries.text(path)}, b""

    def _op_write(self, request, body):
        self._handles.write(request["handle"], body)
        return {}, b""

    def _op_close(self, request, body):
        self._handles.close(request["handle"])
        return {}, b""

    def _op_watch(self, request, body):
        if len(self._watchers) >= inotify.MAX_WATCHERS:
            raise OSError(errno.EMFILE, "too many watchers")
        number, path = request["id"], self._path(request)
        kept = inotify.Kept(
            Credit(request["window"]), lambda event, content: self._say(dict(event, stream=number), content)
        )

        def tell(kind, name):
            kept(kind, entries.text(name), self._entry(path, name) if request["entries"] else None)

        self._watchers[number] = (inotify.Watcher(self.selector, path, request["recursive"], tell), kept)
        return {}, b""

    def _entry(self, path, name):
        try:
            return entries.info(os.path.join(path, name))
        except OSError:
            return None

    def _op_unwatch(self, request, body):
        watcher, _kept = self._watchers.pop(request["stream"], (None, None))
        if watcher is not None:
            watcher.close()
        return {}, b""

    # -- connections to what listens in the sandbox

    def _op_connect(self, request, body):
        if len(self._links) >= MAX_LINKS:
            raise OSError(errno.EMFILE, "too many connections")
        number, found = request["id"], None
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            try:
                found = socket.socket(family, socket.SOCK_STREAM)
                found.settimeout(1)  # on the loopback it is there at once, or refused
                found.connect((host, request["port"]))
                break
            except OSError:
                found.close()
                found = None
        if found is None:
            raise OSError(errno.ECONNREFUSED, "port is not open")
        self._links[number] = _Link(self, number, found, request["window"])
        return {}, b""

    def forget_link(self, number):
        self._links.pop(number, None)

    def _op_send(self, request, body):
        link = self._links.get(request["stream"])
        if link is None:
            raise OSError(errno.EPIPE, "the connection is closed")
        link.outlet.put(body, self._later(request["id"]))

    def _op_disconnect(self, request, body):
        link = self._links.pop(request["stream"], None)
        if link is not None:
            link.close()
        return {}, b""

    # -- notebooks

    def _op_context(self, request, body):
        if len(self._contexts) >= MAX_CONTEXTS:
            raise OSError(errno.EAGAIN, "%d contexts are open already" % len(self._contexts))
        folder = entries.resolve(request["cwd"] or self._home, self._home)
        environment = dict(self._environment, **request["base"])
        self._contexts[request["name"]] = Context(self.selector, request["language"], folder, environment)
        return {"cwd": folder}, b""

    def _context(self, request):
        if request["name"] not in self._contexts:
            raise OSError(errno.ENOENT, "context %s not found" % request["name"])
        return self._contexts[request["name"]]

    def _op_cell(self, request, body):
        context, number = self._context(request), request["id"]
        if context.busy:
            raise OSError(errno.EAGAIN, "a cell runs already")
        self._cells[number] = context

        def tell(event, content):
            self._say(dict(event, stream=number), content)
            if event["event"] == "end":
                self._cells.pop(number, None)

        context.run(body.decode("utf-8"), request["env"], request["window"], tell)
        return {}, b""

    def _op_interrupt(self, request, body):
        self._context(request).interrupt()
        return {}, b""

    def _op_restart(self, request, body):
        context = self._context(request)
        context.stop()
        return {}, b""

    def _op_drop_context(self, request, body):
        self._context(request).stop()
        del self._contexts[request["name"]]
        return {}, b""

    # -- the rest

    def _op_grant(self, request, body):
        """The host took in so many bytes of a stream."""
        number, size = request["stream"], request["bytes"]
        if number in self._streams:
            self._streams[number].granted(size)
        elif number in self._links:
            self._links[number].credit.grant(size)
        elif number in self._cells:
            self._cells[number].granted(size)
        elif number in self._watchers:
            kept = self._watchers[number][1]
            kept._credit.grant(size)
            kept.flush()

    def _op_usage(self, request, body):
        """What the sandbox uses, as its own processes can see it."""
        ticks, pages = 0, 0
        for name in os.listdir("/proc"):
            if name.isdigit():
                try:
                    with open("/proc/%s/stat" % name, "rb") as file:
                        fields = file.read().rpartition(b")")[2].split()
                except OSError:
                    continue
                ticks += sum(int(field) for field in fields[11:15])  # its own, and of those it has waited for
                pages += int(fields[21])
        disk = os.statvfs(self._home)
        used = (disk.f_blocks - disk.f_bfree) * disk.f_frsize
        if disk.f_blocks * disk.f_frsize > request["disk_bytes"]:  # it is not the sandbox's alone
            used = entries.weigh(self._home)
        memory = pages * os.sysconf("SC_PAGE_SIZE")
        return {"cpu_s": ticks / os.sysconf("SC_CLK_TCK"), "memory": memory, "disk_used": used}, b""

    def _op_settle(self, request, body):
        """The home folder was mounted anew under us: step into it, and watch what is there now."""
        os.chdir(self._home)
        for watcher, _kept in self._watchers.values():
            try:
                watcher.start()
            except OSError:
                continue  # what was watched is gone
        return {}, b""

    def _op_save(self, request, body):
        return {"cwd": "", "env": {}}, b""

    def _op_restore(self, request, body):
        return {}, b""


class _Link:
    """One connection, as a stream of its own."""

    def __init__(self, envd, number, connection, window):
        self._envd, self._number = envd, number
        self.credit = Credit(window)
        connection.setblocking(False)
        self.outlet = Outlet(envd.selector, os.dup(connection.fileno()))
        self._inlet = Inlet(envd.selector, connection.detach(), self.credit, self._got)

    def _got(self, data):
        self._envd._say({"stream": self._number, "event": "data" if data else "end"}, data)
        if not data:
            self._envd.forget_link(self._number)
            self.close()

    def close(self):
        self.outlet.close()
        self._inlet.close()
