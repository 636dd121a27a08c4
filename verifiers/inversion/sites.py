"""Where a test asserts: the statements of one test function that can be turned, and whether each must be reached.

Reads trees only. A site is certain where every passing test has executed it: a false "uncertain" costs a variant, a
false "certain" costs an honest answer's reward.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

Function = ast.FunctionDef | ast.AsyncFunctionDef
_DEEPEST = 60
_MOST_SITES = 2_000
_LEAVES = frozenset(["skip", "skipTest", "xfail", "importorskip", "exit", "SkipTest", "Skipped"])
"""Calls that end a test that passes before what follows."""
_SWALLOWS = ("raises", "suppress", "ignor", "expect", "assertRaises", "xfail", "skip", "fail", "deprecated")
"""In the name of a context manager: it may end its block early, or keep a failure in it from the test."""


@dataclass(frozen=True, slots=True)
class Site:
    """A statement that asserts, a call that does, or an item of a `with`."""

    node: ast.Assert | ast.Call | ast.withitem
    certain: bool


@dataclass(frozen=True, slots=True)
class Found:
    """A test function."""

    function: Function
    certain: bool
    """Whether a runner that says "passed" has run its body."""
    shared: bool = False
    """Whether other tests may run it too."""
    defined_as: str = ""
    """Its name by the class that it stands in."""


def find(tree: ast.Module, test: str) -> Found | None:
    """The function of a qualified name; a method may stand in a base class of the same module. None where it is not
    there or is expected to fail."""
    *classes, name = test.split(".")
    body: Sequence[ast.stmt] = tree.body
    owner, holders = None, []
    for each in classes:
        owner = _class(body, each)
        if owner is None:
            return None
        body = owner.body
        holders.append(owner)
    holder = None if owner is None else _holder(tree, owner, name, 0)
    function = _function(body if holder is None else holder.body, name)
    if function is None:
        return None
    marks = [mark for node in (*holders, function) for mark in node.decorator_list]
    names = [ast.unparse(mark.func if isinstance(mark, ast.Call) else mark).rpartition(".")[2] for mark in marks]
    if {"xfail", "expectedFailure"} & set(names):
        return None
    words = {word for mark in marks for word in _words(mark)}
    words |= {word for body in (tree.body, *(holder.body for holder in holders)) for word in _before_tests(body)}
    certain = not any("skip" in word.lower() or "xfail" in word for word in words) and runs(function, owner, words)
    shared = holder is not owner
    return Found(function, certain, shared, f"{holder.name}.{name}" if shared and holder is not None else test)


def _before_tests(body: Sequence[ast.stmt]) -> Iterator[str]:
    """The names in code that runs before a test and may skip it."""
    for node in body:
        if isinstance(node, Function) and (
            "setup" in node.name.lower() or any("fixture" in _words(mark) for mark in node.decorator_list)
        ):
            yield from _words(node)


def _words(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Those of a module or class, with what stands in its `if`, `try` and `with`."""
    waiting = list(reversed(body))
    while waiting:
        node = waiting.pop()
        yield node
        if isinstance(node, ast.If | ast.Try | ast.With):
            for field in ("finalbody", "orelse", "body"):
                waiting += reversed(getattr(node, field, []))


def _class(body: Sequence[ast.stmt], name: str) -> ast.ClassDef | None:
    found = [node for node in _statements(body) if isinstance(node, ast.ClassDef) and node.name == name]
    return found[-1] if found else None


def _function(body: Sequence[ast.stmt], name: str) -> Function | None:
    found = [node for node in _statements(body) if isinstance(node, Function) and node.name == name]
    return found[-1] if found else None


def _holder(tree: ast.Module, owner: ast.ClassDef, name: str, depth: int) -> ast.ClassDef | None:
    """The class that has a method, of `owner` and its base classes in the module."""
    if depth > 20 or _function(owner.body, name) is not None:
        return owner if depth <= 20 else None
    for base in owner.bases:
        above = _class(tree.body, base.id) if isinstance(base, ast.Name) else None
        found = _holder(tree, above, name, depth + 1) if above is not None and above is not owner else None
        if found is not None:
            return found
    return None


def runs(function: Function, owner: ast.ClassDef | None = None, marks: Collection[str] = ()) -> bool:
    """Not a generator or a coroutine, whose body may never run."""
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in _own_nodes(function)):
        return False
    if isinstance(function, ast.FunctionDef):
        return True
    bases = {word for base in (owner.bases if owner else ()) for word in _words(base)}
    return "IsolatedAsyncioTestCase" in bases or bool({"asyncio", "anyio", "trio"}.intersection(marks))


def _own_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes below `tree` that no function or class inside it holds."""
    waiting = list(ast.iter_child_nodes(tree))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            waiting += ast.iter_child_nodes(node)


def sites_of(found: Found) -> tuple[Site, ...]:
    """The sites in the order of the text."""
    sites: list[Site] = []
    for site in _walk(found.function.body, found.certain, 0):
        sites.append(site)
        if len(sites) >= _MOST_SITES:
            break
    return tuple(sites)


def _walk(body: Sequence[ast.stmt], reached: bool, depth: int) -> Iterator[Site]:
    if depth > _DEEPEST:
        return
    run = _run_in(body, reached)
    for node in body:
        if isinstance(node, ast.Assert):
            yield Site(node, reached)
        elif isinstance(node, ast.Expr):
            value = node.value.value if isinstance(node.value, ast.Await) else node.value
            if isinstance(value, ast.Call):
                yield Site(value, reached)
        elif isinstance(node, ast.With | ast.AsyncWith):
            yield from _with(node, reached, depth)
        else:
            for inner, certain in _blocks(node, node in run if isinstance(node, Function) else reached):
                yield from _walk(inner, certain, depth + 1)
        reached = reached and not _may_leave(node)


def _with(node: ast.With | ast.AsyncWith, reached: bool, depth: int) -> Iterator[Site]:
    for item in node.items:
        yield Site(item, reached)
    yield from _walk(node.body, reached and not swallows(node), depth + 1)


def swallows(node: ast.With | ast.AsyncWith) -> bool:
    """Whether it may end its block early, or keep a failure in it from the test."""
    managers = {word for item in node.items for word in _words(item.context_expr)}
    return any(sign in word for word in managers for sign in _SWALLOWS)


def _blocks(node: ast.stmt, reached: bool) -> Iterator[tuple[list[ast.stmt], bool]]:
    """The blocks of a statement, and whether each is gone through whenever the statement is reached."""
    if isinstance(node, ast.For):
        yield node.body, reached and _goes_round(node)
        yield node.orelse, False
    elif isinstance(node, ast.Try):
        plain = reached and not node.handlers
        yield node.body, plain
        for handler in node.handlers:
            yield handler.body, False
        yield node.orelse, plain
        yield node.finalbody, False
    elif isinstance(node, ast.If | ast.While | ast.AsyncFor):
        yield node.body, False
        yield node.orelse, False
    elif isinstance(node, ast.Match):
        for case in node.cases:
            yield case.body, False
    elif isinstance(node, Function):
        yield node.body, reached


def _run_in(body: Sequence[ast.stmt], reached: bool) -> list[Function]:
    """Functions without parameters that a later statement of the same body calls, and so runs (`def test_a(): ...`,
    `test_a()`)."""
    known: dict[str, Function] = {}
    found: list[Function] = []
    for node in body:
        call = node.value if isinstance(node, ast.Expr) else None
        if isinstance(node, Function):
            known[node.name] = node
        elif reached and isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            found += [known[call.func.id]] if call.func.id in known and not call.args and not call.keywords else []
        reached = reached and not _may_leave(node)
    return [node for node in found if runs(node) and not node.decorator_list and not ast.unparse(node.args)]


def _goes_round(node: ast.For) -> bool:
    """A loop over a display that holds something, whose body is gone through to its end."""
    given = node.iter
    full = isinstance(given, ast.List | ast.Tuple | ast.Set) and any(
        not isinstance(one, ast.Starred) for one in given.elts
    )
    return full and not any(isinstance(one, ast.Break | ast.Continue) for one in _own_nodes(node))


def _may_leave(node: ast.stmt) -> bool:
    """Whether a test may end at the statement and still pass."""
    if isinstance(node, Function | ast.ClassDef):
        return False
    return any(
        isinstance(one, ast.Return)
        or (isinstance(one, ast.Raise) and one.exc is not None and bool(_LEAVES & set(_words(one.exc))))
        or (isinstance(one, ast.Call) and bool(_LEAVES & set(_words(one.func))))
        for one in (node, *_own_nodes(node))
    )
