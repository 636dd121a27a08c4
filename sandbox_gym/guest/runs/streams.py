"""A run's pipes and channel: input written as the program takes it, output kept up to its caps or passed to the host.

Knows no clocks and kills nothing: `over_limit` says that the program wrote more than it may.
"""

import fcntl
import os
import selectors
import socket

_READ = 1 << 17
_WRITE = 1 << 16
CHANNEL_MAX = (16 << 20) + 4
NAMES = ("stdout", "stderr", "channel")
STDERR_TIMES = 16
"""A program may write so many times what is kept of its standard error: nobody judges that."""


class _Output:
    """What was kept of one stream, up to `cap` bytes; `left`: those that may still come."""

    def __init__(self, cap, times=1):
        self.data, self.cap, self.left = bytearray(), cap, cap * times


class Streams:
    """One run's. `header` is the run's, `body` the first of its input; `selector` knows what is read of programs and
    written to them; `send(header, body)` says a frame to the host. `passed`: the socket that is the program's channel,
    whose other end another program has."""

    def __init__(self, header, body, selector, send, passed=None):
        self._passed = passed
        self._id, self._mode, self._wiring = header["id"], header["mode"], header["channel"]
        self._limits, self._selector, self._send = header["limits"], selector, send
        self.backlog = bytearray(body)
        """Input that the program has yet to take."""
        self._received, self._noted = len(body), 0
        self._input_left = header["stdin_size"] - len(body)
        self._input = self._channel = None
        self._opened = self._relay_ended = self._input_is_channel = self._writing = False
        self._outputs, self._pipes = {}, {}
        self._unwatched = set()
        self._passed_on = 0
        self.over_limit = False

    # -- start

    def make(self, with_channel):
        """Make the pipes; the program's ends: stdin, stdout, stderr, and the channel's where it has one."""
        stdin_r, self._input = os.pipe2(os.O_CLOEXEC)
        stdout_r, stdout_w = os.pipe2(os.O_CLOEXEC)
        stderr_r, stderr_w = os.pipe2(os.O_CLOEXEC)
        self._pipes = {"stdout": stdout_r, "stderr": stderr_r}
        self._theirs = [stdin_r, stdout_w, stderr_w]
        if self._passed is not None:
            self._theirs.append(self._passed.detach())
        elif with_channel:
            self._channel, theirs = socket.socketpair()
            self._channel.setblocking(False)
            self._theirs.append(theirs.detach())
        return self._theirs

    def abandon(self):
        """No process took the program's ends: make them anew."""
        for fd in [*self._theirs, *self._pipes.values(), self._input]:
            os.close(fd)
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def begin(self):
        """The program's ends have been handed on: close them here, and read and write this end's."""
        for fd in self._theirs:
            os.close(fd)
        for name, times in (("stdout", 1), ("stderr", STDERR_TIMES)):
            os.set_blocking(self._pipes[name], False)
            self._outputs[name] = _Output(self._limits[name + "_bytes"], times)
            self._unwatched.add(name)
        if self._wiring in ("relay", "stdio"):  # the other program waits for it
            self.watch()
        self._open_input()

    def _open_input(self):
        """Input goes to fd 0, or to fd 3 where the program is called over its channel."""
        self._opened = True
        if self._channel is not None:
            self._outputs["channel"] = _Output(0 if self._wiring == "relay" else CHANNEL_MAX)
            self._selector.register(self._channel, selectors.EVENT_READ, self._on_channel)
        if self._wiring == "direct":
            os.close(self._input)
            self._input = None
        elif self._wiring in ("capture", "relay") and self._mode != "exec":
            os.close(self._input)
            self._input_is_channel = True
            self._input = self._channel.fileno()
        else:
            fcntl.fcntl(self._input, fcntl.F_SETFL, os.O_NONBLOCK)
        self._pump()

    # -- input

    def taken(self):
        """Bytes of input that have gone since that was last noted, to the program or because it wants none."""
        return self._received - len(self.backlog) - self._noted

    def note_taken(self):
        """The same, noted."""
        taken = self.taken()
        self._noted += taken
        return taken

    def add_input(self, body):
        """More of the run's own input."""
        self._input_left -= len(body)
        self._add(body)

    def add_relayed(self, body, eof):
        """What the other program of a dialogue wrote; `eof`: it writes no more."""
        self._relay_ended = self._relay_ended or eof
        self._add(body)

    def _add(self, body):
        self._received += len(body)
        self.backlog += body
        if self._opened:
            self._pump()

    def _pump(self):
        """Write what the program takes now; wait for room when it takes no more; close when all is written."""
        if self._input is None:
            self.backlog.clear()
            return
        try:
            while self.backlog:
                written = os.write(self._input, memoryview(self.backlog)[:_WRITE])
                del self.backlog[:written]
        except BlockingIOError:
            pass
        except ConnectionError:  # the program closed its end: it wants no more
            self.backlog.clear()
            self._close_input()
            return
        relayed = self._wiring in ("relay", "stdio")
        done = not self.backlog and (self._relay_ended if relayed else self._input_left <= 0)
        if done:
            self._close_input()
        else:
            self._want_write(bool(self.backlog))

    def _want_write(self, wanted):
        if self._input_is_channel:
            if self._channel is not None:
                events = selectors.EVENT_READ | (selectors.EVENT_WRITE if wanted else 0)
                self._selector.modify(self._channel, events, self._on_channel)
        elif wanted != self._writing:
            if wanted:
                self._selector.register(self._input, selectors.EVENT_WRITE, self._pump)
            else:
                self._selector.unregister(self._input)
            self._writing = wanted

    def _close_input(self):
        if self._input is None:
            return
        self._want_write(False)
        if self._input_is_channel:
            try:
                self._channel.shutdown(socket.SHUT_WR)
            except OSError:
                pass  # the other end is gone
        else:
            os.close(self._input)
        self._input = None

    # -- output

    @property
    def unwatched(self):
        """Whether output is left in the pipes until the run is over, or `watch` is called."""
        return bool(self._unwatched)

    def watch(self):
        """Read output as it comes."""
        for name in self._unwatched:
            read = lambda name=name: self._on_output(name)  # noqa: E731
            self._selector.register(self._pipes[name], selectors.EVENT_READ, read)
        self._unwatched = set()

    def read_all(self):
        """Every process of the run is dead, or through with the input: what the pipes and the channel hold is all that
        counts. Write ends that the program sent into sockets of its own stay open until the kernel collects those; that
        is not waited for. A process that lives may write while this reads: no more is read than the run may write."""
        for name in list(self._pipes):
            while self._on_output(name) and not self.over_limit:
                pass
            self._end_output(name)
        if self._channel is not None:
            while self._on_channel() and not self.over_limit:
                pass
            self._end_channel()

    def _on_output(self, name):
        """Take what is there; False when that is all for now, or for good."""
        try:
            data = os.read(self._pipes[name], _READ)
        except BlockingIOError:
            return False
        if not data:
            self._end_output(name)
        elif name == "stdout" and self._wiring == "stdio":
            self._pass_on(data)
        else:
            self._keep(name, data)
        return bool(data)

    def _end_output(self, name):
        fd = self._pipes.pop(name, -1)
        if fd < 0:
            return
        if name in self._unwatched:
            self._unwatched.remove(name)
        else:
            self._selector.unregister(fd)
        os.close(fd)
        if name == "stdout" and self._wiring == "stdio":
            self._send({"op": "chan", "id": self._id, "eof": True})

    def _keep(self, name, data):
        output = self._outputs[name]
        output.data += data[: output.cap - len(output.data)]
        output.left -= len(data)
        self.over_limit = self.over_limit or output.left < 0

    def _pass_on(self, data):
        """Standard output of a dialogue goes to the other program as it comes."""
        self._passed_on += len(data)
        if self._passed_on > self._limits["stdout_bytes"]:
            self.over_limit = True
        else:
            self._send({"op": "chan", "id": self._id, "eof": False}, data)

    def _on_channel(self):
        """Take what is there; False when that is all for now, or for good."""
        if self.backlog:
            self._pump()
        try:
            data = self._channel.recv(_READ)
        except BlockingIOError:
            return False
        except ConnectionError:
            data = b""
        if not data:
            self._end_channel()
        elif self._wiring == "relay":
            self._send({"op": "chan", "id": self._id, "eof": False}, data)
        else:
            self._keep("channel", data)
        return bool(data)

    def _end_channel(self):
        if self._channel is not None and self._wiring == "relay":
            self._send({"op": "chan", "id": self._id, "eof": True})
        self._close_channel()

    def _close_channel(self):
        if self._channel is not None:
            if self._input_is_channel:
                self._input = None
                self.backlog.clear()
            self._selector.unregister(self._channel)
            self._channel.close()
            self._channel = None

    # -- end

    def close(self):
        """Close what is still open of the input and the channel."""
        self._close_input()
        self._close_channel()

    def kept(self, name):
        """What was kept of an output."""
        output = self._outputs.get(name)
        return bytes(output.data) if output else b""
