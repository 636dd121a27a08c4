"""A test that must pass as the true one does, and that an object fails which claims to be equal to anything.

`assert f(3) == 10` becomes: where f(3) is of a class that is not Python's own, it is not 39 as well; nor is an array
without items close to both. Only such values are asked, and only after 10 in their place has shown that the assertion
tells values apart: it holds for 10 and 10, and neither for 10 and 24 nor for 10 and -4. So no form of it need be known,
and no number or text is refused.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from sandbox_gym.verifiers.inversion.calls import CLOSE, EQUAL, compared
from sandbox_gym.verifiers.inversion.helpers import LIES, SAYS, STRICT
from sandbox_gym.verifiers.inversion.sites import Function, swallows
from sandbox_gym.verifiers.inversion.text import parsed

_MOST_STATEMENTS = 400
_PURE = (
    CLOSE | EQUAL | {"__eq__", "abs", "all", "any", "approx", "array", "assertTrue", "bool", "equals", "float", "int"}
)
_PURE |= {"_real_", "_some_", "_all_", "len", "list", "max", "min", "norm", "round"}
_PURE |= {"set", "sorted", "str", "sum", "tuple"}
"""Calls that may be made again with other values."""
_LENIENT = ("ANY", "__eq__", "__ne__", "dirty_equals")
_NOT_AGAIN = ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr
_SCOPES = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
_STATEMENT = """
_x_, _y_ = {x}, {y}
def _holds_(_x_, _y_):
    try:
        {statement}
    except Exception:
        return False
    return True
assert not _lies_(_x_, _y_, _holds_, {again}), "an object of the answer's is equal to what it is not equal to"
{statement}
"""
_NO_ARGUMENTS = ast.arguments([], [], None, [], [], None, [])


def doubted(source: str, named: Sequence[str] | None = None) -> str:
    """The test of `source` (a file of pytest or unittest, a `check`), doubting; "" where it has nothing to doubt.
    `named`: classes that may say what they are equal to, as of the row; others of the answer may not, where it is
    given. Raises UNPARSEABLE for what is no Python."""
    tree = parsed(source)
    names = [*(named or ()), *(node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef))]
    says = () if named is None else SAYS
    doubting = _Doubting(LIES.replace("_SAYS_", repr(says)).replace("_NAMED_", repr(names)))
    tree = doubting.visit(tree)
    return ast.unparse(ast.fix_missing_locations(tree)) if doubting.count else ""


def is_lenient(source: str) -> bool:
    """Whether the test has objects of its own that may equal anything: `mock.ANY`, a class with an `__eq__`."""
    fields = ("id", "attr", "name", "module")
    said = (getattr(node, field, None) for node in ast.walk(parsed(source)) for field in fields)
    return any(name in _LENIENT for name in said)


class _Doubting(ast.NodeTransformer):
    """Replaces the assertions in functions, but for those that are expected to fail."""

    def __init__(self, lies: str) -> None:
        self.count, self._depth, self._lies = 0, 0, lies
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
            node.body[at:at] = ast.parse(self._lies + STRICT).body
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

    def visit_Match(self, node: ast.Match) -> ast.AST | list[ast.stmt]:
        """A value in a `case` is compared as outside of one."""
        self.generic_visit(node)
        wanted = [(case, _values(case.pattern)) for case in node.cases]
        if not self._depth or not any(values for _, values in wanted):
            return node
        self.count += 1
        name = ast.Name("_m_", ast.Load())
        for case, values in wanted:
            flags = [ast.Constant(True), ast.Constant(False)]
            equal = [ast.Call(ast.Name("_equal_", ast.Load()), [name, one, *flags], []) for one in values]
            if equal:
                either = ast.BoolOp(ast.Or(), list[ast.expr](equal)) if len(equal) > 1 else equal[0]
                case.guard = either if case.guard is None else ast.BoolOp(ast.And(), [either, case.guard])
                case.pattern = ast.MatchAs()
        subject, node.subject = node.subject, name
        return [ast.Assign([ast.Name("_m_", ast.Store())], subject), node]

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.count += isinstance(node.func, ast.Name) and node.func.id in ("_some_", "_all_", "_real_")
        return self.generic_visit(node)

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
        made = _STATEMENT.format(x=f"({x})", y=f"({y})", statement=ast.unparse(node), again=_again(pair))
        return parsed(made).body


def _values(pattern: ast.pattern) -> list[ast.expr]:
    """What a pattern that names nothing but values is one of."""
    each = pattern.patterns if isinstance(pattern, ast.MatchOr) else [pattern]
    found = [one.value for one in each if isinstance(one, ast.MatchValue)]
    return found if len(found) == len(each) else []


def _again(pair: tuple[ast.expr, ast.expr]) -> str:
    """A function that makes the pair again, one of them an object of other constants: `P(3, 4)` as `P(32, 63)`, to
    which only what all objects of its class are equal to is equal. The other is no literal, which is changed itself."""
    for at in (1, 0):
        made, changing = pair[at], _Changed()
        calls = isinstance(made, ast.Call) and ast.unparse(made.func).rpartition(".")[2][:1].isupper()
        if calls and any(isinstance(one, ast.Name) for one in ast.walk(pair[1 - at])):
            changed = changing.visit(parsed(ast.unparse(made)))
            names = [one for one in ast.walk(made) if isinstance(one, ast.Name)]
            if changing.count and len(names) == 1:
                both = ["_x_", "_y_"]
                both[at] = ast.unparse(changed)
                return f"lambda _by_: ({', '.join(both)})"
    return "None"


class _Changed(ast.NodeTransformer):
    """Changes each constant by another amount, so that no sum or difference of theirs stays."""

    count = 0

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        self.count += 1
        by = ast.parse(f"{self.count} * _by_ + {self.count - 1}", mode="eval").body
        return ast.Call(ast.Name("_other_", ast.Load()), [node, by], [])


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
