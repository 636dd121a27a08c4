"""Finds which attributes a test reads of values of the answer, as opposed to its own values.

Pure, from the test's text: a name holds a value of the answer if an expression with such a name was bound to it.
"""

from __future__ import annotations

import ast
import collections.abc
from collections.abc import Iterable, Iterator, Set

_RAISES = frozenset(("raises", "assertRaises", "assertRaisesRegex"))
_OF_CLASSES = frozenset(
    ("__class__", "__doc__", "__dict__", "__mro__", "__bases__", "__module__", "__annotations__", "__slots__")
)
_ABILITIES = frozenset(dir(collections.abc)) | {"property", "staticmethod", "classmethod"}
"""What isinstance asks an object's class for; an object that stands here for another has nothing of that, or all."""
_CLOCKS = frozenset(("monotonic", "perf_counter", "sleep", "time"))
"""Threads of an answer's wait for one another where each calls a function of the test's."""
_OPERANDS = (ast.BinOp, ast.Compare, ast.UnaryOp, ast.AugAssign)


def attributes_read(test: ast.Module, called: set[str], fields: set[str]) -> tuple[tuple[str, ...], ...]:
    """Groups of names that the test reads of one value. `called`: names of the answer; `fields`: names left out."""
    given = given_names(test, called)
    caught = _caught(test)
    groups: dict[str, set[str]] = {}
    for node in ast.walk(test):
        base, name = _read(node)
        if base is not None and name not in fields and _is_given(base, given, caught):
            groups.setdefault(_whose(base), set()).add(name)
    return tuple(sorted({tuple(sorted(names)) for names in groups.values()}))


def _read(node: ast.AST) -> tuple[ast.expr | None, str]:
    """Whose attribute a node reads, and its name: `x.name`, `hasattr(x, "name")`."""
    if isinstance(node, ast.Attribute):
        return node.value, node.attr
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("hasattr", "getattr"):
        told = node.args[1] if len(node.args) > 1 else None
        if isinstance(told, ast.Constant) and isinstance(told.value, str):
            return node.args[0], told.value
    return None, ""


def read_of_classes(test: ast.Module, classes: set[str]) -> set[str]:
    """Names that the test reads of these classes by their own names, as `Calc.add` or `solution.Calc.add`."""
    found = set()
    for node in ast.walk(test):
        base, name = _read(node)
        if isinstance(base, ast.Name | ast.Attribute) and ast.unparse(base).rpartition(".")[2] in classes:
            found.add(name)
    return found


def iterates(test: ast.Module, called: set[str]) -> bool:
    """Whether the test goes through the items of a value of the answer."""
    given = given_names(test, called)
    loops = (node for node in ast.walk(test) if isinstance(node, ast.For | ast.AsyncFor | ast.comprehension))
    return any(_names(loop.iter) & given for loop in loops)


def suspected(test: ast.Module) -> str:
    """What one process may show otherwise, where the test fails; "" for nothing."""
    if _looks_at_classes(test):
        return "answer: the test looks at classes of what it is given"
    return "" if _CLOCKS.isdisjoint(_names(test)) else "answer: the test measures time, which two processes share"


def _looks_at_classes(test: ast.Module) -> bool:
    """Whether the test uses `type(x)`, or what only a class or an object itself has or is."""
    return any(
        isinstance(node, ast.MatchClass)
        or (isinstance(node, ast.Attribute) and node.attr in _OF_CLASSES)
        or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and _asks_for_class(node.func.id, node.args))
        for node in ast.walk(test)
    )


def _asks_for_class(name: str, given: list[ast.expr]) -> bool:
    if name in ("hasattr", "getattr"):
        return any(isinstance(one, ast.Constant) and str(one.value).startswith("__") for one in given[1:2])
    kinds = {getattr(node, "attr", getattr(node, "id", "")) for one in given[1:] for node in ast.walk(one)}
    of_objects = name in ("isinstance", "issubclass") and not kinds.isdisjoint(_ABILITIES)
    return of_objects or name == "callable" or (name == "type" and len(given) == 1)


def _is_given(base: ast.expr, given: set[str], caught: set[str]) -> bool:
    root = base
    while isinstance(root, ast.Attribute):
        root = root.value
    if isinstance(root, ast.Name) and (root.id in ("self", "cls") or (root is base and base.id in caught)):
        return False
    return bool(_names(base) & given)


def _whose(base: ast.expr) -> str:
    """One key for what is probably one kind of value: a name, or a function's result."""
    return f"{ast.unparse(base.func)}()" if isinstance(base, ast.Call) else ast.unparse(base)


def given_names(test: ast.Module, called: set[str], known: Set[str] = frozenset()) -> set[str]:
    """Names that may hold a value of the answer; parameters too, since their arguments are unknown, but those that are
    `known`."""
    given = called | {"self", "cls"}
    for node in ast.walk(test):
        if isinstance(node, ast.arg) and node.arg not in known:
            given.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            given.add(node.name)
        elif isinstance(node, ast.withitem) and node.optional_vars is not None:
            given |= _names(node.optional_vars)
    bound = [(targets, _names(value)) for targets, value in _bindings(test)]
    size = -1
    while size != len(given):
        size = len(given)
        for targets, read in bound:
            if read & given:
                given |= targets
    return given


def _bindings(test: ast.Module) -> Iterator[tuple[set[str], ast.AST]]:
    """(names, what is bound to them or is their body)."""
    for node in ast.walk(test):
        if isinstance(node, ast.Assign):
            values = node.value.elts if isinstance(node.value, ast.Tuple) else []
            names = node.targets[0].elts if isinstance(node.targets[0], ast.Tuple) else []
            if len(node.targets) == 1 and len(names) == len(values) > 0 and not _starred([*names, *values]):
                yield from ((_names(name), value) for name, value in zip(names, values, strict=True))
            else:
                yield _names(*node.targets), node.value
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
            yield _names(node.target), node.value
        elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
            yield _names(node.target), node.iter
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield {node.name}, node
        elif isinstance(node, ast.Match):
            yield {name for case in node.cases for name in _captured(case.pattern)}, node.subject


def _starred(nodes: Iterable[ast.expr]) -> bool:
    return any(isinstance(one, ast.Starred) for one in nodes)


def _captured(pattern: ast.pattern) -> Iterable[str]:
    nodes = list(ast.walk(pattern))
    return [node.name for node in nodes if isinstance(node, ast.MatchAs | ast.MatchStar) and node.name]


def _caught(test: ast.Module) -> set[str]:
    """Names of what `raises` gives, whose own attributes are the runner's."""
    return {
        name
        for node in ast.walk(test)
        if isinstance(node, ast.withitem) and node.optional_vars is not None and isinstance(node.context_expr, ast.Call)
        for name in _names(node.optional_vars)
        if ast.unparse(node.context_expr.func).rpartition(".")[2] in _RAISES
    }


def _names(*trees: ast.AST) -> set[str]:
    return {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}


def operates(test: ast.Module, classes: set[str]) -> bool:
    """Whether an operator of the test has an instance of these classes as an operand, where the test constructed it;
    the result of a method does not count."""
    made = _instances(test, classes)
    return any(
        _has_instance(operand, classes, made)
        for node in ast.walk(test)
        if isinstance(node, _OPERANDS)
        for operand in ast.iter_child_nodes(node)
    )


def read_of_results(test: ast.Module, called: set[str]) -> set[str]:
    """Names of attributes that the test reads of results of the answer's methods."""
    given = given_names(test, called)
    named: set[str] = set()
    for targets, value in _bindings(test):
        if isinstance(value, ast.expr) and _calls_method(value, given):
            named |= targets
    return {
        node.attr
        for node in ast.walk(test)
        if isinstance(node, ast.Attribute) and (_calls_method(node.value, given) or _names(node.value) & named)
    }


def _calls_method(tree: ast.expr, given: set[str]) -> bool:
    return any(
        isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _names(node.func.value) & given
        for node in ast.walk(tree)
    )


def reads_of_made(test: ast.Module, names: set[str]) -> bool:
    """Whether the test reads an attribute of what it made by calling one of `names`, or compares two of these."""
    made = _instances(test, names)

    def is_made(node: ast.expr) -> bool:
        return ast.unparse(node.func) in names if isinstance(node, ast.Call) else ast.unparse(node) in made

    return any(
        is_made(node.value) or (not isinstance(node.value, ast.Call) and _has_instance(node.value, names, made))
        if isinstance(node, ast.Attribute)
        else isinstance(node, ast.Compare)
        and all(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops)
        and all(map(is_made, (node.left, *node.comparators)))
        for node in ast.walk(test)
    )


def is_class(name: str, prompt: ast.Module, test: ast.Module, also: Iterable[str] = ()) -> bool:
    """Whether the row uses a name of the answer as a class: by its definition, its spelling, or its use. `also`: what
    else the test calls it."""
    for node in prompt.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name:
            return isinstance(node, ast.ClassDef)
    if name[:1].isupper() and not name.isupper():
        return True
    calls = [node for node in ast.walk(test) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    if name.isupper() and reads_of_made(test, {name, *also}):  # DSU(5), where GCD(4, 6) is a function's value
        return True
    return any(
        ast.unparse(call.func) in ("isinstance", "issubclass")
        and any(isinstance(argument, ast.Name) and argument.id == name for argument in call.args[1:])
        for call in calls
    )


def _instances(test: ast.Module, classes: set[str]) -> set[str]:
    """Names, attributes and functions that may hold or return an instance."""
    made: set[str] = set()
    for _ in range(4):  # of an instance, of what holds it, of what goes through that
        for node in ast.walk(test):
            if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value is not None:
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                if _has_instance(node.value, classes, made):
                    made |= _names(*targets) - {"self"}
                    made |= {
                        one.attr for target in targets for one in ast.walk(target) if isinstance(one, ast.Attribute)
                    }
            elif isinstance(node, ast.For | ast.AsyncFor | ast.comprehension):
                made |= _names(node.target) if _has_instance(node.iter, classes, made) else set()
            elif isinstance(node, ast.FunctionDef):
                given = (one.value for one in ast.walk(node) if isinstance(one, ast.Return | ast.Yield) and one.value)
                made |= {node.name} if any(_has_instance(one, classes, made) for one in given) else set()
    return made


def _has_instance(tree: ast.AST, classes: set[str], made: set[str]) -> bool:
    """Whether an instance stands in an expression other than as the owner of an attribute."""
    if isinstance(tree, ast.Attribute):
        return tree.attr in made and isinstance(tree.value, ast.Name)
    if isinstance(tree, ast.Name):
        return tree.id in made
    if isinstance(tree, ast.Call) and isinstance(tree.func, ast.Name) and tree.func.id in classes:
        return True
    return any(_has_instance(child, classes, made) for child in ast.iter_child_nodes(tree))
