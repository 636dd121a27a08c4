"""What is written to a pipe, a terminal or a socket that may not take it now: kept in bounds, written when taken."""

import os
import selectors

MAX_WAITING = 4 << 20


class Outlet:
    """Owns a descriptor's writing end. `done` callbacks are called with "" once their bytes are written, else with why
    they never will be."""

    def __init__(self, selector, fd):
        self._selector, self._fd = selector, fd
        self._waiting = []
        self._size = 0
        self._watched = self._ending = False
        self.open = True
        os.set_blocking(fd, False)

    def put(self, data, done):
        """Write all of `data`, now or later. Raises OSError when it is closed or too much waits."""
        if not self.open or self._ending:
            raise BrokenPipeError(32, "it is closed")
        if self._size + len(data) > MAX_WAITING:
            raise BlockingIOError(11, "too much input waits to be read")
        self._waiting.append([memoryview(bytes(data)), done])
        self._size += len(data)
        self._push()

    def end(self):
        """Close once all is written."""
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
        """Give up what still waits. Idempotent."""
        if not self.open:
            return
        self.open = False
        self._watch(False)
        os.close(self._fd)
        waiting, self._waiting = self._waiting, []
        for _data, done in waiting:
            done(why or "it is closed")
