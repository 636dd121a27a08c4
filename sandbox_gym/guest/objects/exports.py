"""Handles: what stays where it is and is used from the other end by its number. Owns the numbers of both ends.

Crossing as a handle are functions, iterators, generators, coroutines, and instances of classes that the other end can't
have. What may be done with one is the owner's to say: `DO` names every way. The test's end serves little of it
(`_may`): a candidate that holds a function of the test's may call it, but never reach its globals or a frame.
"""

import inspect
import operator
import sys
import types

from . import builtin_names, proxies
from .kinds import CannotCross, TooMuch
from .remote import Remote, facts_of, number_of

MAX_HANDLES = 200_000


def _exit(held, *error):
    return type(held).__exit__(held, *error)


DO = {
    "call": lambda held, *args, **kwargs: held(*args, **kwargs),
    "invoke": lambda held, name, *args, **kwargs: getattr(held, name)(*args, **kwargs),
    "getattr": getattr, "setattr": setattr, "delattr": delattr,
    "next": next, "iter": iter, "aiter": lambda held: type(held).__aiter__(held),
    "send": lambda held, value: held.send(value), "throw": lambda held, error: held.throw(error),
    "close": lambda held: held.close(),
    "enter": lambda held: type(held).__enter__(held), "exit": _exit,
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
    "radd": lambda held, other: other + held, "rsub": lambda held, other: other - held,
    "rmul": lambda held, other: other * held, "rtruediv": lambda held, other: other / held,
    "rfloordiv": lambda held, other: other // held, "rmod": lambda held, other: other % held,
    "rpow": lambda held, other: other**held, "rmatmul": lambda held, other: other @ held,
    "rand": lambda held, other: other & held, "ror": lambda held, other: other | held,
    "rxor": lambda held, other: other ^ held,
    "iadd": operator.iadd, "isub": operator.isub, "imul": operator.imul, "ior": operator.ior, "iand": operator.iand,
}  # fmt: skip
"""What may be done with a handle, by name. Coroutines and asynchronous generators are driven by the peer."""
_NEVER = (types.FrameType, types.CodeType, types.TracebackType, types.ModuleType)
_INNER = ("_", "gi_", "cr_", "ag_", "tb_", "f_", "co_", "func_")


class Exports:
    """Both ends' handles. `module`: this end's module of the row; `asking` decides what a wary end asks; `request(op,
    fields)` has the other end do something and gives the value."""

    def __init__(self, module, asking, request):
        self.asking, self._module, self._request = asking, module, request
        self.wary = asking is not None
        self.rank = 0
        """What the next handles that come in are worth (asking.py)."""
        self._mine, self._numbers = {}, {}
        self._theirs, self._stand_ins = {}, {}
        self._next = 0

    # -- what is this end's

    def number(self, value):
        """The number under which this end's `value` is served."""
        if len(self._mine) > MAX_HANDLES:
            raise TooMuch("more than %d handles" % MAX_HANDLES)
        self._next += 1
        self._mine[self._next] = value
        self._numbers[id(value)] = self._next
        return self._next

    def mine(self, number):
        if number not in self._mine:
            raise CannotCross("no such handle")
        return self._mine[number]

    def take_back(self, told):
        """The other end was never told."""
        for one in told:
            value = self._mine.pop(one["n"], None)
            self._numbers.pop(id(value), None)
            self.classes.take_back(one["n"])

    def own(self, value):
        """The form of what has a number already, on either end; None for what has none."""
        if isinstance(value, Remote):
            if isinstance(value, proxies.RemoteClass):
                return ["k", 1, number_of(value)]
            return ["h", 1, number_of(value)]
        number = self._stand_ins.get(id(value))
        if number is not None:
            return ["h", 1, number]
        number = self._numbers.get(id(value))
        return None if number is None else ["h", 0, number]

    def export(self, value, writer):
        """A handle of a value that does not cross by content. Raises CannotCross for what no handle may be of."""
        named = builtin_names.function_name(value)
        if named is not None:
            return ["g", *named]
        if self.wary:
            _check_export(value)
            self.classes.check_static(type(value))
            found = self.by_name(value, None) if _is_library(value, self._module) else None
            if found is not None:
                return found
        told = {"n": 0, **self._description(value, writer)}
        told["n"] = self.number(value)
        writer.told.append(told)
        return ["h", 0, told["n"]]

    def by_name(self, value, writer):
        """What a library that both ends have defines, by module and name; a handle where it is not found so."""
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
        """What the test's end names of a library. Never on the test's end."""
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
            return {"kind": "iterator", "type": _iterator_type(cls)}
        return {"kind": "object", "class": self.classes.reference(cls, writer)}

    # -- what is the other end's

    def learn(self, told, reader):
        if told.get("kind") == "class":
            return self.classes.learn(told, reader)
        number = told["n"]
        if type(number) is not int or number in self._theirs:
            raise CannotCross("malformed handle")
        cls = reader.value(told["class"]) if told["kind"] == "object" else None
        made = proxies.make(self, number, told, cls)
        self.place(number, made)
        if not isinstance(made, Remote):
            self._stand_ins[id(made)] = number
        return None

    def place(self, number, made):
        if number in self._theirs or len(self._theirs) > MAX_HANDLES:
            raise CannotCross("malformed handle")
        self._theirs[number] = made

    def handle(self, form):
        """What ["h", owner, n] stands for."""
        return self.at(form[1], form[2])

    def at(self, owner, number):
        if owner == 1:
            return self.mine(number)
        if number not in self._theirs:
            raise CannotCross("no such handle")
        return self._again(self._theirs[number])

    def _again(self, stand_in):
        """What the test constructed, when it comes back as what something gave, is no more than that from then on."""
        if self.wary and self.rank < 3 and isinstance(stand_in, proxies.RemoteObject):
            facts = facts_of(stand_in)
            facts.rank = min(facts.rank, 2)
        return stand_in

    def do(self, number, what, args=(), kwargs=None, rank=0):
        """Have the other end do `what` with its handle."""
        return self._request("do", {"h": number, "do": what}, args, kwargs or {}, rank)

    def method(self, number, name, args, kwargs):
        """Call a method of the other end's class of that number; its instance is the first argument."""
        return self._request("method", {"h": number, "do": name}, args, kwargs, 0)

    # -- serving

    def served(self, message, args, kwargs):
        """Do what the other end asks."""
        held, what = self.mine(message["h"]), message["do"]
        if message["op"] == "method":
            return self._served_method(held, what, args, kwargs)
        if what not in DO:
            raise CannotCross("no such way")
        if self.wary:
            _may(held, what, args)
        return DO[what](held, *args, **kwargs)

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
    told = {"kind": "function", "name": name if type(name) is str else "function", "params": None}
    told["type"] = type(value).__name__
    told["doc"] = value.__doc__ if type(getattr(value, "__doc__", None)) is str else None
    told["async"] = inspect.iscoroutinefunction(value)
    try:
        parameters = inspect.signature(value).parameters.values()
        told["params"] = [[one.name, int(one.kind), one.default is not one.empty] for one in parameters]
    except (ValueError, TypeError):
        pass  # not every builtin has one
    return told


def _iterator_type(cls):
    return [cls.__module__, cls.__name__] if cls.__module__ in ("builtins", "itertools") else None


def _is_library(value, module):
    named = getattr(value, "__module__", None) or hasattr(value, "__objclass__")
    return bool(named) and hasattr(value, "__qualname__") and getattr(value, "__module__", None) != module


def _check_export(value):
    """The test's end gives no handle of what leads to its frames, its modules or its runner."""
    unittest = sys.modules.get("unittest")
    waits = inspect.iscoroutine(value) or inspect.isasyncgen(value) or inspect.isawaitable(value)
    if waits or inspect.iscoroutinefunction(value) or inspect.isasyncgenfunction(value):
        raise CannotCross("something asynchronous of the test's, whose event loop is its own")
    if isinstance(value, _NEVER) or (
        unittest is not None and isinstance(value, (unittest.TestCase, unittest.TestResult))
    ):
        raise CannotCross("a %s of the test's" % type(value).__name__)


def _may(held, what, args):
    """Raises CannotCross for what the answer may not do with something of the test's."""
    if what in ("getattr", "setattr", "delattr", "invoke"):
        name = args[0] if args else ""
        if type(name) is not str or name.startswith(_INNER):
            raise CannotCross("a name that is the test's own")
        if what in ("setattr", "delattr") and not _may_set(held, name):
            raise CannotCross("an attribute that is the test's own")
        if name in _STEERS and _is_mock(held):
            raise CannotCross("a mock is called, and only the test says what it does")
    if isinstance(held, types.MethodType) and what != "call":
        raise CannotCross("a method is only called")


_STEERS = frozenset(("configure_mock", "reset_mock", "attach_mock", "mock_add_spec"))


def _is_mock(held):
    mock = sys.modules.get("unittest.mock")
    return mock is not None and isinstance(held, mock.NonCallableMock)


def _may_set(held, name):
    """Only data of instances: never what a class, a function, or a method of an object does."""
    if isinstance(held, (type, types.FunctionType, types.BuiltinFunctionType, types.MethodType)):
        return False
    absent = object()
    known = inspect.getattr_static(type(held), name, absent)
    return known is absent or not (_is_mock(held) or callable(known) or isinstance(known, (staticmethod, classmethod)))
