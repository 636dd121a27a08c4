"""Trees of a row's own Python source, and what it imports; never of an answer's."""

from __future__ import annotations

import ast
import builtins
import sys
import warnings
from collections.abc import Sequence
from typing import Final

from sandbox_gym.errors import RequestError

UNPARSEABLE = (SyntaxError, ValueError, RecursionError, MemoryError)


def parse_trusted(source: str) -> ast.Module:
    """The tree. Raises what ast.parse raises (UNPARSEABLE), but warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def parse_field(source: str, field: str) -> ast.Module:
    """The tree of a row's field. Raises RequestError."""
    try:
        return parse_trusted(source)
    except UNPARSEABLE as error:
        raise RequestError(field, f"does not parse ({error})", "give valid Python source") from None


def imports(tree: ast.Module, module: str) -> bool:
    """Whether a test imports the answer's module."""
    return any(
        node.module == module if isinstance(node, ast.ImportFrom) else module in [alias.name for alias in node.names]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
    )


def asked_for(tree: ast.Module, module: str) -> str:
    """The first name of the answer's module that a test calls, or uses; empty where it imports none."""
    names = [name for name in imported_names(tree, module) if not name.startswith("__")]
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = {getattr(one, "id", getattr(one, "attr", "")) for one in calls}
    return next((name for name in names if name in called), next(iter(names), ""))


def imported_names(tree: ast.Module, module: str) -> list[str]:
    """The names of the answer's module that a test file uses: imported from it, or read of the module."""
    nodes = list(ast.walk(tree))
    whole = {
        alias.asname or alias.name
        for node in nodes
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == module
    }
    sources = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == module and not node.level]
    named = [alias.name for node in sources for alias in node.names if alias.name != "*"]
    if any(alias.name == "*" for node in sources for alias in node.names):
        named += sorted(free(nodes))
    return named + [
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in whole
    ]


def free(nodes: Sequence[ast.AST]) -> set[str]:
    """Names that are read, and that no statement binds: what a star import may have brought."""
    names = [node for node in nodes if isinstance(node, ast.Name)]
    bound = {node.id for node in names if not isinstance(node.ctx, ast.Load)} | set(dir(builtins))
    bound |= {node.arg for node in nodes if isinstance(node, ast.arg)}
    bound |= {node.name for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    bound |= {
        (alias.asname or alias.name).split(".")[0]
        for node in nodes
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return {node.id for node in names if isinstance(node.ctx, ast.Load)} - bound


_OF_THE_BOX: Final = frozenset(("main", "pytest", "solution", "__main__"))
"""Modules that a row's test may have of its box, or whose want is said otherwise."""
_MAKES_MODULES: Final = ("sys.modules", "sys.path", "sys.meta_path", "import_module", "site.addsitedir")


_FIXTURES: Final = {
    "mocker": "pytest_mock", "benchmark": "pytest_benchmark", "requests_mock": "requests_mock",
    "httpx_mock": "pytest_httpx", "respx_mock": "respx", "event_loop": "pytest_asyncio", "anyio_backend": "anyio",
    "aiohttp_client": "pytest_aiohttp", "freezer": "pytest_freezer", "faker": "faker", "snapshot": "syrupy",
}  # fmt: skip
"""Fixtures of pytest's plugins, and the module of each."""
_PLAIN: Final = (ast.Assign, ast.Expr)


def _must_import(call: ast.Call) -> bool:
    """Whether it is pytest's `importorskip("name")`, without which no test of the file is run."""
    named = bool(call.args) and isinstance(call.args[0], ast.Constant)
    return named and ast.unparse(call.func).endswith("importorskip")


def _imported_by(body: Sequence[ast.stmt]) -> list[str]:
    """Modules that these statements import themselves."""
    names = [alias.name for node in body if isinstance(node, ast.Import) for alias in node.names]
    return names + [node.module or "" for node in body if isinstance(node, ast.ImportFrom) and not node.level]


def _in_tests(body: Sequence[ast.stmt]) -> list[str]:
    """Modules that test functions import whatever happens, and those that have fixtures which they ask for."""
    classes = [one for node in body if isinstance(node, ast.ClassDef) for one in node.body]
    functions = [node for node in (*body, *classes) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    tests = [one for one in functions if one.name.startswith(("test", "setUp")) or one.name == "check"]
    known = {one.name for one in functions} | {alias.asname or alias.name for node in body for alias in _aliases(node)}
    asked = {given.arg for one in functions for given in one.args.args}
    taken = {node.value for node in ast.walk(ast.Module([*body], [])) if isinstance(node, ast.Constant)}
    fixtures = [module for name, module in _FIXTURES.items() if name in asked - known and name not in taken]
    return [name for one in tests for name in _imported_by(one.body)] + fixtures


def _aliases(node: ast.stmt) -> list[ast.alias]:
    return node.names if isinstance(node, ast.Import | ast.ImportFrom) else []


def libraries(source: str, module: str) -> tuple[str, ...]:
    """Packages of others that source of a row's can't do without: what it imports whatever happens, at its top or at
    that of a test, and plugins of pytest's that have its fixtures. Empty where it may make modules of its own."""
    if any(word in source for word in _MAKES_MODULES):
        return ()
    try:
        body = parse_trusted(source).body
    except UNPARSEABLE:
        return ()
    names = _imported_by(body)
    calls = [node for one in body if isinstance(one, _PLAIN) for node in ast.walk(one) if isinstance(node, ast.Call)]
    names += [str(ast.literal_eval(node.args[0])) for node in calls if _must_import(node)]
    names += _in_tests(body)
    found = {name.partition(".")[0] for name in names}
    return tuple(sorted(found - sys.stdlib_module_names - _OF_THE_BOX - {module, ""}))
