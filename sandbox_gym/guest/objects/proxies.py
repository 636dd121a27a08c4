"""What stands on one end for what is on the other: functions, iterators, generators, coroutines, objects, classes.

On the answer's end they do what the thing itself would. On the test's end `asking` decides first: an answer's object is
never asked whether it equals, hashes, is true, or what class it is of.
"""

import inspect
import itertools
import types

from .kinds import CannotCross

_OMITTED = object()
_MANY = 10_000_000
_DOES_NOT = "%s of an answer's object is not asked for"


class Remote:
    """Anything of the other end's that is no plain function, generator or coroutine here."""

    __slots__ = ("__weakref__", "_remote")

    def __init__(self, remote):
        object.__setattr__(self, "_remote", remote)


class _Facts:
    """What is known of a handle: its number, its class, and how this end came by it (asking.py)."""

    __slots__ = ("cls", "entered", "exports", "items", "name", "number", "rank", "told")

    def __init__(self, exports, number, told, cls):
        self.entered, self.items = -1, None
        self.exports, self.number, self.told, self.cls = exports, number, told, cls
        self.rank, self.name = exports.rank, told.get("name", "") if told.get("kind") != "object" else ""

    def do(self, what, args=(), kwargs=None, rank=0):
        return self.exports.do(self.number, what, args, kwargs, rank)


def new_facts(exports, number, told):
    """Facts of a class, which is of no class itself."""
    return _Facts(exports, number, told, None)


def _rank_given(facts):
    """What is worth that an object gives: never as much as one that the test constructed."""
    return min(facts.rank, 2)


def facts_of(remote):
    return object.__getattribute__(remote, "_remote")


def number_of(remote):
    return facts_of(remote).number


def make(exports, number, told, cls):
    """The stand-in for a handle that was told of."""
    facts, kind = _Facts(exports, number, told, cls), told["kind"]
    if kind == "generator":
        return _generator(facts)
    if kind == "coroutine":
        return _coroutine(facts)
    if kind == "asyncgen":
        return _asyncgen(facts)
    if kind == "iterator":
        return RemoteIterator(facts)
    if kind == "function":
        return RemoteFunction(facts) if exports.wary else _function(facts)
    if kind == "object":
        return RemoteObject(facts)
    raise CannotCross("no such handle")


def _generator(facts):
    """A real generator that drives the other end's."""
    do = facts.do
    try:
        value = do("next")
        while True:
            try:
                sent = yield value
            except GeneratorExit:
                do("close")
                raise
            except BaseException as error:
                value = do("throw", (error,))
            else:
                value = do("next") if sent is None else do("send", (sent,))
    except StopIteration as end:
        return end.value


async def _coroutine(facts):
    return facts.do("await", rank=1)


async def _asyncgen(facts):
    while True:
        try:
            value = facts.do("anext", rank=1)
        except StopAsyncIteration:
            return
        yield value


class RemoteIterator(Remote):
    __slots__ = ()

    def __iter__(self):
        return self

    def __next__(self):
        return facts_of(self).do("next", rank=1)

    @property
    def __class__(self):
        return iterator_type(facts_of(self).told.get("type")) or RemoteIterator


def _function(facts):
    """A real function of the same signature, so that an answer that looks at it sees what it would see."""
    call = facts.do

    def forward(*args, **kwargs):
        return call("call", args, kwargs)

    async def forward_async(*args, **kwargs):
        return await call("call", args, kwargs)

    made = forward_async if facts.told.get("async") else forward
    params = facts.told.get("params")
    if params is not None:
        try:
            made = _with_signature(made, facts.name, params)
        except (SyntaxError, ValueError):
            pass  # a signature that can't be written, as some builtins have
    made.__name__ = made.__qualname__ = facts.name
    made.__doc__ = facts.told.get("doc")
    return made


def _with_signature(forward, name, params):
    """`forward` behind a signature written out: what counts arguments by __code__ counts right."""
    head, passed, star = [], [], False
    kinds = [kind for _, kind, _ in params]
    for index, (param, kind, optional) in enumerate(params):
        default = "=_OMITTED" if optional else ""
        if kind == inspect.Parameter.VAR_POSITIONAL:
            head.append("*" + param)
            passed.append("*" + param)
            star = True
        elif kind == inspect.Parameter.VAR_KEYWORD:
            head.append("**" + param)
            passed.append("**" + param)
        elif kind == inspect.Parameter.KEYWORD_ONLY:
            head += [] if star else ["*"]
            star = True
            head.append(param + default)
            passed.append("**_given(%r, %s)" % (param, param))
        else:
            head.append(param + default)
            passed.append("*_given(None, %s)" % param)
            if kind == 0 and (index + 1 == len(params) or kinds[index + 1] != 0):
                head.append("/")
    source = "def made(%s):\n    return _forward(%s)\n" % (", ".join(head), ", ".join(passed))
    if inspect.iscoroutinefunction(forward):
        source = "async " + source.replace("return ", "return await ")
    space = {"_OMITTED": _OMITTED, "_given": _given, "_forward": forward}
    exec(compile(source, "<callback>", "exec"), space)
    return space["made"]


def _given(name, value):
    if value is _OMITTED:
        return () if name is None else {}
    return (value,) if name is None else {name: value}


def iterator_type(named):
    """The iterator class that a handle says to be of; None for what is none of the library's."""
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


class RemoteFunction(Remote):
    """An answer's function on the test's end. Calling it decides; attributes are asked for as of objects."""

    __slots__ = ("__dict__",)

    def __init__(self, facts):
        super().__init__(facts)
        own = object.__getattribute__(self, "__dict__")
        own.update(__name__=facts.name, __qualname__=facts.name, __doc__=facts.told.get("doc"))

    @property
    def __class__(self):
        return _FUNCTION_TYPES.get(facts_of(self).told.get("type"), RemoteFunction)

    def __call__(self, *args, **kwargs):
        return facts_of(self).do("call", args, kwargs, rank=1)

    def __getattr__(self, name):
        return _attribute(self, name)

    def __setattr__(self, name, value):
        _set_attribute(self, name, value)

    def __get__(self, instance, owner=None):
        return self if instance is None else _Bound(self, instance)


class _Bound:
    """An answer's function as a method of a class of the test's."""

    def __init__(self, function, instance):
        self._function, self._instance = function, instance

    def __call__(self, *args, **kwargs):
        return self._function(self._instance, *args, **kwargs)


class RemoteClass(Remote):
    """An answer's class on the test's end: called, looked at, and known by its instances; never derived from."""

    __slots__ = ("__dict__", "above")

    def __init__(self, facts, above):
        super().__init__(facts)
        object.__setattr__(self, "above", above)  # numbers of its own and of the classes that it derives from
        own = object.__getattribute__(self, "__dict__")
        own.update(__name__=facts.name, __qualname__=facts.name, __module__="solution")

    def __call__(self, *args, **kwargs):
        facts = facts_of(self)
        return facts.do("call", args, kwargs, rank=facts.exports.asking.rank_of_class(facts.name))

    def __getattr__(self, name):
        return _attribute(self, name)

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


class _Method:
    """A method of an answer's object, in one round trip. `limited`: it may give an object, but no value."""

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
        if isinstance(cls, RemoteClass) and name in facts_of(cls).told["methods"]:
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


def _is_value(facts):
    """Whether the test takes a sized object for a value: then its length and its items are asked for once, together."""
    cls = facts.cls
    sized = isinstance(cls, RemoteClass) and "__len__" in facts_of(cls).told["methods"]
    return sized and facts.exports.wary and facts.exports.asking.takes_for_value(facts)


def _counted(facts):
    if facts.items is None:
        size, items = facts.do("len"), facts.do("iter", rank=facts.rank)
        if type(size) is not int or not 0 <= size <= _MANY:
            raise TypeError(_DOES_NOT % "len")
        facts.items = list(itertools.islice(items, size + 1))
        if len(facts.items) != size:
            raise TypeError("an object of the answer's has not as many items as it says")
    return facts.items


class RemoteObject(Remote):
    """An instance that stays on the other end."""

    __slots__ = ()

    def __getattr__(self, name):
        return _attribute(self, name)

    def __setattr__(self, name, value):
        _set_attribute(self, name, value)

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
        return facts_of(self).do("iter", rank=_rank_given(facts_of(self)))

    def __next__(self):
        return facts_of(self).do("next", rank=_rank_given(facts_of(self)))

    def __contains__(self, item):
        facts = facts_of(self)
        if facts.exports.wary and not facts.exports.asking.compares(facts, item, "contains"):
            return any(item is one or item == one for one in self)
        return facts.do("contains", (item,)) is True

    def __enter__(self):
        facts = facts_of(self)
        entered = facts.do("enter", rank=_rank_given(facts))
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
        return facts_of(self).do(name, args, rank=_rank_given(facts_of(self)))

    return method


def _exactly(name, kind):
    def method(self, *args):
        if name == "len" and _is_value(facts_of(self)):
            return len(_counted(facts_of(self)))
        value = facts_of(self).do(name, args)
        if type(value) is not kind:
            raise TypeError(_DOES_NOT % name)
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
        return facts.do(name, (other, *more), rank=_rank_given(facts))

    return method


for _name in ("neg", "pos", "abs", "invert", "round", "getitem", "setitem", "delitem", "reversed"):
    setattr(RemoteObject, "__%s__" % _name, _unary(_name))
for _name, _kind in (
    ("len", int), ("str", str), ("repr", str), ("format", str), ("int", int), ("float", float), ("index", int),
    ("complex", complex), ("bytes", bytes),
):  # fmt: skip
    setattr(RemoteObject, "__%s__" % _name, _exactly(_name, _kind))
for _name in (
    "lt le gt ge add sub mul matmul truediv floordiv mod divmod pow lshift rshift and or xor radd rsub rmul rtruediv"
    " rfloordiv rmod rpow rmatmul rand ror rxor"
).split():
    setattr(RemoteObject, "__%s__" % _name, _binary(_name))
