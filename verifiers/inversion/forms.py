"""The variants of one site: what each form of assertion can be turned into."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sandbox_gym.verifiers.inversion.calls import (
    CLOSE,
    EQUAL,
    MOCKS,
    OPPOSITES,
    Callee,
    callee,
    compared,
    is_approx,
    is_array,
    makes_dtype,
    names_approx,
    number,
    seeks,
    tolerance,
)
from sandbox_gym.verifiers.inversion.edits import Edit, Kind, Variant
from sandbox_gym.verifiers.inversion.exceptions import RAISES, other_exceptions
from sandbox_gym.verifiers.inversion.expected import (
    Names,
    changes,
    inner_constants,
    leaves,
    members,
    others,
    parametrised,
)
from sandbox_gym.verifiers.inversion.module import Module
from sandbox_gym.verifiers.inversion.sites import Function, Site
from sandbox_gym.verifiers.inversion.text import SourceText
from sandbox_gym.verifiers.inversion.values import EXACT, Tolerance

_OPERATOR = re.compile(r"==|!=|<=|>=|<|>|\bnot\b(\s*)\bin\b|\bis\b(\s*)\bnot\b|\bis\b|\bin\b")
_NEGATED = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">", "is": "is not", "in": "not in"}
_ORDERS = {"assertLess": "<", "assertLessEqual": "<=", "assertGreater": ">", "assertGreaterEqual": ">="}
_ATOMS = ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.Await | ast.Compare
_LOOSE = ast.IfExp | ast.Lambda | ast.BoolOp | ast.NamedExpr | ast.Compare | ast.UnaryOp | ast.Starred
_MOST_ROWS = 4


@dataclass(frozen=True, slots=True)
class Forms:
    """Makes the variants of the sites of one function."""

    module: Module
    function: Function
    names: Names
    most_rows: int = _MOST_ROWS

    @property
    def text(self) -> SourceText:
        return self.module.text

    def at(self, site: Site) -> Iterator[Variant]:
        node = site.node
        if isinstance(node, ast.Assert):
            yield from self._holds(node.test, site.certain)
            yield from self._negation(node.test, site.certain)
        elif isinstance(node, ast.withitem):
            if isinstance(node.context_expr, ast.Call):
                yield from self._raises(node.context_expr, site.certain, alone=True)
        else:
            yield from self._call(node, site.certain)

    def _variant(self, kind: Kind, node: ast.expr, edits: Iterable[Edit], certain: bool) -> Variant:
        return Variant(kind, node.lineno, tuple(edits), certain)

    def _call(self, call: ast.Call, certain: bool) -> Iterator[Variant]:
        who = callee(call, self.module.libraries, self.module.defined)
        if isinstance(call.func, ast.Attribute) and call.func.attr in MOCKS:
            yield self._of_mock(call, call.func.attr, certain)
            return
        if who is None:
            return
        if who.name in RAISES:
            yield from self._raises(call, certain, alone=False)
            return
        certain = certain and who.known
        if who.name in EQUAL:
            yield from self._equal_call(who, call, certain)
        elif who.name == "assertTrue" and who.known and call.args:
            yield from self._holds(call.args[0], certain)
        elif who.name in ("assertIn", "assertRegex", "assertContains") or who.is_helper:
            yield from self._last_argument(call, first=who.name == "assertIn")
        if who.method and who.known and who.name in OPPOSITES and not _names_lists(call):
            end = self.text.end(call.func)
            edits: tuple[Edit, ...] = (Edit(end - len(who.name), end, OPPOSITES[who.name]),)
            if who.name in _ORDERS and len(call.args) > 1 and _may_be_objects(*call.args[:2]):
                one, other = call.args[:2]
                comma = self.text.code_between(self.text.end(one), self.text.start(other)).index(",")
                at = self.text.end(one) + comma
                whole = replace(edits[0], text="assertFalse"), Edit(at, at + 1, f" {_ORDERS[who.name]}")
                edits = self._swapped(one, other, _ORDERS[who.name]) or whole
            yield self._variant("opposite_assertion", call, edits, certain)

    def _of_mock(self, call: ast.Call, name: str, certain: bool) -> Variant:
        start, end = self.text.end(call.func) - len(name), self.text.end(call)
        lines = "\n" * self.text.source.count("\n", start, end)
        certain = certain and "mock" in self.text.source and name != "assert_has_calls"  # of none
        return self._variant("mock", call, (Edit(start, end, f"{MOCKS[name]}({lines})"),), certain)

    def _equal_call(self, who: Callee, call: ast.Call, certain: bool) -> Iterator[Variant]:
        bounds = tolerance(who.name, call)
        known = certain and bounds is not None
        pair = compared(call)
        if len(pair) == 2:
            of_arrays = not who.method  # an empty array is equal to every number
            known = known and not ("Count" in who.name and any(isinstance(one, ast.Dict) for one in pair))
            yield from self._sides(pair, known, bounds or EXACT, displays_only=of_arrays)

    def _last_argument(self, call: ast.Call, first: bool) -> Iterator[Variant]:
        for argument in call.args[:1] if first else reversed(call.args):
            constants = leaves(argument)
            if constants:
                for edit in changes(self.text, constants, sought=first or seeks(call)):
                    yield self._variant("expected_value", argument, (edit,), False)
                return

    def _holds(self, test: ast.expr, certain: bool) -> Iterator[Variant]:
        """What makes a condition false that holds: a constant of any comparison that all must hold."""
        for part in _all_of(test):
            if isinstance(part, ast.Call):
                yield from self._decided(part, certain)
            elif isinstance(part, ast.Compare):
                yield from self._compared(part, certain)

    def _compared(self, part: ast.Compare, certain: bool) -> Iterator[Variant]:
        operands, how = [part.left, *part.comparators], part.ops[0] if len(part.ops) == 1 else None
        if isinstance(how, ast.Is) or all(isinstance(op, ast.Eq) for op in part.ops):
            yield from self._sides(operands, certain, EXACT)
        elif isinstance(how, ast.In):
            constants = leaves(part.left)
            for edit in changes(self.text, constants, sought=True):
                yield self._variant("expected_value", part, (edit,), False)
            if not constants:
                yield from self._among(part, members(part.comparators[0]))
                yield from self._wrapped(part.left, False)
        elif isinstance(how, ast.Lt | ast.LtE) and (pair := _apart(part.left)):
            bound, plain = number(operands[1]), "({} - {})".format(*map(ast.unparse, pair))
            known = ast.unparse(part.left) in (f"abs{plain}", f"np.linalg.norm{plain}", f"numpy.linalg.norm{plain}")
            known = known and certain and bound is not None and "abs" not in self.module.shadowed
            of_arrays = not ast.unparse(part.left).startswith("abs")
            yield from self._sides(pair, known, Tolerance(absolute=bound or 0.0), displays_only=of_arrays)

    def _decided(self, call: ast.Call, certain: bool) -> Iterator[Variant]:
        """A condition that a call decides: what it compares with changes, since a value that pleases every call fails
        where the condition is negated."""
        owner, _, name = ast.unparse(call.func).rpartition(".")
        of = call.func.value if isinstance(call.func, ast.Attribute) else call.func
        if name == "all" and not owner:
            yield from self._table(call)
        elif name == "all":  # of numpy, or of an array
            yield from self._all_hold(call.args[0] if call.args else of, certain and len(call.args) < 2)
        elif name in CLOSE and len(call.args) > 1:
            known, bounds = certain and owner in ("math", "np", "numpy", "operator"), tolerance(name, call)
            known = known and bounds is not None
            yield from self._sides(
                call.args[:2], known, bounds or EXACT, displays_only=owner not in ("math", "operator")
            )
        elif name == "equals" and call.args:  # of pandas
            yield from self._sides([of, call.args[0]], False, EXACT)
        elif name in ("startswith", "endswith", "issubset") and (among := [*map(members, call.args[:1])]) and among[0]:
            yield from self._among(call, among[0])
        elif name in ("startswith", "endswith", "issubset", "issuperset"):
            yield from self._last_argument(call, first=False)

    def _among(self, node: ast.expr, given: list[ast.Constant]) -> Iterator[Variant]:
        """All of what a value may be changes: another right answer may be another of them."""
        edits = others(self.text, given)
        if edits:
            yield self._variant("expected_value", node, edits, False)

    def _all_hold(self, test: ast.expr, certain: bool) -> Iterator[Variant]:
        """A condition of arrays."""
        if isinstance(test, ast.Compare) and all(isinstance(op, ast.Eq) for op in test.ops):
            yield from self._sides([test.left, *test.comparators], certain, EXACT, displays_only=True)
        elif isinstance(test, ast.Call):
            yield from self._decided(test, certain)
        else:
            yield from self._holds(test, False)

    def _table(self, call: ast.Call) -> Iterator[Variant]:
        """The last constants of the rows that `all` goes through: what is expected stands there as a rule."""
        for given in (one for argument in call.args for one in ast.walk(argument) if isinstance(one, ast.List)):
            rows = [found for found in map(leaves, given.elts) if found]
            for row in rows[:_MOST_ROWS]:
                for edit in changes(self.text, row[-1:], most=1, sought=seeks(call)):
                    yield self._variant("expected_value", given, (edit,), False)
            return

    def _sides(
        self, operands: list[ast.expr], certain: bool, bounds: Tolerance, displays_only: bool = False
    ) -> Iterator[Variant]:
        """Values of which all must be equal: a constant of the last literal among them changes."""
        exact = not any(names_approx(one) for one in operands)
        for operand in reversed(operands):
            given, sure, within = operand, certain and exact, bounds
            if isinstance(operand, ast.Call) and is_approx(operand) and operand.args:
                told = tolerance("approx", operand)
                given, sure, within = operand.args[0], certain and told is not None, told or bounds
            elif is_array(operand):
                given = operand.args[0]
            held = self.names.value(given)
            if held is not given:
                sure = sure and self.names.read_once(given)
            constants = leaves(held)
            if constants:
                sure = sure and not (displays_only and isinstance(held, ast.Constant | ast.UnaryOp))
                alike = [one for one in self.module.alike if one not in constants]
                for edit in changes(self.text, constants, within, alike=alike):
                    yield self._variant("expected_value", held, (edit,), sure)
                return
            if isinstance(given, ast.Name) and given.id in (self.names.columns.keys() | self.names.stores.keys()):
                yield from self._rows(given, sure and self.names.read_once(given), within)
        yield from self._made(operands[-1], bounds)
        yield from self._wrapped(operands[-1], certain and exact and not displays_only)

    def _wrapped(self, operand: ast.expr, certain: bool) -> Iterator[Variant]:
        """Another object in place of one without constants: an object that equals everything equals it too. A pair of
        it and None equals nothing that it equals; a list of it equals a numpy scalar."""
        if isinstance(operand, ast.Starred | ast.NamedExpr | ast.GeneratorExp):
            return
        start, end = self.text.start(operand), self.text.end(operand)
        for before, after in (("[", "]"), ("(", ", None)")):
            edit = Edit(start, end, f"{before}{self.text.source[start:end]}{after}")
            yield self._variant(
                "other_operand", operand, (edit,), certain and before == "(" and not makes_dtype(operand)
            )

    def _rows(self, name: ast.Name, certain: bool, bounds: Tolerance) -> Iterator[Variant]:
        """A name that a loop or a decorator gives values: one row of a loop's table, all of a decorator's."""
        rows = self.names.columns.get(name.id, [])
        at = len(rows) // 2 if len(rows) > self.most_rows else 1
        for row in (*rows[at : at + self.most_rows - 1], *rows[:1]):
            alike = [cell for other in rows if other is not row for cell in leaves(other)]
            for edit in changes(self.text, leaves(row), bounds, most=1, alike=alike[:_MOST_ROWS]):
                yield self._variant("expected_value", row, (edit,), certain)
        for cells in parametrised(self.function, name.id):
            alike = [one for cell in cells[:_MOST_ROWS] for one in leaves(cell)]
            edits = [next(changes(self.text, leaves(cell), bounds, most=1, alike=alike), None) for cell in cells]
            if any(edits):
                yield self._variant("expected_value", cells[0], [one for one in edits if one is not None], False)

    def _made(self, operand: ast.expr, bounds: Tolerance) -> Iterator[Variant]:
        """A value that is made of constants by code: whether another constant makes another value, only a run tells."""
        if isinstance(operand, ast.Name):
            operand = self.names.value(operand)
        if not isinstance(operand, ast.Name | ast.Attribute):
            for edit in changes(self.text, inner_constants(operand), bounds):
                yield self._variant("expected_value", operand, (edit,), False)

    def _raises(self, call: ast.Call, certain: bool, alone: bool) -> Iterator[Variant]:
        """`alone`: as a context manager; else with what to call, without which it asserts nothing."""
        who = callee(call, self.module.libraries, self.module.defined)
        if who is None or who.name not in RAISES or not call.args or (not alone and len(call.args) < 2):
            return
        certain = certain and (who.known or not who.method) and not self.module.star
        kinds = call.args[0].elts if isinstance(call.args[0], ast.Tuple) else [call.args[0]]
        known = self.module.expected
        others = [list(other_exceptions(kind, self.module.shadowed, known)) for kind in kinds]
        common = [pair for pair in others[0] if all(pair in more for more in others[1:])] if others else []
        for other, sure in [pair for pair in common if not pair[1]][:3] + [pair for pair in common if pair[1]][:2]:
            edits = [Edit(self.text.start(kind), self.text.end(kind), other) for kind in kinds]
            yield self._variant("other_exception", call, edits, certain and sure)
        told = [keyword.value for keyword in call.keywords if keyword.arg in ("match", "expected_regex")]
        if "Regex" in who.name:
            told += call.args[1:2]
        for pattern in told:
            for edit in changes(self.text, leaves(pattern), most=1, sought=True):
                yield self._variant("other_exception", call, (edit,), False)

    def _negation(self, test: ast.expr, certain: bool) -> Iterator[Variant]:
        edit: Edit | None = None
        swapped: tuple[Edit, ...] = ()
        if isinstance(test, ast.Compare) and len(test.ops) == 1:
            edit = self._other_operator(test)
            if edit and edit.text in _ORDERS.values() and _may_be_objects(test.left, *test.comparators):
                swapped = self._swapped(test.left, test.comparators[0], _NEGATED[edit.text])
                edit = None
        elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            start = self.text.start(test)
            space = re.compile(r"not[ \t]*").match(self.text.source, start)
            edit = Edit(start, space.end() if space else start, "")
        edits = (edit,) if edit is not None else swapped or self._whole(test)
        yield self._variant("negated_assertion", test, edits, certain)

    def _whole(self, test: ast.expr) -> tuple[Edit, ...]:
        start, end = self.text.start(test), self.text.end(test)
        if isinstance(test, _ATOMS):
            return (Edit(start, start, "not "),)
        return Edit(start, start, "not ("), Edit(end, end, ")")

    def _swapped(self, a: ast.expr, b: ast.expr, how: str) -> tuple[Edit, ...]:
        """`b < a` for `a < b`, which asks no more of a class than its own operator; none where both may be equal, or
        where what is called first may tell."""
        if how not in ("<", ">") or (_calls_method(a) and _calls_method(b)):
            return ()
        pairs = ((a, b), (b, a))
        return tuple(Edit(self.text.start(one), self.text.end(one), f"({self.text.of(other)})") for one, other in pairs)

    def _other_operator(self, test: ast.Compare) -> Edit | None:
        start, end = self.text.end(test.left), self.text.start(test.comparators[0])
        match = _OPERATOR.search(self.text.code_between(start, end))
        if match is None:
            return None
        if "not" in match[0]:  # the word goes, and the lines that it may stand on stay
            at = start + match.start() + match[0].index("not")
            blanks = re.compile(r"not[ \t]*").match(self.text.source, at)
            return Edit(at, blanks.end() if blanks else at, "")
        return Edit(start + match.start(), start + match.end(), _NEGATED[match[0]])


def _may_be_objects(*operands: ast.expr) -> bool:
    """Whether an order may be one of a class, which need not have its opposite."""
    return all(number(one) is None and not isinstance(one, _LOOSE) for one in operands)


def _calls_method(node: ast.expr) -> bool:
    return any(isinstance(one, ast.Call) and isinstance(one.func, ast.Attribute) for one in ast.walk(node))


def _names_lists(call: ast.Call) -> bool:
    """Keywords that the opposite assertion does not accept."""
    return any(keyword.arg not in ("msg", "first", "second", "places", "delta") for keyword in call.keywords)


def _apart(node: ast.expr) -> list[ast.expr]:
    """The two values whose distance is taken, as in `abs(a - b)`; none of another expression."""
    while isinstance(node, ast.Call) and node.args:
        node = node.args[0]
    return [node.left, node.right] if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub) else []


def _all_of(test: ast.expr) -> Iterator[ast.expr]:
    """The parts that must all hold."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for part in test.values:
            yield from _all_of(part)
    else:
        yield test
