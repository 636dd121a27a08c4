"""Object graphs as strict JSON and back, for the two ends of a dialogue, with identity, cycles and changes in place.

Mutable objects are shared: each end keeps its own copy under one number, and whoever gives control away says first what
it changed (`contents`), so that both copies agree whenever the other end runs. An object that only this table still
refers to is dropped, on both ends.
"""

import sys

from .forms import MAX_ONCE, MAX_SHARED
from .graph_reader import Reader
from .graph_writer import Writer
from .kinds import CannotCross, TooMuch


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
        writer = Writer(self)
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
            reader = Reader(self)
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
