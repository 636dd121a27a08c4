"""The supervisor's end of its channel to the host. Owns both directions; neither waits for the other.

Frames that the host has not taken yet are queued here, so that the supervisor never blocks on a send. Knows nothing of
what frames mean: `full` says that outputs and further runs are to wait, and the supervisor obeys it.
"""

import array
import collections
import os
import selectors
import socket
import stat
import time

from . import frames

FULL = 1 << 20
LATER_S = 0.002
"""Results of short runs travel together: each wakes the host, which costs it more than to read one."""
_READ = 1 << 16
_DESCRIPTORS = socket.CMSG_SPACE(4)
_WRITE = 1 << 18
_SMALL = 1 << 16
"""A body of at most this size is written together with its header."""


class Channel:
    """`on_frame(header, body)` is called for each frame of the host, `on_data()` for each piece of data."""

    def __init__(self, read_fd, write_fd, selector, on_frame, on_data):
        self._read_fd = read_fd
        self._write_fd = os.dup(write_fd)  # a selector knows a descriptor once, and one socket may be both
        os.set_blocking(self._write_fd, False)
        self._selector = selector
        self._on_frame, self._on_data = on_frame, on_data
        self._reader = frames.FrameReader()
        self._waiting = collections.deque()
        self._bytes = 0
        self._watching = False
        self._held_since = None
        self._socket = _socket_of(read_fd)
        self.passed = collections.deque()
        """Sockets that came before the frames that they belong to, in their order."""
        self.ended = False
        """The host's end is closed."""
        self.selectable = True
        try:
            selector.register(read_fd, selectors.EVENT_READ, self.read)
        except PermissionError:  # a regular file, in batch use: the supervisor calls `read`
            self.selectable = False

    @property
    def waiting(self):
        """Whether the host has yet to take a frame."""
        return bool(self._waiting)

    @property
    def full(self):
        return self._bytes >= FULL

    def send(self, header, body=b"", later=False):
        """Send a frame, now or as soon as the host takes it; `later`: with those that follow within LATER_S, if the
        caller asks `due_s` until then."""
        if len(body) <= _SMALL:
            parts = [frames.pack(header, body)]
        else:
            parts = [frames.head(header, len(body)), body]
        for part in parts:
            self._waiting.append(memoryview(part))
            self._bytes += len(part)
        if later and self._held_since is None:
            self._held_since = time.monotonic()
        if not later:
            self.release()

    def due_s(self, idle):
        """Send what is to be sent `later`, if it is time or the caller is idle; seconds until it is, None for never."""
        if self._held_since is None:
            return None
        left = self._held_since + LATER_S - time.monotonic()
        if idle or left <= 0:
            self.release()
            return None
        return left

    def release(self):
        """Send all that waits, as far as the host takes it."""
        self._held_since = None
        if not self._watching:
            self._write()

    def _write(self):
        try:
            while self._waiting:
                first = self._waiting[0]
                written = os.write(self._write_fd, first[:_WRITE])
                self._bytes -= written
                if written < len(first):
                    self._waiting[0] = first[written:]
                else:
                    self._waiting.popleft()
        except BlockingIOError:
            pass
        if bool(self._waiting) != self._watching:
            self._watching = not self._watching
            if self._watching:
                self._selector.register(self._write_fd, selectors.EVENT_WRITE, self._write)
            else:
                self._selector.unregister(self._write_fd)

    def flush(self, within_s):
        """Write all that is queued; False where the host does not take it within the time."""
        deadline = time.monotonic() + within_s
        while self._waiting and time.monotonic() < deadline:
            with selectors.DefaultSelector() as alone:
                alone.register(self._write_fd, selectors.EVENT_WRITE)
                alone.select(max(0.0, deadline - time.monotonic()))
            self._write()
        return not self._waiting

    def read(self):
        """Read what the host has sent."""
        try:
            data = os.read(self._read_fd, _READ) if self._socket is None else self._receive()
        except BlockingIOError:
            return
        if not data:
            self.ended = True
            if self.selectable:
                self._selector.unregister(self._read_fd)
            return
        self._reader.feed(data)
        self._on_data()  # a large program may arrive more slowly than heartbeats are due
        for header, body in self._reader:
            self._on_frame(header, body)

    def _receive(self):
        data, ancillary, _flags, _address = self._socket.recvmsg(_READ, _DESCRIPTORS)
        for level, kind, payload in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                self.passed += [socket.socket(fileno=fd) for fd in array.array("i", payload[:4])]
        return data


def _socket_of(fd):
    """A copy of a descriptor over which others can come; None where it is no such socket."""
    if not stat.S_ISSOCK(os.fstat(fd).st_mode):
        return None
    made = socket.socket(fileno=os.dup(fd))
    if made.family == socket.AF_UNIX:
        return made
    made.close()
    return None
