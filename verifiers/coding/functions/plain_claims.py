"""What unittest's and pytest's own assertions mean, as functions of what the answer's calls returned.

Sources: the documentation of `unittest.TestCase`, `pytest.raises` and `pytest.approx`.
"""

from __future__ import annotations

import ast
import builtins
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

from sandbox_gym.verifiers.coding.functions.plain_operations import (
    AnswerRaised,
    Evaluated,
    NoPlainValue,
    NotPlain,
    Replies,
    is_number,
)
from sandbox_gym.verifiers.coding.functions.plain_values import Reader


def _equal(kind: type) -> Callable[[Any, Any], bool]:
    return lambda one, other: isinstance(one, kind) and isinstance(other, kind) and one == other


_CLAIMS: Final[Mapping[str, tuple[int, Callable[..., bool]]]] = {
    "assertTrue": (1, bool),
    "assertFalse": (1, operator.not_),
    "assertIsNone": (1, lambda one: one is None),
    "assertIsNotNone": (1, lambda one: one is not None),
    "assertEqual": (2, operator.eq),
    "assertNotEqual": (2, operator.ne),
    "assertLess": (2, operator.lt),
    "assertLessEqual": (2, operator.le),
    "assertGreater": (2, operator.gt),
    "assertGreaterEqual": (2, operator.ge),
    "assertIn": (2, lambda one, many: operator.contains(many, one)),
    "assertNotIn": (2, lambda one, many: not operator.contains(many, one)),
    "assertIsInstance": (2, isinstance),
    "assertNotIsInstance": (2, lambda one, kind: not isinstance(one, kind)),
    "assertListEqual": (2, _equal(list)),
    "assertTupleEqual": (2, _equal(tuple)),
    "assertDictEqual": (2, _equal(dict)),
    "assertMultiLineEqual": (2, _equal(str)),
}
"""By method: how many values it is about, and what it claims of them."""
_NEAR: Final = ("assertAlmostEqual", "assertNotAlmostEqual")
_RAISES: Final = ("pytest.raises", "self.assertRaises")


def claim_of(reader: Reader, call: ast.Call) -> Evaluated:
    """An assertion of unittest's. Raises NotPlain for what is none, or is not known."""
    name = ast.unparse(call.func)
    if name in _RAISES and len(call.args) > 1 and not call.keywords:
        function = ast.Call(call.args[1], call.args[2:], [])
        return _raising(reader.read(function), _classes(reader, call.args[0]))
    method = name.removeprefix("self.")
    if method == name or any(one.arg not in ("msg", "places", "delta") for one in call.keywords):
        raise NotPlain
    if method in _NEAR:
        return _near(reader, call, negated=method != _NEAR[0])
    count, claimed = _CLAIMS.get(method, (0, bool))
    options = {str(one.arg) for one in call.keywords} - {"msg"}
    if not count or options or len(call.args) not in (count, count + 1):
        raise NotPlain
    values = reader.several(call.args[:count])

    def holds(replies: Replies) -> bool:
        found = [value(replies) for value in values]
        if any(isinstance(value, range) for value in found):
            raise NoPlainValue
        return bool(claimed(*found))

    return holds


def _near(reader: Reader, call: ast.Call, *, negated: bool) -> Evaluated:
    options = {str(one.arg): reader.literal(one.value) for one in call.keywords if one.arg != "msg"}
    if len(call.args) not in (2, 3) or (len(call.args) == 3 and options):
        raise NotPlain
    first, second = reader.several(call.args[:2])
    places = reader.literal(call.args[2]) if len(call.args) == 3 else options.get("places", 7)
    delta = options.get("delta")

    def holds(replies: Replies) -> bool:
        one, other = first(replies), second(replies)
        if one == other:
            return not negated
        if not is_number(one) or not is_number(other) or not isinstance(places, int) or abs(places) > 100:
            raise NoPlainValue
        apart = abs(one - other)
        if delta is not None:  # nothing is true of NaN
            return bool(apart > delta if negated else apart <= delta)
        return (round(apart, places) == 0) is not negated

    return holds


def raised_by(reader: Reader, node: ast.With) -> Evaluated:
    """That the one statement below `pytest.raises` or `assertRaises` raises."""
    if len(node.items) != 1 or len(node.body) != 1 or node.items[0].optional_vars is not None:
        raise NotPlain
    context, inside = node.items[0].context_expr, node.body[0]
    if not isinstance(context, ast.Call) or ast.unparse(context.func) not in _RAISES:
        raise NotPlain
    if len(context.args) != 1 or context.keywords:  # a pattern may take any time over an answer's text
        raise NotPlain
    if not isinstance(inside, ast.Expr | ast.Assign) or not isinstance(inside.value, ast.Call):
        raise NotPlain
    return _raising(reader.read(inside.value), _classes(reader, context.args[0]))


def _classes(reader: Reader, node: ast.expr) -> frozenset[str]:
    """The names of builtin exceptions."""
    nodes = node.elts if isinstance(node, ast.Tuple) else [node]
    names = [one.id for one in nodes if isinstance(one, ast.Name) and one.id not in reader.bound]
    kinds = [getattr(builtins, name, None) for name in names]
    found = [kind.__name__ for kind in kinds if isinstance(kind, type) and issubclass(kind, BaseException)]
    if len(found) < len(nodes):
        raise NotPlain
    return frozenset(found)  # IOError is called OSError


def _raising(value: Evaluated, classes: frozenset[str]) -> Evaluated:
    def holds(replies: Replies) -> bool:
        try:
            value(replies)
        except AnswerRaised as error:
            if error.builtins & classes:
                return True
            raise
        return False

    return holds


def approx(reader: Reader, call: ast.Call) -> Callable[[object], bool]:
    """`pytest.approx` of a number, or of a list or tuple of numbers, as what a value is compared with."""
    expected = reader.literal(call.args[0])
    options = {str(one.arg): reader.literal(one.value) for one in call.keywords}
    if len(call.args) != 1 or options.keys() - {"rel", "abs"} or not all(map(_is_float, options.values())):
        raise NotPlain
    several = isinstance(expected, list | tuple)
    if not all(map(_is_float, expected if several else [expected])):
        raise NotPlain

    def near(value: object) -> bool:
        if several:
            if type(value) is not type(expected):
                raise NoPlainValue
            pairs = list(zip(value, expected, strict=False))  # type: ignore[call-overload]
            return len(value) == len(expected) and all(_is_near(*pair, **options) for pair in pairs)  # type: ignore[arg-type]
        return _is_near(value, expected, **options)

    return near


def _is_float(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and is_number(value)


def _is_near(value: Any, expected: float, *, rel: float | None = None, abs: float | None = None) -> bool:
    if not _is_float(value):
        raise NoPlainValue
    if value == expected:
        return True
    if math.isnan(value) or math.isinf(value) or math.isnan(expected) or math.isinf(expected):
        return False
    least = 1e-12 if abs is None else abs
    relative = 0.0 if rel is None and abs is not None else (1e-6 if rel is None else rel) * builtins.abs(expected)
    return bool(builtins.abs(value - expected) <= max(relative, least))
