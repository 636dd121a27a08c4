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

    def __iter__(self):
        """Every whole frame that is there. Raises BadFrame."""
        return iter(self.next, None)

    def next(self):
        """The next whole frame, or None. Raises BadFrame."""
        buffer = self._buffer
        if len(buffer) < HEAD.size:
            return None
        header_size, body_size = HEAD.unpack_from(buffer)
        if header_size > self._max_header or body_size > self._max_body:
            raise BadFrame("a frame of %d + %d bytes is over its bound" % (header_size, body_size))
        start = HEAD.size + header_size
        end = start + body_size
        if len(buffer) < end:
            return None
        try:
            header = json.loads(bytes(buffer[HEAD.size : start]).decode("utf-8"))
        except (ValueError, RecursionError):
            raise BadFrame("a frame's header is no JSON") from None
        if type(header) is not dict:
            raise BadFrame("a frame's header is no object")
        body = bytes(buffer[start:end])
        del buffer[:end]
        return header, body
