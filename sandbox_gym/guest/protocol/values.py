"""Python values as strict JSON and back: exact builtin types only, bounded in depth, no class paths.

Wire form: null, booleans, strings and integers below 2**53 stand for themselves; every other value is a tagged list:
["i", hex] big integer, ["f", hex | "nan" | "inf" | "-inf"] float, ["c", float, float] complex, ["b", base64] bytes,
["B", base64] bytearray, ["l"|"t"|"s"|"fs", [items]] list, tuple, set, frozenset, ["d", [[key, value], ...]] dict,
["r", start, stop, step] range, ["q", hex, hex] the numerator and denominator of a rational number (from
the box only).
"""

import base64
import numbers
from collections import abc

MAX_DEPTH = 150
MAX_RATIONAL_BITS = 1 << 15
_SMALL = 1 << 53


class CannotCross(Exception):
    """A value that does not cross between boxes, or a malformed one on the wire."""


def float_text(x):
    """Every bit of a float as a text; all NaNs are one."""
    if x != x:
        return "nan"
    if x in (float("inf"), float("-inf")):
        return "inf" if x > 0 else "-inf"
    return float.hex(x)


def float_of(text):
    """The float of such a text. Raises CannotCross, or ValueError for a text that is no float's."""
    if type(text) is not str:
        raise CannotCross("malformed float")
    return float(text) if text in ("nan", "inf", "-inf") else float.fromhex(text)


def encode(value, depth=0, exact=False):
    """The wire form of `value`. Subclasses of builtins cross as the plain builtin they hold; numpy scalars and arrays
    cross as `.item()` and `.tolist()`; what is no builtin, but a number (Fraction, Decimal, sympy's), a sequence, a
    dict's view or a mapping, as that; none of them do where `exact`. Raises CannotCross."""
    if depth > MAX_DEPTH:
        raise CannotCross("nested deeper than %d" % MAX_DEPTH)
    kind = type(value)
    if value is None or value is True or value is False or kind is str:
        return value
    if kind is int:
        return value if -_SMALL < value < _SMALL else ["i", hex(value)]
    if kind is float:
        return ["f", float_text(value)]
    if kind is list:
        return ["l", [encode(item, depth + 1, exact) for item in value]]
    if kind is tuple:
        return ["t", [encode(item, depth + 1, exact) for item in value]]
    if kind is dict:
        return ["d", [[encode(k, depth + 1, exact), encode(v, depth + 1, exact)] for k, v in value.items()]]
    return _encode_rarer(value, kind, depth, exact)


def _encode_rarer(value, kind, depth, exact):
    if kind is set or kind is frozenset:
        return ["s" if kind is set else "fs", [encode(item, depth + 1, exact) for item in value]]
    if kind is bytes or kind is bytearray:
        return ["b" if kind is bytes else "B", base64.b64encode(value).decode("ascii")]
    if kind is complex:
        return ["c", float_text(value.real), float_text(value.imag)]
    if kind is range:
        return ["r"] + [encode(x, depth + 1, exact) for x in (value.start, value.stop, value.step)]
    if exact:
        raise _no_builtin(kind)
    return _encode_subclass(value, kind, depth)


def _encode_subclass(value, kind, depth):
    mro = kind.__mro__
    for base, plain in (
        (int, lambda v: int.__add__(v, 0)),
        (float, lambda v: float.__add__(v, 0.0)),
        (str, lambda v: str.__str__(v)),
        (list, lambda v: list(list.__iter__(v))),
        (tuple, lambda v: tuple(tuple.__iter__(v))),
        (dict, lambda v: dict(dict.items(v))),
        (set, lambda v: set(set.__iter__(v))),
    ):
        if base in mro:
            copy = plain(value)
            if type(copy) is not base:
                break
            return encode(copy, depth + 1)
    if kind.__module__ == "numpy" and hasattr(value, "tolist"):
        return encode(value.tolist(), depth + 1)
    if isinstance(value, numbers.Number):
        return _encode_number(value)
    if isinstance(value, (abc.Sequence, abc.MappingView)) or (kind.__module__, kind.__name__) == ("array", "array"):
        return encode(list(value), depth + 1)
    if isinstance(value, abc.Mapping):
        return encode(dict(value), depth + 1)
    raise _no_builtin(kind)


def _no_builtin(kind):
    return CannotCross("a %s.%s is no builtin value" % (kind.__module__, kind.__qualname__))


def _encode_number(value):
    """A rational number or a finite Decimal by its exact value, another one as a float."""
    if isinstance(value, numbers.Rational):
        ratio = int(value.numerator), int(value.denominator)
    elif hasattr(value, "adjusted") and value.is_finite() and abs(value.adjusted()) < MAX_RATIONAL_BITS // 4:
        ratio = value.as_integer_ratio()
    else:
        return ["f", float_text(float(value))]
    if ratio[1] == 1:
        return encode(ratio[0])
    if max(number.bit_length() for number in ratio) > MAX_RATIONAL_BITS:
        raise CannotCross("a %s of over %d bits" % (type(value).__name__, MAX_RATIONAL_BITS))
    return ["q", hex(ratio[0]), hex(ratio[1])]


def decode(wire, depth=0):
    """The value of a wire form. Raises CannotCross for anything else."""
    if depth > 2 * MAX_DEPTH:
        raise CannotCross("nested deeper than %d" % MAX_DEPTH)
    kind = type(wire)
    if wire is None or kind is bool or kind is str or kind is int:
        return wire
    if kind is not list or not wire or type(wire[0]) is not str:
        raise CannotCross("malformed value on the wire")
    try:
        return _decode_tagged(wire, depth)
    except CannotCross:
        raise
    except (ValueError, TypeError, IndexError, OverflowError) as error:
        raise CannotCross("malformed value on the wire: %s" % error) from None


_BUILD = {"l": list, "t": tuple, "s": set, "fs": frozenset}


def _decode_tagged(wire, depth):
    tag = wire[0]
    if tag in _BUILD:
        return _BUILD[tag]([decode(item, depth + 1) for item in wire[1]])
    if tag == "d":
        return {decode(k, depth + 1): decode(v, depth + 1) for k, v in wire[1]}
    if tag == "f":
        return float_of(wire[1])
    if tag == "i":
        return int(wire[1], 16)
    if tag == "b" or tag == "B":
        data = base64.b64decode(wire[1], validate=True)
        return data if tag == "b" else bytearray(data)
    if tag == "c":
        return complex(float_of(wire[1]), float_of(wire[2]))
    if tag == "r":
        return range(*[decode(x, depth + 1) for x in wire[1:4]])
    raise CannotCross("unknown tag on the wire")
