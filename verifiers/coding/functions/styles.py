"""Turns tests as the datasets write them into one `check(candidate)`: asserts, unittest classes, pytest files.

Sources: MBPP (`test_list`, `test_setup_code`, `test_imports`, `challenge_test_list`), BigCodeBench (a `TestCases` class
that calls the entry point by name), pytest's own exit codes.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Mapping, Sequence
from typing import Literal

from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.coding.fields import ROOT, identifier, text, texts
from sandbox_gym.verifiers.coding.functions.scripts import (
    as_function,
    as_module,
    check_compiles,
    defines_cases,
    idle,
    source_of,
)
from sandbox_gym.verifiers.coding.functions.syntax import (
    UNPARSEABLE,
    imported_names,
    imports,
    parse_field,
    parse_trusted,
)

Style = Literal["check", "unittest", "pytest"]

_UNITTEST = """

def check(candidate):
    import unittest

    cases = [value for value in list(globals().values()) if isinstance(value, type)]
    cases = [value for value in cases if issubclass(value, unittest.TestCase) and value.__module__ == __name__]
    suite = unittest.TestSuite(unittest.defaultTestLoader.loadTestsFromTestCase(case) for case in cases)
    class Result(unittest.TestResult):
        succeeded = 0

        def addSuccess(self, test):
            self.succeeded += 1
            super().addSuccess(test)

    result = Result()
    suite.run(result)
    bad = result.failures + result.errors
    if bad:
        raise AssertionError("%s: %s" % (bad[0][0], bad[0][1].strip().rpartition("\\n")[2]))
    if result.unexpectedSuccesses:
        raise AssertionError("%s was expected to fail" % (result.unexpectedSuccesses[0],))
    if result.skipped and not {may_skip}:
        raise AssertionError("%s was skipped" % (result.skipped[0][0],))
    ended = result.succeeded + len(result.skipped) + len(result.expectedFailures)
    if result.testsRun - len(result.skipped) < 1 or ended < result.testsRun:
        raise AssertionError("%d tests were run, %d ended well" % (result.testsRun, ended))
"""
"""Runs every TestCase that the test's own module defines. A test ended well where unittest says so; one that nothing in
the file skips was not skipped by itself."""

_PYTEST = """
_SOURCE = {source!r}


def check(candidate):
    import sys
    import types

    import pytest

    module = sys.modules.get({module!r})
    if module is None:
        module = sys.modules[{module!r}] = types.ModuleType({module!r})
    for name in {names!r}:
        if name in globals():
            setattr(module, name, globals()[name])
    with open("test_hidden.py", "w", encoding="utf-8") as file:
        file.write(_SOURCE)

    class Reports:
        passed, failed = set(), []

        def pytest_runtest_logreport(self, report):
            if report.failed:
                self.failed.append((report.nodeid, str(report.longreprtext).strip().rpartition("\\n")[2]))
            elif report.when == "call" and report.passed:
                self.passed.add(report.nodeid.partition("[")[0].rpartition("::")[2])
            elif report.skipped and not {may_skip}:
                self.failed.append((report.nodeid, "was skipped, or expected to fail"))

        def pytest_collectreport(self, report):
            if report.failed:
                self.failed.append((report.nodeid, str(report.longreprtext).strip().rpartition("\\n")[2]))

{coroutines}
    reports = Reports()
    options = ["-q", "-p", "no:cacheprovider", "--noconftest", "-c", "/dev/null", "--rootdir", "."]
    code = pytest.main(options + ["test_hidden.py"], plugins=[reports{plugins}])
    if reports.failed:
        raise AssertionError("%s: %s" % reports.failed[0])
    if code != 0 or not reports.passed or not reports.passed.issuperset({required}):
        raise AssertionError("pytest ended with code %d after %d passed tests" % (code, len(reports.passed)))
"""
"""Runs the file by pytest, with a module of the answer's name that holds what the file imports from it."""

_COROUTINES = """
    import asyncio
    import inspect

    class Coroutines:
        loop = None

        def ended(self, made):
            async def whole():
                values.append(await made)

            values = []
            if self.loop is None:
                self.loop = asyncio.new_event_loop()
                asyncio.set_event_loop(self.loop)
            before = asyncio.all_tasks(self.loop)
            try:
                self.loop.run_until_complete(whole())
            finally:
                for task in asyncio.all_tasks(self.loop) - before:
                    task.cancel()
            return values.pop()

        @pytest.hookimpl(tryfirst=True)
        def pytest_fixture_setup(self, fixturedef, request):
            function, plugins = fixturedef.func, request.config.pluginmanager
            steps = inspect.isasyncgenfunction(function)
            if plugins.has_plugin("asyncio") or not (steps or inspect.iscoroutinefunction(function)):
                return
            if hasattr(function, "__self__") and request.instance is not None:
                function = function.__func__.__get__(request.instance)

            def value(*_self, **given):
                return self.ended(function(**given))

            def values(*_self, **given):
                found = function(**given)
                yield self.ended(found.__anext__())
                if self.ended(anext(found, self)) is not self:
                    raise AssertionError("a fixture yields twice")

            fixturedef.func = values if steps else value

        def pytest_pyfunc_call(self, pyfuncitem):
            test, names = pyfuncitem.obj, pyfuncitem._fixtureinfo.argnames
            if not inspect.iscoroutinefunction(test):
                return None
            self.ended(test(**{name: pyfuncitem.funcargs[name] for name in names}))
            return True
"""
"""Of a file that has coroutines: they are run where no plugin of pytest's is there to do it, as pytest-asyncio and
anyio's do. Not part of every test, as loops note where what they run was begun (guest/python/guards.py)."""


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom, ast.Global, ast.Pass)
MAX_TESTS = 20_000
"""Of a row: a thousand asserts take a second to plan."""


def assert_list_test(row: Mapping[str, object]) -> tuple[str, str, Style]:
    """(source of the test, entry point, style) of a row with MBPP's `test_list`, whose texts may be any statements of a
    script. Raises RequestError."""
    asserts = texts(row["test_list"], f"{ROOT}.test_list")
    if row.get("challenge_test_list") is not None:
        asserts += texts(row["challenge_test_list"], f"{ROOT}.challenge_test_list")
    if not asserts:
        raise RequestError(f"{ROOT}.test_list", "is an empty list", "give at least one assert; none proves nothing")
    if len(asserts) > MAX_TESTS:
        raise RequestError(f"{ROOT}.test_list", f"holds {len(asserts)} asserts", f"give at most {MAX_TESTS}")
    setup = text(row, "test_setup_code")
    if row.get("test_imports") is not None:
        setup = "\n".join((*texts(row["test_imports"], f"{ROOT}.test_imports"), setup))
    trees = [parse_field(line, f"{ROOT}.test_list[{index}]") for index, line in enumerate(asserts)]
    whole = ast.Module([one for tree in trees for one in tree.body], [])
    script, imported = joined(whole.body, module_of(row))
    entry = row.get("entry_point") or next(iter(imported), "")
    entry = entry or _called(whole, parse_field(setup, f"{ROOT}.test_setup_code"))
    try:
        if imports(whole, module_of(row)) and any(map(_is_test, script)):
            check_compiles(whole.body)
            return f"{setup}\n\n\n{source_of(as_module(whole.body))}\n", str(entry), "pytest"
        source, style = _of_script(script, setup)
    except UNPARSEABLE as error:  # what parses need not compile
        raise RequestError(f"{ROOT}.test_list", f"does not compile ({error})", "give valid Python source") from None
    return source, str(entry), style


def _is_test(node: ast.stmt) -> bool:
    return (isinstance(node, ast.FunctionDef) and node.name.startswith("test_")) or defines_cases([node])


def refuse_idle(name: str, field: str) -> None:
    """Raises RequestError for the name of a test that runs nothing."""
    if name:
        problem = f"holds {name}, a generator or coroutine: calling it runs nothing"
        raise RequestError(field, problem, "take yield, or async, out of it; every answer would pass")


def _of_script(script: Sequence[ast.stmt], setup: str) -> tuple[str, Style]:
    """(source of the test, style). Raises RequestError, and what the compiler raises."""
    check_compiles(script)
    refuse_idle(idle(script, "script"), f"{ROOT}.test_list")
    if defines_cases(script):
        return f"{setup}\n\n\n{source_of(as_module(script))}\n", "unittest"
    imports, statements = as_function(script)
    if all(isinstance(one, _DEFINITIONS) for one in statements):
        raise RequestError(f"{ROOT}.test_list", "defines, and runs nothing", "assert something; none proves nothing")
    if imports:
        futures = [one for one in imports if isinstance(one, ast.ImportFrom) and one.module == "__future__"]
        others = [one for one in imports if one not in futures]
        setup = "\n".join((source_of(futures), setup, source_of(others)))
    indented = "\n".join(f"    {line}" for line in source_of(statements).split("\n"))
    return f"{setup}\n\n\ndef check(candidate):\n{indented}\n", "check"


def _called(whole: ast.Module, setup: ast.Module) -> str:
    """The function that the asserts call, pass on or have a name of theirs for, and the row does not define. Raises
    RequestError where there is none."""
    known = set(dir(builtins))
    nodes = list(ast.walk(whole))
    for node in (*ast.walk(setup), *nodes):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            known.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            known |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.arg):
            known.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            known.add(node.name)
    set_here = {one.id for one in nodes if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    called = [one.func.id for one in nodes if isinstance(one, ast.Call) and isinstance(one.func, ast.Name)]
    passed = [one.id for one in nodes if isinstance(one, ast.Name) and one.id not in set_here]
    for name in sorted(called + passed, key=set_here.__contains__):
        if name not in known:
            return name
    raise RequestError(f"{ROOT}.test_list", "calls no function of the answer", "give entry_point")


def unittest_test(source: str) -> str:
    """The test with a `check` that runs its TestCase classes. Raises RequestError where there are none."""
    tree = parse_field(source, f"{ROOT}.test")
    methods = [
        node
        for case in tree.body
        if isinstance(case, ast.ClassDef) and case.bases
        for node in case.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
    ]
    if not methods:
        remedy = "define a unittest.TestCase with test methods, or give another style"
        raise RequestError(f"{ROOT}.test", "holds no test method", remedy)
    return source + _UNITTEST.replace("{may_skip}", str(_may_skip(source)))


def _may_skip(source: str) -> bool:
    """Whether the test itself may be skipped or be expected to fail."""
    return any(word in source.lower() for word in ("skip", "xfail"))


def pytest_test(source: str, module: str, entry_point: str) -> str:
    """A `check` that runs the file by pytest. Raises RequestError where it holds no test."""
    tree = parse_field(source, f"{ROOT}.test")
    count = sum(
        isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
        for node in ast.walk(tree)
    )
    if not count:
        raise RequestError(f"{ROOT}.test", "holds no test function", "define test_ functions, or give another style")
    names = sorted({entry_point, *imported_names(tree, module)})
    awaits = any(isinstance(node, ast.AsyncFunctionDef) for node in ast.walk(tree))
    return _PYTEST.format(
        may_skip=_may_skip(source),
        source=source,
        module=module,
        names=names,
        required=_required(tree),
        coroutines=_COROUTINES if awaits else "",
        plugins=", Coroutines()" if awaits else "",
    )


def _required(tree: ast.Module) -> list[str]:
    """The names of a file's functions that must pass: of no fixtures, nor of what may be skipped or expected to
    fail."""
    marks = [node for node in tree.body if isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node)]
    if any(map(_may_skip, map(ast.unparse, marks))):
        return []
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    functions = [node for node in tree.body if isinstance(node, kinds) and node.name.startswith("test")]
    return [
        node.name
        for node in functions
        if not _may_skip(ast.unparse(node)) and not any("fixture" in ast.unparse(one) for one in node.decorator_list)
    ]


def module_of(row: Mapping[str, object]) -> str:
    """What the row's test imports the answer as."""
    return identifier(row.get("module") or "solution", f"{ROOT}.module")


def joined(body: Sequence[ast.stmt], module: str) -> tuple[list[ast.stmt], list[str]]:
    """(statements of a test that is in one module with the answer, names that they took from the answer's `module`)."""
    rest: list[ast.stmt] = []
    names = []
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.module == module:
            names += [alias.name for alias in node.names if alias.name != "*"]
            rest += parse_trusted("\n".join(f"{one.asname} = {one.name}" for one in node.names if one.asname)).body
        else:
            rest.append(node)
    return rest, names
