"""numpy arrays and scalars of numbers, texts and times as bytes; arrays of objects do not cross."""

import sys

from .kinds import CannotCross

_PLAIN = "biufcSUmM"


def numpy_parts(value):
    """(dtype, shape, bytes) of a numpy array or scalar whose items are plain; None for anything else."""
    numpy = sys.modules.get("numpy")
    if numpy is None or not (type(value) is numpy.ndarray or isinstance(value, numpy.generic)):
        return None
    dtype = value.dtype
    if dtype.kind not in _PLAIN or dtype.metadata or type(value).__module__.split(".")[0] != "numpy":
        return None
    return dtype.str, tuple(int(size) for size in value.shape), value.tobytes()


def is_array(value):
    return type(value) is sys.modules["numpy"].ndarray


def numpy_make(dtype, shape, data):
    """A new array. Raises CannotCross for malformed parts, and for an object dtype."""
    import numpy

    if type(dtype) is not str or type(data) is not bytes or len(dtype) > 40 or dtype[1:2] not in tuple(_PLAIN + "?"):
        raise CannotCross("malformed array")
    kind = numpy.dtype(dtype)
    count = 1
    for size in shape:
        if type(size) is not int or size < 0:
            raise CannotCross("malformed array")
        count *= size
    if kind.hasobject or kind.kind not in _PLAIN or kind.itemsize * count != len(data) or len(shape) > 32:
        raise CannotCross("malformed array")
    made = numpy.frombuffer(data, numpy.uint8) if kind.kind == "b" else None
    if made is not None:
        return (made != 0).reshape(shape)  # a byte other than 0 and 1 would be neither True nor False
    if not len(data):
        return numpy.empty(shape, kind)
    made = numpy.frombuffer(data, kind).reshape(shape).copy()
    if kind.kind == "U":
        made.tolist()  # raises ValueError for an invalid code point
    return made
