"""Classes of a dialogue: which of them both ends have, and what stands here for a class of the other end.

A class is named on the wire as ["ty", name] (builtins, exceptions and the classes of kinds), ["k", name] (one that the
row's prompt defines: each end has its own), or ["k", owner, n], owner 0 the sender, 1 the receiver, once the owner
has described it. Instances of shared classes, enums, dataclasses and namedtuples cross by their fields, and so do
those of the test's own classes, whose methods run where the class is. Instances of the answer's other classes stay
on its end and are used through handles.

The wary end (the test's) runs no code that a message names: it makes classes from names and fields.
"""

import dataclasses
import enum

from . import builtin_names, instances
from .class_making import (
    MAX_NAMES,
    PLAIN_BASES,
    STDLIB_ERRORS,
    builtin_error,
    check_description,
    compares_by_fields,
    constants_of,
    custom,
    default,
    forwarder,
    is_dynamic,
    is_enum,
    is_more,
    is_name,
    is_namedtuple,
    members,
    new_class,
    new_error,
    special_class,
    stdlib_error,
    what,
)
from .kinds import CannotCross


class Classes:
    """The classes of one end. `module`: the name of this end's module of the row. `shared`: classes that both ends
    have."""

    def __init__(self, exports, module, wary):
        self.exports = self._exports = exports
        self._module, self._wary = module, wary
        self.shared = {}
        self.own, self.stored = set(), {}
        """Shared classes of which this end, the answer's, may have a version of its own; and what `complete` knows."""
        self._described, self._theirs = {}, {}
        self._crossings = {}

    def share(self, namespace, names):
        """Register the classes of these qualified names in `namespace` as shared by both ends."""
        for name in names:
            found, parts = namespace.get(name.partition(".")[0]), name.split(".")[1:]
            for part in parts:
                found = vars(found).get(part) if isinstance(found, type) else None
            if isinstance(found, type):
                self.shared[name] = found
                if not self._wary and not issubclass(found, BaseException):
                    self.own.add(found)

    # -- out

    def form_of_class(self, cls, writer):
        name = builtin_names.type_name(cls) or (
            cls.__name__ if builtin_error(getattr(cls, "__name__", "")) is cls else None
        )
        if name is not None:
            return ["ty", name]
        reference = self._known(cls)
        if reference is not None:
            return reference
        if not self._wary or cls.__module__ == self._module:
            return self._tell(cls, writer)
        return self._exports.by_name(cls, writer)

    def _known(self, cls):
        if cls in self._theirs:
            return ["k", 1, self._theirs[cls]]
        if cls in self._described:
            return ["k", 0, self._described[cls]]
        return ["k", cls.__qualname__] if self.shared.get(cls.__qualname__) is cls else None

    def reference(self, cls, writer):
        return self._known(cls) or self._tell(cls, writer)

    def crossing(self, cls, writer):
        """(how an instance crosses, its tag); None where it crosses as a handle or as a builtin."""
        if issubclass(cls, BaseException):
            return "exception", ["x", self._ancestry(cls, writer)]
        if issubclass(cls, enum.Enum):
            return "enum", self.reference(cls, writer)
        if is_namedtuple(cls):
            return "namedtuple", self.reference(cls, writer)
        if self._known(cls) and (cls not in self._described or self._crosses(cls)):
            return "object", self._known(cls)
        if self._wary:
            return ("object", self._tell(cls, writer)) if self._crosses(cls) else None
        if self._crosses(cls):
            return "object", self._tell(cls, writer)
        nearest = self._nearest(cls)
        return ("object", ["k", nearest.__qualname__]) if nearest is not None else None

    def _crosses(self, cls):
        """Whether instances of a class of this end cross by their fields."""
        if cls not in self._crossings:
            if self._wary:
                self._crossings[cls] = cls.__module__ == self._module and all(
                    (base.__module__ in (self._module, "builtins") or base.__name__ in PLAIN_BASES)
                    and not (base.__module__ == self._module and is_dynamic(base))
                    for base in cls.__mro__
                )
            else:
                self._crossings[cls] = compares_by_fields(cls)
        return self._crossings[cls]

    def check_static(self, cls):
        """Raises CannotCross for a class of the test that computes its attributes (__getattr__ and the like)."""
        if any(base.__module__ == self._module and is_dynamic(base) for base in cls.__mro__):
            raise CannotCross("a %s, which computes its attributes" % cls.__name__)

    def _nearest(self, cls):
        """The shared class that a class of the answer extends without overriding a method."""
        for base in cls.__mro__:
            if self.shared.get(base.__qualname__) is base:
                return base
            does = [name for name, item in vars(base).items() if callable(item) or isinstance(item, property)]
            if set(does) - {"__init__"}:
                return None
        return None

    def nearest_shared(self, cls):
        """The name of the first shared class that `cls` derives from; "" where there is none."""
        return next((base.__qualname__ for base in cls.__mro__ if self.shared.get(base.__qualname__) is base), "")

    def _ancestry(self, cls, writer):
        """Exceptions cross as the first class of their MRO that the receiver knows."""
        names = []
        for base in cls.__mro__:
            if builtin_error(base.__name__) is base:
                names.append(["ty", base.__name__])
            elif base.__name__ in STDLIB_ERRORS.get(base.__module__, ()):
                names.append(["g", base.__module__, base.__name__])
            elif issubclass(base, BaseException):
                names.append(self.reference(base, writer))
        return names

    def _tell(self, cls, writer):
        number = self._described[cls] = self._exports.number(cls)
        writer.descriptions.append(self._description(cls, number, writer))
        return ["k", 0, number]

    def take_back(self, number):
        self._described = {cls: one for cls, one in self._described.items() if one != number}

    def _description(self, cls, number, writer):
        description = {"n": number, "kind": "class", "what": what(cls), "name": cls.__name__, "bases": []}
        for base in cls.__mro__[1:]:
            if base.__module__ == self._module and base is not object:
                description["bases"].append(self.reference(base, writer))
            elif base in (list, dict, set, tuple, int, str, float) or builtin_error(base.__name__) is base:
                description["bases"].append(["ty", base.__name__])
        description["methods"], description["properties"], description["plain"] = members(cls, self._module, writer)
        description["custom"] = [name for name in ("__eq__", "__hash__", "__bool__", "__len__") if custom(cls, name)]
        description["near"] = self.nearest_shared(cls)
        if not self._wary and is_more(cls):
            writer.flattened = cls.__name__
        if description["what"] == "enum":
            description["plain"] = [[name, writer.form(one._value_)] for name, one in cls.__members__.items()]
            description["type"] = next(n for n in ("IntFlag", "IntEnum", "StrEnum", "Flag", "Enum") if is_enum(cls, n))
            mixins = [base.__name__ for base in (str, int, float) if base in cls.__mro__]
            description["mixin"] = "".join(mixins if description["type"] in ("Enum", "Flag") else ())
        elif description["what"] == "namedtuple":
            description["fields"] = list(cls._fields)
            description["defaults"] = [[name, 1, writer.form(value)] for name, value in cls._field_defaults.items()]
        elif description["what"] == "dataclass":
            description["fields"] = [field.name for field in dataclasses.fields(cls)]
            description["defaults"] = [default(field, writer) for field in dataclasses.fields(cls)]
            parameters = cls.__dataclass_params__
            description["flags"] = [bool(parameters.order), bool(parameters.frozen), cls.__hash__ is not None]
        return description

    # -- in

    def learn(self, description, reader):
        """Make the class that stands here for one of the other end."""
        number, name = description["n"], description["name"]
        names = [*description["methods"], *description["properties"], *description.get("fields", ())]
        names += [item[0] for item in description["plain"]]
        if type(number) is not int or len(names) > MAX_NAMES or not all(map(is_name, [name, *names])):
            raise CannotCross("malformed class")
        if self._wary:
            check_description(description)
            made = self._exports.asking.made_class(self, description, reader)
        else:
            made = self._stand_in(description, reader)
        self._exports.place(number, made)
        if isinstance(made, type):
            self._theirs[made] = number

    def bases(self, description, reader):
        return [reader.value(base) for base in description["bases"]]

    def _stand_in(self, description, reader):
        """A class of the test on the answer's end: fields are here, methods run on the test's end."""
        special = special_class(description, reader)
        bases = [base for base in self.bases(description, reader) if isinstance(base, type)]
        call = self._exports.method
        body = {name: forwarder(call, description["n"], name) for name in description["methods"]}
        body.update((name, property(forwarder(call, description["n"], name))) for name in description["properties"])
        if special is not None:
            for name, item in {**body, **constants_of(special, description, reader)}.items():
                setattr(special, name, item)
            return special
        body.update((name, reader.value(form)) for name, form in description["plain"])
        body["__module__"] = self._module
        return new_class(description["name"], bases, body)

    def class_of(self, form, reader):
        """The class that a form names. Raises CannotCross where this end has no such class."""
        if form[0] == "ty":
            found = builtin_names.named_type(form[1]) or builtin_error(form[1])
        elif form[0] == "g":
            found = builtin_names.named_function(form[1], form[2]) or stdlib_error(form[1], form[2])
            if found is None and not self._wary:
                found = self._exports.imported(form[1], form[2])
        elif len(form) == 2:
            found = self.shared.get(form[1])
        else:
            found = self._exports.at(form[1], form[2])
        if found is None:
            raise CannotCross("no such class")
        return found

    def empty(self, tag, content, reader):
        """A new instance, its fields still to be filled."""
        if tag[0] == "x":
            return self._error(tag[1], content, reader)
        if tag[0] != "o":
            raise CannotCross("no such tag")
        cls = self.class_of(tag[1], reader)
        if not isinstance(cls, type):
            raise CannotCross("no class of instances")
        base = next((base for base in (list, dict, set, bytearray, BaseException) if base in cls.__mro__), object)
        return base.__new__(cls)

    def _error(self, ancestry, content, reader):
        """An exception of the first class of an ancestry that this end knows."""
        known = []
        for reference in ancestry[:100]:
            try:
                cls = self.class_of(reference, reader)
            except CannotCross:
                continue
            if isinstance(cls, type) and issubclass(cls, BaseException):
                known.append(cls)
        if not known:
            raise CannotCross("an exception of no known class")
        arguments = reader.filled(content[1])
        made = new_error(known[0], arguments)
        if type(content[2][0]) is str and hasattr(type(made), "said_there"):
            type(made).remote_text.__set__(made, content[2][0])
        return made

    def instance(self, form, reader):
        """A namedtuple, an enum's member, or an instance of a class that derives from an immutable builtin."""
        cls = self.class_of(form[1], reader)
        if form[0] == "nt":
            if not (isinstance(cls, type) and is_namedtuple(cls)):
                raise CannotCross("no namedtuple")
            return tuple.__new__(cls, [reader.value(item) for item in form[2]])
        if form[0] == "e":
            if not (isinstance(cls, type) and issubclass(cls, enum.Enum)):
                raise CannotCross("no enum")
            return cls.__members__[form[2]] if form[2] in cls.__members__ else cls(reader.value(form[3]))
        plain = reader.value(form[2])
        if not isinstance(cls, type) or type(plain) not in cls.__mro__:
            raise CannotCross("no such value")
        made = type(plain).__new__(cls, plain)
        fields = {name: reader.value(item) for name, item in form[3]}
        if self._wary:
            self.check_fields(cls, fields)
        if fields:
            instances.set_fields(made, fields)
        return made

    def check_fields(self, cls, fields):
        self._exports.asking.check_fields(cls, fields)
