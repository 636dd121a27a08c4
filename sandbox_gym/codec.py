"""Frozen values of the contract as strict JSON and back, and their digests. No pickle, no class paths.

A dataclass is an object of its fields, bytes are {"utf8": text} or {"b64": text}, with a list of texts where they are
long, a float that JSON lacks is its name. Values of kinds that are shared are written once, in a table of their kind,
and by their number wherever they are held. What is read is checked against the types: an unknown key, a missing field
or a wrong type raises CodecError, never a guess. Knows neither databases nor nodes.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import math
import types
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from enum import StrEnum
from functools import cache
from typing import Final, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

from sandbox_gym.errors import SandboxGymError

T = TypeVar("T")
_Tables = Mapping[type, Sequence[object]]
"""Values that are shared, by kind."""
_Decode = Callable[[object, _Tables], object]
_ALONE: Final[_Tables] = {}
_NON_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


class CodecError(SandboxGymError):
    """Stored JSON is not the expected value: damaged, or written by a version with other fields."""


LONG: Final = 1 << 20
"""Longer bytes are written in pieces of this size, because encoding one JSON string lets no other thread run."""
_PIECEWISE: Final = json.JSONEncoder(separators=(",", ":"), allow_nan=False)


def encode(value: object, *, long: bool = False, shared: Sequence[type] = ()) -> bytes:
    """The value as ASCII JSON: dataclasses, tuples, mappings with string keys, enums, bytes and JSON's own scalars.

    `long`: it may hold long outputs, and is written piece by piece; slower for one that holds none. `shared`: kinds of
    dataclasses whose values, the very same ones, are held in several places; they hold none of each other.
    """
    form = _plain(value, {}) if not shared else _with_tables(value, shared)
    if long:
        return b"".join([part.encode("ascii") for part in _PIECEWISE.iterencode(form)])
    return json.dumps(form, separators=(",", ":"), allow_nan=False).encode("ascii")


def decode(kind: type[T], raw: bytes, *, shared: Sequence[type] = ()) -> T:
    """The value of dataclass `kind` that `encode` wrote with the same `shared`. Raises CodecError."""
    try:
        form: object = json.loads(raw)
    except (ValueError, RecursionError):
        raise CodecError(f"the stored {kind.__name__} is no JSON") from None
    tables = _ALONE
    if shared:
        whole = _exact(form, dict)
        if set(whole) != {"shared", "value"} or len(_exact(whole["shared"], list)) != len(shared):
            raise CodecError(f"a {kind.__name__} with its tables was expected")
        tables = {
            each: [_decoder(cast(Hashable, each))(item, _ALONE) for item in _exact(values, list)]
            for each, values in zip(shared, whole["shared"], strict=True)
        }
        form = whole["value"]
    return cast(T, _decoder(cast(Hashable, kind))(form, tables))


def _with_tables(value: object, shared: Sequence[type]) -> object:
    places: dict[type, dict[int, tuple[int, object]]] = {kind: {} for kind in shared}
    form = _plain(value, places)
    return {"shared": [[_plain(one, {}) for _, one in held.values()] for held in places.values()], "value": form}


def _plain(value: object, places: dict[type, dict[int, tuple[int, object]]]) -> object:
    """`places`: by kind, the number of each shared value and the value, by its identity."""
    if isinstance(value, StrEnum):
        return value.value
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else repr(value)
    if isinstance(value, bytes):
        return _plain_bytes(value)
    if isinstance(value, tuple):
        return [_plain(item, places) for item in value]
    if isinstance(value, Mapping):
        return {str(key): _plain(item, places) for key, item in value.items()}
    if type(value) in places:
        held = places[type(value)]
        return held.setdefault(id(value), (len(held), value))[0]
    if is_dataclass(value):
        return {name: _plain(getattr(value, name), places) for name, _ in _fields(cast(Hashable, type(value)))}
    raise TypeError(f"{type(value).__name__} has no JSON form here")


def _plain_bytes(value: bytes) -> dict[str, str | list[str]]:
    try:
        text = value.decode("utf-8")
    except UnicodeDecodeError:
        if len(value) <= LONG:
            return {"b64": base64.b64encode(value).decode("ascii")}
        pieces = (value[start : start + LONG] for start in range(0, len(value), LONG))
        return {"b64": [base64.b64encode(piece).decode("ascii") for piece in pieces]}
    if len(text) <= LONG:
        return {"utf8": text}
    return {"utf8": [text[start : start + LONG] for start in range(0, len(text), LONG)]}


@cache
def _decoder(hint: Hashable) -> _Decode:
    """What reads a value of type `hint`."""
    if hint is float:
        return _read_float
    if hint is bytes:
        return _read_bytes
    if hint in (int, str, bool, type(None)):
        return lambda value, _: _exact(value, cast(type, hint))
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Literal:
        return lambda value, _: _one_of(value, arguments)
    if origin in (Union, types.UnionType):
        return _union_decoder(arguments)
    if origin is tuple and len(arguments) == 2 and arguments[1] is Ellipsis:
        item = _decoder(arguments[0])
        return lambda value, shared: tuple(item(each, shared) for each in _exact(value, list))
    if origin is not None and issubclass(origin, Mapping) and arguments[0] is str:
        entry = _decoder(arguments[1])
        return lambda value, shared: {key: entry(each, shared) for key, each in _exact(value, dict).items()}
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return lambda value, _: hint(str(_one_of(value, tuple(member.value for member in hint))))
    if isinstance(hint, type) and is_dataclass(hint):
        return _dataclass_decoder(hint)
    raise TypeError(f"no JSON form for {hint!r}")


def _exact(value: object, kind: type[T]) -> T:
    if type(value) is not kind:
        raise CodecError(f"a {kind.__name__} was expected, not a {type(value).__name__}")
    return value


def _one_of(value: object, allowed: tuple[object, ...]) -> object:
    if not isinstance(value, str) or value not in allowed:
        raise CodecError(f"one of {allowed} was expected")
    return value


def _read_float(value: object, _: _Tables) -> float:
    if isinstance(value, str) and value in _NON_FINITE:
        return _NON_FINITE[value]
    return float(value) if type(value) is int else _exact(value, float)


def _read_bytes(value: object, _: _Tables) -> bytes:
    form = _exact(value, dict)
    found = next(iter(form.values()), None) if len(form) == 1 else None
    given = found if isinstance(found, list) else [found]
    pieces = [piece for piece in given if isinstance(piece, str)]
    if len(pieces) == len(given):
        try:
            if "utf8" in form:
                return b"".join(piece.encode("utf-8") for piece in pieces)
            if "b64" in form:
                return b"".join(base64.b64decode(piece, validate=True) for piece in pieces)
        except (UnicodeEncodeError, ValueError, binascii.Error):
            pass  # reported below, as every other malformed form
    raise CodecError("malformed bytes")


def _union_decoder(members: tuple[object, ...]) -> _Decode:
    """None or a value, or a text or one of several dataclasses that are told apart by their fields."""
    some = [member for member in members if member is not type(None)]
    optional = len(some) < len(members)
    classes = [member for member in some if isinstance(member, type) and is_dataclass(member)]
    may_be_text = str in some and len(classes) == len(some) - 1
    if len(some) > 1 and len(classes) < len(some) and not may_be_text:
        raise TypeError(f"can't tell {members} apart")

    def read(value: object, shared: _Tables) -> object:
        if value is None and optional:
            return None
        if len(some) == 1:
            return _decoder(some[0])(value, shared)
        if may_be_text and isinstance(value, str):
            return value
        keys = set(_exact(value, dict))
        for kind in classes:
            if keys <= {field.name for field in fields(kind)}:
                return _decoder(kind)(value, shared)
        raise CodecError(f"the keys {sorted(keys)[:5]} belong to none of {[kind.__name__ for kind in classes]}")

    return read


def _dataclass_decoder(kind: type) -> _Decode:
    hints = get_type_hints(kind)
    readers = {field.name: _decoder(hints[field.name]) for field in fields(kind)}
    required = {field.name for field in fields(kind) if _required(field)}

    def read(value: object, shared: _Tables) -> object:
        if kind in shared:
            return _numbered(shared[kind], value)
        form = _exact(value, dict)
        unknown, missing = set(form) - set(readers), required - set(form)
        if unknown or missing:
            what = f"unknown {sorted(unknown)}" if unknown else f"missing {sorted(missing)}"
            raise CodecError(f"{kind.__name__}: {what[:200]}")
        try:
            return kind(**{name: readers[name](item, shared) for name, item in form.items()})
        except CodecError as error:
            raise CodecError(f"{kind.__name__}: {error}") from None
        except ValueError as error:  # a dataclass that checks its own values
            raise CodecError(str(error)) from None

    return read


def _numbered(table: Sequence[object], number: object) -> object:
    place = _exact(number, int)
    if not 0 <= place < len(table):
        raise CodecError(f"value {place} of a table of {len(table)} was asked for")
    return table[place]


def _required(field: Field[object]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


@cache
def _fields(kind: type) -> tuple[tuple[str, object], ...]:
    """Names and defaults of a dataclass's fields; MISSING, which nothing equals, for a field without a default."""
    made = ((field, field.default_factory) for field in fields(kind))
    return tuple((field.name, field.default if make is MISSING else make()) for field, make in made)


def digest(value: object) -> str:
    """SHA-256 of a value in hex. Equal values have equal digests; mappings count by content, not by order.

    A field with its default value is left out, so that a field added by a later version changes no existing digest.

    A list counts as a tuple. Raises TypeError for what `encode` doesn't take.
    """
    return _digest(value, {}).hex()


def _digest(value: object, known: dict[int, bytes]) -> bytes:
    """A Merkle tree of the value, which hashes a program once that a hundred runs share."""
    if id(value) in known:
        return known[id(value)]
    if isinstance(value, bytes):
        return hashlib.sha256(b"b" + value).digest()
    if isinstance(value, str) and not isinstance(value, StrEnum):
        return hashlib.sha256(b"s" + value.encode("utf-8", "surrogatepass")).digest()
    if isinstance(value, tuple | list):
        parts = [_digest(item, known) for item in value]
        mark = b"t"
    elif isinstance(value, Mapping):
        pairs = sorted((_digest(str(key), known), _digest(item, known)) for key, item in value.items())
        parts = [part for pair in pairs for part in pair]
        mark = b"m"
    elif is_dataclass(value):
        fields = ((name, getattr(value, name), default) for name, default in _fields(cast(Hashable, type(value))))
        parts = [
            part for name, item, default in fields if item != default for part in (name.encode(), _digest(item, known))
        ]
        mark = b"d" + type(value).__name__.encode()
    else:
        return hashlib.sha256(b"j" + json.dumps(_plain(value, {})).encode("ascii")).digest()
    result = hashlib.sha256(mark + b"\0" + b"\0".join(parts)).digest()
    if is_dataclass(value):
        known[id(value)] = result  # alive as long as the root, so its id is not reused
    return result
