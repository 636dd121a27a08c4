"""Expressions of a row's test as functions of what the answer's calls returned, evaluated by Python's own operators.

Read are expressions of literals, calls of the answer with literal arguments, and what plain_operations.py has. Names
are followed in the order of the text; a list or dict that was passed to the answer, which may have changed it, is not
read again.
"""

from __future__ import annotations

import ast
import operator
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from sandbox_gym.verifiers.coding.functions.plain_operations import (
    ARITHMETIC,
    COMPARED,
    CONSTANTS,
    FUNCTIONS,
    MAX_CALLS,
    NONE,
    TYPES,
    UNARY,
    Evaluated,
    NoPlainValue,
    NotPlain,
    Replies,
    bounded,
    constant,
    either,
    finite,
    is_number,
    made,
    unchangeable,
    within,
)
from sandbox_gym.verifiers.coding.functions.wire import frame_call

_WORK: Final = 1_000_000
"""Parts of literals that are looked at while a test is read, and what else takes as long as a few of them."""
_OPTIONS: Final = frozenset(("rel_tol", "abs_tol", "ndigits", "reverse"))


class Reader:
    """Makes functions of expressions. `called`: how the test calls the answer's functions, and their names; `bound`:
    names that mean the row's own things."""

    def __init__(self, called: Mapping[str, str], bound: set[str]) -> None:
        self._called, self.bound = called, bound
        self._names: dict[str, tuple[Evaluated, int]] = {}
        """What they stand for, and how many calls had been made by then."""
        self._passed: dict[int, object] = {}
        """By their identity: literals that the answer may have changed."""
        self._seen: Counter[int] = Counter()
        """How often this statement read a literal by a name."""
        self._left = _WORK
        self.frames: list[bytes] = []

    def spend(self, parts: int) -> None:
        """Raises NotPlain for a text that says too much."""
        self._left -= parts
        if self._left < 0:
            raise NotPlain

    def begin(self) -> None:
        """The next expressions are another statement's."""
        self._seen.clear()

    def assign(self, targets: Sequence[ast.expr], node: ast.expr) -> Evaluated:
        """Give names the value of an expression."""
        value = self.read(node)
        try:
            value = constant(self.known(value))
        except NoPlainValue:
            if self._seen:  # it holds what a later call might change
                raise NotPlain from None
        for target in targets:
            self.bind(target, value)
        return value

    def bind(self, target: ast.expr, value: Evaluated) -> None:
        """Give a name, or names of its items, a value. Raises NotPlain for other targets."""
        if isinstance(target, ast.Name) and target.id not in self._called:
            self._names[target.id] = value, len(self.frames)
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
        self.spend(10)
        if isinstance(node, ast.Constant):
            return constant(node.value)
        if isinstance(node, ast.Name):
            return self._name(node.id)
        if isinstance(node, ast.Attribute) and ast.unparse(node) in CONSTANTS:
            return constant(CONSTANTS[ast.unparse(node)])
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.Compare):
            return self._compare(node)
        if isinstance(node, ast.BoolOp):
            return either([self.read(node.values[0]), *self.certain(node.values[1:])], isinstance(node.op, ast.Or))
        if isinstance(node, ast.UnaryOp) and type(node.op) in UNARY:
            operand, how = self.read(node.operand), UNARY[type(node.op)]
            return lambda replies: how(operand(replies))
        if isinstance(node, ast.BinOp):
            return self._binary(node)
        if isinstance(node, ast.Subscript):
            return self._subscript(node)
        return self._display(node)

    def known(self, value: Evaluated) -> Any:
        """The value of what no call of the answer gives. Raises NoPlainValue."""
        return value(NONE)

    def literal(self, node: ast.expr) -> Any:
        """The value of an expression without a call of the answer. Raises NotPlain, and what Python raises."""
        before = len(self.frames)
        value = self.read(node)
        if len(self.frames) != before:
            raise NotPlain
        return self.known(value)

    def certain(self, nodes: Sequence[ast.expr]) -> list[Evaluated]:
        """Expressions that Python may never come to. Raises NotPlain where these call the answer: it would be called
        for nothing, and could hang."""
        before = len(self.frames)
        values = self.several(nodes)
        if len(self.frames) != before:
            raise NotPlain
        return values

    def several(self, nodes: Sequence[ast.expr]) -> list[Evaluated]:
        """Expressions whose values are made one after the other, and used then."""
        read = [(self.read(node), len(self.frames)) for node in nodes]
        return [self._later(value, made) for value, made in read]

    def _later(self, value: Evaluated, made: int) -> Evaluated:
        """A value that was made after so many calls, and is read now: later ones may have changed it."""
        if made == len(self.frames):
            return value
        try:
            return constant(self.known(value))
        except NoPlainValue:
            return lambda replies: unchangeable(value(replies))

    def _name(self, name: str) -> Evaluated:
        if name not in self._names:
            if name in self.bound or name not in TYPES:
                raise NotPlain
            return constant(TYPES[name])
        found, made = self._names[name]
        try:
            inside = [id(one) for one in self._changeable(self.known(found))]
        except NoPlainValue:
            return self._later(found, made)
        self._seen.update(inside)
        if not self._passed.keys().isdisjoint(inside):
            raise NotPlain
        return found

    def _display(self, node: ast.expr) -> Evaluated:
        if isinstance(node, ast.Dict):
            if None in node.keys:
                raise NotPlain
            keys, values = self.several([key for key in node.keys if key]), self.several(node.values)
            return lambda replies: {k(replies): v(replies) for k, v in zip(keys, values, strict=True)}
        if isinstance(node, ast.ListComp | ast.GeneratorExp):
            return made(list, self.unrolled(node.generators, node.elt))
        for kind, built in ((ast.List, list), (ast.Tuple, tuple), (ast.Set, set)):
            if isinstance(node, kind):
                return made(built, self.several(node.elts))
        raise NotPlain

    def unrolled(self, loops: Sequence[ast.comprehension], element: ast.expr) -> list[Evaluated]:
        """The element of a comprehension over literals, for each of them."""
        (loop,) = loops if len(loops) == 1 else (None,)
        if loop is None or loop.ifs or loop.is_async:
            raise NotPlain
        found, outer = [], dict(self._names)
        for item in self.items(loop.iter):
            self.spend(10)
            self.bind(loop.target, constant(item))
            found.append((self.read(element), len(self.frames)))
        self._names = outer
        return [self._later(value, made) for value, made in found]

    def items(self, node: ast.expr) -> list[Any]:
        """What a loop over literals is about."""
        if isinstance(node, ast.Call) and not node.keywords:
            name = ast.unparse(node.func)
            if name in ("enumerate", "zip", "reversed") and name not in self.bound:
                lists = [self.items(arg) for arg in node.args]
                return list({"enumerate": enumerate, "zip": zip, "reversed": reversed}[name](*lists))
            if name == "range" and name not in self.bound:
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
        values, tests = self.several([node.left, node.comparators[0]]), []
        values += self.certain(node.comparators[1:])
        for how, right in zip(node.ops, node.comparators, strict=True):
            single = isinstance(right, ast.Constant) and (right.value is None or isinstance(right.value, bool))
            if isinstance(how, ast.Is | ast.IsNot):
                if not single and not (isinstance(right, ast.Name) and right.id in TYPES):
                    raise NotPlain
                tests.append(operator.is_ if isinstance(how, ast.Is) else operator.is_not)
            elif isinstance(how, ast.In | ast.NotIn):
                tests.append(within if isinstance(how, ast.In) else lambda one, many: not within(one, many))
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
            product = bounded(node.op, self.literal(node.left), self.literal(node.right))
            self.spend(len(product) if isinstance(product, str | bytes | list | tuple) else 1)
            return constant(product)
        (mine, theirs), how = self.several([node.left, node.right]), ARITHMETIC.get(type(node.op))
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
        return lambda replies: finite(value(replies))[key]

    def _call(self, node: ast.Call) -> Evaluated:
        name = ast.unparse(node.func)
        if name in self._called:
            return self._answers(node, self._called[name])
        function, starred = FUNCTIONS.get(name), any(isinstance(arg, ast.Starred) for arg in node.args)
        if function is None or starred or name.partition(".")[0] in self.bound - {"math"}:
            raise NotPlain
        if name in ("all", "any") and len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp):
            before = len(self.frames)
            items = self.unrolled(node.args[0].generators, node.args[0].elt)
            if len(self.frames) != before:  # it may end at the first
                raise NotPlain
            return lambda replies: function(item(replies) for item in items)
        args, kwargs = self.several(node.args), {str(one.arg): self.literal(one.value) for one in node.keywords}
        if kwargs.keys() - _OPTIONS:
            raise NotPlain
        return lambda replies: function(*[finite(arg(replies)) for arg in args], **kwargs)

    def _answers(self, node: ast.Call, function: str) -> Evaluated:
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        for arg in node.args:
            args += self.items(arg.value) if isinstance(arg, ast.Starred) else [self.literal(arg)]
        for one in node.keywords:
            kwargs.update(**(self.literal(one.value) if one.arg is None else {one.arg: self.literal(one.value)}))
        changeable = self._changeable([*args, *kwargs.values()])
        passed = {id(one): one for one in changeable}
        if len(passed) < len(changeable) or any(self._seen[one] > 1 for one in passed):
            raise NotPlain
        self._passed.update(passed)
        index = len(self.frames)
        if index >= MAX_CALLS:
            raise NotPlain
        self.frames.append(frame_call(args, kwargs, exact=function))
        self.spend(len(self.frames[-1]) // 16)  # 16 MiB in all, which one message may hold
        return lambda replies: replies.value(index)

    def _changeable(self, value: object) -> list[object]:
        """The lists, dicts and sets in a value, itself included."""
        found: list[object] = []
        left = [value]
        while left:
            one = left.pop()
            self.spend(1)
            if isinstance(one, list | dict | set):
                found.append(one)
            if isinstance(one, list | tuple):
                left += one
            elif isinstance(one, dict):
                left += one.values()
        return found
