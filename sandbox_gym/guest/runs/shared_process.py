"""The supervisor's end of a process that runs its program on one input after the other.

The process says that it is through with an input and as it was before; it is then given the pipes of the next one.
What it says is its own word about itself, and worth no more than its exit with 0 would be.
"""

import array
import selectors
import socket
import time

DONE = b"d"
NEXT = b"n"
LAST = b"l"
_IDLE_S = 0.01
"""CPU seconds that it may use between two inputs. One that uses more is given no other: it left a thread behind."""
_LONG_S = 0.02


class SharedProcess:
    """One process. `on_done()` is called when it is through with the input that it was given last."""

    def __init__(self, selector, evidence, on_done, ends_alone):
        """`ends_alone`: whether its processes end with its init."""
        self._selector, self._evidence, self._on_done, self._ends_alone = selector, evidence, on_done, ends_alone
        self.report = b""
        """The init's report of its end, where that came when it had no input."""
        self._control, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._control.setblocking(False)
        self.its_end = its.detach()
        """The process's end, which the caller hands on and closes."""
        self._given, self._done_at, self.reading = True, 0.0, None
        self.counted = None
        """The box's counters at the end of its last run; None until there was one."""
        selector.register(self._control, selectors.EVENT_READ, self._on_control)

    def _on_control(self):
        try:
            said = self._control.recv(16)
        except (AttributeError, BlockingIOError):  # it was closed since the selector looked
            return
        except OSError:
            said = b""
        if said == DONE and self._given:
            self._given = False
            self._done_at, self.reading = time.monotonic(), self._evidence.reading()
            self._on_done()
        else:  # it is gone, or speaks out of turn: its end is reported by the init
            self.close()

    def idle(self):
        """Whether it may be given another input: it is there, and did nothing since the last."""
        if self._control is None or self._given:
            return False
        return time.monotonic() - self._done_at < _LONG_S or self._evidence.used_s(self.reading) < _IDLE_S

    def give(self, fds, on_done, last):
        """Give it the pipes of another input, of its last one if `last`; False where it is gone."""
        try:
            self._control.sendmsg(
                [LAST if last else NEXT], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))]
            )
        except OSError:
            self.close()
            return False
        self._given, self._on_done = True, on_done
        return True

    # -- as the init's client sees it while it has no input

    def reported(self, data):
        """The init's report: it ended between two inputs."""
        self.report = data
        self.close()

    def unreported(self):
        """Its init ended without a report. Raises OSError where its processes may live on."""
        self.close()
        if not self._ends_alone:
            raise OSError("an init ended, and what its run started may live on")

    def all_dead(self):
        self.close()

    def close(self):
        """Idempotent. Nobody is called any more: whoever still holds this holds no run."""
        control, self._control, self._on_done = self._control, None, None
        if control is not None:
            self._selector.unregister(control)
            control.close()
