"""What is read from a pipe, a terminal or a socket, as much at a time as the host has room for."""

import os
import selectors

PIECE = 1 << 16
COST = 128
"""What a piece takes of the host's memory beside its bytes; many small ones are as dear as a few large ones."""


class Credit:
    """How much a stream may send until the host says that it has room again. Inlets that share one stop together."""

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
    """Owns a descriptor's reading end: `got(bytes)` for each piece, `got(b"")` once at the end."""

    def __init__(self, selector, fd, credit, got):
        self._selector, self._fd, self._credit, self._got = selector, fd, credit, got
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
        """Take one piece; False when there is none now."""
        try:
            data = os.read(self._fd, PIECE)
        except BlockingIOError:
            return False
        except OSError:  # a terminal whose last user has gone says EIO
            data = b""
        if data:
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
