"""Tests that only assert things about what calls with literal arguments return, as most rows' do.

Such a test needs no process: the answer is called with the arguments, and the assertions are evaluated here over the
values that came back (plain_values.py). Read are `check` functions, unittest's methods and pytest's functions whose
statements are assertions, names for values, and loops over literals. A row that says anything else is none of these:
its test runs in a box of its own (split.py). Reads the row alone, never an answer.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

from sandbox_gym.verifiers.coding.functions.plain_claims import approx, claim_of, raised_by
from sandbox_gym.verifiers.coding.functions.plain_operations import (
    MAX_CALLS,
    Evaluated,
    NoPlainValue,
    NotPlain,
    Replies,
    constant,
)
from sandbox_gym.verifiers.coding.functions.plain_values import Reader
from sandbox_gym.verifiers.coding.functions.scripts import GUARDS
from sandbox_gym.verifiers.coding.functions.shapes import CheckTests
from sandbox_gym.verifiers.coding.functions.split import Parting, bound_names, closing_body, part
from sandbox_gym.verifiers.coding.functions.syntax import UNPARSEABLE, parse_trusted

_MODULES: Final = frozenset(("math", "pytest", "unittest"))
_HARMLESS: Final = frozenset(
    ["bisect", "collections", "functools", "heapq", "itertools", "math", "operator", "string", "typing"]
)
"""Modules whose names are no builtins', or mean the same."""


@dataclass(frozen=True, slots=True)
class Assertion:
    """One of a test's assertions, and where it stands."""

    holds: Evaluated
    line: int
    source: str
    message: str


@dataclass(frozen=True, slots=True)
class PlainAsserts:
    """A test that needs no process of its own. `frames`: its calls, in the order of the text."""

    assertions: tuple[Assertion, ...]
    frames: bytes


@lru_cache(maxsize=512)
def plain_asserts(tests: CheckTests) -> PlainAsserts | None:
    """The test as assertions over calls; None where it must be run."""
    parting = part(tests)
    if replace(parting, names=(), words=(), suspected="", shared=(), vacuous=False) != Parting():
        return None
    try:
        return _read(tests, set(parting.names))
    except (NotPlain, NoPlainValue, TypeError, ArithmeticError, LookupError, *UNPARSEABLE):
        return None


def _read(tests: CheckTests, names: set[str]) -> PlainAsserts:
    source = tests.test if tests.style == "check" else tests.written
    test, prompt = parse_trusted(source), parse_trusted(f"{tests.prompt}\n{closing_body(tests.prompt)}")
    called = {name: name for name in names} | _imported(test, tests)
    bound, roots = bound_names(test), {name.partition(".")[0] for name in called}
    loaded = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
    if _bound_again(test) & roots or _may_shadow([*test.body, *prompt.body]) or loaded & {"pytest", "unittest"} - bound:
        raise NotPlain
    reader = _Statements(called, (bound | bound_names(prompt) | roots) - _MODULES, source)
    if tests.style == "check":
        reader.check(test)
    else:
        reader.file(test, by_name=tests.style == "unittest")
    frames = b"".join(reader.frames)
    if not reader.frames:
        raise NotPlain
    return PlainAsserts(tuple(reader.found), frames)


_BUILTINS: Final = frozenset(dir(builtins))


def _bound_again(test: ast.Module) -> set[str]:
    """What a test binds otherwise than by an import, and as the parameter of its `check`."""
    rest = [node for node in test.body if not isinstance(node, ast.Import | ast.ImportFrom)]
    parameters = [
        node.args.args for node in rest if isinstance(node, ast.FunctionDef) and node.name == "check" and node.args.args
    ]
    return bound_names(ast.Module(rest, [])) - {one[0].arg for one in parameters}


def _may_shadow(body: Sequence[ast.stmt]) -> bool:
    """Whether an import may bind the names of builtins, or others than they say."""
    imports = [node for node in body if isinstance(node, ast.Import | ast.ImportFrom)]
    return any(
        (alias.name == "*" and getattr(node, "module", "") not in _HARMLESS) or (alias.asname or "") in _MODULES
        for node in imports
        for alias in node.names
    )


def _imported(test: ast.Module, tests: CheckTests) -> dict[str, str]:
    """How a test calls what it imports of the answer's module, with the functions' names."""
    found = {}
    for node in test.body:
        if isinstance(node, ast.ImportFrom) and node.module == tests.module and not node.level:
            found.update({alias.asname or alias.name: alias.name for alias in node.names})
        elif isinstance(node, ast.Import):
            aliases = [alias.asname or alias.name for alias in node.names if alias.name == tests.module]
            read = {one.attr for one in ast.walk(test) if isinstance(one, ast.Attribute)}
            found.update({f"{alias}.{name}": name for alias in aliases for name in read})
    return found


class _Statements(Reader):
    """Takes down the assertions of a test, in the order in which its statements run."""

    def __init__(self, called: Mapping[str, str], bound: set[str], source: str) -> None:
        super().__init__(called, bound)
        self._lines = source.split("\n")
        self._functions: dict[str, ast.FunctionDef] = {}
        self._test_name = ""
        self.found: list[Assertion] = []

    def check(self, test: ast.Module) -> None:
        """A test whose `check` is called with the answer's function."""
        checks = [node for node in test.body if isinstance(node, ast.FunctionDef) and node.name == "check"]
        if len(checks) != 1:
            raise NotPlain
        (check,) = checks
        self._module([node for node in test.body if node is not check])
        if check.decorator_list or check.returns or ast.unparse(check.args) != check.args.args[0].arg:
            raise NotPlain
        (entry,) = set(self._called.values())
        self._called = {**self._called, check.args.args[0].arg: entry}
        self.body([one for one in check.body if not isinstance(one, ast.Global)])

    def file(self, test: ast.Module, *, by_name: bool) -> None:
        """A file of pytest's or, its tests sorted `by_name`, of unittest's."""
        rest = [one for one in test.body if not isinstance(one, ast.FunctionDef | ast.ClassDef)]
        self._module(rest)
        for node in _defined(test.body):
            if isinstance(node, ast.ClassDef):
                self._class(node, by_name=by_name)
            elif not by_name:
                self._test(node, [])

    def _module(self, body: Sequence[ast.stmt]) -> None:
        """Imports, which hold values only where a test can be kept apart (split.py), literals, docstrings, and what is
        the main program's."""
        for node in body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                continue
            if isinstance(node, ast.If) and ast.unparse(node.test) in GUARDS and not node.orelse:
                continue
            if not isinstance(node, ast.Assign | ast.AnnAssign | ast.Expr):
                raise NotPlain
            self.statement(node)
        if self.frames:
            raise NotPlain

    def _class(self, node: ast.ClassDef, *, by_name: bool) -> None:
        base = [ast.unparse(one) for one in node.bases]
        collected = base == ["unittest.TestCase"] or (not base and not by_name and node.name.startswith("Test"))
        if node.decorator_list or node.keywords or not collected:
            raise NotPlain
        tests = [one for one in _defined(node.body) if isinstance(one, ast.FunctionDef)]
        if any(one not in tests and not _is_text(one) for one in node.body):
            raise NotPlain
        for test in sorted(tests, key=lambda one: one.name) if by_name or base else tests:
            self._test(test, ["self"])

    def _test(self, node: ast.FunctionDef, parameters: list[str]) -> None:
        """A test function, once for each of its parametrized cases."""
        cases = [self._cases(one) for one in node.decorator_list]
        if not node.name.startswith("test") or (node.returns and ast.unparse(node.returns) != "None") or len(cases) > 1:
            raise NotPlain
        names, values = cases[0] if cases else ([], [()])
        given = [arg.arg for arg in node.args.args]
        if ast.unparse(node.args) != ", ".join(given) or sorted(given) != sorted([*parameters, *names]):
            raise NotPlain
        if not values:  # pytest skips it
            raise NotPlain
        self._test_name = f"{node.name}: "
        for value in values:
            outer = dict(self._names)
            for name, one in zip(names, value, strict=True):
                self.bind(ast.Name(name), constant(one))
            self.body(node.body)
            self._names = outer

    def _cases(self, node: ast.expr) -> tuple[list[str], list[tuple[object, ...]]]:
        """The names and values of `pytest.mark.parametrize`."""
        if not isinstance(node, ast.Call) or ast.unparse(node.func) != "pytest.mark.parametrize" or node.keywords:
            raise NotPlain
        names, values = self.literal(node.args[0]), self.items(node.args[1])
        if len(node.args) != 2 or not isinstance(names, str | list | tuple):
            raise NotPlain
        listed = [one.strip() for one in names.split(",")] if isinstance(names, str) else [*names]
        return listed, [(one,) if len(listed) == 1 and isinstance(names, str) else tuple(one) for one in values]

    def read(self, node: ast.expr) -> Evaluated:
        """Also `pytest.approx`, where something equals it."""
        if isinstance(node, ast.Compare) and [type(how) for how in node.ops] == [ast.Eq]:
            (right,) = node.comparators
            if isinstance(right, ast.Call) and ast.unparse(right.func) == "pytest.approx":
                value, near = super().read(node.left), approx(self, right)
                return lambda replies: near(value(replies))
        return super().read(node)

    def body(self, nodes: Sequence[ast.stmt]) -> None:
        for node in nodes:
            self.begin()
            self.statement(node)

    def statement(self, node: ast.stmt) -> None:
        """Raises NotPlain for any other than those whose meaning is known."""
        self.spend(10)
        if isinstance(node, ast.Assert):
            self._assert(node, node.test, str(node.msg.value) if isinstance(node.msg, ast.Constant) else "")
        elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            before = len(self.frames)
            value = self.assign(node.targets if isinstance(node, ast.Assign) else [node.target], node.value)
            if len(self.frames) > before:
                self._claim(node, _is_returned(value))
        elif isinstance(node, ast.For) and not node.orelse:
            for item in self.items(node.iter):
                self.bind(node.target, constant(item))
                self.body(node.body)
        elif isinstance(node, ast.With):
            self._claim(node, raised_by(self, node))
        elif isinstance(node, ast.Expr):
            self._expression(node)
        elif isinstance(node, ast.FunctionDef) and not ast.unparse(node.args) and not node.decorator_list:
            self._functions[node.name] = node
        elif not isinstance(node, ast.Pass):
            raise NotPlain

    def _assert(self, node: ast.Assert, test: ast.expr, said: str) -> None:
        """Of several that must all hold, each is an assertion: what comes behind the first that fails counts for
        nothing."""
        if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
            for one in test.values:
                self._assert(node, one, said)
        elif (
            isinstance(test, ast.Call)
            and ast.unparse(test.func) == "all"
            and "all" not in self.bound
            and [type(arg) for arg in test.args] == [ast.GeneratorExp]
        ):
            generator = test.args[0]
            assert isinstance(generator, ast.GeneratorExp)
            for holds in self.unrolled(generator.generators, generator.elt):
                self._claim(node, holds, said)
        else:
            self._claim(node, self.read(test), said)

    def _expression(self, node: ast.Expr) -> None:
        """A docstring, a print of literals, a call of a function of the test's own, or one of unittest's assertions."""
        call = node.value
        if not isinstance(call, ast.Call):
            if not _is_text(node) and not (isinstance(call, ast.Name) and call.id in _BUILTINS):
                raise NotPlain
            return
        name = ast.unparse(call.func)
        if name == "print" and name not in self.bound:
            if not all(isinstance(arg, ast.Constant) for arg in call.args) or call.keywords:
                raise NotPlain
        elif name in self._functions and not call.args and not call.keywords:
            outer = dict(self._names)
            self.body(self._functions[name].body)
            self._names = outer
        else:
            self._claim(node, claim_of(self, call))

    def _claim(self, node: ast.stmt, holds: Evaluated, message: str = "") -> None:
        source = f"{self._test_name}{self._lines[node.lineno - 1].strip()}"[:500]
        self.found.append(Assertion(holds, node.lineno, source, message[:2000]))
        if len(self.found) > MAX_CALLS:
            raise NotPlain


def _defined(body: Sequence[ast.stmt]) -> list[ast.FunctionDef | ast.ClassDef]:
    """The functions and classes among statements. Raises NotPlain where one takes the place of another."""
    found = [one for one in body if isinstance(one, ast.FunctionDef | ast.ClassDef)]
    if len({one.name for one in found}) < len(found):
        raise NotPlain
    return found


def _is_returned(value: Evaluated) -> Evaluated:
    """That a call whose value gets a name does not raise."""

    def holds(replies: Replies) -> bool:
        value(replies)
        return True

    return holds


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
