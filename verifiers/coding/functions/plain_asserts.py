"""Check functions that only assert things about what calls with literal arguments return, as HumanEval's and MBPP's do.

Such a test needs no process: the answer is called with the arguments, and the assertions are evaluated here over the
values that came back, by Python's own operators. A row that says anything else is none of these: its test runs in a
box of its own (split.py). Reads the row alone, never an answer.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from sandbox_gym.verifiers.coding.functions.shapes import CheckTests
from sandbox_gym.verifiers.coding.functions.split import Parting, bound_names, closing_body, part
from sandbox_gym.verifiers.coding.functions.syntax import UNPARSEABLE, parse_trusted
from sandbox_gym.verifiers.coding.functions.wire import MAX_MESSAGE, decode, frame_call, set_of

MAX_CALLS: Final = 1000
_MAX_ITEMS: Final = 1_000_000
"""Of a literal that is a text or list times a number."""
_MAX_BITS: Final = 4096
"""Of an integer that is calculated with."""

Reply = Mapping[str, object]
Evaluated = Callable[[Sequence[Reply]], object]


class AnswerRaised(Exception):
    """The call raised; `kind` is its class's name."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class NoPlainValue(Exception):
    """The call gave no value that crosses, or nothing."""


class _NotPlain(Exception):
    """The row's text is none that is evaluated here."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """One of a check's assertions, and where it stands."""

    holds: Evaluated
    """Raises AnswerRaised, NoPlainValue, and what Python's operators raise of the values."""
    line: int
    source: str
    message: str


@dataclass(frozen=True, slots=True)
class PlainAsserts:
    """A check that needs no process of its own. `frames`: its calls, in the order of the text."""

    assertions: tuple[Assertion, ...]
    frames: bytes


@lru_cache(maxsize=512)
def plain_asserts(tests: CheckTests) -> PlainAsserts | None:
    """The check as assertions over calls; None where it must be run."""
    parting = part(tests)
    alone = parting == Parting(names=(tests.entry_point,), words=parting.words)
    if tests.style != "check" or not alone:
        return None
    try:
        return _read(tests)
    except (_NotPlain, NoPlainValue, TypeError, ArithmeticError, *UNPARSEABLE):
        return None


def _read(tests: CheckTests) -> PlainAsserts:
    test, prompt = parse_trusted(tests.test), parse_trusted(f"{tests.prompt}\n{closing_body(tests.prompt)}")
    check, parameter = _check_of(test, tests.entry_point)
    reader = _Reader({parameter, tests.entry_point}, bound_names(test) | bound_names(prompt))
    lines = tests.test.split("\n")
    found = []
    for node in check.body:
        if isinstance(node, ast.Assert):
            source = lines[node.lineno - 1].strip()[:500]
            said = node.msg.value if isinstance(node.msg, ast.Constant) else ""
            found.append(Assertion(reader.read(node.test), node.lineno, source, str(said)[:2000]))
        elif not isinstance(node, ast.Pass) and not _is_text(node):
            raise _NotPlain
    frames = b"".join(reader.frames)
    if not reader.frames or len(reader.frames) > MAX_CALLS or len(frames) > MAX_MESSAGE:
        raise _NotPlain
    return PlainAsserts(tuple(found), frames)


def _check_of(test: ast.Module, entry_point: str) -> tuple[ast.FunctionDef, str]:
    """The test's `check` and the name of its parameter, where the rest of the test does nothing."""
    checks = [node for node in test.body if isinstance(node, ast.FunctionDef)]
    rest = [node for node in test.body if not isinstance(node, ast.FunctionDef)]
    if len(checks) != 1 or checks[0].name != "check" or not all(_does_nothing(node, entry_point) for node in rest):
        raise _NotPlain
    (check,) = checks
    if check.decorator_list or check.returns or ast.unparse(check.args) != check.args.args[0].arg:
        raise _NotPlain
    return check, check.args.args[0].arg


def _does_nothing(node: ast.stmt, entry_point: str) -> bool:
    """A docstring, `import math`, or data about the row that no assertion reads."""
    if isinstance(node, ast.Assign):
        ast.literal_eval(node.value)
        return all(isinstance(target, ast.Name) and target.id != entry_point for target in node.targets)
    return _is_text(node) or (isinstance(node, ast.Import) and [one.name for one in node.names] == ["math"])


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


_ARITHMETIC: Final[Mapping[type, Callable[..., Any]]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_COMPARED: Final[Mapping[type, Callable[..., Any]]] = {
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


_FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "abs": abs,
    "bool": bool,
    "frozenset": lambda *items: frozenset(set_of(*items)) if items else frozenset(),
    "len": len,
    "list": list,
    "math.isclose": math.isclose,
    "max": max,
    "min": min,
    "round": round,
    "set": lambda *items: set_of(*items) if items else set(),
    "sorted": sorted,
    "tuple": tuple,
}
"""What an assertion may ask of values beside operators: each takes no longer than to read the values."""


class _Reader:
    """Makes functions of expressions. `called`: names of the answer; `bound`: names that mean the row's own things."""

    def __init__(self, called: set[str], bound: set[str]) -> None:
        self._called, self._bound = called, bound
        self.frames: list[bytes] = []

    def read(self, node: ast.expr) -> Evaluated:
        """Raises _NotPlain for what is not known to do the same here as in a process of its own."""
        if isinstance(node, ast.Constant):
            return _constant(node.value)
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
        return self._display(node)

    def _all(self, nodes: Sequence[ast.expr]) -> list[Evaluated]:
        return [self.read(node) for node in nodes]

    def _display(self, node: ast.expr) -> Evaluated:
        if isinstance(node, ast.Dict):
            if None in node.keys:
                raise _NotPlain
            keys, values = self._all([key for key in node.keys if key]), self._all(node.values)
            return lambda replies: {k(replies): v(replies) for k, v in zip(keys, values, strict=True)}
        for kind, made in ((ast.List, list), (ast.Tuple, tuple), (ast.Set, set)):
            if isinstance(node, kind):
                items = self._all(node.elts)
                return lambda replies: made([item(replies) for item in items])
        raise _NotPlain

    def _compare(self, node: ast.Compare) -> Evaluated:
        """`is` with None, True and False only: there is one of each."""
        if len(node.ops) != 1:
            raise _NotPlain
        how, (right,) = node.ops[0], node.comparators
        mine, theirs = self.read(node.left), self.read(right)
        if isinstance(how, ast.Is | ast.IsNot):
            if not isinstance(right, ast.Constant) or not (right.value is None or isinstance(right.value, bool)):
                raise _NotPlain
            one, negated = right.value, isinstance(how, ast.IsNot)
            return lambda replies: (mine(replies) is one) != negated
        if isinstance(how, ast.In | ast.NotIn):
            if not isinstance(right, ast.List | ast.Tuple):  # a set of the answer's may take long to ask
                raise _NotPlain
            absent = isinstance(how, ast.NotIn)
            return lambda replies: (mine(replies) in theirs(replies)) != absent  # type: ignore[operator]
        compared = _COMPARED[type(how)]
        return lambda replies: compared(mine(replies), theirs(replies))

    def _binary(self, node: ast.BinOp) -> Evaluated:
        if isinstance(node.op, ast.Mult | ast.Pow):
            return _constant(_bounded(node.op, *(self._literal(one) for one in (node.left, node.right))))
        mine, theirs, how = self.read(node.left), self.read(node.right), _ARITHMETIC.get(type(node.op))
        if how is None:
            raise _NotPlain

        def value(replies: Sequence[Reply]) -> object:
            left, right = mine(replies), theirs(replies)
            joined = how is operator.add and type(left) is type(right) and isinstance(left, str | list | tuple)
            if not joined and not (_is_number(left) and _is_number(right)):
                raise NoPlainValue
            return how(left, right)

        return value

    def _literal(self, node: ast.expr) -> object:
        """The value of an expression without a call of the answer."""
        return _Reader(set(), self._bound).read(node)(())

    def _call(self, node: ast.Call) -> Evaluated:
        if any(isinstance(arg, ast.Starred) for arg in node.args) or any(one.arg is None for one in node.keywords):
            raise _NotPlain
        name = ast.unparse(node.func)
        if name in self._called:
            return self._answers(node)
        function = _FUNCTIONS.get(name)
        if function is None or name.partition(".")[0] in self._bound - {"math"}:
            raise _NotPlain
        args, kwargs = self._all(node.args), {one.arg: self.read(one.value) for one in node.keywords}
        if kwargs.keys() - {"rel_tol", "abs_tol", "ndigits", "reverse"}:
            raise _NotPlain
        return lambda replies: function(
            *[_finite(arg(replies)) for arg in args], **{str(key): value(replies) for key, value in kwargs.items()}
        )

    def _answers(self, node: ast.Call) -> Evaluated:
        args = tuple(self._literal(arg) for arg in node.args)
        index, kwargs = len(self.frames), {str(one.arg): self._literal(one.value) for one in node.keywords}
        self.frames.append(frame_call(args, kwargs, exact=True))
        return lambda replies: _value(replies, index)


def _constant(value: object) -> Evaluated:
    return lambda _replies: value


def _either(values: Sequence[Evaluated], is_or: bool) -> Evaluated:
    def value(replies: Sequence[Reply]) -> object:
        for one in values[:-1]:
            found = one(replies)
            if bool(found) is is_or:
                return found
        return values[-1](replies)

    return value


def _bounded(how: ast.operator, left: object, right: object) -> object:
    """A product or power of literals. Raises _NotPlain for a large one."""
    if isinstance(how, ast.Pow):
        if not isinstance(left, int) or not isinstance(right, int) or not 0 <= right * left.bit_length() <= _MAX_BITS:
            raise _NotPlain
        return left**right
    for one, times in ((left, right), (right, left)):
        if isinstance(one, str | bytes | list | tuple):
            if not isinstance(times, int) or len(one) * times > _MAX_ITEMS:
                raise _NotPlain
            return one * times
    if not _is_number(left) or not _is_number(right):
        raise _NotPlain
    return left * right  # type: ignore[operator]


def _is_number(value: object) -> bool:
    """Whether arithmetic with it takes no time to speak of."""
    return isinstance(value, float | complex) or (isinstance(value, int) and value.bit_length() <= _MAX_BITS)


def _finite(value: object) -> object:
    """A value of the answer that is as long as what crossed."""
    if isinstance(value, range):
        raise NoPlainValue
    return value


def _value(replies: Sequence[Reply], index: int) -> object:
    """What a call returned, by its number."""
    reply = replies[index] if index < len(replies) else {}
    error = reply.get("error")
    if isinstance(error, dict):
        raise AnswerRaised(str(error["type"]), str(error["message"]))
    if "value" not in reply:
        raise NoPlainValue
    return decode(reply["value"])
