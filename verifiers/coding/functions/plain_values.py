"""Expressions of a row's test as functions of what the answer's calls returned, evaluated by Python's own operators.

Read are expressions of literals, calls of the answer with literal arguments, and operators and builtins that take no
longer than to read the values, whatever an answer returns: lengths, depths and collisions are bounded by the wire.
Names are followed in the order of the text; a list or dict that was passed to the answer, which may have changed it, is
not read again.
"""

from __future__ import annotations

import ast
import math
import operator
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from sandbox_gym.verifiers.coding.functions.wire import decode, frame_call, set_of

MAX_CALLS: Final = 1000
_MAX_ITEMS: Final = 1_000_000
"""Of a literal that is a text or list times a number."""
_MAX_BITS: Final = 4096
"""Of an integer that is calculated with."""
_MAX_DIGITS: Final = 400


class AnswerRaised(Exception):
    """The call raised. `kind`: its class's name; `builtins`: the builtin classes that it is of."""

    def __init__(self, kind: str, message: str, builtins: frozenset[str]) -> None:
        super().__init__(message)
        self.kind, self.builtins = kind, builtins


class NoPlainValue(Exception):
    """The call gave no value that crosses, or one that is not calculated with here."""


class NotPlain(Exception):
    """The row's text is none that is evaluated here."""


class Replies:
    """What the calls gave, in their order. Values are built once, and never changed."""

    def __init__(self, replies: Sequence[Mapping[str, object]]) -> None:
        self._replies = replies
        self._values: dict[int, object] = {}

    def value(self, index: int) -> object:
        """What a call returned. Raises AnswerRaised, NoPlainValue, BadReply."""
        if index not in self._values:
            reply = self._replies[index] if index < len(self._replies) else {}
            error = reply.get("error")
            if isinstance(error, dict):
                raise AnswerRaised(str(error["type"]), str(error["message"]), frozenset(error.get("builtins", ())))
            if "value" not in reply:
                raise NoPlainValue
            self._values[index] = decode(reply["value"])
        return self._values[index]


Evaluated = Callable[[Replies], Any]
"""Raises AnswerRaised, NoPlainValue, and what Python's operators raise of the values."""
_NONE: Final = Replies(())


_ARITHMETIC: Final[Mapping[type, Callable[..., Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
COMPARED: Final[Mapping[type, Callable[..., Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_UNARY: Final[Mapping[type, Callable[..., Any]]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
_TYPES: Final[Mapping[str, type]] = {
    one.__name__: one for one in (bool, bytes, complex, dict, float, frozenset, int, list, set, str, tuple)
}


def _of_scalar(function: Callable[..., Any]) -> Callable[..., Any]:
    def made(value: object) -> object:
        if not isinstance(value, str | type(None)) and not is_number(value):
            raise NoPlainValue
        return function(value)

    return made


def _rounded(value: object, ndigits: int | None = None) -> object:
    if not is_number(value) or (ndigits is not None and abs(ndigits) > _MAX_DIGITS):
        raise NoPlainValue
    return round(value, ndigits)  # type: ignore[call-overload]


_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "abs": abs,
    "all": all,
    "any": any,
    "bool": bool,
    "float": _of_scalar(float),
    "frozenset": lambda *items: frozenset(set_of(*items)) if items else frozenset(),
    "int": _of_scalar(int),
    "isinstance": isinstance,
    "len": len,
    "list": list,
    "math.isclose": math.isclose,
    "max": max,
    "min": min,
    "round": _rounded,
    "set": lambda *items: set_of(*items) if items else set(),
    "sorted": sorted,
    "str": _of_scalar(str),
    "tuple": tuple,
    "type": lambda value: type(value),
}
"""What a test may ask of values beside operators."""
_OPTIONS: Final = frozenset(("rel_tol", "abs_tol", "ndigits", "reverse"))


class Reader:
    """Makes functions of expressions. `called`: how the test calls the answer's functions, and their names; `bound`:
    names that mean the row's own things."""

    def __init__(self, called: Mapping[str, str], bound: set[str]) -> None:
        self._called, self._bound = called, bound
        self._names: dict[str, Evaluated] = {}
        self._passed: dict[int, object] = {}
        """By their identity: literals that the answer may have changed."""
        self._seen: Counter[int] = Counter()
        """How often this statement read a literal by a name."""
        self.frames: list[bytes] = []

    def begin(self) -> None:
        """The next expressions are another statement's."""
        self._seen.clear()

    def assign(self, target: ast.expr, node: ast.expr) -> None:
        """Give a name the value of an expression."""
        value = self.read(node)
        try:
            value = constant(self.known(value))
        except NoPlainValue:
            if self._seen:  # it holds what a later call might change
                raise NotPlain from None
        self.bind(target, value)

    def bind(self, target: ast.expr, value: Evaluated) -> None:
        """Give a name, or names of its items, a value. Raises NotPlain for other targets."""
        if isinstance(target, ast.Name) and target.id not in self._called:
            self._names[target.id] = value
        elif isinstance(target, ast.Tuple | ast.List):
            items = self.known(value)
            if not isinstance(items, list | tuple) or len(items) != len(target.elts):
                raise NotPlain
            for one, item in zip(target.elts, items, strict=True):
                self.bind(one, constant(item))
        else:
            raise NotPlain

    def read(self, node: ast.expr) -> Evaluated:
        """Raises NotPlain for what is not known to do the same here as in a process of its own."""
        if isinstance(node, ast.Constant):
            return constant(node.value)
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, ast.BoolOp):
            return _either(self._all(node.values), isinstance(node.op, ast.Or))
        if isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
            operand, how = self.read(node.operand), _UNARY[type(node.op)]
            return lambda replies: how(operand(replies))
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        return self._display(node)

    def known(self, value: Evaluated) -> Any:
        """The value of what no call of the answer gives. Raises NoPlainValue."""
        return value(_NONE)

    def literal(self, node: ast.expr) -> Any:
        """The value of an expression without a call of the answer. Raises NotPlain, and what Python raises."""
        before = len(self.frames)
        value = self.read(node)
        if len(self.frames) != before:
            raise NotPlain
        return self.known(value)

    def _all(self, nodes: Sequence[ast.expr]) -> list[Evaluated]:
        return [self.read(node) for node in nodes]

    def _name(self, name: str) -> Evaluated:
        found = self._names.get(name)
        if found is None:
            if name in self._bound or name not in _TYPES:
                raise NotPlain
            return constant(_TYPES[name])
        try:
            inside = [id(one) for one in _changeable(self.known(found))]
        except NoPlainValue:
            return found
        self._seen.update(inside)
        if not self._passed.keys().isdisjoint(inside):
            raise NotPlain
        return found

    def _display(self, node: ast.expr) -> Evaluated:
        if isinstance(node, ast.Dict):
            if None in node.keys:
                raise NotPlain
            keys, values = self._all([key for key in node.keys if key]), self._all(node.values)
            return lambda replies: {k(replies): v(replies) for k, v in zip(keys, values, strict=True)}
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return _made(list, self.unrolled(node.generators, node.elt))
        for kind, made in ((ast.List, list), (ast.Tuple, tuple), (ast.Set, set)):
            if isinstance(node, kind):
                return _made(made, self._all(node.elts))
        raise NotPlain

    def unrolled(self, loops: Sequence[ast.comprehension], element: ast.expr) -> list[Evaluated]:
        """The element of a comprehension over literals, for each of them."""
        (loop,) = loops if len(loops) == 1 else (None,)
        if loop is None or loop.ifs or loop.is_async:
            raise NotPlain
        found, outer = [], dict(self._names)
        for item in self.items(loop.iter):
            self.bind(loop.target, constant(item))
            found.append(self.read(element))
        self._names = outer
        return found

    def items(self, node: ast.expr) -> list[Any]:
        """What a loop over literals is about."""
        if isinstance(node, ast.Call) and not node.keywords:
            name = ast.unparse(node.func)
            if name in ("enumerate", "zip", "reversed") and name not in self._bound:
                lists = [self.items(arg) for arg in node.args]
                return list({"enumerate": enumerate, "zip": zip, "reversed": reversed}[name](*lists))
            if name == "range" and name not in self._bound:
                return self._short(range(*[self.literal(arg) for arg in node.args]))
            if isinstance(node.func, ast.Attribute) and node.func.attr == "items" and not node.args:
                return self._short(self.literal(node.func.value).items())
        return self._short(self.literal(node))

    def _short(self, items: Any) -> list[Any]:
        if isinstance(items, set | frozenset) or len(items) > MAX_CALLS:
            raise NotPlain  # the order of a set's is no text's
        return list(items)

    def _compare(self, node: ast.Compare) -> Evaluated:
        """`is` with None, True, False and classes only: there is one of each."""
        values, tests = self._all([node.left, *node.comparators]), []
        for how, right in zip(node.ops, node.comparators, strict=True):
            single = isinstance(right, ast.Constant) and (right.value is None or isinstance(right.value, bool))
            if isinstance(how, ast.Is | ast.IsNot):
                if not single and not (isinstance(right, ast.Name) and right.id in _TYPES):
                    raise NotPlain
                tests.append(operator.is_ if isinstance(how, ast.Is) else operator.is_not)
            elif isinstance(how, ast.In | ast.NotIn):
                tests.append(_within if isinstance(how, ast.In) else lambda one, many: not _within(one, many))
            else:
                tests.append(COMPARED[type(how)])

        def compared(replies: Replies) -> object:
            left: Any = values[0](replies)
            for test, value in zip(tests, values[1:], strict=True):
                right = value(replies)
                if not test(left, right):
                    return False
                left = right
            return True

        return compared

    def _binary(self, node: ast.BinOp) -> Evaluated:
        if isinstance(node.op, ast.Mult | ast.Pow):
            return constant(_bounded(node.op, self.literal(node.left), self.literal(node.right)))
        mine, theirs, how = self.read(node.left), self.read(node.right), _ARITHMETIC.get(type(node.op))
        if how is None:
            raise NotPlain

        def value(replies: Replies) -> object:
            left, right = mine(replies), theirs(replies)
            joined = how is operator.add and type(left) is type(right) and isinstance(left, str | list | tuple)
            if not joined and not (is_number(left) and is_number(right)):
                raise NoPlainValue
            return how(left, right)

        return value

    def _subscript(self, node: ast.Subscript) -> Evaluated:
        value = self.read(node.value)
        if isinstance(node.slice, ast.Slice):
            key: object = slice(
                *[self.literal(one) if one else None for one in (node.slice.lower, node.slice.upper, node.slice.step)]
            )
        else:
            key = self.literal(node.slice)
        return lambda replies: _finite(value(replies))[key]

    def _call(self, node: ast.Call) -> Evaluated:
        if any(isinstance(arg, ast.Starred) for arg in node.args) or any(one.arg is None for one in node.keywords):
            raise NotPlain
        name = ast.unparse(node.func)
        if name in self._called:
            return self._answers(node, self._called[name])
        function = _FUNCTIONS.get(name)
        if function is None or name.partition(".")[0] in self._bound - {"math"}:
            raise NotPlain
        if name in ("all", "any") and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            items = self.unrolled(node.args[0].generators, node.args[0].elt)
            return lambda replies: function(item(replies) for item in items)
        args, kwargs = self._all(node.args), {str(one.arg): self.read(one.value) for one in node.keywords}
        if kwargs.keys() - _OPTIONS:
            raise NotPlain
        return lambda replies: function(
            *[_finite(arg(replies)) for arg in args], **{key: value(replies) for key, value in kwargs.items()}
        )

    def _answers(self, node: ast.Call, function: str) -> Evaluated:
        args = [self.literal(arg) for arg in node.args]
        kwargs = {str(one.arg): self.literal(one.value) for one in node.keywords}
        passed = {id(one): one for one in _changeable([args, kwargs])}
        if any(self._seen[one] > 1 for one in passed):
            raise NotPlain
        self._passed.update(passed)
        index = len(self.frames)
        if index >= MAX_CALLS:
            raise NotPlain
        self.frames.append(frame_call(args, kwargs, exact=function))
        return lambda replies: replies.value(index)


def constant(value: Any) -> Evaluated:
    return lambda _replies: value


def _made(kind: Callable[..., Any], items: Sequence[Evaluated]) -> Evaluated:
    return lambda replies: kind([item(replies) for item in items])


def _either(values: Sequence[Evaluated], is_or: bool) -> Evaluated:
    def value(replies: Replies) -> object:
        for one in values[:-1]:
            found = one(replies)
            if bool(found) is is_or:
                return found
        return values[-1](replies)

    return value


def _changeable(value: object) -> list[object]:
    """The lists, dicts and sets in a value, itself included."""
    found: list[object] = []
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, list | dict | set):
            found.append(one)
        if isinstance(one, list | tuple):
            left += one
        elif isinstance(one, dict):
            left += one.values()
    return found


def _bounded(how: ast.operator, left: Any, right: Any) -> object:
    """A product or power of literals. Raises NotPlain for a large one."""
    if isinstance(how, ast.Pow):
        if not isinstance(left, int) or not isinstance(right, int) or not 0 <= right * left.bit_length() <= _MAX_BITS:
            raise NotPlain
        return left**right
    for one, times in ((left, right), (right, left)):
        if isinstance(one, str | bytes | list | tuple):
            if not isinstance(times, int) or len(one) * times > _MAX_ITEMS:
                raise NotPlain
            return one * times
    if not is_number(left) or not is_number(right):
        raise NotPlain
    return left * right


def is_number(value: object) -> bool:
    """Whether arithmetic with it takes no time to speak of."""
    return isinstance(value, float | complex) or (isinstance(value, int) and value.bit_length() <= _MAX_BITS)


def _within(one: object, many: Any) -> bool:
    return one in _finite(many)


def _finite(value: Any) -> Any:
    """A value that is as long as what crossed."""
    if isinstance(value, range):
        raise NoPlainValue
    return value
