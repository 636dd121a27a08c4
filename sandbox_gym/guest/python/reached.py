"""What the library's modules hold, at any depth: dicts, lists, sets and caches that no program's text need name, so
that a program could keep there what it knows. Caches are emptied, the rest is compared.
"""

import functools
import gc
import sys
import types
import weakref

from . import versions
from .changeable import HEAP_TYPE

_SIZED = (list, set, bytearray)
_CACHED = type(functools.lru_cache(len))
_INNER = frozenset(("_frozen_importlib", "_frozen_importlib_external", "_abc"))
"""Whose objects imports and questions after classes change."""
_FIRST, _EACH = 3, 8
_OURS = __name__.rpartition(".python.")[0]
"""The package of the guest, whose modules keep what they work with."""
_METHODS = frozenset(("property", "classmethod", "staticmethod"))


class Reached:
    """Made once for all processes that are forked from this one."""

    __slots__ = ("_seen", "_dicts", "_sized", "_sizes", "_caches", "_named", "_versions", "_inputs", "_is_due")

    def __init__(self):
        loader = sys.modules["_frozen_importlib"]
        apart = (sys.modules, vars(sys), sys.path_importer_cache, loader._module_locks)
        self._seen = {id(one): one for one in apart}
        self._dicts, self._sized, self._sizes, self._caches, self._named = [], [], [], [], []
        self._versions = versions.Versions()
        self._inputs, self._is_due = 0, True

    def add(self, modules):
        """Look at what new modules hold."""
        waiting = []
        for module in modules:
            if module.__name__.startswith(_OURS):
                continue
            self._seen[id(vars(module))] = vars(module)  # compared as a whole elsewhere
            waiting += vars(module).values()
            self._take_caches(vars(module))
        while waiting:
            one = waiting.pop()
            if id(one) not in self._seen:
                self._seen[id(one)] = one
                waiting += [inner for inner in self._taken(one) if gc.is_tracked(inner) or type(inner) is dict]

    def _take_caches(self, space):
        """What a namespace calls a cache is emptied, not compared."""
        for name, value in space.items():
            if type(name) is str and "cache" in name and type(value) in (dict, set) and id(value) not in self._seen:
                self._seen[id(value)] = value
                self._named.append((value, value.copy()))

    def _taken(self, one):
        """Watch an object; what it holds."""
        cls = type(one)
        if cls.__module__ in _INNER or str(cls.__module__).startswith(_OURS) or cls is types.ModuleType:
            return ()
        if cls is _CACHED:
            self._caches.append(one)
            return [one.__wrapped__]
        if cls is types.FunctionType:  # its attributes are looked at where a program names it
            return [one.__closure__, one.__defaults__, *one.__dict__.values()]
        held = gc.get_referents(one)
        if cls.__name__ in _METHODS:
            return [inner for inner in held if type(inner) is not dict]
        if cls is dict:
            self._take_caches(one)
            if not _is_weak(one):
                self._versions.add(one)
                self._dicts.append((one, dict(one)))
        elif cls in _SIZED:
            self._sized.append(one)
            self._sizes.append(len(one))
        elif cls.__flags__ & HEAP_TYPE and type(getattr(one, "__dict__", None)) is dict:
            held.append(one.__dict__)
        return held

    def settle(self):
        """Take down what has changed."""
        for number in self._versions.changed():
            one, _old = self._dicts[number]
            self._dicts[number] = (one, dict(one))
        self._versions.take_all()
        self._sizes[:] = map(len, self._sized)

    def restore(self):
        """After an input. What stays is found at the first ones, and at each eighth."""
        self._inputs += 1
        self._is_due = self._inputs <= _FIRST or self._inputs % _EACH == 0
        if not self._is_due:
            return
        for one in self._caches:
            one.cache_clear()
        for one, old in self._named:
            if one != old:
                one.clear()
                one.update(old)

    def is_unchanged(self):
        is_due, self._is_due = self._is_due, True
        return (
            not is_due
            or list(map(len, self._sized)) == self._sizes
            and all(one == old for one, old in map(self._dicts.__getitem__, self._versions.changed()))
        )


def _is_weak(one):
    """Whether it has a class's subclasses, by their addresses."""
    return bool(one) and all(type(value) is weakref.ref for value in one.values())
