"""Init's end of the system call filter: it is notified of calls that reach into other processes, denies them and counts
them. See seccomp_unotify(2).

Where the kernel has no notifications the filter denies the calls by itself, uncounted.
"""

import _socket
import array
import fcntl
import os
import select
import struct

_RECEIVE, _ANSWER = 0xC0502100, 0xC0182101
_NOTIFICATION = struct.Struct("=QIIiIQ6Q")
_REPLY = struct.Struct("=QqiI")
_EPERM = 1
MAX_SEEN = 8
_REPORT_MAX = 400


def send(sock_fd, listener):
    """Send the listener to init, and close it here."""
    if listener >= 0:
        sock = _socket.socket(fileno=sock_fd)
        sock.sendmsg([b"l"], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [listener]))])
        sock.detach()
        os.close(listener)


def report_unstarted(sock_fd, asked_for, why):
    """Report to init that the program did not start, and why: because the box has not what it asks for, or because of
    something else. This descriptor is closed before a program runs."""
    os.write(sock_fd, (b"x" if asked_for else b"b") + why.encode("utf-8", "replace")[: _REPORT_MAX - 1])


class SeccompListener:
    """Takes the filter's listener from the child, answers its notifications, and counts them in `seen` by call.

    Of a program that did not start, `unstarted` or `unprepared` says why: it asks for what is missing, or all else.
    """

    def __init__(self, poll, names):
        self._poll = poll
        self._names = names
        self._sock, self.child_end = _socket.socketpair(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
        self._listener = -1
        self.seen = {}
        self.unstarted = self.unprepared = None

    def started(self):
        """The child is forked: close its end here."""
        self.child_end.close()
        self._poll.register(self._sock, 1)

    def handles(self, fd, event):
        """Handle an event of `fd`; False where it is not this object's descriptor."""
        if self._sock is not None and fd == self._sock.fileno():
            self._take()
        elif fd == self._listener:
            if event & select.POLLIN:
                self._answer()
            if event & ~select.POLLIN:  # no filtered process is left: the descriptor would be ready in every poll
                self._forget()
        else:
            return False
        return True

    def close(self):
        """The run is over: read the rest, and close."""
        while self._sock is not None:
            self._take()
        self._forget()

    def _take(self):
        data, ancillary, _flags, _address = self._sock.recvmsg(_REPORT_MAX, _socket.CMSG_SPACE(4))
        for _level, _kind, payload in ancillary:
            self._listener = struct.unpack("i", payload[:4])[0]
            self._poll.register(self._listener, 1)
        if data[:1] == b"x":
            self.unstarted = data[1:].decode("utf-8", "replace")
        elif data[:1] == b"b":
            self.unprepared = data[1:].decode("utf-8", "replace")
        if not data:
            self._poll.unregister(self._sock)
            self._sock.close()
            self._sock = None

    def _answer(self):
        buffer = bytearray(_NOTIFICATION.size)
        try:
            fcntl.ioctl(self._listener, _RECEIVE, buffer)
            notification = _NOTIFICATION.unpack(buffer)
            name = self._names.get(notification[3], "call %d" % notification[3])
            if len(self.seen) < MAX_SEEN or name in self.seen:
                self.seen[name] = self.seen.get(name, 0) + 1
            fcntl.ioctl(self._listener, _ANSWER, _REPLY.pack(notification[0], 0, -_EPERM, 0))
        except FileNotFoundError:
            pass  # the calling process has been killed
        except OSError:
            self._forget()

    def _forget(self):
        """Close the listener."""
        if self._listener >= 0:
            self._poll.unregister(self._listener)
            os.close(self._listener)
            self._listener = -1
