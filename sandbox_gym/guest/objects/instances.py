"""Reads and sets the fields, the builtin base and the text of instances without running code of their classes, but for
`complete`."""

import dis

from .forms import BASES, FIXED_BASES, NO_FIELDS
from .kinds import CannotCross


def as_base(value, base):
    """The plain builtin that an instance of a derived class holds."""
    if base is int:
        return int.__add__(value, 0)
    if base is float:
        return float.__add__(value, 0.0)
    if base is str:
        return "".join(str.__iter__(value))
    if base is complex:
        return complex.__add__(value, 0)
    if base is bytes:
        return bytes(bytes.__iter__(value))
    return base(base.__iter__(value))


def base_parts(value, base):
    return tuple(dict.items(value)) if base is dict else tuple(base.__iter__(value))


def set_base(value, parts):
    if isinstance(value, dict):
        dict.clear(value)
        dict.update(value, parts)
    elif isinstance(value, set):
        set.clear(value)
        set.update(value, parts)
    else:
        type_ = list if isinstance(value, list) else bytearray
        type_.__setitem__(value, slice(None), parts)


def builtin_of(value, kind):
    """The builtin that an instance of a derived class holds, where the receiver can't have that class; else None."""
    for base in (*FIXED_BASES, *BASES):
        if base in kind.__mro__:
            return as_base(value, base) if base in FIXED_BASES else base(base_parts(value, base))
    return None


def fields_of(value):
    """An instance's own attributes, without running its class's code. What a builtin exception stores beside its
    arguments follows from them and is left out."""
    fields = {}
    for cls in type(value).__mro__:
        if cls.__module__ == "builtins":
            continue
        for name, slot in vars(cls).items():
            if type(slot).__name__ == "member_descriptor" and name not in NO_FIELDS:
                try:
                    fields.setdefault(name, slot.__get__(value, type(value)))
                except AttributeError:
                    pass  # never set
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = {}
    fields.update((name, item) for name, item in dict.items(own) if type(name) is str)
    return fields


def set_fields(value, fields):
    """Make these the instance's attributes, without running its class's code."""
    try:
        own = object.__getattribute__(value, "__dict__")
    except AttributeError:
        own = None
    slots = {
        name: slot
        for cls in type(value).__mro__
        if cls.__module__ != "builtins"
        for name, slot in vars(cls).items()
        if type(slot).__name__ == "member_descriptor"
    }
    if own is not None:
        dict.clear(own)
    for name, item in fields.items():
        if name in slots:
            slots[name].__set__(value, item)
        elif own is not None:
            own[name] = item
        else:
            raise CannotCross("a field that the class has no room for")


def complete(values, known):
    """Give instances that came by their fields what else the `__init__` of their class here makes: an answer's version
    of a prompt's class may have more fields. Runs that `__init__`, on another instance. `known`: by class, the names
    of attributes that it sets."""
    for value in values * 2:  # one may need another's
        cls = type(value)
        if cls not in known:
            code = getattr(cls.__init__, "__code__", None)
            steps = dis.get_instructions(code) if code else ()
            known[cls] = {step.argval for step in steps if step.opname == "STORE_ATTR"}
        try:
            missing = [name for name in known[cls] if not hasattr(value, name)]
            if missing:
                _add(value, missing)
        except Exception:
            pass  # it is not made of its fields


def _add(value, names):
    begin, fields, other = type(value).__init__, fields_of(value), object.__new__(type(value))
    count = begin.__code__.co_argcount + begin.__code__.co_kwonlyargcount
    begin(other, **{name: fields[name] for name in begin.__code__.co_varnames[1:count] if name in fields})
    found = fields_of(other)
    for name in names:
        if name in found:
            object.__setattr__(value, name, found[name])


def arguments_of(error):
    """The arguments with which its class makes an exception like this one."""
    if isinstance(error, OSError) and type(error).__module__ == "builtins":
        made_of = OSError.__reduce__(error)[1]
        return made_of if type(made_of) is tuple else error.args
    return error.args if type(error.args) is tuple else ()


def text_of(error):
    """An exception's text, fit for JSON."""
    try:
        return str(error)[:20000]
    except Exception:
        return "(an exception whose text can't be made)"
