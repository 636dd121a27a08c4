"""Classes of a dialogue: which of them both ends have, and what stands for one that only the other end has.

A class is named on the wire as ["ty", name] (builtins, exceptions and the classes of kinds), ["k", name] (one that the
row's prompt defines: both ends have their own), or ["k", owner, n], owner 0 the sender, 1 the receiver, once the owner
has told of it. Instances of shared classes, enums, dataclasses and namedtuples cross by their fields, and so do
those of the test's own classes, whose methods run where the class is. Instances of the answer's other classes stay
with it and are seen through handles.

The wary end (the test's) runs no code that a message names: classes are made here from names and fields.
"""

import dataclasses
import enum

from . import builtin_names, instances
from .class_making import (
    MAX_NAMES,
    PLAIN_BASES,
    STDLIB_ERRORS,
    builtin_error,
    check_told,
    compares_by_fields,
    custom,
    default,
    forwarder,
    is_dynamic,
    is_enum,
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
    """One end's view. `module`: the name of this end's module of the row. `shared`: names of classes that both have."""

    def __init__(self, exports, module, wary):
        self.exports = self._exports = exports
        self._module, self._wary = module, wary
        self.shared = {}
        self._told, self._theirs = {}, {}
        self._crossings = {}

    def share(self, namespace, names):
        """Take the classes of these qualified names from `namespace` for those that both ends have."""
        for name in names:
            found, parts = namespace.get(name.partition(".")[0]), name.split(".")[1:]
            for part in parts:
                found = vars(found).get(part) if isinstance(found, type) else None
            if isinstance(found, type):
                self.shared[name] = found

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
        if cls in self._told:
            return ["k", 0, self._told[cls]]
        return ["k", cls.__qualname__] if self.shared.get(cls.__qualname__) is cls else None

    def reference(self, cls, writer):
        return self._known(cls) or self._tell(cls, writer)

    def crossing(self, cls, writer):
        """(how an instance crosses, the tag that says so), or None where it is a handle's or a builtin's affair."""
        if issubclass(cls, BaseException):
            return "exception", ["x", self._ancestry(cls, writer)]
        if issubclass(cls, enum.Enum):
            return "enum", self.reference(cls, writer)
        if is_namedtuple(cls):
            return "namedtuple", self.reference(cls, writer)
        if self._known(cls) and (cls not in self._told or self._crosses(cls)):
            return "object", self._known(cls)
        if self._wary:
            return ("object", self._tell(cls, writer)) if self._crosses(cls) else None
        if self._crosses(cls):
            return "object", self._tell(cls, writer)
        nearest = self._nearest(cls)
        return ("object", ["k", nearest.__qualname__]) if nearest is not None else None

    def _crosses(self, cls):
        """Whether instances of a class that only this end has cross by their fields."""
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
        """Raises CannotCross for a class of the test's that answers for its attributes by itself."""
        if any(base.__module__ == self._module and is_dynamic(base) for base in cls.__mro__):
            raise CannotCross("a %s, which answers for its attributes by itself" % cls.__name__)

    def _nearest(self, cls):
        """The shared class that an answer's class extends without overriding what its instances do."""
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
        number = self._told[cls] = self._exports.number(cls)
        writer.told.append(self._description(cls, number, writer))
        return ["k", 0, number]

    def take_back(self, number):
        self._told = {cls: told for cls, told in self._told.items() if told != number}

    def _description(self, cls, number, writer):
        told = {"n": number, "kind": "class", "what": what(cls), "name": cls.__name__, "bases": []}
        for base in cls.__mro__[1:]:
            if base.__module__ == self._module and base is not object:
                told["bases"].append(self.reference(base, writer))
            elif base in (list, dict, set, tuple, int, str, float) or builtin_error(base.__name__) is base:
                told["bases"].append(["ty", base.__name__])
        told["methods"], told["properties"], told["plain"] = members(cls, self._module, writer)
        told["custom"] = [name for name in ("__eq__", "__hash__", "__bool__", "__len__") if custom(cls, name)]
        told["near"] = self.nearest_shared(cls)
        if told["what"] == "enum":
            told["plain"] = [[name, writer.form(one._value_)] for name, one in cls.__members__.items()]
            told["type"] = next(n for n in ("IntFlag", "IntEnum", "StrEnum", "Flag", "Enum") if is_enum(cls, n))
        elif told["what"] == "namedtuple":
            told["fields"] = list(cls._fields)
            told["defaults"] = [[name, 1, writer.form(value)] for name, value in cls._field_defaults.items()]
        elif told["what"] == "dataclass":
            told["fields"] = [field.name for field in dataclasses.fields(cls)]
            told["defaults"] = [default(field, writer) for field in dataclasses.fields(cls)]
            parameters = cls.__dataclass_params__
            told["flags"] = [bool(parameters.order), bool(parameters.frozen), cls.__hash__ is not None]
        return told

    # -- in

    def learn(self, told, reader):
        """Make what stands here for a class of the other end's."""
        number, name = told["n"], told["name"]
        names = [*told["methods"], *told["properties"], *told.get("fields", ()), *(item[0] for item in told["plain"])]
        if type(number) is not int or len(names) > MAX_NAMES or not all(map(is_name, [name, *names])):
            raise CannotCross("malformed class")
        if self._wary:
            check_told(told)
            made = self._exports.asking.made_class(self, told, reader)
        else:
            made = self._stand_in(told, reader)
        self._exports.place(number, made)
        if isinstance(made, type):
            self._theirs[made] = number

    def adopt(self, cls, number):
        """`cls` stands here for the other end's class of that number."""
        self._theirs[cls] = number

    def bases(self, told, reader):
        return [reader.value(base) for base in told["bases"]]

    def _stand_in(self, told, reader):
        """The test's class as the answer's end has it: fields here, methods there."""
        special = special_class(told, reader)
        bases = [base for base in self.bases(told, reader) if isinstance(base, type)]
        if special is not None:
            return special
        call = self._exports.method
        body = {name: forwarder(call, told["n"], name) for name in told["methods"]}
        body.update((name, property(forwarder(call, told["n"], name))) for name in told["properties"])
        body.update((name, reader.value(form)) for name, form in told["plain"])
        body["__module__"] = self._module
        return new_class(told["name"], bases, body)

    def class_of(self, form, reader):
        """The class that a form names. Raises CannotCross where this end may not have it."""
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
        """An exception of the first known class of an ancestry; of a new class below the known ones where its own is
        not known here."""
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
            type(made).said_there.__set__(made, content[2][0])
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
