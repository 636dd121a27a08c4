"""Proxies: what stands on one end for iterators, functions, classes and objects of the other.

On the answer's end a proxy behaves like its target. On the test's end `asking` decides which operations are sent: an
object of the answer is never asked for equality, hash, truth or class.
"""

import itertools
import types

from . import forwarding
from .kinds import CannotCross
from .remote import Facts, Remote, facts_of, number_of, rank_given

_MANY = 10_000_000
_DOES_NOT = "%s of an answer's object is not asked for"


def make(exports, number, description, cls):
    """The proxy of a handle, from its description."""
    facts, kind = Facts(exports, number, description, cls), description["kind"]
    if kind == "generator":
        return forwarding.generator(facts)
    if kind == "coroutine":
        return forwarding.coroutine(facts)
    if kind == "asyncgen":
        return forwarding.asyncgen(facts)
    if kind == "iterator":
        return RemoteIterator(facts)
    if kind == "function":
        return RemoteFunction(facts) if exports.wary else forwarding.function(facts)
    if kind == "object":
        return RemoteObject(facts)
    raise CannotCross("no such handle")


def iterator_type(named):
    """The iterator class that a handle names; None for one that is not of the standard library."""
    if type(named) is not list or len(named) != 2 or named[0] not in ("builtins", "itertools"):
        return None
    found = getattr(itertools, str(named[1]), None) if named[0] == "itertools" else _ITERATORS.get(named[1])
    return found if isinstance(found, type) and hasattr(found, "__next__") else None


_ITERATORS = {
    type(made).__name__: type(made)
    for made in (iter([]), iter(()), iter(""), iter({}), iter(set()), iter(range(1)), iter(b""), reversed([]),
                 map(len, ()), filter(None, ()), zip(), enumerate(()), iter({}.values()), iter({}.items()),
                 iter(len, 1))
}  # fmt: skip
_FUNCTION_TYPES = {kind.__name__: kind for kind in (types.FunctionType, types.BuiltinFunctionType, types.MethodType)}


class _Method:
    """A method of an answer's object, called in one round trip. `limited`: it may return an object, but no value."""

    def __init__(self, remote, name, limited):
        self.__self__, self.__name__, self.__qualname__ = remote, name, name
        self._limited = limited

    def __call__(self, *args, **kwargs):
        facts = facts_of(self.__self__)
        value = facts.do("invoke", (self.__name__, *args), kwargs)
        if self._limited and value is not None and not isinstance(value, Remote):
            facts.exports.asking.need("the test asks %s of an object that the answer made" % self.__name__)
        return value


def _attribute(remote, name):
    facts = facts_of(remote)
    if facts.exports.wary:
        limited = facts.exports.asking.attribute(facts, name)
        cls = facts.cls
        if isinstance(cls, RemoteClass) and name in facts_of(cls).description["methods"]:
            return _Method(remote, name, limited)
        if limited:
            facts.exports.asking.need("the test asks %s of an object that the answer made" % name)
    elif name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    return facts.do("getattr", (name,))


def _set_attribute(remote, name, value):
    facts = facts_of(remote)
    if facts.exports.wary and facts.exports.asking.attribute(facts, name):
        raise AttributeError(name)
    facts.do("setattr", (name, value))


class RemoteIterator(Remote):
    __slots__ = ()

    def __iter__(self):
        return self

    def __next__(self):
        return facts_of(self).do("next", rank=1)

    @property
    def __class__(self):
        return iterator_type(facts_of(self).description.get("type")) or RemoteIterator


class RemoteFunction(Remote):
    """A function of the answer on the test's end."""

    __slots__ = ("__dict__",)

    def __init__(self, facts):
        super().__init__(facts)
        own = object.__getattribute__(self, "__dict__")
        own.update(__name__=facts.name, __qualname__=facts.name, __doc__=facts.description.get("doc"))

    @property
    def __class__(self):
        return _FUNCTION_TYPES.get(facts_of(self).description.get("type"), RemoteFunction)

    def __call__(self, *args, **kwargs):
        return facts_of(self).do("call", args, kwargs, rank=1)

    __getattr__ = _attribute
    __setattr__ = _set_attribute

    def __get__(self, instance, owner=None):
        return self if instance is None else _Bound(self, instance)


class _Bound:
    """A function of the answer, bound as a method of a class of the test."""

    def __init__(self, function, instance):
        self._function, self._instance = function, instance

    def __call__(self, *args, **kwargs):
        return self._function(self._instance, *args, **kwargs)


class RemoteClass(Remote):
    """A class of the answer on the test's end: it can be called, read and used in isinstance, but not derived from."""

    __slots__ = ("__dict__", "above")

    def __init__(self, facts, above):
        super().__init__(facts)
        object.__setattr__(self, "above", above)  # its own number and those of its bases
        own = object.__getattribute__(self, "__dict__")
        own.update(__name__=facts.name, __qualname__=facts.name, __module__="solution")

    def __call__(self, *args, **kwargs):
        facts = facts_of(self)
        return facts.do("call", args, kwargs, rank=facts.exports.asking.rank_of_class(facts.name))

    __getattr__ = _attribute

    def __instancecheck__(self, instance):
        if not isinstance(instance, RemoteObject):
            return False
        cls = facts_of(instance).cls
        return isinstance(cls, RemoteClass) and number_of(self) in cls.above

    def __subclasscheck__(self, cls):
        return isinstance(cls, RemoteClass) and number_of(self) in cls.above

    def __mro_entries__(self, bases):
        facts_of(self).exports.asking.need("the test derives a class from the answer's %s" % facts_of(self).name)

    def __getitem__(self, item):
        return self  # Stack[int] in an annotation

    def __or__(self, other):
        return self

    def __repr__(self):
        return "<class 'solution.%s'>" % facts_of(self).name


def _is_value(facts):
    """Whether the test uses a sized object as a value: its length and its items are then requested once, together."""
    cls = facts.cls
    sized = isinstance(cls, RemoteClass) and "__len__" in facts_of(cls).description["methods"]
    return sized and facts.exports.wary and facts.exports.asking.takes_for_value(facts)


def _counted(facts):
    if facts.items is None:
        size, items = facts.do("len"), facts.do("iter", rank=facts.rank)
        if type(size) is not int or not 0 <= size <= _MANY:
            raise TypeError(_DOES_NOT % "len")
        facts.items = list(itertools.islice(items, size + 1))
        if len(facts.items) != size:
            raise TypeError("an object of the answer has another number of items than its len() says")
    return facts.items


class RemoteObject(Remote):
    """The proxy of an instance on the other end."""

    __slots__ = ()

    __getattr__ = _attribute
    __setattr__ = _set_attribute

    def __delattr__(self, name):
        facts_of(self).do("delattr", (name,))

    @property
    def __class__(self):
        cls = facts_of(self).cls
        if facts_of(self).exports.wary:
            return facts_of(self).exports.asking.class_of(cls, RemoteObject)
        return cls if isinstance(cls, type) else RemoteObject

    def __call__(self, *args, **kwargs):
        return facts_of(self).do("call", args, kwargs)

    def __iter__(self):
        if _is_value(facts_of(self)):
            return iter(_counted(facts_of(self)))
        return facts_of(self).do("iter", rank=rank_given(facts_of(self)))

    def __next__(self):
        return facts_of(self).do("next", rank=rank_given(facts_of(self)))

    def __contains__(self, item):
        facts = facts_of(self)
        if facts.exports.wary and not facts.exports.asking.compares(facts, item, "contains"):
            return any(item is one or item == one for one in self)
        return facts.do("contains", (item,)) is True

    def __enter__(self):
        facts = facts_of(self)
        entered = facts.do("enter", rank=rank_given(facts))
        if facts.exports.wary:
            plain = entered is not None and not isinstance(entered, Remote)
            facts.entered = -1 if plain else facts.exports.asking.asked
        return entered

    def __exit__(self, kind, error, trace):
        facts = facts_of(self)
        used = facts.exports.wary and facts.entered != facts.exports.asking.asked
        gone = facts.do("exit", (kind if isinstance(kind, type) else None, error, None))
        if facts.exports.wary and error is not None and gone:
            return facts.exports.asking.may_suppress(error, used)
        return bool(gone)

    def __await__(self):
        return facts_of(self).do("await", rank=1)
        yield

    def __aiter__(self):
        return facts_of(self).do("aiter", rank=1)

    async def __anext__(self):
        return facts_of(self).do("anext", rank=1)

    def __reduce_ex__(self, protocol):
        facts = facts_of(self)
        if facts.exports.wary:
            facts.exports.asking.copied()
        raise TypeError("an object of the test's can't be copied")

    def __eq__(self, other):
        facts = facts_of(self)
        if facts.exports.wary:
            return facts.exports.asking.equal(self, other)
        return facts.do("eq", (other,))

    def __ne__(self, other):
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else not equal

    def __hash__(self):
        facts = facts_of(self)
        if facts.exports.wary:
            return facts.exports.asking.hashed(self)
        return facts.do("hash")

    def __bool__(self):
        facts = facts_of(self)
        return facts.exports.asking.true(self) if facts.exports.wary else facts.do("bool")


def _unary(name):
    def method(self, *args):
        return facts_of(self).do(name, args, rank=rank_given(facts_of(self)))

    return method


def _exactly(name, kind):
    def method(self, *args):
        facts, is_len = facts_of(self), name == "len"
        value = len(_counted(facts)) if is_len and _is_value(facts) else facts.do(name, args)
        if type(value) is not kind:
            raise TypeError(_DOES_NOT % name)
        if is_len and not value and facts.exports.wary:
            facts.exports.asking.given_nothing()
        return value

    return method


def _binary(name):
    def method(self, other, *more):
        facts = facts_of(self)
        if not facts.exports.wary:
            return facts.do(name, (other, *more))
        asking = facts.exports.asking
        if not asking.compares(facts, other, name):
            return NotImplemented
        return facts.do(name, (other, *more), rank=rank_given(facts))

    return method


for _name in ("neg", "pos", "abs", "invert", "round", "trunc", "floor", "ceil", "getitem", "setitem", "delitem",
              "reversed"):  # fmt: skip
    setattr(RemoteObject, "__%s__" % _name, _unary(_name))
for _name, _kind in (
    ("len", int), ("str", str), ("repr", str), ("format", str), ("int", int), ("float", float), ("index", int),
    ("complex", complex), ("bytes", bytes),
):  # fmt: skip
    setattr(RemoteObject, "__%s__" % _name, _exactly(_name, _kind))
for _name in (
    "lt le gt ge add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor radd rsub rmul rtruediv"
    " rfloordiv rmod rpow rmatmul rand ror rxor"
    " iadd isub imul imatmul itruediv ifloordiv imod ipow ilshift irshift iand ior ixor"
).split():
    setattr(RemoteObject, "__%s__" % _name, _binary(_name))
