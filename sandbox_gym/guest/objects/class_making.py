"""Classifies classes and makes new ones: enum, namedtuple, dataclass, exception or plain; from names and fields."""

import builtins
import collections
import dataclasses
import enum
import keyword
import re
import sys

from .kinds import CannotCross

MAX_NAMES = 500
STDLIB_ERRORS = {
    "json.decoder": ("JSONDecodeError",), "decimal": ("DecimalException", "InvalidOperation", "DivisionByZero"),
    "statistics": ("StatisticsError",), "binascii": ("Error", "Incomplete"), "zlib": ("error",), "struct": ("error",),
    "re": ("error",), "queue": ("Empty", "Full"), "subprocess": ("CalledProcessError", "TimeoutExpired"),
    "asyncio.exceptions": ("CancelledError", "InvalidStateError", "QueueEmpty", "QueueFull", "TimeoutError"),
    "configparser": ("Error", "NoSectionError", "NoOptionError", "ParsingError"), "csv": ("Error",), "_csv": ("Error",),
    "ipaddress": ("AddressValueError", "NetmaskValueError"), "zoneinfo._common": ("ZoneInfoNotFoundError",),
    "concurrent.futures._base": ("CancelledError", "TimeoutError"), "xml.etree.ElementTree": ("ParseError",),
    "dataclasses": ("FrozenInstanceError",), "numpy.linalg": ("LinAlgError",), "numpy.exceptions": ("AxisError",),
    "contextvars": (), "shutil": ("Error", "SameFileError"), "urllib.error": ("URLError",), "graphlib": ("CycleError",),
    "sqlite3": ("Error", "DatabaseError", "IntegrityError", "OperationalError", "ProgrammingError"),
    "socket": ("gaierror", "herror"), "unicodedata": (), "string": (), "copy": ("Error",), "pickle": ("PicklingError",),
}  # fmt: skip
"""Exceptions of the standard library that cross as themselves. A test runner's are not among them: an answer could
skip."""
_OPERATORS = (
    "__init__ __call__ __len__ __length_hint__ __iter__ __next__ __reversed__ __getitem__ __setitem__ __delitem__"
    " __contains__ __enter__ __exit__ __eq__ __ne__ __lt__ __le__ __gt__ __ge__ __hash__ __bool__ __str__ __repr__"
    " __format__ __int__ __float__ __index__ __complex__ __neg__ __pos__ __abs__ __invert__ __round__ __trunc__"
    " __floor__ __ceil__ __add__ __sub__ __mul__ __matmul__ __truediv__ __floordiv__ __mod__ __divmod__ __pow__"
    " __lshift__ __rshift__ __and__ __or__ __xor__ __radd__ __rsub__ __rmul__ __rmatmul__ __rtruediv__ __rfloordiv__"
    " __rmod__ __rpow__ __rand__ __ror__ __rxor__ __iadd__ __isub__ __imul__ __ior__ __iand__ __ixor__ __missing__"
    " __post_init__ __copy__ __deepcopy__ __fspath__ __bytes__ __dir__"
).split()
_DECIDES = frozenset(_OPERATORS) - {"__init__", "__post_init__", "__str__", "__repr__", "__format__"}
"""Operators whose results do not follow from an instance's fields, where its class defines them."""
_DYNAMIC = frozenset(("__getattr__", "__getattribute__", "__setattr__", "__delattr__", "__get__", "__set__"))
"""A class that defines one of these computes its attributes; those of a frozen dataclass are generated and do not
count."""
_OF_CLASSES = (
    "__get__", "__set__", "__delete__", "__set_name__", "__init_subclass__", "__class_getitem__", "__subclasshook__"
)  # fmt: skip
PLAIN_BASES = frozenset(("object", "Generic", "Protocol", "ABC", "Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"))
_WHAT = ("plain", "enum", "namedtuple", "dataclass", "exception")


def stdlib_error(module, name):
    """The exception of that name, if it may cross and its module can be imported; else None."""
    if name not in STDLIB_ERRORS.get(module, ()):
        return None
    try:
        __import__(module)
    except ImportError:
        return None
    return getattr(sys.modules[module], name, None)


def builtin_error(name):
    found = getattr(builtins, name, None) if type(name) is str else None
    return found if isinstance(found, type) and issubclass(found, BaseException) else None


def is_namedtuple(cls):
    return tuple in cls.__mro__ and type(getattr(cls, "_fields", None)) is tuple


def compares_by_fields(cls):
    """Whether a class is a dataclass with generated comparisons, so that instances with equal fields are equal."""
    parameters = cls.__dict__.get("__dataclass_params__")
    if parameters is None or not parameters.eq:
        return False
    bases = [base for base in cls.__mro__ if base.__module__ != "builtins" and base.__name__ not in PLAIN_BASES]
    return all(_is_generated(item) for base in bases for name, item in vars(base).items() if name in _DECIDES)


def is_dynamic(cls):
    return any(not _is_generated(item) for name, item in vars(cls).items() if name in _DYNAMIC)


def _is_generated(function):
    code = getattr(function, "__code__", None)
    return code is None or code.co_filename in ("<string>", dataclasses.__file__, enum.__file__, collections.__file__)


def check_description(description):
    """Raises CannotCross for a description with names such as `_x_` or `__eq__`, which would set operators."""
    names = list(description.get("fields", ()))
    if description["what"] == "enum":
        names += [name for name, _ in description["plain"]]
    if description["what"] not in _WHAT or any(name.startswith("_") and name.endswith("_") for name in names):
        raise CannotCross("malformed class")


def is_more(cls):
    """Whether a class means more than what stands for it on the other end: its own operators beside names and fields,
    or what it does to classes of the test."""
    own = [item for base in cls.__mro__ if base.__module__ == cls.__module__ for item in vars(base).items()]
    names = _OF_CLASSES if what(cls) == "plain" else _OPERATORS if what(cls) != "exception" else ()
    protocol = any(name == "_is_protocol" and item is True for name, item in own)
    return protocol or any(
        name in names and not _is_generated(getattr(item, "__func__", item))
        for name, item in own
        if not name.endswith("init__")
    )


def constants_of(cls, description, reader):
    """The constants of a class that is made here, but for names that it has."""
    plain = [(name, form) for name, form in description["plain"] if not (name.startswith("_") or hasattr(cls, name))]
    return {name: reader.value(form) for name, form in plain if is_name(name)}


def what(cls):
    if issubclass(cls, BaseException):
        return "exception"
    if issubclass(cls, enum.Enum):
        return "enum"
    if is_namedtuple(cls):
        return "namedtuple"
    return "dataclass" if compares_by_fields(cls) else "plain"


def is_enum(cls, name):
    base = getattr(enum, name, None)
    return base is not None and issubclass(cls, base)


def custom(cls, name):
    owner = next((base for base in cls.__mro__ if name in vars(base)), object)
    return owner is not object


def members(cls, module, writer):
    """(methods, properties, [[name, form]] of plain class attributes) that a class and its own bases define."""
    methods, properties, plain = [], [], []
    for base in cls.__mro__:
        if base.__module__ != module:
            continue
        for name, item in vars(base).items():
            if name in methods or name in properties or not is_name(name) or isinstance(item, enum.Enum):
                continue
            if issubclass(cls, enum.Enum) and name != "_missing_" and re.fullmatch("_[a-z0-9].*_", name):
                continue  # what an enum works by: another's would ask for a class that is not told yet
            if callable(item) or isinstance(item, (staticmethod, classmethod)):
                made = what(cls) in ("enum", "namedtuple", "dataclass") and name in _OPERATORS and _is_generated(item)
                if (name in _OPERATORS and not made) or not name.startswith("__"):
                    methods.append(name)
            elif isinstance(item, property) or type(item).__name__ == "cached_property":
                properties.append(name)
            elif not name.startswith("__") and type(item) in (int, str, float, bool, type(None), tuple):
                plain.append([name, writer.form(item)])
    return methods[:MAX_NAMES], properties[:MAX_NAMES], plain[:MAX_NAMES]


def is_name(name):
    return type(name) is str and name.isidentifier() and not keyword.iskeyword(name) and len(name) <= 200


def new_class(name, bases, body):
    """A class of these bases; of the first alone where they do not combine."""
    wanted = [base for base in bases if base is not object]
    least = [base for base in wanted if not any(other is not base and issubclass(other, base) for other in wanted)]
    for tried in (tuple(least), tuple(least[:1])):
        try:
            return type(tried[0] if tried else object)(name, tried, dict(body))
        except TypeError:
            continue
    raise CannotCross("a class that can't be made")


def special_class(description, reader):
    """An enum, a namedtuple or a dataclass from its names and values; None for another class."""
    what, name = description["what"], description["name"]
    if what == "enum":
        base = getattr(enum, description["type"], enum.Enum) if description["type"] in PLAIN_BASES else enum.Enum
        members = [(member, reader.value(form)) for member, form in description["plain"]]
        if any(hasattr(type(value), "__get__") for _, value in members):
            raise CannotCross("a member of an enum that would be a method")
        mixin = {"str": str, "int": int, "float": float}.get(description.get("mixin"))
        return base(name, members, type=mixin)
    if what == "namedtuple":
        defaults = [reader.value(form) for _, _, form in description["defaults"]]
        return collections.namedtuple(name, description["fields"], defaults=defaults)
    if what == "dataclass":
        order, frozen, hashes = description["flags"]
        fields = [_field(field, how, form, reader) for field, how, form in description["defaults"]]
        return dataclasses.make_dataclass(
            name, fields, order=order is True, frozen=frozen is True, unsafe_hash=hashes is True and not frozen
        )
    return None


def default(field, writer):
    """[name, 0 for no default, 1 for a value, 2 for a factory; the form of the value or the factory]."""
    if field.default is not dataclasses.MISSING:
        return [field.name, 1, writer.form(field.default)]
    if field.default_factory is not dataclasses.MISSING:
        return [field.name, 2, writer.form(field.default_factory)]
    return [field.name, 0, None]


def _field(name, how, form, reader):
    if not is_name(name) or how not in (0, 1, 2):
        raise CannotCross("malformed field")
    if not how:
        return name
    value = reader.value(form)
    return (name, object, dataclasses.field(**{"default" if how == 1 else "default_factory": value}))


def forwarder(call, number, name):
    def method(*args, **kwargs):
        return call(number, name, args, kwargs)

    method.__name__ = name
    return method


def new_error(cls, arguments):
    """As `cls(*arguments)`, but only builtin code of its classes runs."""
    made = cls.__new__(cls, *arguments) if _builtin_new(cls) else BaseException.__new__(cls, *arguments)
    base = next(base for base in cls.__mro__ if base.__module__ == "builtins")
    try:
        base.__init__(made, *arguments)
    except (TypeError, ValueError):
        made.args = arguments
    return made


def _builtin_new(cls):
    owner = next(base for base in cls.__mro__ if "__new__" in vars(base))
    return owner.__module__ == "builtins"


def remote_text(error):
    """The text that the class's own __str__ made on the end that has the class."""
    try:
        return type(error).remote_text.__get__(error)
    except AttributeError:
        return BaseException.__str__(error)
