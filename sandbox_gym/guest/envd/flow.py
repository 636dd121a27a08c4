"""Bytes through pipes, terminals and sockets that never block the driver: as much read at a time as the host has room
for, and what is to be written kept, in bounds, until it is taken.
"""

import os
import selectors

MAX_WAITING = 4 << 20
"""Bytes that may wait to be written to one descriptor."""
PIECE = 1 << 16
COST = 128
"""Bytes of the host's memory that a piece takes beside its content."""


class Credit:
    """The bytes that a stream may send until the host grants more. Inlets that share a Credit stop together."""

    def __init__(self, size):
        self.left = size
        self.inlets = []

    def grant(self, size):
        self.left += size
        for inlet in list(self.inlets):
            inlet.watch()

    def spend(self, size):
        self.left -= size + COST
        if self.left <= 0:
            for inlet in list(self.inlets):
                inlet.watch()


class Inlet:
    """Owns a descriptor's reading end: `got(bytes)` for each piece, `got(b"")` once at the end. `costs`: a piece spends
    credit by its size; else `got` spends what it makes of it."""

    def __init__(self, selector, fd, credit, got, costs=True):
        self._selector, self._fd, self._credit, self._got, self._costs = selector, fd, credit, got, costs
        self._watched = False
        self.open = True
        os.set_blocking(fd, False)
        credit.inlets.append(self)
        self.watch()

    def watch(self):
        wanted = self.open and self._credit.left > 0
        if wanted and not self._watched:
            self._selector.register(self._fd, selectors.EVENT_READ, self.read)
        elif self._watched and not wanted:
            self._selector.unregister(self._fd)
        self._watched = wanted

    def read(self, _events=0):
        """Read one piece; False where there is none now."""
        try:
            data = os.read(self._fd, PIECE)
        except BlockingIOError:
            return False
        except OSError:  # a terminal whose last process has ended gives EIO
            data = b""
        if data:
            if self._costs:
                self._credit.spend(len(data))
            self._got(data)
            return True
        self.close()
        self._got(b"")
        return False

    def close(self):
        """Idempotent; `got` is not called."""
        if self.open:
            self.open = False
            self.watch()
            self._credit.inlets.remove(self)
            os.close(self._fd)


class Outlet:
    """Owns a descriptor's writing end. A `done` callback gets "" once its bytes are written, else the reason why they
    will not be."""

    def __init__(self, selector, fd):
        self._selector, self._fd = selector, fd
        self._waiting = []
        self._size = 0
        self._watched = self._ending = False
        self.open = True
        os.set_blocking(fd, False)

    def put(self, data, done):
        """Write all of `data`, now or later. Raises OSError where this is closed or too much is queued."""
        if not self.open or self._ending:
            raise BrokenPipeError(32, "it is closed")
        if self._size + len(data) > MAX_WAITING:
            raise BlockingIOError(11, "too much input waits to be read")
        self._waiting.append([memoryview(bytes(data)), done])
        self._size += len(data)
        self._push()

    def end(self):
        """Close once all that is queued is written."""
        self._ending = True
        self._push()

    def _push(self, _events=0):
        while self._waiting:
            entry = self._waiting[0]
            try:
                written = os.write(self._fd, entry[0][:65536]) if entry[0] else 0
            except BlockingIOError:
                self._watch(True)
                return
            except OSError as error:
                self.close(error.strerror)
                return
            self._size -= written
            entry[0] = entry[0][written:]
            if not entry[0]:
                self._waiting.pop(0)
                entry[1]("")
        self._watch(False)
        if self._ending:
            self.close("")

    def _watch(self, wanted):
        if wanted and not self._watched:
            self._selector.register(self._fd, selectors.EVENT_WRITE, self._push)
        elif self._watched and not wanted:
            self._selector.unregister(self._fd)
        self._watched = wanted

    def close(self, why="it is closed"):
        """Close, and drop what is queued. Idempotent."""
        if not self.open:
            return
        self.open = False
        self._watch(False)
        os.close(self._fd)
        waiting, self._waiting = self._waiting, []
        for _data, done in waiting:
            done(why or "it is closed")
