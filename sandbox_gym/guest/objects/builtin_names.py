"""Builtin types and functions that a message may name: those that only compute, so that both ends use their own."""

import sys

from . import kinds

TYPES = {
    cls.__name__: cls
    for cls in (
        bool, bytearray, bytes, complex, dict, float, frozenset, int, list, memoryview, object, range, set, slice, str,
        tuple, type, type(None), enumerate, filter, map, reversed, zip, type(len), type(lambda: 0),
    )
}  # fmt: skip
"""Builtin types that a message may name, beside builtin exceptions and the classes of kinds."""


def type_name(cls):
    """The wire name of a builtin type or of a kind's class, or None."""
    if TYPES.get(getattr(cls, "__name__", None)) is cls:
        return cls.__name__
    kind = kinds.kind_of(cls)
    return kind.name if kind is not None else None


def named_type(name):
    """The class of that name; None where there is none."""
    if name in TYPES:
        return TYPES[name]
    kind = kinds.KINDS.get(name)
    if kind is None:
        return None
    __import__(kind.module)
    return kind.cls


_FUNCTIONS = {
    "builtins": frozenset(
        "abs all any ascii bin callable chr divmod format hash hex id isinstance issubclass iter len max min next oct"
        " ord pow repr round sorted sum".split()
    ),
    "math": None, "cmath": None, "_operator": None,
}  # fmt: skip
_OWNERS = (str, bytes, int, float, list, tuple, dict, set, frozenset)
_REACHING = frozenset(("call", "attrgetter", "itemgetter", "methodcaller", "setitem", "delitem"))


def function_name(value):
    """(module, name) of a builtin function that only computes, so that both ends may use their own; else None."""
    owner = getattr(value, "__objclass__", None)
    if type(value).__name__ == "method_descriptor" and owner in _OWNERS:
        return "builtins", "%s.%s" % (owner.__name__, value.__name__)
    if type(value) is type(len) and type(getattr(value, "__self__", None)) in (type(sys), type(None)):
        module, name = getattr(value, "__module__", ""), getattr(value, "__name__", "")
        if named_function(module, name) is value:
            return module, name
    return None


def named_function(module, name):
    """The function of that name; None for one that does more than compute."""
    if type(module) is not str or type(name) is not str:
        return None
    cls, _, method = name.partition(".")
    if module == "builtins" and method:
        found = getattr(TYPES.get(cls), method, None) if not method.startswith(("_", "format")) else None
        return found if type(found).__name__ == "method_descriptor" else None
    if module not in _FUNCTIONS or name in _REACHING or name.startswith("_"):
        return None
    if _FUNCTIONS[module] is not None and name not in _FUNCTIONS[module]:
        return None
    found = getattr(__import__(module), name, None)
    return found if type(found) is type(len) else None
