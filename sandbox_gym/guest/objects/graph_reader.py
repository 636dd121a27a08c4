"""Reads one message: makes its new shared objects empty, then fills them, then makes its values."""

import base64

from ..protocol.values import decode
from . import arrays, kinds
from .forms import FIXED, IMMUTABLE, INSTANCE, MAX_DEPTH, SCALARS
from .instances import complete, set_base, set_fields
from .kinds import CannotCross

_SIZED = (tuple, frozenset, bytes, range, memoryview, type({}.keys()), type({}.values()), type({}.items()))


class Reader:
    """Makes the objects of one message: `announce`, then `read`, then `value` for each of its values."""

    def __init__(self, graph):
        self._graph, self._depth, self._hashing = graph, 0, 0
        self._waiting, self._fresh, self._instances = {}, set(), []
        self.empty = self.empty_array = False
        """Whether the other end made or left a text, an array or a container without items; an array."""
        self.reordered = False
        """Whether a set has another order than on the other end."""

    def announce(self, contents):
        """Register the shared objects of the message, so that references to them resolve."""
        for number, tag, content in contents:
            if type(content) is not list:
                raise CannotCross("malformed contents")
            tag, is_new = self._graph.tag_of(number, tag)
            self._waiting[number] = (tag, content)
            if is_new:
                self._fresh.add(number)

    def read(self):
        for number in list(self._waiting):
            self._create(number)
        for number in sorted(self._waiting, key=self._hashes_keys):
            self._fill(number)
        if self._instances:
            complete(self._instances, self._graph.classes.stored)

    def _create(self, number):
        """Make a new shared object, empty; the values that its constructor needs are made first."""
        if number in self._fresh:
            self._fresh.discard(number)
            tag, content = self._waiting[number]
            made = self._empty(tag, content)
            self._graph.enter(number, made, tag if type(tag) is str else INSTANCE)

    def _hashes_keys(self, number):
        """Sort key: objects that hash their keys come last, since hashes may read the fields of others."""
        entry = self._waiting.get(number)
        tag = entry[0] if entry else ""
        return type(tag) is str and tag in kinds.KINDS and kinds.KINDS[tag].keys_hash

    def _empty(self, tag, content):
        if tag == FIXED:
            return self._fixed(content)
        if tag == "numpy":
            return self._array(content)
        if type(tag) is str:
            kind = kinds.KINDS.get(tag)
            if kind is None or not kind.mutable:
                raise CannotCross("no such kind")
            needs_first = tag in ("collections.deque", "array.array")
            return kind.make([self.value(form) for form in content[:1]] if needs_first else ())
        return self._graph.classes.empty(tag, content, self)

    def _fixed(self, content):
        made = self.value(content[0])
        if type(content[0]) is not list or content[0][0] not in IMMUTABLE:
            raise CannotCross("no immutable value")
        return made

    def _array(self, content):
        dtype, shape, data = content
        made = arrays.numpy_make(dtype, tuple(shape), base64.b64decode(data, validate=True))
        self.empty_array = self.empty_array or not made.size
        return self._widened(made)

    def _widened(self, made):
        """Half precision as Python's own, where the test does not name it: numpy 2 takes a float of the test for one,
        so that all above 65504 are the same."""
        is_half = self._graph.wary and made.dtype.str[1:] == "f2" and not self._graph.exports.asking.knows_half
        return made.astype("f8") if is_half else made

    def _fill(self, number):
        entry = self._waiting.pop(number, None)
        if entry is None:
            return
        tag, content = entry
        if tag == FIXED:
            return
        value = self._graph.at(number)
        if tag == "numpy":
            fresh = self._array(content)
            self.empty = self.empty or not fresh.size
            if fresh.shape != value.shape or fresh.dtype != value.dtype:
                raise CannotCross("an array that became another")
            value[...] = fresh
        elif type(tag) is str:
            kind = kinds.KINDS[tag]
            counts = bool(value) or self._graph.is_theirs(number)
            self._hashing += kind.keys_hash
            if kind.fill(value, tuple(self.value(form) for form in content)) is False:
                self.reordered = True
            self._hashing -= kind.keys_hash
            self.empty = self.empty or (counts and not value)
            if self._graph.wary and tag == "builtins.SimpleNamespace":
                self._graph.classes.check_fields(type(value), vars(value))
        else:
            self._fill_instance(value, content)

    def _fill_instance(self, value, content):
        fields, base, extra = content
        named = {}
        for name, form in fields:
            if type(name) is not str:
                raise CannotCross("malformed fields")
            named[name] = self.value(form)
        if self._graph.wary:
            self._graph.classes.check_fields(type(value), named)
        if isinstance(value, BaseException):
            arguments = tuple(self.value(form) for form in base or ())
            if not isinstance(value, OSError):  # an OSError has already parsed its arguments
                value.args = arguments
            if extra and type(extra[2]) is str and isinstance(value, (ImportError, NameError, AttributeError)):
                value.name = extra[2]
            if extra and extra[1] is not None:
                cause = self.value(extra[1])
                value.__cause__ = cause if isinstance(cause, BaseException) else None
        elif base is not None:
            set_base(value, [self.value(form) for form in base])
        set_fields(value, named)
        if type(value) in self._graph.classes.own:
            self._instances.append(value)

    def filled(self, forms):
        """The values of forms, with everything in them filled."""
        self._hashing += 1
        made = tuple([self.value(form) for form in forms])
        self._hashing -= 1
        return made

    def value(self, form):
        kind = type(form)
        if kind is str:
            self.empty = self.empty or not form
            return self._graph.intern(form, form)
        if form is None or kind is bool or kind is int:
            return form
        if kind is not list or not form or type(form[0]) is not str:
            raise CannotCross("malformed value")
        self._depth += 1
        if self._depth > 2 * MAX_DEPTH:
            raise CannotCross("nested too deeply")
        made = self._tagged(form[0], form)
        self._depth -= 1
        self.empty = self.empty or (type(made) in _SIZED and not made)
        return self._graph.intern(tuple(form), made) if form[0] in SCALARS and made == made else made

    def _tagged(self, tag, form):
        if tag == "t":
            return tuple([self.value(item) for item in form[1]])
        if tag == "fs":
            self._hashing += 1
            made, same = kinds.in_order(tuple([self.value(item) for item in form[1]]), frozenset)
            self._hashing -= 1
            self.reordered = self.reordered or not same
            return made
        if tag in SCALARS:
            return decode(form)
        if tag == "@":
            self._create(form[1])
            if self._hashing:
                self._fill(form[1])
            return self._graph.at(form[1])
        if tag == "r":
            return range(*[self.value(part) for part in form[1:4]])
        if tag == "v":
            kind = kinds.KINDS.get(form[1])
            if kind is None or kind.mutable:
                raise CannotCross("no such kind")
            self._hashing += 1
            made = kind.make([self.value(part) for part in form[2]])
            self._hashing -= 1
            return made
        if tag == "np":
            return self._array((form[1], (), form[3]))[()]
        if tag in ("nt", "e", "ov"):
            return self._graph.classes.instance(form, self)
        if tag in ("k", "ty", "g"):
            return self._graph.classes.class_of(form, self)
        if tag == "h":
            return self._graph.exports.at(form[1], form[2])
        raise CannotCross("unknown tag")
