"""Connections to what listens in the sandbox, as streams. Requests and replies as in guest/envd/daemon.py."""

import errno
import os
import socket

from .flow import Credit, Inlet, Outlet

MAX_LINKS = 256


class Links:
    def __init__(self, envd):
        self._envd = envd
        self._links = {}

    def granted(self, number, size):
        """Whether it is a connection that the host has room for again."""
        if number in self._links:
            self._links[number].credit.grant(size)
            return True
        return False

    def op_connect(self, request, body):
        if len(self._links) >= MAX_LINKS:
            raise OSError(errno.EMFILE, "too many connections")
        number, found = request["id"], None
        for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
            try:
                found = socket.socket(family, socket.SOCK_STREAM)
                found.settimeout(1)  # on the loopback it is there at once, or refused
                found.connect((host, request["port"]))
                break
            except OSError:
                found.close()
                found = None
        if found is None:
            raise OSError(errno.ECONNREFUSED, "port is not open")
        self._links[number] = _Link(self, self._envd, number, found, request["window"])
        return {}, b""

    def forget(self, number):
        self._links.pop(number, None)

    def op_send(self, request, body):
        link = self._links.get(request["stream"])
        if link is None:
            raise OSError(errno.EPIPE, "the connection is closed")
        link.outlet.put(body, self._envd.later(request["id"]))

    def op_disconnect(self, request, body):
        link = self._links.pop(request["stream"], None)
        if link is not None:
            link.close()
        return {}, b""


class _Link:
    """One connection, as a stream of its own."""

    def __init__(self, links, envd, number, connection, window):
        self._links, self._envd, self._number = links, envd, number
        self.credit = Credit(window)
        connection.setblocking(False)
        self.outlet = Outlet(envd.selector, os.dup(connection.fileno()))
        self._inlet = Inlet(envd.selector, connection.detach(), self.credit, self._got)

    def _got(self, data):
        self._envd.say({"stream": self._number, "event": "data" if data else "end"}, data)
        if not data:
            self._links.forget(self._number)
            self.close()

    def close(self):
        self.outlet.close()
        self._inlet.close()
