"""A test that must pass as the true one does, and that an object fails which claims to be equal to anything.

`assert f(3) == 10` becomes: where f(3) is of a class that is not Python's own, it is not 39 as well; nor is an array
without items close to both. Only such values are asked, and only after 10 in their place has shown that the assertion
tells values apart: it holds for 10 and 10, and neither for 10 and 24 nor for 10 and -4. So no form of it need be known,
and no number or text is refused.
"""

from __future__ import annotations

import ast

from sandbox_gym.verifiers.inversion.calls import CLOSE, EQUAL, compared
from sandbox_gym.verifiers.inversion.sites import Function, swallows
from sandbox_gym.verifiers.inversion.text import parsed

_MOST_STATEMENTS = 400
_PURE = (
    CLOSE | EQUAL | {"__eq__", "abs", "all", "any", "approx", "array", "assertTrue", "bool", "equals", "float", "int"}
)
_PURE |= {"len", "list", "max", "min", "norm", "round", "set", "sorted", "str", "sum", "tuple"}
"""Calls that may be made again with other values."""
_LENIENT = ("ANY", "__eq__", "__ne__", "dirty_equals")
_NOT_AGAIN = ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr
_SCOPES = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
# A local function of the test's: an answer that is run with the true test finds nothing else in its namespace, and no
# name of the answer's stands for one that is used here.
_LIES = """
def _lies_(x, y, holds):
    kind, left = ().__class__.__class__, [300]
    lists, numbers = (kind(()), kind([])), (kind(0), kind(0.0), kind(0j))
    scalars = (*numbers, kind(True), kind(""), kind(b""), kind(None))
    plain = (*scalars, *lists, kind({}), kind({0}))

    def other(one, by):
        cls = kind(one)
        if cls is kind(True):
            return not one
        if cls in numbers:
            return one + by if one + by != one else -one
        if cls is kind(""):
            return one[:-1] + ("1" if one[-1:] == "0" else "0")
        if cls is kind(b""):
            return one[:-1] + (b"1" if one[-1:] == b"0" else b"0")
        if cls in lists:
            return cls([*one[:-1], other(one[-1], by)] if one else [0])
        if cls is kind({}):
            return {key: other(one[key], by) for key in one} or {0: 0}
        return {*one, by} if cls is kind({0}) else by

    def doubts(x, y):
        a, b, at = kind(x), kind(y), 0
        if a is b and a in lists and x[y.__len__():] == y[x.__len__():]:
            for one in x:
                for two in y[at : at + 1]:
                    for pairs in doubts(one, two):
                        yield [(a([*x[:at], p, *x[at + 1 :]]), a([*y[:at], q, *y[at + 1 :]])) for p, q in pairs]
                at += 1
        elif a is b and a is kind({}):
            for key in x:
                if key in y:
                    for pairs in doubts(x[key], y[key]):
                        yield [({**x, key: p}, {**y, key: q}) for p, q in pairs]
        elif left[0] and (a in plain or b in plain) and not (a in scalars and b in scalars):
            left[0] -= 1
            first = a in plain and (b not in plain or not (b in scalars or y))
            one, trial = (x, (other(x, 29), y)) if first else (y, (x, other(y, 29)))
            yield [trial, (one, one), (one, other(one, 14)), (one, other(one, -14))]

    for trial, same, more, less in doubts(x, y):
        if holds(*same) and not holds(*more) and not holds(*less) and holds(*trial):
            return True
    return False

def _equal_(x, y, decides, differs):
    def holds(x, y):
        try:
            said = x != y if differs else x == y
            says = decides or said.__class__.__name__[:4] == "bool"
            return says and ((not said) if differs else True if said else False)
        except Exception:
            return False

    lies = _lies_(x, y, holds)
    said = x != y if differs else x == y
    return differs if lies else said
"""
_STATEMENT = """
_x_, _y_ = {x}, {y}
def _holds_(_x_, _y_):
    try:
        {statement}
    except Exception:
        return False
    return True
assert not _lies_(_x_, _y_, _holds_), "an object of the answer's is equal to what it is not equal to"
{statement}
"""
_NO_ARGUMENTS = ast.arguments([], [], None, [], [], None, [])


def doubted(source: str) -> str:
    """The test of `source` (a file of pytest or unittest, a `check`), doubting; "" where it has nothing to doubt.
    Raises UNPARSEABLE for what is no Python."""
    doubting = _Doubting()
    tree = doubting.visit(parsed(source))
    return ast.unparse(ast.fix_missing_locations(tree)) if doubting.count else ""


def is_lenient(source: str) -> bool:
    """Whether the test has objects of its own that may equal anything: `mock.ANY`, a class with an `__eq__`."""
    fields = ("id", "attr", "name", "module")
    said = (getattr(node, field, None) for node in ast.walk(parsed(source)) for field in fields)
    return any(name in _LENIENT for name in said)


class _Doubting(ast.NodeTransformer):
    """Replaces the assertions in functions, but for those that are expected to fail."""

    def __init__(self) -> None:
        self.count, self._depth = 0, 0
        self._decides: set[int] = set()
        """Comparisons whose truth decides."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        return self._function(node)

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return self._function(node)

    def _function(self, node: Function) -> ast.AST:
        marks = " ".join(map(ast.unparse, node.decorator_list))
        if "xfail" in marks or "expectedFailure" in marks:
            return node
        before, self._depth = self.count, self._depth + 1
        if self._depth > 1:
            self.generic_visit(node)
        else:  # its decorators and defaults are evaluated where the functions of _LIES are not
            found = [self.visit(one) for one in node.body]
            node.body = [new for one in found for new in (one if isinstance(one, list) else [one])]
        self._depth -= 1
        if self.count > before and not self._depth:
            at = int(ast.get_docstring(node, clean=False) is not None)
            node.body[at:at] = ast.parse(_LIES).body
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        return node if swallows(node) else self.generic_visit(node)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> ast.AST:
        return node if swallows(node) else self.generic_visit(node)

    def visit_Try(self, node: ast.Try) -> ast.AST:
        return node if node.handlers else self.generic_visit(node)

    def visit_Assert(self, node: ast.Assert) -> ast.AST | list[ast.stmt]:
        parts = node.test.values if isinstance(node.test, ast.BoolOp) and isinstance(node.test.op, ast.And) else []
        if parts:
            found = [self._statement(ast.Assert(part, node.msg)) for part in parts]
            return [one for each in found for one in each]
        looped = _looped(node)
        return self.generic_visit(looped) if looped is not node else self._statement(node)

    def visit_If(self, node: ast.If) -> ast.AST:
        return self._deciding(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        return self._deciding(node)

    def _deciding(self, node: ast.If | ast.IfExp) -> ast.AST:
        waiting = [node.test]
        for one in waiting:
            waiting += (
                one.values if isinstance(one, ast.BoolOp) else [one.operand] if isinstance(one, ast.UnaryOp) else []
            )
        self._decides |= {id(one) for one in waiting}
        return self.generic_visit(node)

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """A comparison outside an assertion: only what it says by itself, as an answer's expression may mean more."""
        decides = id(node) in self._decides
        self.generic_visit(node)
        if not self._depth or len(node.ops) != 1 or not isinstance(node.ops[0], ast.Eq | ast.NotEq):
            return node
        self.count += 1
        flags = [ast.Constant(decides), ast.Constant(isinstance(node.ops[0], ast.NotEq))]
        return ast.Call(ast.Name("_equal_", ast.Load()), [node.left, *node.comparators, *flags], [])

    def visit_Expr(self, node: ast.Expr) -> ast.AST | list[ast.stmt]:
        return self._statement(node)

    def _statement(self, node: ast.Assert | ast.Expr) -> list[ast.stmt]:
        place = "test" if isinstance(node, ast.Assert) else "value"
        said = getattr(node, place)
        again = not any(isinstance(one, _NOT_AGAIN) for one in ast.walk(said))
        if not (again and self._depth and self.count < _MOST_STATEMENTS):
            return [node]
        pair = next((pair for pair in _pairs(said) if _is_pure(said, pair)), None)
        if pair is None:
            self.generic_visit(node)
            return [node]
        names = {id(one): ast.Name(name, ast.Load()) for one, name in zip(pair, ("_x_", "_y_"), strict=True)}
        replaced = _Replaced(names).visit(said)
        self.count += 1
        x, y = (ast.unparse(self.visit(one)) for one in pair)
        setattr(node, place, replaced)
        return parsed(_STATEMENT.format(x=f"({x})", y=f"({y})", statement=ast.unparse(node))).body


class _Replaced(ast.NodeTransformer):
    def __init__(self, names: dict[int, ast.Name]) -> None:
        self._names = names

    def visit(self, node: ast.AST) -> ast.AST:
        found = self._names.get(id(node))
        return self.generic_visit(node) if found is None else found


def _looped(node: ast.Assert) -> ast.stmt:
    """`assert all(p(x) for x in y)` as a loop with an assertion, whose names stay its own."""
    call = node.test
    if not (isinstance(call, ast.Call) and ast.unparse(call.func) == "all" and len(call.args) == 1):
        return node
    made = call.args[0]
    if not isinstance(made, ast.GeneratorExp | ast.ListComp) or any(one.is_async for one in made.generators):
        return node
    body: ast.stmt = ast.Assert(made.elt, node.msg)
    for one in reversed(made.generators):
        for test in reversed(one.ifs):
            body = ast.If(test, [body], [])
        body = ast.For(one.target, one.iter, [body], [])
    each = ast.FunctionDef("_each_", _NO_ARGUMENTS, [body], [])
    return ast.If(ast.Constant(True), [each, *parsed("_each_()").body], [])


def _pairs(said: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    """Two expressions of which the assertion may say that they are equal or close: a difference where that is compared
    with zero, or with a bound."""
    nodes, found = [said], []
    for node in nodes:
        if not isinstance(node, _SCOPES):
            nodes += [one for one in ast.iter_child_nodes(node) if isinstance(one, ast.expr)]
            found += [pair for pair in [_pair(node)] if pair is not None]
    differences = [pair for pair in found if any(_is_difference(node, pair) for node in nodes)]
    others = [pair for pair in found if pair not in differences]
    compared_with_zero = any(ast.unparse(side) in ("0", "0.0") for pair in others[:1] for side in pair)
    return [*differences, *others] if compared_with_zero else [*others, *differences]


def _pair(node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq | ast.Is) and len(node.ops) == 1:
        right = node.comparators[0]
        if isinstance(right, ast.Call) and ast.unparse(right.func).rpartition(".")[2] == "approx" and right.args:
            return node.left, right.args[0]
        return node.left, right
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In) and len(node.ops) == 1:
        among = node.comparators[0]
        only = among.elts if isinstance(among, ast.Tuple | ast.List | ast.Set) else []
        return (node.left, only[0]) if len(only) == 1 else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub):
        return node.left, node.right
    return _called_with(node) if isinstance(node, ast.Call) else None


def _called_with(node: ast.Call) -> tuple[ast.expr, ast.expr] | None:
    name = ast.unparse(node.func).rpartition(".")[2]
    if name in ("__eq__", "equals") and isinstance(node.func, ast.Attribute) and node.args:
        return node.func.value, node.args[0]
    pair = compared(node) if name in EQUAL | CLOSE else []
    return (pair[0], pair[1]) if len(pair) == 2 else None


def _is_difference(node: ast.expr, pair: tuple[ast.expr, ast.expr]) -> bool:
    return isinstance(node, ast.BinOp) and node.left is pair[0]


def _is_pure(said: ast.expr, pair: tuple[ast.expr, ast.expr]) -> bool:
    """Whether the rest of the assertion may be evaluated again: it calls nothing that may be the answer's."""
    inside = {id(one) for side in pair for one in ast.walk(side)}
    calls = [one for one in ast.walk(said) if isinstance(one, ast.Call) and id(one) not in inside]
    return all(ast.unparse(one.func).rpartition(".")[2] in _PURE for one in calls)
