"""The SDK's connections to an Engine's Unix socket. Its own leave their socket open where nobody listens."""

from __future__ import annotations

import socket
from contextlib import ExitStack
from typing import Any

from docker.transport import unixconn


class _Connection(unixconn.UnixHTTPConnection):  # type: ignore[misc]
    def connect(self) -> None:
        """Raises OSError."""
        with ExitStack() as failed:
            sock = failed.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
            sock.settimeout(self.timeout)
            sock.connect(self.unix_socket)
            failed.pop_all()
        self.sock = sock


class UnixAdapter(unixconn.UnixHTTPAdapter):  # type: ignore[misc]
    """As the SDK's, in its place."""

    def get_connection(self, url: str, proxies: Any = None) -> Any:
        pool = super().get_connection(url, proxies)
        pool._new_conn = lambda: _Connection(url, self.socket_path, self.timeout)
        return pool


def closing_sockets(api: Any, timeout_s: float) -> None:
    """From now on the SDK's client `api` leaves none; nothing to do where its Engine is no Unix socket's."""
    adapter = api.get_adapter(api.base_url)
    if isinstance(adapter, unixconn.UnixHTTPAdapter):
        api.mount("http+docker://", UnixAdapter(adapter.socket_path, timeout_s))
        adapter.close()
