"""Shells on terminals, each by its name: a command goes on when a call's time is up, is typed into, and interrupted.

A command's text comes to bash through a pipe of ours, since a terminal's lines are short; the prompt says that it has
ended, with its status. What a program that reads the terminal gets is typed.
"""

import base64
import errno
import fcntl
import os
import re
import select
import signal
import struct
import termios
import time

from . import processes
from .child import Child
from .clip import Clip
from .shell import INTERACTIVE, MAX_COMMAND, MAX_ENVIRONMENT, QUIET, high_fd, variables

MAX_TERMINALS = 16
MAX_PATTERNS = 32
WINDOW = 32 * 1024
"""What patterns are looked for in: so much of the output's end."""
START_S = 10
SETTLE_S, SAVE_S = 5, 15
"""On a machine whose CPUs others use, what is not read in time is lost with the shell."""
_START = (
    "unset HISTFILE; set +H; __sg_prompt() { PS0= PS2= PS1='\\036%(token)s:$__sg_n:$?:$PWD\\036'; }; "
    "__sg_end() { local s=$?; PROMPT_COMMAND=__sg_prompt; return $s; }; __sg_before() { return $__sg_s; }; "
    "PROMPT_COMMAND=__sg_prompt __sg_n=0\n"
)
_RUN = (
    "__sg_s=$? __sg_n=%d; IFS= read -r -d '' -u %d __sg_c; "
    'if __sg_before; then eval -- "$__sg_c"; else eval -- "$__sg_c"; fi; __sg_end\n'
)
"""The command finds the status of the one before in `$?`; `if`, for a shell that ends with a status that is not 0."""
_EXPORTED = b"__sg_x=$?; printf '\\036'; /usr/bin/env -0 | base64 -w0; (exit $__sg_x)"


class Terminals:
    """Those of one session. A new one begins in the folder and with the variables of the session's `shell`."""

    def __init__(self, home, shell, channel):
        self._home, self._shell, self._channel = home, shell, channel
        self._open = {}

    def answer(self, request, body):
        """(reply, output) of one request; its `do` is open, run, interrupt or close."""
        name, do = request["name"], request["do"]
        if do == "open":
            return self._opened(name)
        terminal = self._open.get(name)
        if terminal is None:
            raise OSError(errno.ENOENT, "there is no such terminal")
        if do == "close":
            self._open.pop(name).close()
            return {"ok": True}, b""
        self._open[name] = self._open.pop(name)  # the one used last is the last
        patterns = [_pattern(text) for text in request["expect"][:MAX_PATTERNS]]
        limits = request["timeout_s"], request["output_bytes"]
        if do == "run":
            reply, output = terminal.run(body, patterns, *limits)
        else:
            reply, output = terminal.interrupt(request["tries"], patterns, *limits)
        if reply["ended"]:
            self._open.pop(name).close()
        return reply, output

    def _opened(self, name):
        if name in self._open:
            raise OSError(errno.EEXIST, "there is a terminal of that name")
        if len(self._open) >= MAX_TERMINALS:
            raise OSError(errno.EDQUOT, "%d terminals are open, as many as may be" % MAX_TERMINALS)
        terminal = Terminal(self._home, dict(self._shell.environment), self._channel)
        terminal.cwd = self._shell.cwd
        terminal.open()
        self._open[name] = terminal
        return {"ok": True}, b""

    def save(self):
        """As Shell.save, of the terminal that was used last; None where there is none."""
        terminal = next(reversed(list(self._open.values())), None)
        return terminal and terminal.save()

    def settle(self):
        for terminal in self._open.values():
            if terminal.idle():
                terminal.run(b'cd -- "$PWD" 2>/dev/null || cd', [], SETTLE_S, 4096)


def _pattern(text):
    try:
        return re.compile(text.encode("utf-8", "surrogateescape"), re.DOTALL)
    except re.error as error:
        raise ValueError("expect %r: %s" % (text[:80], error)) from None


class Terminal(Child):
    """bash on a pseudo-terminal of its own. `_number` counts commands: the prompt after a command says its number."""

    _ends = ("_master", "_commands")

    def open(self):
        """Raises OSError where no shell can be made."""
        token = base64.b16encode(os.urandom(8))
        self._prompt = re.compile(b"\x1e%s:(\\d*):(\\d+):([^\x1e]*)\x1e" % token)
        self._start()
        self._number, self._busy, self._left, self._sent = 0, True, b"", b""
        self._keys = (_START % {"token": token.decode("ascii")}).encode("ascii")
        reply, _output = self._answer([], START_S, 4096)
        if reply["ended"] or reply["timed_out"]:
            self.close()
            raise OSError(errno.EIO, "bash does not start")

    def _start(self):
        self._master, slave = os.openpty()
        theirs = [slave]
        try:
            read, self._commands = processes.pipe(nonblocking_read=False)
            theirs.append(read)
            os.set_blocking(self._master, False)
            os.set_blocking(self._commands, False)
            modes = termios.tcgetattr(slave)
            modes[3] &= ~termios.ECHO
            termios.tcsetattr(slave, termios.TCSANOW, modes)
            fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
            self._command_fd, environment = high_fd(), dict(self.environment, **QUIET)

            def body():
                os.setsid()
                fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
                for fd in (0, 1, 2):
                    os.dup2(slave, fd)
                os.dup2(read, self._command_fd)
                os.set_inheritable(self._command_fd, True)
                os.execve("/bin/bash", INTERACTIVE, environment)

            self._fork(body, theirs)
        except OSError:  # no shell was made
            for fd in theirs:
                os.close(fd)
            self.close()
            raise

    def close(self):
        if self.alive():
            self.kill()
        self._close()

    def idle(self):
        """Whether the shell waits for a command; what came of the last one since the last call is read."""
        output = (self._left + (self._read() or b""))[-WINDOW:]
        if any(int(one[1] or 0) == self._number for one in self._prompt.finditer(output)):
            self._busy = False
        self._left = self._prompt.sub(b"", output)
        return not self._busy and self.alive()

    def run(self, text, patterns, timeout_s, output_bytes):
        """(reply, output) of a command, or of a line typed into the one that runs: until it ends, one of the patterns
        matches, or the time is up, when it goes on. `found`: the pattern's number, -1 for an end, which has an
        `exit_code`. Raises ValueError."""
        if len(text) > MAX_COMMAND or b"\0" in text:
            raise ValueError("a command is at most %d bytes and holds no NUL" % MAX_COMMAND)
        if self.idle():
            self._number += 1
            self._keys += (_RUN % (self._number, self._command_fd)).encode("ascii")
            self._sent, self._busy = text + b"\0", True
        else:
            self._keys += text + b"\n"
        return self._answer(patterns, timeout_s, output_bytes)

    def interrupt(self, tries, patterns, timeout_s, output_bytes):
        """The same of an interrupt, typed up to so many times; then the job is killed, which the next output says."""
        self.idle()
        if self._sent:
            self.kill()  # it has a part of a command
        for _ in range(tries):
            self._keys = b"\x03"
            reply, output = self._answer(patterns, timeout_s, output_bytes)
            if not reply["timed_out"]:
                return reply, output
        self._keys = b""
        self._kill_job()
        reply, output = self._answer(patterns, max(timeout_s, 1), output_bytes)
        if reply["found"] == -1:
            self._left = b"Killed\r\n" + self._left
        return reply, output

    def _kill_job(self):
        """What has the terminal, or, where that is the shell itself, all."""
        group = os.tcgetpgrp(self._master)
        if group > 0 and group != self.pid:
            processes.send_group(group, signal.SIGKILL)
        else:
            self.kill()

    def _answer(self, patterns, timeout_s, output_bytes):
        clip, window, self._left = Clip(output_bytes), self._left[-WINDOW:], b""
        clip.add(window)
        deadline, found, ended = time.monotonic() + timeout_s, self._found(window, patterns), False
        while found is None and not ended:
            left = deadline - time.monotonic()
            if left <= 0:
                break
            self._step(min(left, 0.25))
            ended = not self.alive()
            data = self._read()
            if data is None and not ended:
                time.sleep(0.01)  # all have closed the terminal, and the shell is about to end
            data = data or b""
            clip.add(data)
            window = (window + data)[-WINDOW:]
            found = self._found(window, patterns)
        return self._replied(clip, window, found, ended)

    def _replied(self, clip, window, found, ended):
        output, sizes = clip.take()
        reply = {"ok": True, "found": None, "exit_code": None, "timed_out": found is None and not ended}
        if found is not None:
            reply["found"], match = found
            self._left = window[match.end() :]
            over = len(window) - match.start()
            output, tail = output[: len(output) - over], min(over, sizes[1])
            sizes = [sizes[0] - over + tail, sizes[1] - tail, sizes[2]]
            if reply["found"] < 0:
                self._busy, reply["exit_code"], self.cwd = False, int(match[2]), os.fsdecode(match[3])
        elif not ended:
            self._left = output[-WINDOW:]  # for whoever asks next
        reply["ended"] = ended and found is None
        if reply["ended"]:
            reply["exit_code"] = self.exit_code
        reply["sizes"] = sizes
        return reply, output

    def _found(self, window, patterns):
        """(number, match) of what matches first; the prompt after this very command has the number -1."""
        prompts = (one for one in self._prompt.finditer(window) if int(one[1] or 0) == self._number)
        matches = [(-1, next(prompts, None)), *((number, one.search(window)) for number, one in enumerate(patterns))]
        return min((one for one in matches if one[1]), key=lambda one: one[1].start(), default=None)

    def _step(self, seconds):
        """Wait for output, and give the terminal and the shell what they take."""
        poll = select.poll()
        poll.register(self._master, select.POLLIN | (select.POLLOUT if self._keys else 0))
        if self._sent:
            poll.register(self._commands, select.POLLOUT)
        poll.poll(seconds * 1000 + 1)
        self._keys = self._push(self._master, self._keys)
        self._sent = self._push(self._commands, self._sent)

    def _read(self):
        """What has come, in parts of bounded size; None where all have closed the terminal."""
        parts = []
        for _ in range(64):
            try:
                parts.append(os.read(self._master, 65536))
            except BlockingIOError:
                break
            except OSError:
                return b"".join(parts) or None
        return b"".join(parts)

    def save(self):
        """As Shell.save; of a shell that is busy what was known of it last."""
        if self.idle():
            reply, output = self.run(_EXPORTED, [], SAVE_S, MAX_ENVIRONMENT)
            if reply["found"] == -1:
                listing = base64.b64decode(output.partition(b"\x1e")[2])
                self.environment = variables(listing) or self.environment
        return self.cwd, self.environment
