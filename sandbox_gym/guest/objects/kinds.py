"""Values that cross between the two ends of a dialogue by content: the parts of each kind, and how the receiver makes
the value from them. Owns the closed table of kinds; knows neither messages nor the classes of a row.

A kind is named by its class ("fractions.Fraction"). The name is only looked up in this table: no message has anything
else imported or resolved. Exact types only; graph_writer.py handles subclasses.
"""

import sys

from ..protocol.values import CannotCross


class TooMuch(CannotCross):
    """The value would cross if it were smaller or less deep, so this is no reason to run test and answer together."""


class Kind:
    """One kind of value. `parts(value)`: the values that make it up. `make(parts)`: the value, from its `types`; its
    class makes it unless a function is given.

    A mutable kind makes an empty value (`make(())`), and `fill(value, parts)` sets its content in place.
    """

    def __init__(self, name, parts, types=None, make=None, fill=None):
        self.name, self.parts, self.types, self.fill = name, parts, types, fill
        self.mutable = fill is not None
        self._make = make
        self.module, _, self._path = name.partition(".")
        self.keys_hash = name in ("builtins.set", "builtins.dict") or name.startswith("collections.")

    @property
    def cls(self):
        """The class; None where its module is not imported here."""
        found = sys.modules.get(self.module)
        return getattr(found, self._path, None) if self.module != "builtins" else _BUILTIN.get(self._path)

    def make(self, parts):
        """Raises CannotCross for parts of the wrong number or types."""
        if self.types is not None and not _fits(parts, self.types):
            raise CannotCross("malformed %s" % self.name)
        __import__(self.module)
        if self._make is not None:
            return self._make(*parts)
        return self.cls() if self.mutable else self.cls(*parts)


def _fits(parts, types):
    return len(parts) == len(types) and all(want is object or type(part) in want for part, want in zip(parts, types))


_BUILTIN = {
    "list": list, "dict": dict, "set": set, "bytearray": bytearray, "slice": slice, "memoryview": memoryview,
    "dict_keys": type({}.keys()), "dict_values": type({}.values()), "dict_items": type({}.items()),
    "ellipsis": type(...), "NotImplementedType": type(NotImplemented), "mappingproxy": type(type.__dict__),
    "SimpleNamespace": type(sys.implementation),
}  # fmt: skip
_INT, _STR, _TEXT, _NUMBER = (int,), (str,), (str, bytes), (int, float)
_MAYBE_STR = (str, type(None))


def _module(name):
    return __import__(name)


def _timezone(offset, name):
    timezone = _module("datetime").timezone
    return timezone(offset) if name is None else timezone(offset, name)


def _timezone_parts(value):
    arguments = value.__getinitargs__()
    return (arguments[0], arguments[1] if len(arguments) > 1 else None)


def _time(name):
    return lambda *parts: getattr(_module("datetime"), name)(*parts[:-1], fold=parts[-1])


def _time_parts(value):
    return (value.hour, value.minute, value.second, value.microsecond, value.tzinfo, value.fold)


def _replace(holder, items):
    holder.clear()
    holder.update(items)


def in_order(items, make):
    """(the set that `make` makes of a tuple's items, whether it gives them in this order): a set's order is that of its
    table, which its history made, and one of these histories mostly leads to it."""
    wanted, backwards = [id(item) for item in items], items[::-1]
    for history in (items, backwards, set(items), set(backwards)):
        made = make(history)
        if [id(item) for item in made] == wanted:
            return made, True
    return make(items), False


def _pairs(parts):
    """The parts. Raises CannotCross where one is no pair."""
    if not all(type(part) is tuple and len(part) == 2 for part in parts):
        raise CannotCross("malformed pairs")
    return parts


def _fill_list(value, parts):
    value[:] = parts


def _fill_dict(value, parts):
    _replace(value, _pairs(parts))


def _fill_set(value, parts):
    """Whether it has its items in their order."""

    def fill(items):
        _replace(value, items)
        return value

    return in_order(parts, fill)[1]


def _fill_bytearray(value, parts):
    if not _fits(parts, ((bytes,),)):
        raise CannotCross("malformed bytearray")
    value[:] = parts[0]


def _deque(*parts):
    limit = parts[0] if parts else None
    return _module("collections").deque((), limit if type(limit) is int else None)


def _fill_deque(value, parts):
    value.clear()
    value.extend(parts[1:])


def _fill_defaultdict(value, parts):
    if parts and callable(parts[0]):
        value.default_factory = parts[0]
    _replace(value, dict(_pairs(parts[1:])))


def _fill_counter(value, parts):
    value.clear()
    for key, count in _pairs(parts):
        dict.__setitem__(value, key, count)


def _fill_chain(value, parts):
    value.maps[:] = parts or [{}]


def _fill_namespace(value, parts):
    if not all(type(name) is str for name, _ in _pairs(parts)):
        raise CannotCross("malformed SimpleNamespace")
    _replace(vars(value), parts)


def _fill_array(value, parts):
    if not _fits(parts, ((str,), (tuple,))) or value.typecode != parts[0]:
        raise CannotCross("malformed array")
    value[:] = type(value)(parts[0], parts[1])


def _array(*parts):
    code = parts[0] if parts else "b"
    return _module("array").array(code if type(code) is str else "b")


def _fill_stream(value, parts):
    if len(parts) != 2 or type(parts[0]) not in _TEXT or type(parts[1]) is not int:
        raise CannotCross("malformed stream")
    value.seek(0)
    value.truncate()
    value.write(parts[0])
    value.seek(parts[1])


def _fill_random(value, parts):
    value.setstate(parts[0])


def _fill_data(value, parts):
    if len(parts) != 1:
        raise CannotCross("malformed wrapper")
    if type(value.data) is not type(parts[0]):
        raise CannotCross("malformed wrapper")
    value.data = parts[0]


def _partial(function, args, keywords):
    if function is type:  # partial(type, …) would make classes with any operators
        raise CannotCross("malformed partial")
    return _module("functools").partial(function, *args, **dict(_pairs(keywords)))


def _text(value):
    return (str(value),)


def _items(value):
    return tuple(value.items())


def _numbers_and_times():
    zoned = (_INT,) * 4 + (object, _INT)
    yield Kind("fractions.Fraction", lambda v: (v.numerator, v.denominator), (_INT, _INT))
    yield Kind("decimal.Decimal", _text, (_STR,))
    yield Kind("datetime.date", lambda v: (v.year, v.month, v.day), (_INT,) * 3)
    yield Kind("datetime.time", _time_parts, zoned, _time("time"))
    dated = (_INT,) * 3 + zoned
    yield Kind("datetime.datetime", lambda v: (v.year, v.month, v.day, *_time_parts(v)), dated, _time("datetime"))
    yield Kind("datetime.timedelta", lambda v: (v.days, v.seconds, v.microseconds), (_INT,) * 3)
    yield Kind("datetime.timezone", _timezone_parts, (object, _MAYBE_STR), _timezone)
    yield Kind("zoneinfo.ZoneInfo", lambda v: (v.key,), (_STR,))


def _immutable_builtins():
    yield Kind("builtins.slice", lambda v: (v.start, v.stop, v.step), (object,) * 3)
    yield Kind("builtins.memoryview", lambda v: (bytes(v),), ((bytes,),))
    yield Kind("builtins.dict_keys", tuple, make=lambda *p: dict.fromkeys(p).keys())
    yield Kind("builtins.dict_values", tuple, make=lambda *p: dict(enumerate(p)).values())
    yield Kind("builtins.dict_items", tuple, make=lambda *p: dict(_pairs(p)).items())
    yield Kind("builtins.ellipsis", lambda v: (), ())
    yield Kind("builtins.NotImplementedType", lambda v: (), ())
    yield Kind("builtins.mappingproxy", _items, make=lambda *p: type(type.__dict__)(dict(_pairs(p))))


def _immutable_classes():
    yield Kind("uuid.UUID", lambda v: (v.int,), (_INT,), lambda number: _module("uuid").UUID(int=number))
    for name in ("IPv4Address", "IPv6Address", "IPv4Network", "IPv6Network", "IPv4Interface", "IPv6Interface"):
        yield Kind("ipaddress." + name, _text, (_STR,))
    for name in ("PurePosixPath", "PosixPath", "PureWindowsPath"):
        yield Kind("pathlib." + name, _text, (_STR,))
    yield Kind("re.Pattern", lambda v: (v.pattern, v.flags), (_TEXT, _INT), lambda *p: _module("re").compile(*p))
    parts = (object, (tuple,), (tuple,))
    yield Kind("functools.partial", lambda v: (v.func, v.args, tuple(v.keywords.items())), parts, _partial)
    yield Kind("string.Template", lambda v: (v.template,), (_STR,))


def _mutable_kinds():
    yield Kind("builtins.list", tuple, fill=_fill_list)
    yield Kind("builtins.dict", _items, fill=_fill_dict)
    yield Kind("builtins.set", tuple, fill=_fill_set)
    yield Kind("builtins.bytearray", lambda v: (bytes(v),), fill=_fill_bytearray)
    yield Kind("builtins.SimpleNamespace", lambda v: tuple(vars(v).items()), fill=_fill_namespace)
    yield Kind("collections.deque", lambda v: (v.maxlen, *v), make=_deque, fill=_fill_deque)
    yield Kind("collections.OrderedDict", _items, fill=_fill_dict)
    yield Kind("collections.defaultdict", lambda v: (v.default_factory, *v.items()), fill=_fill_defaultdict)
    yield Kind("collections.Counter", _items, fill=_fill_counter)
    yield Kind("collections.ChainMap", lambda v: tuple(v.maps), fill=_fill_chain)
    for name in ("UserDict", "UserList"):
        yield Kind("collections." + name, lambda v: (v.data,), fill=_fill_data)
    text = lambda *_: _module("collections").UserString("")  # noqa: E731
    yield Kind("collections.UserString", lambda v: (v.data,), make=text, fill=_fill_data)
    yield Kind("array.array", lambda v: (v.typecode, tuple(v.tolist())), make=_array, fill=_fill_array)
    for name in ("StringIO", "BytesIO"):
        yield Kind("io." + name, lambda v: (v.getvalue(), v.tell()), fill=_fill_stream)
    yield Kind(
        "random.Random", lambda v: (v.getstate(),), make=lambda *_: _module("random").Random(0), fill=_fill_random
    )


KINDS = {
    kind.name: kind
    for kind in (*_numbers_and_times(), *_immutable_builtins(), *_immutable_classes(), *_mutable_kinds())
}
_of_class = {}


def kind_of(cls):
    """The kind whose values have exactly the class `cls`, or None."""
    if cls not in _of_class:
        found = next((kind for kind in KINDS.values() if kind.cls is cls), None)
        if len(_of_class) > 4096:
            _of_class.clear()
        _of_class[cls] = found
    return _of_class[cls]


def is_fixed(cls):
    """Whether values of exactly this class are of an immutable kind."""
    kind = kind_of(cls)
    return kind is not None and not kind.mutable
