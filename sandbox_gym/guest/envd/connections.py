"""Connections to ports in the sandbox, as streams. daemon.py describes requests and replies."""

import errno
import os
import select
import socket

from .flow import Credit, Inlet, Outlet

MAX_CONNECTIONS = 256


class Connections:
    def __init__(self, envd):
        self._envd = envd
        self._connections = {}

    def op_connect(self, request, body):
        if len(self._connections) >= MAX_CONNECTIONS:
            raise OSError(errno.EMFILE, "too many connections")
        found = _connected(socket.AF_INET, "127.0.0.1", request["port"])
        found = found or _connected(socket.AF_INET6, "::1", request["port"])
        if found is None:
            raise OSError(errno.ECONNREFUSED, "port is not open")
        number = request["id"]
        made = _Connection(self, self._envd, number, found, request["window"])
        self._connections[number] = self._envd.streams[number] = made
        return {}, b""

    def forget(self, number):
        self._envd.streams.pop(number, None)
        return self._connections.pop(number, None)

    def op_send(self, request, body):
        connection = self._connections.get(request["stream"])
        if connection is None:
            raise OSError(errno.EPIPE, "the connection is closed")
        connection.outlet.put(body, self._envd.later(request["id"]))

    def op_disconnect(self, request, body):
        connection = self.forget(request["stream"])
        if connection is not None:
            connection.close()
        return {}, b""


def _connected(family, host, port):
    """A socket that is connected, or will be once a busy program accepts it; None where the port is closed."""
    try:
        found = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK)
    except OSError:  # a kernel without IPv6
        return None
    if found.connect_ex((host, port)) in (0, errno.EINPROGRESS):
        poll = select.poll()
        poll.register(found, select.POLLOUT)
        poll.poll(20)  # milliseconds: the loopback connects or refuses at once
        if found.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) == 0:
            return found
    found.close()
    return None


class _Connection:
    """One connection, as a stream."""

    def __init__(self, connections, envd, number, sock, window):
        self._connections, self._envd, self._number = connections, envd, number
        credit = Credit(window)
        self.granted = credit.grant
        self.outlet = Outlet(envd.selector, os.dup(sock.fileno()))
        self._inlet = Inlet(envd.selector, sock.detach(), credit, self._got)

    def _got(self, data):
        self._envd.say({"stream": self._number, "event": "data" if data else "end"}, data)
        if not data:
            self._connections.forget(self._number)
            self.close()

    def close(self):
        self.outlet.close()
        self._inlet.close()
