"""What a test may do with values of an answer: operators and builtins that take no longer than to read them.

Lengths, depths and collisions of the values are bounded by the wire (wire.py).
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from sandbox_gym.verifiers.bounded import MAX_PARTS
from sandbox_gym.verifiers.coding.functions.wire import bodies_of, decode, parse_body, set_of

MAX_CALLS: Final = 1000
_MAX_ITEMS: Final = 1_000_000
"""Of a literal that is a text or list times a number."""
_MAX_BITS: Final = 4096
"""Of an integer that is calculated with."""
_MAX_DIGITS: Final = 400
_MAX_READ: Final = 64 << 20
"""Bytes of replies, each as often as a test reads it."""


class AnswerRaised(Exception):
    """The call raised. `kind`: its class's name; `builtins`: the builtin classes that it is of."""

    def __init__(self, kind: str, message: str, builtins: frozenset[str]) -> None:
        super().__init__(message)
        self.kind, self.builtins = kind, builtins


class NoPlainValue(Exception):
    """The call gave no value that crosses, or one that is not calculated with here."""


class NotPlain(Exception):
    """The row's text is none that is evaluated here."""


class Replies:
    """What the calls gave, in their order. Values are built once, and never changed."""

    def __init__(self, channel: bytes) -> None:
        self._bodies = list(islice(bodies_of(channel), MAX_CALLS))
        self._values: dict[int, object] = {}
        self._left = _MAX_READ

    def value(self, index: int) -> object:
        """What a call returned. Raises AnswerRaised, NoPlainValue, BadReply."""
        body = self._bodies[index] if index < len(self._bodies) else b""
        self._left -= len(body)
        if not body or self._left < 0:
            raise NoPlainValue
        if index not in self._values:
            reply = parse_body(body)
            error = reply.get("error")
            if isinstance(error, dict):
                raise AnswerRaised(str(error["type"]), str(error["message"]), frozenset(error.get("builtins", ())))
            if "value" not in reply:
                raise NoPlainValue
            self._values[index] = decode(reply["value"])
        return self._values[index]


def real(value: Any) -> Any:
    """The value; a test that is run says what NaN means there (strict.py)."""
    if isinstance(value, float) and value != value:
        raise NoPlainValue
    return value


Evaluated = Callable[[Replies], Any]
"""Raises AnswerRaised, NoPlainValue, and what Python's operators raise of the values."""
NONE: Final = Replies(b"")


ARITHMETIC: Final[Mapping[type, Callable[..., Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
COMPARED: Final[Mapping[type, Callable[..., Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: lambda one, other: operator.lt(real(one), real(other)),
    ast.LtE: lambda one, other: operator.le(real(one), real(other)),
    ast.Gt: lambda one, other: operator.gt(real(one), real(other)),
    ast.GtE: lambda one, other: operator.ge(real(one), real(other)),
}
UNARY: Final[Mapping[type, Callable[..., Any]]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
CONSTANTS: Final[Mapping[str, float]] = {f"math.{name}": getattr(math, name) for name in ("e", "inf", "pi", "tau")}
TYPES: Final[Mapping[str, type]] = {
    one.__name__: one for one in (bool, bytes, complex, dict, float, frozenset, int, list, set, str, tuple)
}


def _of_scalar(function: Callable[..., Any]) -> Callable[..., Any]:
    def made(value: object) -> object:
        if not isinstance(value, str | type(None)) and not is_number(value):
            raise NoPlainValue
        result = function(value)
        if result != result:  # in lists, NaN equals that very NaN alone, and what crossed is another one
            raise NoPlainValue
        return result

    return made


def _listed(kind: Callable[..., Any]) -> Callable[..., Any]:
    """A set of several items has an order, which only its own process knows."""

    def made(*items: Any) -> object:
        if any(isinstance(one, set | frozenset) and len(one) > 1 for one in items):
            raise NoPlainValue
        return kind(*items)

    return made


def _rounded(value: object, ndigits: int | None = None) -> object:
    if not is_number(value) or (ndigits is not None and abs(ndigits) > _MAX_DIGITS):
        raise NoPlainValue
    return round(value, ndigits)  # type: ignore[call-overload]


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "abs": lambda value: real(abs(value)),
    "all": all,
    "any": any,
    "bool": bool,
    "float": _of_scalar(float),
    "frozenset": lambda *items: frozenset(set_of(*items)) if items else frozenset(),
    "int": _of_scalar(int),
    "isinstance": isinstance,
    "len": len,
    "list": _listed(list),
    "math.isclose": math.isclose,
    "max": max,
    "min": min,
    "round": _rounded,
    "set": lambda *items: set_of(*items) if items else set(),
    "sorted": sorted,
    "str": _of_scalar(str),
    "tuple": _listed(tuple),
    "type": lambda value: type(value),
}
"""What a test may ask of values beside operators."""


def constant(value: Any) -> Evaluated:
    return lambda _replies: value


def made(kind: Callable[..., Any], items: Sequence[Evaluated]) -> Evaluated:
    return lambda replies: kind([item(replies) for item in items])


def either(values: Sequence[Evaluated], is_or: bool) -> Evaluated:
    def value(replies: Replies) -> object:
        for one in values[:-1]:
            found = one(replies)
            if bool(found) is is_or:
                return found
        return values[-1](replies)

    return value


def bounded(how: ast.operator, left: Any, right: Any) -> object:
    """A product or power of literals. Raises NotPlain for a large one."""
    if isinstance(how, ast.Pow):
        if not isinstance(left, int) or not isinstance(right, int) or not 0 <= right * left.bit_length() <= _MAX_BITS:
            raise NotPlain
        return left**right
    for one, times in ((left, right), (right, left)):
        if isinstance(one, str | bytes | list | tuple):
            if not isinstance(times, int) or len(one) * times > _MAX_ITEMS:
                raise NotPlain
            return one * times
    if not is_number(left) or not is_number(right):
        raise NotPlain
    return left * right


def is_number(value: object) -> bool:
    """Whether arithmetic with it takes no time to speak of."""
    return isinstance(value, float | complex) or (isinstance(value, int) and value.bit_length() <= _MAX_BITS)


def within(one: object, many: Any) -> bool:
    return one in finite(many)


def finite(value: Any) -> Any:
    """A value of no more items than lists that cross may have."""
    if isinstance(value, range) or (isinstance(value, str | bytes | bytearray) and len(value) > MAX_PARTS):
        raise NoPlainValue
    return value


def unchangeable(value: object) -> object:
    """A value that nobody can change."""
    try:
        hash(value)
    except TypeError:
        raise NoPlainValue from None
    return value
