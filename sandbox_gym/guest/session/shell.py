"""One bash that lives between calls: folder, variables, functions and background jobs stay."""

import os
import resource
import shlex
import time

from .child import Child, Gone, pipe
from .clip import Clip

MARK_FD = 187
"""Out of the way of what scripts use for locks and logs; lower where fewer files may be open."""
MAX_COMMAND = 1 << 20
_START = (
    "exec 2>&1; unset HISTFILE; set +H; "
    '__sg_done() { local s=$?; printf \'%%d\\0%%s\\0\' "$s" "$PWD" >&%d; return $s; }\n__sg_done\n'
)


class Shell(Child):
    """bash reads commands from a pipe of ours; MARK_FD tells us a command's status and where the shell stands now."""

    def run(self, command, timeout_s, output_bytes):
        """(reply, output): the command's combined output; `reset` when an earlier shell's state is gone."""
        if len(command) > MAX_COMMAND or b"\0" in command:
            return {"ok": False, "error": "a command is at most %d bytes and holds no NUL" % MAX_COMMAND}, b""
        reset = self._ensure()
        clip = Clip(output_bytes)
        idle, sizes = self.output.take()
        clip.add(idle)
        quoted = shlex.quote(command.decode("utf-8", "surrogateescape"))
        line = ("eval -- %s </dev/null\n__sg_done\n" % quoted).encode("utf-8", "surrogateescape")
        reply = {"ok": True, "timed_out": False, "ended": False, "reset": reset}
        started = time.monotonic()
        try:
            reply["timed_out"] = bool(self._exchange(line, timeout_s, clip))
            reply["exit_code"] = self._status
        except Gone:
            self._drain(self._out, clip)
            self._close()
            # one that was ended for its time is a timeout; one that ended before (exit, exec, a kill) says its code
            late = time.monotonic() - started >= timeout_s
            reply.update(exit_code=self.exit_code, ended=True, timed_out=late and self.exit_code == 137)
        body, reply["sizes"] = clip.take()
        reply["cwd"] = self.cwd
        return reply, body

    def _ensure(self):
        if self.alive():
            return False
        had = self.starts > 0
        if self.pid == 0 and had:
            self._close()
        read, self._in = pipe(nonblocking_read=False)
        self._out, out = pipe()
        self._marks, mark = pipe()
        mark_fd = min(MARK_FD, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 16)
        self._pending = b""
        environment = dict(
            self.environment, PS1="", PS2="", PROMPT_COMMAND="", TERM="dumb", PAGER="cat", GIT_PAGER="cat"
        )

        def body():
            os.dup2(read, 0)
            os.dup2(out, 1)
            null = os.open("/dev/null", os.O_WRONLY)
            os.dup2(null, 2)  # an interactive bash without a terminal complains once
            os.dup2(mark, mark_fd)
            os.set_inheritable(mark_fd, True)  # dup2 onto itself would leave it closed on exec
            os.execve("/bin/bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], environment)

        self._fork(body, (read, out, mark))
        try:
            self._exchange((_START % mark_fd).encode(), 10, Clip(4096))
        except Gone:
            self._close()
            raise OSError(5, "bash does not start") from None
        return had

    def _close(self):
        for name in ("_in", "_out", "_marks"):
            fd = getattr(self, name, -1)
            if fd >= 0:
                os.close(fd)
                setattr(self, name, -1)
        self.pid = 0

    def _exchange(self, line, timeout_s, clip):
        """Send a line whole, however slowly it is read, and wait for its mark."""
        marks = Clip(1 << 16)
        self._pending_line = memoryview(line)
        os.set_blocking(self._in, False)

        def done():
            self._push()
            body, _sizes = marks.take()
            self._pending += body
            return self._pending.count(b"\0") >= 2

        outcome = self._wait({self._out: clip, self._marks: marks}, done, timeout_s)
        status, folder, self._pending = self._pending.split(b"\0", 2)
        self._status = int(status) if status.isdigit() else 1
        self.cwd = os.fsdecode(folder)
        return outcome

    def _push(self):
        while self._pending_line:
            try:
                self._pending_line = self._pending_line[os.write(self._in, self._pending_line) :]
            except BlockingIOError:
                return
            except OSError:
                self._pending_line = memoryview(b"")

    def settle(self):
        """Step into the folder again by its name."""
        if self.alive():
            self.run(b'cd "$PWD" 2>/dev/null || cd', 5, 4096)

    def save(self):
        """The shell's folder and exported variables, as texts; what the shell started with where there is none."""
        if not self.alive():
            return self.cwd, self.environment
        reply, body = self.run(b"command env -0", 5, 1 << 18)
        if not reply.get("exit_code") == 0 or reply["sizes"][2]:
            return self.cwd, self.environment
        pairs = (os.fsdecode(entry).partition("=") for entry in body.split(b"\0") if b"=" in entry)
        kept = {
            name: value for name, _equals, value in pairs if name not in ("PS1", "PS2", "PROMPT_COMMAND", "_", "SHLVL")
        }
        return self.cwd, kept

    def restore(self, cwd, environment):
        self.cwd, self.environment = cwd, environment
