"""Handles: objects that stay on one end and that the other end uses by number. Owns the numbers of both ends.

Functions, iterators, generators, coroutines, and instances of classes that the other end can't have cross as handles.
The owner of a handle decides which operations it serves: `DO` lists all of them. The test's end serves few (`_may`): a
candidate may call a function of the test, but can't reach its globals or a frame.
"""

import inspect
import math
import operator
import sys
import types

from . import builtin_names, proxies
from .kinds import CannotCross, TooMuch
from .remote import Remote, facts_of, number_of

MAX_HANDLES = 200_000


def _exit(target, *error):
    return type(target).__exit__(target, *error)


DO = {
    "call": lambda target, /, *args, **kwargs: target(*args, **kwargs),
    "invoke": lambda target, name, /, *args, **kwargs: getattr(target, name)(*args, **kwargs),
    "getattr": getattr, "setattr": setattr, "delattr": delattr,
    "next": next, "iter": iter, "aiter": lambda target: type(target).__aiter__(target),
    "send": lambda target, value: target.send(value), "throw": lambda target, error: target.throw(error),
    "close": lambda target: target.close(),
    "enter": lambda target: type(target).__enter__(target), "exit": _exit,
    "len": len, "getitem": operator.getitem, "setitem": operator.setitem, "delitem": operator.delitem,
    "contains": operator.contains, "reversed": reversed,
    "str": str, "repr": repr, "format": format, "int": int, "float": float, "complex": complex,
    "index": operator.index, "bool": bool, "hash": hash, "round": round, "bytes": bytes,
    "neg": operator.neg, "pos": operator.pos, "abs": abs, "invert": operator.invert,
    "eq": operator.eq, "ne": operator.ne, "lt": operator.lt, "le": operator.le, "gt": operator.gt, "ge": operator.ge,
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "matmul": operator.matmul,
    "truediv": operator.truediv, "floordiv": operator.floordiv, "mod": operator.mod, "divmod": divmod, "pow": pow,
    "lshift": operator.lshift, "rshift": operator.rshift, "and": operator.and_, "or": operator.or_,
    "xor": operator.xor,
    "radd": lambda target, other: other + target, "rsub": lambda target, other: other - target,
    "rmul": lambda target, other: other * target, "rtruediv": lambda target, other: other / target,
    "rfloordiv": lambda target, other: other // target, "rmod": lambda target, other: other % target,
    "rpow": lambda target, other: other**target, "rmatmul": lambda target, other: other @ target,
    "rand": lambda target, other: other & target, "ror": lambda target, other: other | target,
    "rxor": lambda target, other: other ^ target,
    "trunc": math.trunc, "floor": math.floor, "ceil": math.ceil,
    **{name: getattr(operator, name) for name in (
        "iadd isub imul imatmul itruediv ifloordiv imod ipow ilshift irshift iand ior ixor"
    ).split()},
}  # fmt: skip
"""The operations on a handle, by name. The peer runs coroutines and asynchronous generators."""
_NEVER = (types.FrameType, types.CodeType, types.TracebackType, types.ModuleType)
_INNER = ("_", "gi_", "cr_", "ag_", "tb_", "f_", "co_", "func_")


def _key(value):
    """What tells an object from others: a bound method is made anew at each look, and equal to itself."""
    if type(value) is types.MethodType:
        return (id(value.__self__), id(value.__func__))
    return (id(value.__self__), value.__name__) if type(value) is types.BuiltinMethodType else id(value)


class Exports:
    """The handles of both ends. `module`: this end's module of the row. `asking`: what the test's end may ask; None on
    the answer's. `request(op, fields, ...)` sends a request to the other end and returns its value."""

    def __init__(self, module, asking, request):
        self.asking, self._module, self._request = asking, module, request
        self.wary = asking is not None
        self.rank = 0
        """The rank of the next handles that arrive (asking.py)."""
        self._mine, self._numbers = {}, {}
        self._theirs, self._stand_ins = {}, {}
        self._next = 0

    # -- this end's objects

    def number(self, value):
        """The number under which this end's `value` is served."""
        if len(self._mine) > MAX_HANDLES:
            raise TooMuch("more than %d handles" % MAX_HANDLES)
        self._next += 1
        self._mine[self._next] = value
        self._numbers[_key(value)] = self._next
        return self._next

    def mine(self, number):
        if number not in self._mine:
            raise CannotCross("no such handle")
        return self._mine[number]

    def take_back(self, descriptions):
        """Forget handles whose descriptions were not sent."""
        for one in descriptions:
            value = self._mine.pop(one["n"], None)
            self._numbers.pop(_key(value), None)
            self.classes.take_back(one["n"])

    def own(self, value):
        """The form of a value that has a number on either end; None where it has none."""
        if isinstance(value, Remote):
            if isinstance(value, proxies.RemoteClass):
                return ["k", 1, number_of(value)]
            return ["h", 1, number_of(value)]
        number = self._stand_ins.get(id(value))
        if number is not None:
            return ["h", 1, number]
        number = self._numbers.get(_key(value))
        return None if number is None else ["h", 0, number]

    def export(self, value, writer):
        """A handle of a value that does not cross by content. Raises CannotCross where no handle is allowed."""
        named = builtin_names.function_name(value)
        if named is not None:
            return ["g", *named]
        if self.wary:
            _check_export(value)
            self.classes.check_static(type(value))
            found = self.by_name(value, None) if _is_library(value, self._module) else None
            if found is not None:
                return found
        description = {"n": 0, **self._description(value, writer)}
        description["n"] = self.number(value)
        writer.descriptions.append(description)
        return ["h", 0, description["n"]]

    def by_name(self, value, writer):
        """The form, by module and name, of what an installed library defines; a handle where a lookup does not find
        it."""
        module = getattr(value, "__module__", None) or getattr(getattr(value, "__objclass__", None), "__module__", "")
        name = getattr(value, "__qualname__", getattr(value, "__name__", ""))
        found = sys.modules.get(module)
        for part in str(name).split("."):
            found = getattr(found, part, None)
        if found is value and module not in (self._module, "__main__"):
            return ["g", module, name]
        if writer is None:
            return None
        return self.export(value, writer)

    def imported(self, module, name):
        """The object of a library that the test's end named. Called on the answer's end only."""
        __import__(module)
        found = sys.modules[module]
        for part in name.split("."):
            found = getattr(found, part)
        return found

    def _description(self, value, writer):
        if inspect.isgenerator(value):
            return {"kind": "generator"}
        if inspect.iscoroutine(value) or inspect.isawaitable(value):
            return {"kind": "coroutine"}
        if inspect.isasyncgen(value):
            return {"kind": "asyncgen"}
        if isinstance(value, (types.FunctionType, types.BuiltinFunctionType, types.MethodType)) or (
            callable(value) and type(value).__module__ in ("functools", "builtins", "operator", "_operator")
        ):
            return _function(value)
        cls = type(value)
        if hasattr(cls, "__next__") and cls.__module__ != self._module:
            named = [cls.__module__, cls.__name__]
            return {"kind": "iterator", "type": named if named[0] in ("builtins", "itertools") else None}
        return {"kind": "object", "class": self.classes.reference(cls, writer)}

    # -- the other end's objects

    def learn(self, description, reader):
        if description.get("kind") == "class":
            return self.classes.learn(description, reader)
        number = description["n"]
        if type(number) is not int or number in self._theirs:
            raise CannotCross("malformed handle")
        cls = reader.value(description["class"]) if description["kind"] == "object" else None
        made = proxies.make(self, number, description, cls)
        self.place(number, made)
        if not isinstance(made, Remote):
            self._stand_ins[id(made)] = number
        return None

    def place(self, number, made):
        if number in self._theirs or len(self._theirs) > MAX_HANDLES:
            raise CannotCross("malformed handle")
        self._theirs[number] = made

    def at(self, owner, number):
        """The object of ["h", owner, n]."""
        if owner == 1:
            return self.mine(number)
        if number not in self._theirs:
            raise CannotCross("no such handle")
        return self._again(self._theirs[number])

    def _again(self, stand_in):
        """Lower the rank of an object that the test constructed when a call returns it: from then on it counts as a
        result."""
        if self.wary and self.rank < 3 and isinstance(stand_in, proxies.RemoteObject):
            facts = facts_of(stand_in)
            facts.rank = min(facts.rank, 2)
        return stand_in

    def do(self, number, what, args=(), kwargs=None, rank=0):
        """Ask the other end for the operation `what` on its handle."""
        value = self._request("do", {"h": number, "do": what}, args, kwargs or {}, rank)
        if self.wary and what == "next":
            self.asking.gave.add(number)
        return value

    def method(self, number, name, args, kwargs):
        """Call a method of the other end's class of that number; its instance is the first argument."""
        return self._request("method", {"h": number, "do": name}, args, kwargs, 0)

    # -- serving

    def served(self, message, args, kwargs):
        """Serve a request of the other end."""
        target, what = self.mine(message["h"]), message["do"]
        if message["op"] == "method":
            return self._served_method(target, what, args, kwargs)
        if what not in DO:
            raise CannotCross("no such operation")
        if self.wary:
            _may(target, what, args)
        return DO[what](target, *args, **kwargs)

    def _served_method(self, cls, name, args, kwargs):
        if not isinstance(cls, type) or type(name) is not str:
            raise CannotCross("no such method")
        owner = next((base for base in cls.__mro__ if name in vars(base)), None)
        if owner is None or (self.wary and owner.__module__ != self._module):
            raise CannotCross("no such method")
        item = vars(owner)[name]
        if isinstance(item, property):
            return item.fget(*args)
        if type(item).__name__ == "cached_property":
            return item.__get__(args[0], cls)
        if isinstance(item, (staticmethod, classmethod)):
            arguments = args[1:] if args and isinstance(args[0], cls) else args
            return getattr(cls, name)(*arguments, **kwargs)
        return item(*args, **kwargs)


def _function(value):
    name = getattr(value, "__name__", type(value).__name__)
    description = {"kind": "function", "name": name if type(name) is str else "function", "params": None}
    description["type"] = type(value).__name__
    description["doc"] = value.__doc__ if type(getattr(value, "__doc__", None)) is str else None
    description["async"] = inspect.iscoroutinefunction(value)
    try:
        parameters = inspect.signature(value).parameters.values()
        description["params"] = [[one.name, int(one.kind), one.default is not one.empty] for one in parameters]
    except (ValueError, TypeError):
        pass  # not every builtin has one
    return description


def _is_library(value, module):
    named = getattr(value, "__module__", None) or hasattr(value, "__objclass__")
    return bool(named) and hasattr(value, "__qualname__") and getattr(value, "__module__", None) != module


def _check_export(value):
    """Raises CannotCross for a value of the test that leads to its frames, its modules or its runner."""
    unittest = sys.modules.get("unittest")
    waits = inspect.iscoroutine(value) or inspect.isasyncgen(value) or inspect.isawaitable(value)
    if waits or inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value):
        raise CannotCross("something asynchronous of the test's, whose event loop is its own")
    if isinstance(value, _NEVER) or (
        unittest is not None and isinstance(value, (unittest.TestCase, unittest.TestResult))
    ):
        raise CannotCross("a %s of the test's" % type(value).__name__)


def _may(target, what, args):
    """Raises CannotCross for an operation that the answer may not do on an object of the test."""
    if what in ("getattr", "setattr", "delattr", "invoke"):
        name = args[0] if args else ""
        if type(name) is not str or name.startswith(_INNER):
            raise CannotCross("a name that is the test's own")
        if what in ("setattr", "delattr") and not _may_set(target, name):
            raise CannotCross("an attribute that is the test's own")
        if name in _STEERS and _is_mock(target):
            raise CannotCross("a mock is called, and only the test says what it does")
    if isinstance(target, types.MethodType) and what != "call":
        raise CannotCross("a method is only called")


_STEERS = frozenset(("configure_mock", "reset_mock", "attach_mock", "mock_add_spec"))


def _is_mock(target):
    mock = sys.modules.get("unittest.mock")
    return mock is not None and isinstance(target, mock.NonCallableMock)


def _may_set(target, name):
    """Whether the answer may set the attribute: data of instances only, never classes, functions or methods."""
    if isinstance(target, (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        return False
    absent = object()
    known = inspect.getattr_static(type(target), name, absent)
    methods = (staticmethod, classmethod)
    return known is absent or not (_is_mock(target) or callable(known) or isinstance(known, methods))
