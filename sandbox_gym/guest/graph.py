"""Object graphs as strict JSON and back, for the two ends of a dialogue, with identity, cycles and changes in place.

A form is null, a boolean, a string or a small integer for itself, else a tagged list:
["i", hex], ["f", hex], ["c", re, im], ["b", base64] numbers and bytes; ["t"|"fs", [forms]] tuple, frozenset;
["r", a, b, c] range; ["v", kind, [forms]] a value of an immutable kind (kinds.py); ["np", dtype, shape, base64] a numpy
scalar; ["@", n] the shared object n; ["h", owner, n] a handle, owner 0 the sender, 1 the receiver; ["k", ...] a class
(classes.py); ["ty", name] a builtin type; ["nt", class, [forms]] a namedtuple; ["e", class, name] an enum's member;
["ov", class, form, fields] an instance of a class derived from an immutable builtin.

Mutable objects are shared: each end keeps its own copy under one number, and whoever gives control away says first what
it changed (`contents`), so that both copies agree whenever the other end runs. An object that only this table still
refers to is dropped, on both ends.
"""

import base64
import sys

from . import kinds
from .kinds import CannotCross, TooMuch

MAX_DEPTH = 1000
"""Of immutable values within each other; mutable ones nest without limit."""
MAX_ONCE = 4096
"""Longer texts come back as equal ones, not as the same."""
_SCALARS = frozenset(("i", "f", "b", "c"))
_IMMUTABLE = frozenset(("t", "fs", "f", "r", "v", "np", "nt", "ov"))
_TUPLES = (tuple, frozenset)
MAX_SHARED = 2000
"""Shared objects beyond this are forgotten, the longest unused first."""
FIXED = "fixed"
"""The tag of an immutable value that is shared for its identity."""
INSTANCE = ()
"""What is kept as the tag of an instance that the other end made."""
_SMALL = 1 << 53
_BASES = (list, dict, set, bytearray)
_NO_FIELDS = ("__weakref__", "__dict__", "said_there")
_FIXED = (int, float, str, tuple, bytes, frozenset, complex)


class _Shared:
    __slots__ = ("value", "tag", "content", "used")

    def __init__(self, value, tag):
        self.value, self.tag, self.content, self.used = value, tag, None, 0


class Graph:
    """One end's shared objects. `classes` decides about instances, `exports` makes and finds handles.

    `parity`: 0 or 1, so that the numbers of the two ends never clash. `wary`: what comes in is not trusted.
    """

    def __init__(self, classes, exports, parity, wary):
        self.classes, self.exports, self.wary = classes, exports, wary
        self._shared, self._numbers, self._once = {}, {}, {}
        self._next, self._parity, self._turn = parity, parity, 0

    # -- out

    def pack(self, message, values):
        """Adds to `message` the forms of `values` (under their names), and what the other end must learn first.
        Raises CannotCross; then nothing has changed."""
        writer = _Writer(self)
        try:
            for name, value in values.items():
                message[name] = writer.top(value) if name == "args" else writer.form(value)
            writer.finish()
        except (CannotCross, RecursionError) as error:
            for number in writer.new:
                self._forget(number)
            self.exports.take_back(writer.told)
            if isinstance(error, RecursionError):
                raise TooMuch("nested too deeply") from None
            raise
        for number, content in writer.contents.items():
            self._shared[number].content = content
        if writer.contents:
            new = set(writer.new)
            message["contents"] = [
                [number, self._shared[number].tag if number in new else None, content]
                for number, content in writer.contents.items()
            ]
        if writer.told:
            message["told"] = writer.told

    def drops(self):
        """Numbers of what nothing else here refers to any more; the other end is to drop them too."""
        self._turn += 1
        gone, more = [], True
        while more:
            more = [number for number, entry in self._shared.items() if sys.getrefcount(entry.value) <= 2]
            for number in more:
                self._forget(number)
            gone += more
        if len(self._shared) > MAX_SHARED:
            by_use = sorted(self._shared, key=lambda number: self._shared[number].used)
            for number in by_use[: len(by_use) - MAX_SHARED]:
                if self._shared[number].used < self._turn - 1:
                    self._forget(number)
                    gone.append(number)
        return gone

    def _forget(self, number):
        entry = self._shared.pop(number, None)
        if entry is not None:
            self._numbers.pop(id(entry.value), None)

    def share(self, value, tag):
        """The new number of an object of this end's."""
        self._next += 2
        self.enter(self._next, value, tag)
        return self._next

    def enter(self, number, value, tag):
        entry = self._shared[number] = _Shared(value, tag)
        entry.used = self._turn
        self._numbers[id(value)] = number

    def number_of(self, value):
        number = self._numbers.get(id(value))
        if number is not None:
            self._shared[number].used = self._turn
        return number

    def entries(self):
        return list(self._shared.items())

    def once(self, key, value):
        """The text or number that stood under this key before: an equal one comes back as the same one."""
        if len(key) > MAX_ONCE:
            return value
        if len(self._once) > 4 * MAX_SHARED:
            self._once.clear()
        return self._once.setdefault(key, value)

    # -- in

    def unpack(self, message, names):
        """The values under `names` of a message, in their order. Raises CannotCross for what is no such message."""
        try:
            reader = _Reader(self)
            reader.announce(message.get("contents", ()))
            for told in message.get("told", ()):
                self.exports.learn(told, reader)
            reader.read()
            values = [reader.value(message[name]) for name in names]
            for number in message.get("drop", ()):
                self._forget(number)
            return values
        except CannotCross:
            raise
        except Exception as error:  # whatever a kind's own constructor says of bad parts
            raise CannotCross("malformed message: %s: %s" % (type(error).__name__, str(error)[:200])) from None

    def tag_of(self, number, tag):
        """What the shared object of that number is; `tag` says what it is to be where there is none yet."""
        entry = self._shared.get(number)
        if entry is not None:
            if tag is not None:
                raise CannotCross("an object that became another")
            return entry.tag, False
        if tag is None or type(number) is not int or (self.wary and number % 2 == self._parity):
            raise CannotCross("a number that nothing has")
        return tag, True

    def at(self, number):
        entry = self._shared.get(number)
        if entry is None:
            raise CannotCross("a number that nothing has")
        entry.used = self._turn
        return entry.value


class _Writer:
    def __init__(self, graph):
        self._graph = graph
        self._queue, self._depth = [], 0
        self._alive = []  # what was made on the way keeps its identity until the message is whole
        self.contents, self.new, self.told = {}, [], []

    def form(self, value):
        kind = type(value)
        if value is None or value is True or value is False:
            return value
        if kind is str:
            return self._graph.once(value, value)
        if kind is int and -_SMALL < value < _SMALL:
            return value
        form = self._scalar(value, kind)
        if form is not None:
            self._graph.once(tuple(form), value)
            return form
        if (kind in _TUPLES and value) or kind is frozenset or kind is range or kind is float or kinds.is_fixed(kind):
            return self._identical(value)
        if kind in _TUPLES:
            return self._whole(value, kind)
        return self._rarer(value, kind)

    def _scalar(self, value, kind):
        if kind is int:
            return ["i", hex(value)]
        if kind is float and value == value:
            return ["f", _float(value)]
        if kind is bytes:
            return ["b", base64.b64encode(value).decode("ascii")]
        if kind is complex:
            return ["c", _float(value.real), _float(value.imag)]
        return None

    def _identical(self, value):
        """An immutable value is shared too, for it may be asked whether it is the same; not where there are many."""
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
        if kind in _TUPLES:
            return ["t" if kind is tuple else "fs", self._forms(value)]
        if kind is range:
            return ["r", self.form(value.start), self.form(value.stop), self.form(value.step)]
        known = kinds.kind_of(kind)
        if known is not None:
            parts = known.parts(value)
            self._alive.append(parts)
            return ["v", known.name, self._forms(parts)]
        arrays = kinds.numpy_parts(value)
        if arrays is not None:
            return ["np", arrays[0], [], base64.b64encode(arrays[2]).decode("ascii")]
        what, reference = self._graph.classes.crossing(kind, self)
        if what == "namedtuple":
            return ["nt", reference, self._forms(tuple.__iter__(value))]
        base = next(base for base in _FIXED if base in kind.__mro__)
        fields = [[name, self.form(item)] for name, item in fields_of(value).items()]
        return ["ov", reference, self.form(_as_base(value, base)), fields]

    def top(self, arguments):
        """The form of a call's arguments, whose tuple nobody keeps."""
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
        arrays = kinds.numpy_parts(value)
        if arrays is not None:
            return self._shared(value, "numpy") if kinds.is_array(value) else self._identical(value)
        return self._object(value, kind)

    def _object(self, value, kind):
        """Instances of classes, classes themselves, and at last whatever crosses as a handle."""
        if isinstance(value, type):
            return self._graph.classes.form_of_class(value, self)
        handle = self._graph.exports.own(value)
        if handle is not None:
            return handle
        how = self._graph.classes.crossing(kind, self)
        if how is not None and how[0] == "exception":
            return self._shared(value, how[1])
        if how is None:
            plain = _plain(value, kind)
            if plain is not None:
                return self.form(plain)
            return self._graph.exports.export(value, self)
        what, reference = how
        if what == "enum":
            return self._member(value, reference)
        if what == "namedtuple" or any(base in kind.__mro__ for base in _FIXED):
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
        """Write the contents of what is new, and of what has changed since the other end saw it."""
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

    def _content(self, value, tag):
        self._depth = 0
        if tag == FIXED:
            return [self._whole(value, type(value))]
        if tag == "numpy":
            dtype, shape, data = kinds.numpy_parts(value) or _changed()
            return [dtype, list(shape), base64.b64encode(data).decode("ascii")]
        if type(tag) is str:
            parts = kinds.KINDS[tag].parts(value)
            self._alive.append(parts)
            return self._forms(parts)
        self._alive.append(value)
        fields = [[name, self.form(item)] for name, item in fields_of(value).items()]
        base = next((base for base in _BASES if base in type(value).__mro__), None)
        if isinstance(value, BaseException):
            return [fields, self._forms(_arguments(value)), self._exception(value)]
        return [fields, None if base is None else self._forms(_base_parts(value, base)), None]

    def _exception(self, error):
        """[its text, its cause, the name that was not found]."""
        cause = error.__cause__
        cause = self.form(cause) if isinstance(cause, BaseException) else None
        name = getattr(error, "name", None) if isinstance(error, (ImportError, NameError, AttributeError)) else None
        return [text_of(error), cause, name if type(name) is str else None]


class _Reader:
    """Makes what a message says: first every new shared object, empty, then their contents, then values."""

    def __init__(self, graph):
        self._graph, self._depth, self._hashing = graph, 0, 0
        self._waiting, self._fresh = {}, set()

    def announce(self, contents):
        """What is coming, so that whatever refers to it finds it."""
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

    def _create(self, number):
        """Make a new shared object, empty; what it takes to make one is made before."""
        if number in self._fresh:
            self._fresh.discard(number)
            tag, content = self._waiting[number]
            made = self._empty(tag, content)
            self._graph.enter(number, made, tag if type(tag) is str else INSTANCE)

    def _hashes_keys(self, number):
        """Those that hash their keys come last: hashes may look at the fields of others."""
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
        if type(content[0]) is not list or content[0][0] not in _IMMUTABLE:
            raise CannotCross("no immutable value")
        return made

    def _array(self, content):
        dtype, shape, data = content
        return kinds.numpy_make(dtype, tuple(shape), base64.b64decode(data, validate=True))

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
            if fresh.shape != value.shape or fresh.dtype != value.dtype:
                raise CannotCross("an array that became another")
            value[...] = fresh
        elif type(tag) is str:
            kind = kinds.KINDS[tag]
            self._hashing += kind.keys_hash
            kind.fill(value, tuple(self.value(form) for form in content))
            self._hashing -= kind.keys_hash
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
            if not isinstance(value, OSError):  # what an OSError made of its arguments stands
                value.args = arguments
            if extra and type(extra[2]) is str and isinstance(value, (ImportError, NameError, AttributeError)):
                value.name = extra[2]
            if extra and extra[1] is not None:
                cause = self.value(extra[1])
                value.__cause__ = cause if isinstance(cause, BaseException) else None
        elif base is not None:
            _set_base(value, [self.value(form) for form in base])
        set_fields(value, named)

    def filled(self, forms):
        """The values of forms, with all that they hold already filled."""
        self._hashing += 1
        made = tuple([self.value(form) for form in forms])
        self._hashing -= 1
        return made

    def value(self, form):
        kind = type(form)
        if kind is str:
            return self._graph.once(form, form)
        if form is None or kind is bool or kind is int:
            return form
        if kind is not list or not form or type(form[0]) is not str:
            raise CannotCross("malformed value")
        self._depth += 1
        if self._depth > 2 * MAX_DEPTH:
            raise CannotCross("nested too deeply")
        made = self._tagged(form[0], form)
        self._depth -= 1
        return self._graph.once(tuple(form), made) if form[0] in _SCALARS and made == made else made

    def _tagged(self, tag, form):
        if tag == "t":
            return tuple([self.value(item) for item in form[1]])
        if tag == "fs":
            self._hashing += 1
            made = frozenset([self.value(item) for item in form[1]])
            self._hashing -= 1
            return made
        if tag == "f":
            return _unfloat(form[1])
        if tag == "@":
            self._create(form[1])
            if self._hashing:
                self._fill(form[1])
            return self._graph.at(form[1])
        if tag == "i":
            return int(form[1], 16)
        if tag == "b":
            return base64.b64decode(form[1], validate=True)
        if tag == "c":
            return complex(_unfloat(form[1]), _unfloat(form[2]))
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
            return kinds.numpy_make(form[1], (), base64.b64decode(form[3], validate=True))[()]
        if tag in ("nt", "e", "ov"):
            return self._graph.classes.instance(form, self)
        if tag in ("k", "ty", "g"):
            return self._graph.classes.class_of(form, self)
        if tag == "h":
            return self._graph.exports.handle(form)
        raise CannotCross("unknown tag")


def _changed():
    raise CannotCross("an array that became another")


def _float(x):
    if x != x:
        return "nan"
    if x in (float("inf"), float("-inf")):
        return "inf" if x > 0 else "-inf"
    return float.hex(x)


def _unfloat(text):
    if type(text) is not str:
        raise CannotCross("malformed float")
    return float(text) if text in ("nan", "inf", "-inf") else float.fromhex(text)


def _as_base(value, base):
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


def _base_parts(value, base):
    return tuple(dict.items(value)) if base is dict else tuple(base.__iter__(value))


def _set_base(value, parts):
    if isinstance(value, dict):
        dict.clear(value)
        dict.update(value, parts)
    elif isinstance(value, set):
        set.clear(value)
        set.update(value, parts)
    else:
        type_ = list if isinstance(value, list) else bytearray
        type_.__setitem__(value, slice(None), parts)


def _plain(value, kind):
    """The builtin that an instance of a derived class holds, where the receiver can't have that class; else None."""
    for base in (*_FIXED, *_BASES):
        if base in kind.__mro__:
            return _as_base(value, base) if base in _FIXED else base(_base_parts(value, base))
    return None


def fields_of(value):
    """An instance's own attributes, without asking its class's code. What a builtin exception keeps beside its
    arguments is made of them."""
    fields = {}
    for cls in type(value).__mro__:
        if cls.__module__ == "builtins":
            continue
        for name, slot in vars(cls).items():
            if type(slot).__name__ == "member_descriptor" and name not in _NO_FIELDS:
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
    """Make these an instance's attributes, without asking its class's code."""
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


def _arguments(error):
    """What its class is called with to make an exception like this one."""
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
