"""Which values of the library a program can change."""

import enum
import types

HEAP_TYPE = 1 << 9
"""A class whose attributes can be changed."""
CONTAINERS = (list, dict, set, bytearray)


def kinds_of(values):
    """(classes that can be changed, functions, containers) among these."""
    classes = [value for value in values if isinstance(value, type) and value.__flags__ & HEAP_TYPE]
    functions = [value for value in values if type(value) is types.FunctionType]
    return classes, functions, [value for value in values if type(value) in CONTAINERS]


def has_attributes(value):
    cls = type(value)
    heap = cls.__flags__ & HEAP_TYPE and not issubclass(cls, (types.ModuleType, type, enum.Enum))
    return bool(heap) and type(getattr(value, "__dict__", None)) is dict


def inside(function):
    kwdefaults, attributes = function.__kwdefaults__, function.__dict__
    return (
        function.__code__,
        function.__defaults__,
        dict(kwdefaults) if kwdefaults else None,
        dict(attributes) if attributes else None,
    )
