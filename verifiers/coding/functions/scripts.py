"""Tests that were written as a script, such as SandboxFusion's: statements of a main program, turned into ones that
mean the same in a function or in a module that somebody loads.

Where a script's `__name__` were another, what is guarded by it would be left out, and every answer would pass the rest.
"""

from __future__ import annotations

import ast
import symtable
import warnings
from collections.abc import Iterator, Sequence
from itertools import takewhile
from typing import Final

from sandbox_gym.verifiers.coding.functions.syntax import free, parse_trusted

_EXITS: Final = ("exit", "quit", "sys.exit", "SystemExit")
_RUNNERS: Final = ("unittest.main", "pytest.main")
_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
_AWAITING: Final = ("IsolatedAsyncioTestCase", "AsyncTestCase")
GUARDS: Final = ("__name__ == '__main__'", "'__main__' == __name__")


def check_compiles(body: Sequence[ast.stmt]) -> None:
    """Raises SyntaxError for what a program may not hold, and a function may: a `yield` there would run nothing."""
    rest = [one for one in body if not (isinstance(one, ast.ImportFrom) and one.module == "__future__")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compile(ast.Module(rest, []), "<test>", "exec", dont_inherit=True)


def as_module(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """What a script with classes of unittest does before it runs them."""
    return [_Main().visit(one) for one in takewhile(lambda one: not _is_runner(one), _unguarded(body))]


def as_function(body: Sequence[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """(imports that only a module may have, a script's statements for a function). Its names are the module's, an end
    that tells of success is a `return`, and functions `test_*` that nothing calls are called. Raises SyntaxError for
    what does not compile."""
    if all(isinstance(one, ast.Assert) and not any(map(_is_scripts, ast.walk(one))) for one in body):
        return [], list(body)  # nearly all rows: many asserts take a while
    imports: list[ast.stmt] = [one for one in body if isinstance(one, ast.ImportFrom) and _is_of_module(one)]
    found = [_Ends().visit(_Main().visit(one)) for one in _unguarded(body) if one not in imports]
    called = {node.func.id for one in found for node in ast.walk(one) if _calls_name(node)}  # type: ignore[attr-defined]
    for one in list(found):
        is_test = isinstance(one, ast.FunctionDef) and one.name.startswith("test_") and not ast.unparse(one.args)
        if isinstance(one, ast.FunctionDef) and is_test and one.name not in called:
            found.append(ast.Expr(ast.Call(ast.Name(one.name, ast.Load()), [], [])))
    names = sorted(_bound(symtable.symtable(source_of(body), "<test>", "exec")) - {"candidate"})
    return imports, [ast.Global(names), *found] if names and found else found


def defines_cases(body: Sequence[ast.stmt]) -> bool:
    """Whether it defines classes of unittest."""
    bases = [ast.unparse(base) for node in body if isinstance(node, ast.ClassDef) for base in node.bases]
    return any(base.rpartition(".")[2] in ("TestCase", "IsolatedAsyncioTestCase") for base in bases)


def idle(body: Sequence[ast.stmt], style: str) -> str:
    """The name of a test that does nothing when its runner calls it, so that every answer passes it: a generator, or a
    coroutine that nobody awaits, as pytest's plugins do. Empty where there is none. One that the tests themselves call
    is no test, but what they take their cases from."""
    used = {node.id for one in body for node in ast.walk(one) if isinstance(node, ast.Name)}
    for node in body:
        if isinstance(node, ast.ClassDef):
            bases = [ast.unparse(base) for base in node.bases]
            awaits = any(base.endswith(_AWAITING) for base in bases)
            awaits = awaits or (style == "pytest" and not any(base.endswith("TestCase") for base in bases))
            tests = [one for one in node.body if isinstance(one, _FUNCTIONS) and one.name.startswith("test")]
            found = next((one.name for one in tests if _does_nothing(one, awaits=awaits)), "")
            if found:
                return f"{node.name}.{found}"
        elif isinstance(node, _FUNCTIONS) and _does_nothing(node, awaits=style == "pytest"):
            is_test = node.name.startswith("test") and node.name not in used
            if (node.name == "check") if style == "check" else is_test:
                return node.name
    return ""


def _does_nothing(function: ast.FunctionDef | ast.AsyncFunctionDef, *, awaits: bool) -> bool:
    if function.decorator_list:
        return False  # which may run it
    inside: list[ast.AST] = list(function.body)
    parts: list[ast.AST] = []
    while inside:
        parts.append(inside.pop())
        if not isinstance(parts[-1], (*_FUNCTIONS, ast.Lambda, ast.ClassDef)):
            inside += ast.iter_child_nodes(parts[-1])
    yields = any(isinstance(part, ast.Yield | ast.YieldFrom) for part in parts)
    return yields or (isinstance(function, ast.AsyncFunctionDef) and not awaits)


def without_runners(source: str, tree: ast.Module) -> str:
    """The module's source without statements by which it runs its own tests, as whoever loads it does that."""
    runners = [node for node in tree.body if _is_runner(node)]
    rest = [node for node in tree.body if node not in runners]
    return source_of(rest) if runners else source


def source_of(body: Sequence[ast.stmt]) -> str:
    """Statements as text."""
    return ast.unparse(ast.fix_missing_locations(ast.Module(list(body), [])))


def _unguarded(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, ast.If) and ast.unparse(node.test) in GUARDS:
            yield from _unguarded(node.body)
        else:
            yield node


def _is_scripts(node: ast.AST) -> bool:
    """Whether it binds a name, or is one that means another thing elsewhere."""
    return isinstance(node, ast.NamedExpr) or (isinstance(node, ast.Name) and node.id == "__name__")


def _is_of_module(node: ast.ImportFrom) -> bool:
    return node.module == "__future__" or any(alias.name == "*" for alias in node.names)


def _bound(table: symtable.SymbolTable, *, top: bool = True) -> set[str]:
    """Names that a script binds: its own, and those that its functions declare to be its."""
    mine = {one.get_name() for one in table.get_symbols() if (one.is_assigned() or one.is_imported()) and top}
    declared = {one.get_name() for one in table.get_symbols() if one.is_declared_global()}
    return mine.union(declared, *(_bound(child, top=False) for child in table.get_children()))


def _calls_name(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


def _is_runner(node: ast.AST) -> bool:
    """`unittest.main()`, also where its end is the program's."""
    if isinstance(node, ast.Expr):
        return _is_runner(node.value)
    if isinstance(node, ast.Raise) and node.exc is not None:
        return _is_runner(node.exc)
    if not isinstance(node, ast.Call):
        return False
    name = ast.unparse(node.func)
    return name in _RUNNERS or (name in _EXITS and bool(node.args) and _is_runner(node.args[0]))


class _Main(ast.NodeTransformer):
    """`__name__` is a main program's; no annotation, which a name of a module can't have in a function."""

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return ast.Constant("__main__") if node.id == "__name__" and isinstance(node.ctx, ast.Load) else node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.stmt:
        self.generic_visit(node)
        return ast.Assign([node.target], node.value, lineno=node.lineno) if node.value else ast.Pass()

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.ClassDef:
        return node  # a dataclass's fields are annotations


class _Ends(ast.NodeTransformer):
    def visit_Expr(self, node: ast.Expr) -> ast.stmt:
        return ast.copy_location(ast.Return(), node) if _succeeds(node.value) else node

    def visit_Raise(self, node: ast.Raise) -> ast.stmt:
        return ast.copy_location(ast.Return(), node) if node.exc is not None and _succeeds(node.exc) else node

    def _as_it_is(self, node: ast.AST) -> ast.AST:
        return node  # there a `return` would end another function

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = visit_Lambda = _as_it_is


def _succeeds(node: ast.expr) -> bool:
    if not isinstance(node, ast.Call):
        return isinstance(node, ast.Name) and node.id == "SystemExit"
    ends = [argument.value if isinstance(argument, ast.Constant) else argument for argument in node.args] or [None]
    return ast.unparse(node.func) in _EXITS and not node.keywords and ends[0] in (None, 0)


def of_candidate(test: str, path: str) -> str:
    """A test whose `check` is about what its candidate has: it begins with `candidate = candidate.add`."""
    for check in [node for node in parse_trusted(test).body if isinstance(node, ast.FunctionDef)]:
        given = [*check.args.posonlyargs, *check.args.args]
        if check.name == "check" and given:
            return _with_before(test, check.body[0], f"{given[0].arg} = {given[0].arg}{path}")
    return test


def importing(test: str, module: str) -> str:
    """A file of tests that imports nothing of the answer, with an import of the names that it does not have."""
    tree = parse_trusted(test)
    names = sorted(name for name in free(list(ast.walk(tree))) if not name.startswith("__"))
    first = next((one for one in tree.body if not _comes_first(one)), None)
    return _with_before(test, first, f"from {module} import {', '.join(names)}") if names and first else test


def _comes_first(node: ast.stmt) -> bool:
    """Whether it is a docstring, or an import from `__future__`."""
    future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
    return future or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def _with_before(source: str, node: ast.stmt, statement: str) -> str:
    """The source with a statement before that one; lines keep their numbers where they can."""
    lines = source.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    above = getattr(node, "decorator_list", ())
    line, offset = (above[0].lineno, above[0].col_offset - 1) if above else (node.lineno, node.col_offset)
    text = lines[line - 1].encode()
    indent, rest = text[:offset].decode(), text[offset:].decode()
    simple = not hasattr(node, "body") and not hasattr(node, "cases")
    lines[line - 1] = f"{indent}{statement}{'; ' if simple else chr(10) + indent}{rest}"
    return "\n".join(lines)
