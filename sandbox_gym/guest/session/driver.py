"""A session's driver: one bash and one Python that live between tool calls, commands beside them, and files.

Runs as the program. All of this is the candidate's own domain: the host believes nothing of it beyond "this is what
the tool says". Requests and replies are frames on fd 3: `bash`, `python`, `terminal`, `exec`, `read`, `write`, `save`,
`restore`, `settle`, `ping`; one at a time. A reply is `{"ok": true, ...}` or `{"ok": false, "error": "NAME: why"}`.
"""

import errno
import gc
import os
import signal
import socket

from ..interpreter import CHANNEL_FD, clean_interpreter
from ..protocol import frames
from . import files, processes
from .clip import Clip
from .command import Commands
from .repl import Repl
from .shell import Shell
from .terminal import Terminals

MAX_REQUEST = files.MAX_FILE + (4 << 20)
"""A file's or a standard input's bytes, with a command's arguments and variables."""
SBIN = "/usr/local/sbin:/usr/sbin:/sbin:"


def serve(spec):
    """Answer requests until the host closes the channel. `spec` is the run's; its `env` is where the session starts."""
    clean_interpreter(spec)
    gc.disable()  # it writes to pages that are shared with the zygote, and there is nothing for it to find
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    Driver(socket.socket(fileno=os.dup(CHANNEL_FD)), spec).serve()


class Driver:
    def __init__(self, channel, spec):
        os.set_inheritable(channel.fileno(), False)
        os.close(CHANNEL_FD)
        self._channel = channel
        self._reader = frames.FrameReader(max_body=MAX_REQUEST)
        home = self._work = spec["workdir"]
        self._shell = Shell(home, dict(spec["env"], HOME=home), channel)
        self._repl = Repl(home, dict(spec["env"], HOME=home), channel)
        self._terminals = Terminals(home, self._shell, channel)
        self._commands = Commands()

    def serve(self):
        while True:
            for request, body in self._reader:
                self._channel.sendall(frames.pack(*self._answer(request, body)))
            data = self._channel.recv(1 << 16)
            if not data:
                return
            self._reader.feed(data)

    def _answer(self, request, body):
        try:
            return getattr(self, "_op_" + str(request.get("op")), self._unknown)(request, body)
        except OSError as error:
            return {"ok": False, "error": "%s: %s" % (errno.errorcode.get(error.errno, "EIO"), error.strerror)}, b""
        except (KeyError, TypeError, ValueError) as error:
            return {"ok": False, "error": "EINVAL: %s: %s" % (type(error).__name__, error)}, b""

    def _unknown(self, request, body):
        return {"ok": False, "error": "no such operation: %r" % (request.get("op"),)}, b""

    def _op_ping(self, request, body):
        return {"ok": True}, b""

    def _op_bash(self, request, body):
        return self._shell.run(body, request["timeout_s"], request["output_bytes"])

    def _op_python(self, request, body):
        echo, preload = request.get("echo", True), request.get("preload", ())
        return self._repl.run(body, request["timeout_s"], request["output_bytes"], echo=echo, preload=preload)

    def _op_terminal(self, request, body):
        return self._terminals.answer(request, body)

    def _op_settle(self, request, body):
        """The work folder was mounted anew under us: go back into it by name, as far as we can."""
        os.chdir(request["work"])
        self._shell.settle()
        self._terminals.settle()
        self._repl.settle()
        return {"ok": True}, b""

    def _op_save(self, request, body):
        """What a wake can bring back beyond files: folder and environment of the terminal that was used last, or of the
        shell; Python's globals if asked. What the work folder holds, `weight` and `files`, for a host that has no other
        way to know."""
        cwd, environment = self._terminals.save() or self._shell.save()
        reply = {"ok": True, "cwd": cwd, "env": environment, "sizes": [0, 0], "lost": []}
        if request.get("measure"):
            reply["weight"], reply["files"] = files.weigh(self._work)
        if not request.get("globals"):
            return reply, b""
        blob, reply["lost"] = self._repl.save()
        return reply, blob

    def _op_restore(self, request, body):
        """A save's folder and environment, for the next shell; globals are unpickled by the next Python, not here."""
        self._shell.restore(request["cwd"], request["env"])
        self._repl.restore(body)
        return {"ok": True}, b""

    def _op_exec(self, request, body):
        """The body: the arguments, then `NAME=value` variables, each with a NUL after it, then standard input."""
        ends = request["args_bytes"], request["args_bytes"] + request["env_bytes"]
        argv = _texts(body[: ends[0]])
        pairs = (text.partition("=") for text in _texts(body[ends[0] : ends[1]]))
        environment, account = dict(self._shell.exported()), None
        if "user" in request:
            try:
                account = processes.account_of(request["user"])
            except (KeyError, OverflowError):
                return {"ok": False, "error": "ENOUSER: the sandbox has no user %r" % request["user"]}, b""
            path = SBIN + environment.get("PATH", "")
            environment.update(HOME=account.pw_dir, USER=account.pw_name, LOGNAME=account.pw_name, PATH=path)
        environment.update((name, value) for name, _equals, value in pairs)
        folder = os.path.join(self._work, request["cwd"]) if request["cwd"] else self._work
        command = argv, folder, environment, account
        limits = request["stdout_bytes"], request["stderr_bytes"]
        clips = [Clip(limit, request["head_only"]) for limit in limits]
        reply = self._commands.run(command, body[ends[1] :], request["timeout_s"], clips, request["keep"])
        (out, reply["sizes"]), (err, reply["stderr_sizes"]) = [clip.take() for clip in clips]
        return reply, out + err

    def _op_read(self, request, body):
        path, size = request["path"], request.get("size")
        return {"ok": True}, files.read(path, request.get("offset", 0), size, request["max_bytes"])

    def _op_write(self, request, body):
        files.write(request["path"], body, request.get("append", False))
        return {"ok": True}, b""


def _texts(data):
    """What stands before each NUL."""
    return [os.fsdecode(item) for item in data.split(b"\0")[:-1]]
