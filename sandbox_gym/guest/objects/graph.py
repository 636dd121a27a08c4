"""Object graphs as strict JSON and back, for the two ends of a dialogue: identity, cycles and changes in place cross.

Mutable objects are shared: each end has its own copy under one number. An end that passes control sends first what it
changed (`contents`), so that both copies agree whenever the other end runs. An object to which only this table refers
is dropped on both ends.
"""

import sys

from .forms import MAX_INTERNED, MAX_SHARED
from .graph_reader import Reader
from .graph_writer import Writer
from .kinds import CannotCross, TooMuch


class _Shared:
    __slots__ = ("value", "tag", "content", "used")

    def __init__(self, value, tag):
        self.value, self.tag, self.content, self.used = value, tag, None, 0


class Graph:
    """One end's shared objects. `classes` decides how instances cross, `exports` makes and finds handles.

    `parity`: 0 or 1, so that the numbers of the two ends differ. `wary`: messages of the other end are not trusted.
    """

    def __init__(self, classes, exports, parity, wary):
        self.classes, self.exports, self.wary = classes, exports, wary
        self._shared, self._numbers, self._interned = {}, {}, {}
        self._next, self._parity, self._turn = parity, parity, 0

    # -- out

    def pack(self, message, values):
        """Add to `message` the forms of `values` under their names, and the objects and classes that are new to the
        other end. Raises CannotCross; nothing has changed then."""
        writer = Writer(self)
        try:
            for name, value in values.items():
                message[name] = writer.top(value) if name == "args" else writer.form(value)
            writer.finish()
        except (CannotCross, RecursionError) as error:
            for number in writer.new:
                self._forget(number)
            self.exports.take_back(writer.descriptions)
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
        if writer.reordered:
            self.exports.asking.reordered()
        if writer.flattened and not self.wary:
            message["flat"] = writer.flattened
        if writer.descriptions:
            message["told"] = writer.descriptions

    def drops(self):
        """Drop shared objects to which nothing else here refers; their numbers, for the other end to drop."""
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
        """A new number for an object of this end."""
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

    def intern(self, key, value):
        """The value first seen under this key, so that equal texts and numbers are the same object."""
        if len(key) > MAX_INTERNED:
            return value
        if len(self._interned) > 4 * MAX_SHARED:
            self._interned.clear()
        return self._interned.setdefault(key, value)

    # -- in

    def unpack(self, message, names):
        """The values under `names` of a message, in that order. Raises CannotCross for a malformed message."""
        try:
            reader = Reader(self)
            reader.announce(message.get("contents", ()))
            for description in message.get("told", ()):
                self.exports.learn(description, reader)
            reader.read()
            nothing = reader.empty
            values = [reader.value(message[name]) for name in names]
            if self.wary and (nothing or (reader.empty and "value" in names)):
                self.exports.asking.given_nothing(reader.empty_array)
            if self.wary and reader.reordered:
                self.exports.asking.reordered()
            for number in message.get("drop", ()):
                self._forget(number)
            return values
        except CannotCross:
            raise
        except Exception as error:  # a kind's constructor may raise anything for malformed parts
            raise CannotCross("malformed message: %s: %s" % (type(error).__name__, str(error)[:200])) from None

    def tag_of(self, number, tag):
        """(the tag of the shared object of that number, whether it is new). `tag` is what the message says of a new
        one."""
        entry = self._shared.get(number)
        if entry is not None:
            if tag is not None:
                raise CannotCross("an object that became another")
            return entry.tag, False
        if tag is None or type(number) is not int or (self.wary and number % 2 == self._parity):
            raise CannotCross("a number that nothing has")
        return tag, True

    def is_theirs(self, number):
        """Whether the other end made the object of that number."""
        return number % 2 != self._parity

    def at(self, number):
        entry = self._shared.get(number)
        if entry is None:
            raise CannotCross("a number that nothing has")
        entry.used = self._turn
        return entry.value
