"""Whether dicts were changed, told by the version that CPython gives a dict at each change, without a look at what it
holds: a look writes to each value's reference count, and so copies the pages that a forked process shares.

Source: CPython 3.6 to 3.12, `ma_version_tag` of `PyDictObject` (PEP 509), which later ones have no more. Who changes a
tag by other means than a dict's own has the means to change what is read here, too.
"""

import ctypes
import sys

_OFFSET = object.__basicsize__ + ctypes.sizeof(ctypes.c_ssize_t)
"""Behind the object's head and `ma_used`."""
_SIZE = ctypes.sizeof(ctypes.c_uint64)
_NO_VERSION = b"\xff" * _SIZE


def view(space):
    """The bytes of the version of the dict `space`, which must live on, as they are at each time."""
    return memoryview((ctypes.c_char * _SIZE).from_address(id(space) + _OFFSET)).cast("B")


def _are_told():
    if sys.implementation.name != "cpython" or sys.version_info[:2] > (3, 12) or hasattr(sys, "gettotalrefcount"):
        return False
    probe = {"a": 1}
    looked, seen = view(probe), []
    for change in (lambda: None, lambda: probe.update(b=2), lambda: probe.update(b=3), lambda: probe.pop("a")):
        change()
        seen.append(bytes(looked))
    unchanged = looked == seen[-1] and probe == {"b": 3} and looked == seen[-1]
    return unchanged and len(set(seen)) == len(seen)


TOLD = _are_told()
"""Whether this interpreter has versions of dicts."""


class Versions:
    """Of some dicts, which must live on. Where there are none, each is as if it had been changed."""

    __slots__ = ("_views", "_seen", "_now")

    def __init__(self):
        self._views, self._seen, self._now = [], bytearray(), bytearray()

    def add(self, space):
        """The number of a dict; it is as if changed until `take`."""
        self._views.append(view(space) if TOLD else None)
        self._seen += _NO_VERSION
        return len(self._views) - 1

    def changed(self):
        """The numbers of those that were changed since they were taken."""
        if not TOLD:
            return range(len(self._views))
        self._now = now = bytearray().join(self._views)  # in one call, at a tenth of what a look at each costs
        if now == self._seen:
            return ()
        pairs = zip(memoryview(self._seen).cast("Q"), memoryview(now).cast("Q"))
        return [number for number, (was, is_now) in enumerate(pairs) if was != is_now]

    def accept(self):
        """What `changed` found last is as it should be."""
        self._seen = self._now

    def take(self, number):
        """From now on this one is as it is."""
        if TOLD:
            self._seen[number * _SIZE : (number + 1) * _SIZE] = self._views[number]

    def take_all(self):
        if TOLD:
            self._seen = bytearray().join(self._views)
