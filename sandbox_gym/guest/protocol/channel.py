"""The supervisor's end of its channel to the host. Owns both directions, of which neither ever waits for the other.

What the host has not taken yet waits here, so that whoever sends goes on, and hears what the host says. Knows nothing
of what frames mean: `full` says that outputs and further runs are to wait, and whoever makes them heeds it.
"""

import collections
import os
import selectors
import time

from . import frames

FULL = 1 << 20
_READ = 1 << 16
_WRITE = 1 << 18
_SMALL = 1 << 16
"""A body up to here travels in one write with its header."""


class Channel:
    """`heed(header, body)` is called for each frame of the host's, `heard()` for each piece that came."""

    def __init__(self, read_fd, write_fd, selector, heed, heard):
        self._read_fd = read_fd
        self._write_fd = os.dup(write_fd)  # a selector knows a descriptor once, and one socket may be both
        os.set_blocking(self._write_fd, False)
        self._selector = selector
        self._heed, self._heard = heed, heard
        self._reader = frames.FrameReader()
        self._waiting = collections.deque()
        self._bytes = 0
        self._watching = False
        self.ended = False
        """The host's end is closed: nothing more comes."""
        self.selectable = True
        try:
            selector.register(read_fd, selectors.EVENT_READ, self.read)
        except PermissionError:  # a regular file, in batch use: whoever serves reads it piece by piece
            self.selectable = False

    @property
    def waiting(self):
        """Whether the host has yet to take something."""
        return bool(self._waiting)

    @property
    def full(self):
        return self._bytes >= FULL

    def send(self, header, body=b""):
        """Say a frame, now or as soon as the host takes it."""
        if len(body) <= _SMALL:
            parts = [frames.pack(header, body)]
        else:
            parts = [frames.head(header, len(body)), body]
        for part in parts:
            self._waiting.append(memoryview(part))
            self._bytes += len(part)
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
        """Have the host take all that waits; False when it does not."""
        deadline = time.monotonic() + within_s
        while self._waiting and time.monotonic() < deadline:
            with selectors.DefaultSelector() as alone:
                alone.register(self._write_fd, selectors.EVENT_WRITE)
                alone.select(max(0.0, deadline - time.monotonic()))
            self._write()
        return not self._waiting

    def read(self):
        """Take what the host has said."""
        try:
            data = os.read(self._read_fd, _READ)
        except BlockingIOError:
            return
        if not data:
            self.ended = True
            if self.selectable:
                self._selector.unregister(self._read_fd)
            return
        self._reader.feed(data)
        self._heard()  # a long program may take longer to arrive than a silence is borne
        while True:
            frame = self._reader.next()
            if frame is None:
                return
            self._heed(*frame)
