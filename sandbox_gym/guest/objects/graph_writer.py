"""Writes one message: the forms of its values, of new shared objects, and of shared objects that changed."""

import base64

from ..protocol.values import encode
from . import arrays, kinds
from .forms import BASES, FIXED, FIXED_BASES, MAX_DEPTH, MAX_SHARED, SMALL, TUPLES
from .instances import arguments_of, as_base, base_parts, builtin_of, fields_of, text_of
from .kinds import CannotCross, TooMuch


class Writer:
    def __init__(self, graph):
        self._graph = graph
        self._queue, self._depth = [], 0
        self._alive = []  # intermediate objects live until the message is complete, so that no id is used twice
        self.contents, self.new, self.descriptions = {}, [], []
        self.flattened = ""
        """The class of an instance that crossed as less than it is: as the builtin it holds, without its operators."""
        self.reordered = False
        """Whether a new set will have another order on the other end."""

    def form(self, value):
        kind = type(value)
        if value is None or value is True or value is False:
            return value
        if kind is str:
            return self._graph.intern(value, value)
        if kind is int and -SMALL < value < SMALL:
            return value
        form = self._scalar(value, kind)
        if form is not None:
            self._graph.intern(tuple(form), value)
            return form
        if (kind in TUPLES and value) or kind is frozenset or kind is range or kind is float or kinds.is_fixed(kind):
            return self._identical(value)
        if kind in TUPLES:
            return self._whole(value, kind)
        return self._rarer(value, kind)

    def _scalar(self, value, kind):
        return (
            encode(value, exact=True) if kind in (int, bytes, complex) or (kind is float and value == value) else None
        )

    def _identical(self, value):
        """An immutable value is shared too, because a test may compare identity; beyond MAX_SHARED it crosses by
        content."""
        number = self._graph.number_of(value)
        if number is not None:
            return ["@", number]
        if len(self.new) < MAX_SHARED:
            return self._shared(value, FIXED)
        return self._whole(value, type(value))

    def _whole(self, value, kind):
        """The form of an immutable value's content."""
        if kind is float:
            return ["f", "nan"]
        if kind in TUPLES:
            return ["t" if kind is tuple else "fs", self._forms(value)]
        if kind is range:
            return ["r", self.form(value.start), self.form(value.stop), self.form(value.step)]
        known = kinds.kind_of(kind)
        if known is not None:
            parts = known.parts(value)
            self._alive.append(parts)
            return ["v", known.name, self._forms(parts)]
        array = arrays.numpy_parts(value)
        if array is not None:
            return ["np", array[0], [], base64.b64encode(array[2]).decode("ascii")]
        what, reference = self._graph.classes.crossing(kind, self)
        if what == "namedtuple":
            return ["nt", reference, self._forms(tuple.__iter__(value))]
        base = next(base for base in FIXED_BASES if base in kind.__mro__)
        fields = [[name, self.form(item)] for name, item in fields_of(value).items()]
        return ["ov", reference, self.form(as_base(value, base)), fields]

    def top(self, arguments):
        """The form of a call's arguments; their tuple is not shared."""
        return ["t", [self.form(one) for one in arguments]]

    def _forms(self, values):
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise TooMuch("nested deeper than %d" % MAX_DEPTH)
        made = [self.form(value) for value in values]
        self._depth -= 1
        return made

    def _rarer(self, value, kind):
        number = self._graph.number_of(value)
        if number is not None:
            return ["@", number]
        known = kinds.kind_of(kind)
        if known is not None:
            return self._shared(value, known.name)
        array = arrays.numpy_parts(value)
        if array is not None:
            return self._shared(value, "numpy") if arrays.is_array(value) else self._identical(value)
        return self._object(value, kind)

    def _object(self, value, kind):
        """Instances of classes, classes themselves, and everything else as a handle."""
        if isinstance(value, type):
            return self._graph.classes.form_of_class(value, self)
        handle = self._graph.exports.own(value)
        if handle is not None:
            return handle
        how = self._graph.classes.crossing(kind, self)
        if how is not None and how[0] == "exception":
            return self._shared(value, how[1])
        if how is None:
            plain = builtin_of(value, kind)
            if plain is not None:
                self.flattened = kind.__name__
                return self.form(plain)
            return self._graph.exports.export(value, self)
        what, reference = how
        if what == "enum":
            return self._member(value, reference)
        if what == "namedtuple" or any(base in kind.__mro__ for base in FIXED_BASES):
            return self._identical(value)
        return self._shared(value, ["o", reference])

    def _member(self, value, reference):
        name = value.__dict__.get("_name_")
        if type(value).__members__.get(name) is value:
            return ["e", reference, name, None]
        return ["e", reference, "", self.form(value.__dict__["_value_"])]

    def _shared(self, value, tag):
        number = self._graph.share(value, tag)
        self.new.append(number)
        self._queue.append((number, value, tag))
        return ["@", number]

    def finish(self):
        """Write the contents of shared objects that are new or that changed since they were last sent."""
        self._drain()
        for number, entry in self._graph.entries():
            if number in self.contents:
                continue
            content = self._content(entry.value, entry.tag)
            if content != entry.content:
                self.contents[number] = content
        self._drain()

    def _drain(self):
        while self._queue:
            number, value, tag = self._queue.pop()
            self.contents[number] = self._content(value, tag)
            if self._graph.wary and type(value) in (set, frozenset):
                self.reordered = self.reordered or not kinds.in_order(tuple(value), type(value))[1]

    def _content(self, value, tag):
        self._depth = 0
        if tag == FIXED:
            return [self._whole(value, type(value))]
        if tag == "numpy":
            parts = arrays.numpy_parts(value)
            if parts is None:
                raise CannotCross("an array that became another")
            dtype, shape, data = parts
            return [dtype, list(shape), base64.b64encode(data).decode("ascii")]
        if type(tag) is str:
            parts = kinds.KINDS[tag].parts(value)
            self._alive.append(parts)
            return self._forms(parts)
        self._alive.append(value)
        fields = [[name, self.form(item)] for name, item in fields_of(value).items()]
        base = next((base for base in BASES if base in type(value).__mro__), None)
        if isinstance(value, BaseException):
            return [fields, self._forms(arguments_of(value)), self._exception(value)]
        return [fields, None if base is None else self._forms(base_parts(value, base)), None]

    def _exception(self, error):
        """[its text, its cause, the name that was not found]."""
        cause = error.__cause__
        cause = self.form(cause) if isinstance(cause, BaseException) else None
        name = getattr(error, "name", None) if isinstance(error, (ImportError, NameError, AttributeError)) else None
        return [text_of(error), cause, name if type(name) is str else None]
