"""TLS towards a program in a sandbox, whose bytes others carry. Its certificate is its own, so it is not verified."""

from __future__ import annotations

import ssl


class Tls:
    """The client's end of one connection. Every method raises ssl.SSLError."""

    def __init__(self) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing)

    def shake(self, received: bytes) -> tuple[bool, bytes]:
        """(whether the connection is secured, what is to be sent next)."""
        self._incoming.write(received)
        try:
            self._tls.do_handshake()
        except ssl.SSLWantReadError:
            return False, self._outgoing.read()
        return True, self._outgoing.read()

    def sealed(self, data: bytes) -> bytes:
        """What is to be sent for the program to receive `data`."""
        if data:
            self._tls.write(data)
        return self._outgoing.read()

    def opened(self, received: bytes) -> bytes:
        """What the program sent; empty where the rest of it has not arrived yet."""
        self._incoming.write(received)
        data = b""
        try:
            while piece := self._tls.read(1 << 16):
                data += piece
        except (ssl.SSLWantReadError, ssl.SSLZeroReturnError):
            pass
        return data
