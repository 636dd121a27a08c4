"""One bash that lives between calls: folder, variables, functions and background jobs stay."""

import os
import resource
import shlex
import time

from .child import Child, Gone
from .clip import Clip
from .processes import pipe

MARK_FD = 187
"""Out of the way of what scripts use for locks and logs; lower where fewer files may be open."""
MAX_COMMAND = 1 << 20
MAX_ENVIRONMENT = 8 << 20
EXPORTED_S = 15
_START = (
    "exec 2>&1; unset HISTFILE; set +H; "
    '__sg_done() { local s=$?; printf \'%%d\\0%%s\\0\' "$s" "$PWD" >&%(mark)d; return $s; }\n'
    "__sg_exported() { local s=$?; printf '\\0' >&%(mark)d; if /usr/bin/env -0 >&%(mark)d; then :; fi; "
    "printf '\\0' >&%(mark)d; return $s; }\n__sg_done\n"
)
INTERACTIVE = ("bash", "--norc", "--noprofile", "--noediting", "-i")
QUIET = {"TERM": "dumb", "PAGER": "cat", "GIT_PAGER": "cat"}
SHELLS_OWN = ("PS1", "PS2", "PROMPT_COMMAND", "_", "SHLVL")


def high_fd():
    """A descriptor that no script uses by its number."""
    return min(MARK_FD, resource.getrlimit(resource.RLIMIT_NOFILE)[0] - 16)


class Shell(Child):
    """bash reads commands from a pipe of ours; MARK_FD tells us a command's status and where the shell stands now."""

    _ends = ("_in", "_out", "_marks")
    _known = None
    """What `exported` found, until the next command."""

    def run(self, command, timeout_s, output_bytes):
        """(reply, output): the command's combined output; `reset` when an earlier shell's state is gone."""
        if len(command) > MAX_COMMAND or b"\0" in command:
            return {"ok": False, "error": "a command is at most %d bytes and holds no NUL" % MAX_COMMAND}, b""
        reset = self._ensure()
        self._known = None
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
        mark_fd = high_fd()
        self._pending = b""
        environment = dict(self._initial(), PS1="", PS2="", PROMPT_COMMAND="")

        def body():
            os.dup2(read, 0)
            os.dup2(out, 1)
            null = os.open("/dev/null", os.O_WRONLY)
            os.dup2(null, 2)  # an interactive bash without a terminal complains once
            os.dup2(mark, mark_fd)
            os.set_inheritable(mark_fd, True)  # dup2 onto itself would leave it closed on exec
            os.execve("/bin/bash", INTERACTIVE, environment)

        self._fork(body, (read, out, mark))
        try:
            self._exchange((_START % {"mark": mark_fd}).encode(), 10, Clip(4096))
        except Gone:
            self._close()
            raise OSError(5, "bash does not start") from None
        return had

    def _initial(self):
        return dict(self.environment, **QUIET)

    def _exchange(self, line, timeout_s, clip, listed=False):
        """Send a line whole, however slowly it is read, and wait for its mark. `listed`: the mark begins with the
        exported variables, which are kept as `_listing`."""
        marks = Clip(MAX_ENVIRONMENT)
        self._pending_line = memoryview(line)
        os.set_blocking(self._in, False)

        def done():
            self._pending_line = self._push(self._in, self._pending_line)
            body, _sizes = marks.take()
            self._pending += body
            return _mark(self._pending, listed) is not None

        outcome = self._wait({self._out: clip, self._marks: marks}, done, timeout_s)
        self._listing, status, folder, self._pending = _mark(self._pending, listed)
        self._status = int(status) if status.isdigit() else 1
        self.cwd = os.fsdecode(folder)
        return outcome

    def settle(self):
        """Step into the folder again by its name."""
        if self.alive():
            self.run(b'cd "$PWD" 2>/dev/null || cd', 5, 4096)

    def exported(self):
        """The variables that the shell exports, as texts; what it would start with where there is no shell."""
        if not self.alive():
            return self._initial()
        if self._known is None:
            try:
                self._exchange(b"{ __sg_exported; __sg_done; } 2>/dev/null\n", EXPORTED_S, self.output, listed=True)
            except Gone:
                self._close()
                return self._initial()
            self._known = variables(self._listing)
        return self._known or self._initial()

    def save(self):
        """The shell's folder and exported variables, as texts; what the shell started with where there is none."""
        return self.cwd, self.exported() if self.alive() else self.environment

    def restore(self, cwd, environment):
        self.cwd, self.environment = cwd, environment


def variables(listing):
    """What `env -0` listed, without the shell's own."""
    pairs = (os.fsdecode(entry).partition("=") for entry in listing.split(b"\0"))
    return {name: value for name, equals, value in pairs if equals and name not in SHELLS_OWN}


def _mark(pending, listed):
    """(listing, status, folder, what follows) of a whole mark; None before all of it is there."""
    listing = b""
    if listed:
        end = pending.find(b"\0\0")
        if end < 0:
            return None
        listing, pending = pending[1:end], pending[end + 2 :]
    if pending.count(b"\0") < 2:
        return None
    status, folder, rest = pending.split(b"\0", 2)
    return listing, status, folder, rest
