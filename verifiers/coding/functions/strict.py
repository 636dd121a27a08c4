"""A test where its comparisons may not hold for want of a value: a loop over too few items, a distance that is NaN.

`for a, b in zip(f(x), [1, 2]): assert a == b` holds for an answer of one item or none, `if abs(f(x) - 2.5) > 1e-6:
raise` for NaN. Where a test is run apart from the answer, and where it doubts (verifiers/inversion/doubts.py), such
loops and numbers go through functions which fail it. Lines keep their numbers. Reads the row alone, never an answer.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from sandbox_gym.verifiers.coding.compare import says_nan
from sandbox_gym.verifiers.coding.functions.reads import given_names
from sandbox_gym.verifiers.inversion import Edit, edited
from sandbox_gym.verifiers.inversion.text import UNPARSEABLE, SourceText

_ORDER = ast.Lt | ast.LtE | ast.Gt | ast.GtE
_FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
Turns = tuple[frozenset[str], ...]
_NO_DISPLAY = ast.Name | ast.Call | ast.Starred | ast.JoinedStr
_DISTANCES = ("abs", "np.abs", "numpy.abs", "math.fabs")
_JUDGES = ("all", "any", "filter", "starmap", "itertools.starmap", "reduce", "functools.reduce")
_LIKENESS = re.compile(r"close|equal|same|near|almost|approx|(?:^|[._])(?:eq|ne)$", re.I)
_CUTS = ("islice", "itertools.islice", "takewhile", "itertools.takewhile", "filter", "next")
_OF_ARRAYS = re.compile(r"\b(?:np|numpy|any|all|size|shape)\b")
"""What a test says that may be about arrays, which may have no items."""


def strict(source: str, called: set[str]) -> str:
    """The test of `source`, stricter. `called`: names of the answer."""
    try:
        text = SourceText(source)
        changed = edited(source, _Strict(text, called).edits())
        SourceText(changed)
    except UNPARSEABLE:
        return source
    return changed


class _Strict:
    def __init__(self, text: SourceText, called: set[str]) -> None:
        parameters = {one.arg for one in ast.walk(text.tree) if isinstance(one, ast.arg)}
        self._text, self._known = text, _parametrized(text.tree)
        self._everywhere = self._given = given_names(text.tree, called, parameters)
        self._knows_nan = says_nan(text.source)
        self._real = "" if _OF_ARRAYS.search(text.source) else ", True"
        self._loads: Counter[str] = Counter()
        """How often the names of the function at hand are read."""
        self._turns: Turns = ()
        self._parameters: set[str] = set()
        self._held: dict[str, ast.expr] = {}

    def edits(self) -> list[Edit]:
        wrapped: dict[ast.expr, tuple[str, str]] = {}
        for function in _outermost(self._text.tree):
            nodes = list(_turned(function.body, _turn(function, self._known)))
            self._given = given_names(ast.Module([function], []), self._everywhere, self._known)
            self._loads = _loads(node for node, _ in nodes)
            self._parameters = {one.arg for one in ast.walk(function.args) if isinstance(one, ast.arg)} - self._known
            assigned = [one for one, _ in nodes if isinstance(one, ast.Assign)]
            self._held = {ast.unparse(name): one.value for one in assigned for name in one.targets}
            for node, self._turns in nodes:
                wrapped |= self._whiles(node) if isinstance(node, ast.While) else self._looped(node)
                wrapped |= {} if self._knows_nan else dict.fromkeys(self._numbers(node), ("_real_", self._real))
        found = []
        for node, (name, more) in wrapped.items():
            start, end = self._text.start(node), self._text.end(node)
            found += [Edit(start, start, f"{name}("), Edit(end, end, f"{more})")]
        return found

    def _numbers(self, node: ast.AST) -> list[ast.expr]:
        """What must not be NaN: operands whose order is asked for, and distances."""
        found: list[ast.expr] = []
        if isinstance(node, ast.Compare) and all(isinstance(op, _ORDER) for op in node.ops):
            found = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in _DISTANCES:
            found = [node]
        return [one for one in found if self._is_given(one) and not isinstance(one, ast.Yield | ast.YieldFrom)]

    def _looped(self, node: ast.AST) -> dict[ast.expr, tuple[str, str]]:
        """What a loop goes through that compares the answer's items with items of a value of the test's own, and that
        value."""
        if isinstance(node, ast.For):
            claims: Sequence[ast.AST] = node.body
            if not any(map(_fails, _walk(node.body))):
                claims = _weighing(node.body, node.target)
            return self._gone_through(node.iter, node.body, node.target, claims) if claims else {}
        if isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp):
            first = node.generators[0]
            claims = [node] if any(map(_compares, _walk([node]))) else _weighing([node], first.target)
            return self._gone_through(first.iter, [node], first.target, claims) if claims else {}
        found = [self._gone_through(one, [], None) for one in _consumed(node) if _paired(one)]
        return {key: value for each in found for key, value in each.items()}

    def _gone_through(
        self, given: ast.expr, body: Sequence[ast.AST], target: ast.expr | None, claims: Sequence[ast.AST] = ()
    ) -> dict[ast.expr, tuple[str, str]]:
        if not self._is_given(given):
            return {}
        inside = _loads(dict.fromkeys([*_walk([given]), *_walk(body)]))
        bound = {one.id for one in _walk(body) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
        pairs = [one for call in _walk([given]) for one in _paired(call)]
        passed = _loads(_walk([one for one in pairs if self._is_given(one)]))
        found = [one for one in pairs if self._is_expected(one, inside) and _key(one) not in passed]
        if pairs and not found and all(isinstance(one, ast.Name) and self._loads[one.id] == 1 for one in pairs):
            found = pairs  # a helper's parameters
        targets = _names(target) if target else set()
        found = found or [
            one.value
            for one in _walk(claims)
            if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Name) and one.slice.id in targets
            if self._is_expected(one.value, inside)
        ]
        found = [one for one in found if not bound & _names(one) and not self._is_table(one, given)]
        told = ", whole=True" if self._is_whole(given, inside) else ""
        more = "".join(f", lambda: {self._text.of(one)}" for one in found)
        return {given: ("_some_", more + told)} if found else {}

    def _whiles(self, node: ast.While) -> dict[ast.expr, tuple[str, str]]:
        """A condition that the answer's value ends (`while node:`) before all was compared that is expected: `want[i]`,
        where `i += 1` follows."""
        steps = [one for one in node.body if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name)]
        inside = _loads([*_walk([node.test]), *_walk(node.body)])
        bound = {name.id for name in _walk(node.body) if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)}
        for one in _walk(node.body) if self._is_given(node.test) and any(map(_fails, _walk(node.body))) else ():
            if not isinstance(one, ast.Subscript) or not isinstance(one.slice, ast.Name):
                continue
            after = [step for step in steps if isinstance(step.target, ast.Name) and step.target.id == one.slice.id]
            by_one = [ast.unparse(step) == f"{one.slice.id} += 1" and step.lineno > one.lineno for step in after]
            own = self._is_expected(one.value, inside) and _key(one.value) not in bound
            if by_one == [True] and own and not self._is_table(one.value, node.test):
                return {node.test: ("_all_", f", lambda: {self._text.of(one.value)}[{one.slice.id}:]")}
        return {}

    def _is_whole(self, given: ast.expr, inside: Counter[str]) -> bool:
        """Whether a loop goes through all of one result, of which the test asks nothing else: no part that the test
        cuts off, no parameter of a helper's."""
        found = _paired(given)
        if len(found) == 2:
            results = [one for one in found if self._is_given(one)]
        else:
            calls = [one for one in ast.walk(given) if isinstance(one, ast.Call) and one.args]
            results = [one.args[0] for one in calls[-1:] if _is_by_places(given)]
        if len(results) != 1:
            return False
        [result] = results
        if isinstance(result, ast.Name):
            if result.id in self._parameters or inside[result.id] != self._loads[result.id]:
                return False
            result = self._held.get(result.id, result)
        return not any(isinstance(one, ast.Slice) or ast.unparse(one) in _CUTS for one in ast.walk(result))

    def _is_expected(self, node: ast.expr, inside: Counter[str]) -> bool:
        """Whether it is a literal, or what the test has for these comparisons alone: an input may have items where an
        output has none."""
        if key := _key(node):
            return not self._is_given(node) and inside[key] == self._loads[key]
        return not any(isinstance(one, _NO_DISPLAY) for one in ast.walk(node))

    def _is_table(self, expected: ast.expr, given: ast.expr) -> bool:
        """Whether the same value stands beside several of the answer's, some of which may have no items: `PRIMES` in
        `for n in range(9): ... zip(primes(n), PRIMES)`."""
        theirs = _names(given) - _names(expected)
        return any(theirs & turn and not _names(expected) & turn for turn in self._turns)

    def _is_given(self, node: ast.AST) -> bool:
        return bool(_names(node) & self._given)


def _outermost(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, _FUNCTIONS):
            yield node
        else:
            yield from _outermost(node)


def _turned(nodes: Iterable[ast.AST], turns: Turns) -> Iterator[tuple[ast.AST, Turns]]:
    """As _walk, and the names that each loop and helper around a node has anew in each of its turns."""
    for node in nodes:
        if not isinstance(node, ast.JoinedStr):
            yield node, turns
            yield from _turned(ast.iter_child_nodes(node), turns + _turn(node, set()))


def _turn(node: ast.AST, known: set[str]) -> Turns:
    """`known`: parameters that a decorator gives; a test's others are fixtures, or the answer itself."""
    if isinstance(node, _FUNCTIONS):
        parameters = {one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)} - {"self", "cls"}
        if node.name.startswith("test") or node.name == "check":
            parameters &= known
        if not parameters:
            return ()
        bound = given_names(ast.Module([node], []), parameters, parameters) - {"self", "cls"}
    elif isinstance(node, ast.For | ast.While | ast.GeneratorExp | ast.ListComp | ast.SetComp):
        constant = [one for one in ast.walk(node) if isinstance(one, ast.Assign) and not _names(one.value)]
        bound = {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
        bound -= {name for one in constant for target in one.targets for name in _names(target)}
    else:
        return ()
    return (frozenset(bound),)


def _names(node: ast.AST) -> set[str]:
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}


def _walk(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All below, but for texts with values in them, whose places are not known."""
    for node in nodes:
        if not isinstance(node, ast.JoinedStr):
            yield node
            yield from _walk(ast.iter_child_nodes(node))


def _loads(nodes: Iterable[ast.AST]) -> Counter[str]:
    return Counter(filter(None, map(_key, nodes)))


def _key(node: ast.AST) -> str:
    """A name that is read, or a part of what it holds: `case["expected"]`, `case.expected`; "" for anything else."""
    if isinstance(node, ast.Name):
        return node.id if isinstance(node.ctx, ast.Load) else ""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and isinstance(node.slice, ast.Constant):
        return f"{node.value.id}[{node.slice.value!r}]"
    return (
        f"{node.value.id}.{node.attr}" if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) else ""
    )


def _paired(node: ast.AST) -> list[ast.expr]:
    """What `zip`, or `map` with a function of several, goes through together."""
    if not isinstance(node, ast.Call) or any(isinstance(one, ast.Starred) for one in node.args):
        return []
    return {"zip": node.args, "map": node.args[1:]}.get(ast.unparse(node.func), []) if len(node.args) > 1 else []


def _is_by_places(given: ast.expr) -> bool:
    """`range(len(got))`, `enumerate(got)`."""
    return re.fullmatch(r"range\(len\(.*\)\)|enumerate\(.*\)", ast.unparse(given)) is not None and (
        isinstance(given, ast.Call) and len(given.args) == 1 and not given.keywords
    )


def _fails(node: ast.AST) -> bool:
    named = isinstance(node, ast.Attribute) and node.attr.startswith(("assert", "fail"))
    return named or isinstance(node, ast.Assert | ast.Raise)


def _compares(node: ast.AST) -> bool:
    return isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Eq | ast.NotEq)


def _weighing(body: Sequence[ast.AST], target: ast.expr) -> list[ast.AST]:
    """What holds items of a loop against each other: a comparison, a difference or `isclose` of two of them."""
    items = _names(target)
    return [
        node
        for node in _walk(body)
        if isinstance(node, ast.Compare)
        or (isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub))
        or (isinstance(node, ast.Call) and len(node.args) > 1 and _LIKENESS.search(ast.unparse(node.func)))
        if len(items & _names(node)) >= min(2, len(items))
    ]


def _consumed(node: ast.AST) -> list[ast.expr]:
    """What is gone through without a loop, by what holds values against each other: `False in map(eq, f(x), want)`."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in _JUDGES:
        return node.args
    some = node.comparators if isinstance(node, ast.Compare) else node.args if isinstance(node, ast.Call) else []
    return [one for one in some if isinstance(one, ast.Call) and ast.unparse(one.func) == "map"]


def _parametrized(tree: ast.Module) -> set[str]:
    """Parameters to which decorators give the test's own values."""
    marks = [
        one
        for node in ast.walk(tree)
        if isinstance(node, _FUNCTIONS)
        for one in node.decorator_list
        if isinstance(one, ast.Call) and one.args and ast.unparse(one.func).endswith("parametrize")
    ]
    texts = [one.value for mark in marks for one in ast.walk(mark.args[0]) if isinstance(one, ast.Constant)]
    return {name.strip() for one in texts if isinstance(one, str) for name in one.split(",")}
