"""The judge's side of function calls: requests written, replies rebuilt as exact builtin values. Trusts nothing.

The wire form is drawn in the guest's values module; a test holds the two together.
"""

from __future__ import annotations

import base64
import binascii
import json

MAX_MESSAGE = 16 << 20
MAX_DEPTH = 700
_SMALL = 1 << 53


class BadReply(Exception):
    """The reply is none: too long, no JSON, or malformed. The candidate's doing."""


def frame_call(args: tuple[object, ...]) -> bytes:
    """A framed request that calls the entry point with JSON values."""
    body = json.dumps({"args": [encode(arg) for arg in args], "kwargs": {}}, separators=(",", ":")).encode("ascii")
    return len(body).to_bytes(4, "big") + body


def encode(value: object) -> object:
    """JSON values only: what a row's inputs hold."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if -_SMALL < value < _SMALL else ["i", hex(value)]
    if isinstance(value, float):
        return ["f", "nan" if value != value else str(value) if value in (float("inf"), -float("inf")) else value.hex()]
    if isinstance(value, list):
        return ["l", [encode(item) for item in value]]
    if isinstance(value, dict):
        return ["d", [[encode(key), encode(item)] for key, item in value.items()]]
    raise TypeError(f"{type(value).__name__} is no JSON value")


def parse_reply(channel: bytes) -> dict[str, object]:
    """The one reply in `channel`: {"value": V}, {"error": {...}} or {"bad_value": text}. Raises BadReply."""
    if len(channel) < 4:
        raise BadReply("the function gave no answer")
    body = channel[4:]
    if int.from_bytes(channel[:4], "big") != len(body) or len(body) > MAX_MESSAGE:
        raise BadReply("the answer's length is not what it says")
    if _depth(body) > MAX_DEPTH:
        raise BadReply("the answer nests too deeply")
    try:
        reply = json.loads(body.decode("utf-8"))
    except (ValueError, RecursionError):
        raise BadReply("the answer is no JSON") from None
    if not isinstance(reply, dict):
        raise BadReply("the answer is no object")
    return reply


def _depth(body: bytes) -> int:
    """Upper bound of the nesting, brackets in strings counted too; one pass over the bytes that matter."""
    depth = deepest = 0
    for byte in body.translate(None, delete=bytes(set(range(256)) - set(b"[]{}"))):
        depth += 1 if byte in b"[{" else -1
        deepest = max(deepest, depth)
    return deepest


_BUILD = {"l": list, "t": tuple, "s": set, "fs": frozenset}


def decode(wire: object) -> object:
    """The value of a wire form. Raises BadReply."""
    if wire is None or type(wire) in (bool, str, int):
        return wire
    if not isinstance(wire, list) or len(wire) < 2 or not isinstance(wire[0], str):
        raise BadReply("malformed value")
    try:
        return _decode_tagged(wire[0], wire)
    except (ValueError, TypeError, OverflowError, IndexError, binascii.Error) as error:
        raise BadReply(f"malformed value: {str(error)[:100]}") from None


def _decode_tagged(tag: str, wire: list[object]) -> object:
    content = wire[1]
    if tag in _BUILD and isinstance(content, list):
        built: object = _BUILD[tag]([decode(item) for item in content])
        return built
    if tag == "d" and isinstance(content, list):
        return {decode(pair[0]): decode(pair[1]) for pair in content}
    if tag == "c" and isinstance(content, str) and isinstance(wire[2], str):
        return complex(_float(content), _float(wire[2]))
    if tag == "r":
        start, stop, step = (int(str(decode(part))) for part in wire[1:4])
        return range(start, stop, step)
    if isinstance(content, str):
        if tag == "f":
            return _float(content)
        if tag == "i":
            return int(content, 16)
        if tag in ("b", "B"):
            data = base64.b64decode(content, validate=True)
            return data if tag == "b" else bytearray(data)
    raise BadReply("malformed value")


def _float(text: str) -> float:
    return float(text) if text in ("nan", "inf", "-inf") else float.fromhex(text)
