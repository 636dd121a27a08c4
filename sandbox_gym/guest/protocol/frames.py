"""The frame: u32 header length, u32 body length, a JSON object, raw bytes. Both ends bound both lengths."""

import json
import struct

HEAD = struct.Struct("!II")
MAX_HEADER = 1 << 20
MAX_BODY = 1 << 20
CHUNK = 1 << 18
"""Larger inputs travel as several `data` frames of at most this many bytes."""
MAX_BACKLOG = 4 << 20
"""Bytes of input that programs have not taken yet; the host sends no more."""


class BadFrame(Exception):
    """A length over its bound, or a header that is no JSON object."""


def head(header, size):
    """The bytes before a body of `size` bytes."""
    text = json.dumps(header, separators=(",", ":")).encode("utf-8")
    return HEAD.pack(len(text), size) + text


def pack(header, body=b""):
    return head(header, len(body)) + body


class FrameReader:
    """Turns a byte stream, fed in any pieces, into (header, body) pairs."""

    def __init__(self, max_header=MAX_HEADER, max_body=MAX_BODY):
        self._buffer = bytearray()
        self._max_header = max_header
        self._max_body = max_body

    def feed(self, data):
        self._buffer += data

    def ready(self):
        """Whether a whole frame is there. Raises BadFrame for lengths over their bounds."""
        if len(self._buffer) < HEAD.size:
            return False
        return len(self._buffer) >= HEAD.size + sum(self._sizes())

    def _sizes(self):
        header_size, body_size = HEAD.unpack_from(self._buffer)
        if header_size > self._max_header or body_size > self._max_body:
            raise BadFrame("a frame of %d + %d bytes is over its bound" % (header_size, body_size))
        return header_size, body_size

    def next(self):
        """The next whole frame, or None. Raises BadFrame."""
        buffer = self._buffer
        if not self.ready():
            return None
        header_size, body_size = self._sizes()
        end = HEAD.size + header_size + body_size
        try:
            header = json.loads(bytes(buffer[HEAD.size : HEAD.size + header_size]).decode("utf-8"))
        except (ValueError, RecursionError):
            raise BadFrame("a frame's header is no JSON") from None
        if type(header) is not dict:
            raise BadFrame("a frame's header is no object")
        body = bytes(buffer[HEAD.size + header_size : end])
        del buffer[:end]
        return header, body
