"""The judge's side of function calls: writes requests, rebuilds replies as exact builtin values. Trusts nothing.

guest/protocol/values.py defines the wire form; a test compares the two.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Final, TypeVar

from sandbox_gym.verifiers.bounded import Bounds, TooMuch, loads

MAX_MESSAGE = 16 << 20
REPLY: Final = Bounds(size_bytes=MAX_MESSAGE, fractions=False)
"""A value of the guest's 150 levels takes at most three brackets each; a float takes three parts."""
MAX_COLLISIONS = 100
"""Keys of one set or dict that may share their hash with another."""
MAX_RATIONAL_CHARS = 1 << 13
"""Of each part: reducing it takes quadratic time."""
_SMALL = 1 << 53
T = TypeVar("T")


class BadReply(Exception):
    """A malformed reply: too long, no JSON, or of another form. The candidate's fault."""


def frame_call(args: Sequence[object], kwargs: Mapping[str, object] | None = None, *, exact: str = "") -> bytes:
    """A framed request that calls the entry point with builtin values. `exact`: the function to call instead, whose
    value shall not come back as a builtin that it only resembles. Raises TypeError for other arguments."""
    named = {name: encode(arg) for name, arg in (kwargs or {}).items()}
    request = {"args": [encode(arg) for arg in args], "kwargs": named, **({"exact": exact} if exact else {})}
    body = json.dumps(request, separators=(",", ":")).encode("ascii")
    return len(body).to_bytes(4, "big") + body


_TAGS: Final[Mapping[type, str]] = {list: "l", tuple: "t", set: "s", frozenset: "fs"}


def encode(value: object) -> object:
    """The wire form of what a row's inputs hold: JSON's values and literals."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if -_SMALL < value < _SMALL else ["i", hex(value)]
    if isinstance(value, float):
        return ["f", "nan" if value != value else str(value) if value in (float("inf"), -float("inf")) else value.hex()]
    if isinstance(value, dict):
        return ["d", [[encode(key), encode(item)] for key, item in value.items()]]
    if isinstance(value, bytes):
        return ["b", base64.b64encode(value).decode("ascii")]
    if isinstance(value, list | tuple) or (isinstance(value, set | frozenset) and len(value) < 2):
        return [_TAGS[type(value)], [encode(item) for item in value]]
    raise TypeError(f"a {type(value).__name__} is no literal, or its items have another order elsewhere")


def parse_reply(channel: bytes) -> dict[str, object]:
    """The one reply in `channel`: {"value": V}, {"error": {...}} or {"bad_value": text}. Raises BadReply."""
    if len(channel) < 4:
        raise BadReply("the function gave no answer")
    if int.from_bytes(channel[:4], "big") != len(channel) - 4:
        raise BadReply("the answer's length is not what it says")
    return parse_body(channel[4:])


def bodies_of(channel: bytes) -> Iterator[bytes]:
    """The texts of replies that follow each other."""
    start = 0
    while start < len(channel):
        size = int.from_bytes(channel[start : start + 4], "big")
        yield channel[start + 4 : start + 4 + size]
        start += 4 + size


def parse_body(body: bytes) -> dict[str, object]:
    """One reply. Raises BadReply."""
    try:
        reply = loads(body, REPLY)
    except TooMuch as error:
        raise BadReply(f"the answer {error}") from None
    except ValueError:
        raise BadReply("the answer is no JSON") from None
    if not isinstance(reply, dict):
        raise BadReply("the answer is no object")
    _check_shape(reply)
    return reply


def _check_shape(reply: dict[str, object]) -> None:
    """Exactly one of value, error and bad_value, texts where texts belong. Raises BadReply."""
    keys = set(reply)
    if keys == {"value"} or (keys == {"bad_value"} and isinstance(reply["bad_value"], str)):
        return
    error = reply.get("error")
    if keys == {"error"} and isinstance(error, dict):
        names = error.get("builtins", [])
        texts = [error.get("type"), error.get("message"), *(names if isinstance(names, list) else [None])]
        if error.keys() <= {"type", "message", "builtins"} and all(isinstance(text, str) for text in texts):
            return
    raise BadReply("the answer is neither a value nor an error")


_BUILD = {"l": list, "t": tuple}
_HASH_AT_ONCE: Final = 1 << 14


def decode(wire: object) -> object:
    """The value of a wire form. Raises BadReply."""
    if wire is None or type(wire) in (bool, str, int):
        return wire
    if not isinstance(wire, list) or len(wire) < 2 or not isinstance(wire[0], str):
        raise BadReply("malformed value")
    try:
        return _decode_tagged(wire[0], wire)
    except (ValueError, TypeError, ArithmeticError, IndexError, binascii.Error) as error:
        raise BadReply(f"malformed value: {str(error)[:100]}") from None


def _decode_tagged(tag: str, wire: list[object]) -> object:
    content = wire[1]
    if tag in _BUILD and isinstance(content, list):
        built: object = _BUILD[tag]([decode(item) for item in content])
        return built
    if tag in ("s", "fs") and isinstance(content, list):
        members = set_of([decode(item) for item in content])
        return members if tag == "s" else frozenset(members)
    if tag == "d" and isinstance(content, list):
        return _decode_dict(content)
    if tag == "c" and isinstance(content, str) and isinstance(wire[2], str):
        return complex(_float(content), _float(wire[2]))
    if tag == "q" and isinstance(content, str) and isinstance(wire[2], str):
        if max(len(content), len(wire[2])) > MAX_RATIONAL_CHARS:
            raise BadReply("a rational number is too long")
        return Fraction(int(content, 16), int(wire[2], 16))
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


def set_of(items: Iterable[object]) -> set[object]:
    """The set of an answer's values. Raises BadReply for values made to collide, and TypeError."""
    members: set[object] = set()
    for some in _unlike(list(items), lambda item: item):
        members.update(some)
    return members


def _decode_dict(content: list[object]) -> dict[object, object]:
    pairs = []
    for pair in content:
        if not isinstance(pair, list) or len(pair) != 2:
            raise BadReply("malformed value")
        pairs.append((decode(pair[0]), decode(pair[1])))
    made: dict[object, object] = {}
    for some in _unlike(pairs, lambda pair: pair[0]):
        made.update(some)
    return made


def _unlike(items: Sequence[T], key: Callable[[T], object]) -> Iterator[Sequence[T]]:
    """Builds keys bit by bit, since hashing may be slow and other threads need their turn. Raises BadReply for keys
    made to collide: a set of multiples of 2**61 - 1 takes quadratic time to build."""
    hashes: set[int] = set()
    for start in range(0, len(items), _HASH_AT_ONCE):
        some = items[start : start + _HASH_AT_ONCE]
        hashes.update([hash(key(item)) for item in some])
        if start + len(some) - len(hashes) > MAX_COLLISIONS:
            raise BadReply("the answer's keys collide")
        yield some


def _float(text: str) -> float:
    return float(text) if text in ("nan", "inf", "-inf") else float.fromhex(text)
