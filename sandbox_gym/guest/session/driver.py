"""A session's driver: one bash and one Python that live between tool calls, and plain file access. Runs as the program.

All of this is the candidate's own domain: the host believes nothing of it beyond "this is what the tool says". Requests
and replies are frames on fd 3: `bash`, `python`, `read`, `write`, `save`, `settle`, `ping`; one at a time.
"""

import errno
import gc
import os
import signal
import socket
import stat
import time

from ..interpreter import CHANNEL_FD, clean_interpreter
from ..protocol import frames
from .repl import Repl
from .shell import Shell

MAX_FILE = 16 << 20
WEIGH_S = 10.0


def serve(spec):
    """Answer requests until the host closes the channel. `spec` is the run's; its `env` is where the session starts."""
    clean_interpreter(spec)
    gc.disable()  # it writes to pages that are shared with the zygote, and there is nothing for it to find
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    Driver(socket.socket(fileno=os.dup(CHANNEL_FD)), spec).serve()


def weigh(folder):
    """(bytes on disk, entries) of what is below a folder, as far as it can be read within a few seconds."""
    weight = count = 0
    waiting, deadline = [folder], time.monotonic() + WEIGH_S
    while waiting and time.monotonic() < deadline:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    weight += entry.stat(follow_symlinks=False).st_blocks * 512
                    count += 1
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError:
            continue  # it went meanwhile, or is closed to its own owner
    return weight, count


class Driver:
    def __init__(self, channel, spec):
        os.set_inheritable(channel.fileno(), False)
        os.close(CHANNEL_FD)
        self._channel = channel
        self._reader = frames.FrameReader(max_body=MAX_FILE + 4096)
        home = self._work = spec["workdir"]
        self._shell = Shell(home, dict(spec["env"], HOME=home), channel)
        self._repl = Repl(home, dict(spec["env"], HOME=home), channel)

    def serve(self):
        while True:
            frame = self._reader.next()
            if frame is not None:
                reply, body = self._answer(*frame)
                self._channel.sendall(frames.pack(reply, body))
                continue
            data = self._channel.recv(1 << 16)
            if not data:
                return
            self._reader.feed(data)

    def _answer(self, request, body):
        try:
            return getattr(self, "_op_" + str(request.get("op")), self._unknown)(request, body)
        except OSError as error:
            return {"ok": False, "error": "%s: %s" % (errno.errorcode.get(error.errno, "EIO"), error.strerror)}, b""

    def _unknown(self, request, body):
        return {"ok": False, "error": "no such operation: %r" % (request.get("op"),)}, b""

    def _op_ping(self, request, body):
        return {"ok": True}, b""

    def _op_bash(self, request, body):
        return self._shell.run(body, request["timeout_s"], request["output_bytes"])

    def _op_python(self, request, body):
        echo, preload = request.get("echo", True), request.get("preload", ())
        return self._repl.run(body, request["timeout_s"], request["output_bytes"], echo=echo, preload=preload)

    def _op_settle(self, request, body):
        """The work folder was mounted anew under us: go back into it by name, as far as we can."""
        os.chdir(request["work"])
        self._shell.settle()
        self._repl.settle()
        return {"ok": True}, b""

    def _op_save(self, request, body):
        """What a wake can bring back beyond files: the shell's folder and environment; Python's globals if asked. What
        the work folder holds, `weight` and `files`, for who has no other way to know."""
        cwd, environment = self._shell.save()
        reply = {"ok": True, "cwd": cwd, "env": environment, "sizes": [0, 0], "lost": []}
        if request.get("measure"):
            reply["weight"], reply["files"] = weigh(self._work)
        if not request.get("globals"):
            return reply, b""
        blob, reply["lost"] = self._repl.save()
        return reply, blob

    def _op_restore(self, request, body):
        """A save's folder and environment, for the next shell; globals are unpickled by the next Python, not here."""
        self._shell.restore(request["cwd"], request["env"])
        self._repl.restore(body)
        return {"ok": True}, b""

    def _op_read(self, request, body):
        fd = os.open(os.fsencode(request["path"]), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
        try:
            mode = os.fstat(fd).st_mode
            if stat.S_ISDIR(mode):
                raise OSError(errno.EISDIR, "a folder")
            if not stat.S_ISREG(mode):
                raise OSError(errno.EINVAL, "not a regular file")
            limit = min(request["max_bytes"], MAX_FILE)
            pieces, size = [], 0
            while size <= limit:
                piece = os.read(fd, min(1 << 20, limit + 1 - size))
                if not piece:
                    break
                pieces.append(piece)
                size += len(piece)
        finally:
            os.close(fd)
        if size > limit:
            raise OSError(errno.EFBIG, "File too large")
        return {"ok": True}, b"".join(pieces)

    def _op_write(self, request, body):
        path = os.fsencode(request["path"])
        parent = os.path.dirname(path)
        if parent:
            os.makedirs(parent, exist_ok=True)
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_NOCTTY, 0o644)
        try:
            view = memoryview(body)
            while view:
                view = view[os.write(fd, view) :]
        finally:
            os.close(fd)
        return {"ok": True}, b""
