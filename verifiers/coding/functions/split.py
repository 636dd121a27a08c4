"""Decides whether a check function can run apart from the answer it checks, and what its end must know to call the
answer.

Reads the row's prompt and test, never an answer. A test that can't run apart runs in the answer's own process, and its
verdict says `in_process`: a false "can't" costs integrity, a false "can" costs a right answer.
"""

from __future__ import annotations

import ast
import builtins
import datetime
import sys
from dataclasses import dataclass
from functools import lru_cache

from sandbox_gym.verifiers.coding.functions.ambient import foreign, imports_of, shared_state
from sandbox_gym.verifiers.coding.functions.reads import (
    attributes_read,
    is_class,
    iterates,
    operates,
    read_of_classes,
    read_of_results,
    suspected,
)
from sandbox_gym.verifiers.coding.functions.shapes import CheckTests
from sandbox_gym.verifiers.coding.functions.syntax import UNPARSEABLE, parse_trusted

_PRELUDE = """
    string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json
    typing List Dict Set Tuple Optional Any Union Callable Iterable Iterator Generator Sequence Deque DefaultDict Type
    TypeVar Counter defaultdict deque OrderedDict namedtuple ChainMap
"""
PRELUDE_NAMES = frozenset(_PRELUDE.split())
"""What the guest's import prelude gives to both ends."""
_ALIASES = ("np", "numpy", "pd", "pandas", "plt", "scipy", "sympy", "nx", "requests")
_LIBRARIES = frozenset((*sys.stdlib_module_names, *_ALIASES))
_REFLECTION = frozenset(("globals", "locals", "vars", "eval", "exec", "compile", "__import__", "dir"))
_FIXTURES = frozenset(("capsys", "capfd", "monkeypatch", "tmp_path", "tmpdir", "caplog", "recwarn", "open"))
"""pytest's own, and open: they see what happens in the test's process only."""
_READ_APART = frozenset(("__name__", "__doc__", "__qualname__"))


_OF_ARRAYS = """
    np numpy approx allclose isclose array_equiv norm assert_equal assert_allclose assert_almost_equal
    assert_array_almost_equal assert_array_equal assert_array_less"""
_COMPARES_ARRAYS = frozenset(_OF_ARRAYS.split())


@dataclass(frozen=True, slots=True)
class Parting:
    """How a test is separated from the answer. `why_not`: why it can't be; empty where it can."""

    why_not: str = ""
    names: tuple[str, ...] = ()
    """What the test uses of the answer."""
    classes: tuple[str, ...] = ()
    """Those of `names` that the row has as classes."""
    shared: tuple[str, ...] = ()
    """Qualified names of the prompt's own classes, which both ends define."""
    attributes: tuple[tuple[str, ...], ...] = ()
    """Names of attributes, in groups of those that the test reads of one thing that the answer gave: the guest tells
    objects from values by them."""
    words: tuple[str, ...] = ()
    """Every name in the test: which exceptions it knows of is among them."""
    operates: bool = False
    """Whether an operator of the test has an instance of the answer's classes as an operand."""
    of_results: tuple[str, ...] = ()
    """Names of attributes that the test reads of what methods gave."""
    of_classes: tuple[str, ...] = ()
    """Names of attributes that the test reads of a class by its name."""
    suspected: str = ""
    """What the test does that one process may show otherwise, should it fail."""
    vacuous: bool = False
    """Whether it may hold for a list or an array without items, whatever is expected."""


def why_not_isolated(tests: CheckTests) -> str:
    """Why the test must share a process with the candidate; empty where it need not."""
    return part(tests).why_not


@lru_cache(maxsize=512)
def part(tests: CheckTests) -> Parting:
    """How the row's test is separated from an answer."""
    written = tests.written or tests.test
    try:
        prompt = parse_trusted(f"{tests.prompt}\n{closing_body(tests.prompt)}")
        test = parse_trusted(written)
        parse_trusted(tests.test)
    except UNPARSEABLE:
        return Parting("the test does not parse behind the prompt")
    stubs = _stubs(prompt)
    whole = ast.Module([*prompt.body, *test.body], [])
    unbound = _free_names(whole) - set(dir(builtins)) - {"__name__", "__file__"}
    modules = _answers_modules(test, tests.module) if tests.style == "pytest" else set()
    names = {tests.entry_point, *tests.names, *(stubs & _loaded(test)), *unbound} - modules
    parameter = _check_parameter(test)
    called = names | parameter
    why = _why_not(tests, prompt, test, called | modules)
    classes = {name for name in names if is_class(name, prompt, test, parameter if name == tests.entry_point else ())}
    if classes & {tests.entry_point}:
        classes |= parameter
    of_classes = read_of_classes(test, classes)
    classes |= {name for name in of_classes if is_class(name, prompt, test)}  # Outer.Inner
    return Parting(
        why,
        tuple(sorted(names)),
        tuple(sorted(classes)),
        tuple(sorted(_own_classes(prompt, names | stubs))),
        attributes_read(test, called | modules, _fields(prompt)),
        tuple(sorted(_words(test))),
        operates(test, classes),
        tuple(sorted(read_of_results(test, called | modules))),
        tuple(sorted(of_classes)),
        suspected(test),
        not _COMPARES_ARRAYS.isdisjoint(_words(test)) or iterates(test, called | modules),
    )


def closing_body(prompt: str) -> str:
    """A prompt that ends in a bare signature, completed with a body, so that it parses before the real definition."""
    try:
        parse_trusted(prompt)
    except UNPARSEABLE:
        for indent in (4, 8, 12, 2):
            body = " " * indent + "pass"
            try:
                parse_trusted(f"{prompt.rstrip()}\n{body}")
            except UNPARSEABLE:
                continue
            return body
        return "    pass"
    return ""


def _why_not(tests: CheckTests, prompt: ast.Module, test: ast.Module, called: set[str]) -> str:
    """The first reason in the test's text. `called`: names of the answer, and of its module."""
    aliases = {name: name for name in PRELUDE_NAMES if name.islower()}
    aliases = imports_of(test, imports_of(prompt, aliases))
    loaded = _loaded(test)
    imported = foreign(test) | foreign(prompt, loaded)
    imported -= {tests.module} if tests.style == "pytest" else set()
    if imported:
        return f"the test imports {', '.join(sorted(imported))}, whose state or objects belong to one process"
    counted = _changed_classes(prompt) & {
        ast.unparse(node) for node in ast.walk(test) if isinstance(node, ast.Attribute)
    }
    if counted:
        return f"the test reads {', '.join(sorted(counted))}, which the prompt's class changes where it is used"
    shared = _mutable_globals(prompt) & loaded
    if shared:
        return f"the test reads {', '.join(sorted(shared))}, which the prompt gives to the answer to change"
    bound = bound_names(test)
    free = frozenset() if tests.style == "pytest" else _LIBRARIES - bound - bound_names(prompt) - {tests.entry_point}
    for node in ast.walk(test):
        why = shared_state(node, aliases) or _why_node(node, called, bound) or _imported_there(node, free)
        if why:
            return why
    return ""


def _why_node(node: ast.AST, called: set[str], bound: set[str]) -> str:
    name = node.id if isinstance(node, ast.Name) else node.arg if isinstance(node, ast.arg) else ""
    if name in _REFLECTION - bound:
        return f"the test uses {name}()"
    if name in _FIXTURES and (isinstance(node, ast.arg) or name not in bound):
        return f"the test uses {name}"
    if isinstance(node, ast.AsyncWith):
        return "the test uses async with, whose event loop is its own"
    if isinstance(node, ast.ClassDef) and any(isinstance(base, ast.Name) and base.id in called for base in node.bases):
        return f"the test derives {node.name} from a class of the answer's"
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        if node.value.id in called and not isinstance(node.ctx, ast.Load):
            return f"the test sets {node.value.id}.{node.attr}"
        if node.value.id in called and node.attr.startswith("__") and node.attr not in _READ_APART:
            return f"the test reads {node.value.id}.{node.attr}"
    return ""


def _imported_there(node: ast.AST, free: frozenset[str]) -> str:
    """`free`: libraries' names that the row binds nowhere. In one file the answer's import of them is the test's, too:
    `np`, or the class that a module of the prelude is named after."""
    used = node.func if isinstance(node, ast.Call) else node.value if isinstance(node, ast.Attribute) else None
    if not isinstance(used, ast.Name) or used.id not in free:
        return ""
    is_module = isinstance(node, ast.Attribute) and (used.id != "datetime" or hasattr(datetime, node.attr))
    if is_module is (used.id in PRELUDE_NAMES):
        return ""
    return f"the test uses {used.id}, which only an answer imports"


def _stubs(prompt: ast.Module) -> set[str]:
    """Functions and classes of the prompt that the answer is to write: no body, or a method that has none."""
    found = set()
    for node in prompt.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _is_empty(node):
            found.add(node.name)
        elif isinstance(node, ast.ClassDef):
            methods = [one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
            if any(_is_empty(method) for method in methods if not method.decorator_list):
                found.add(node.name)
    return found


def _is_empty(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    def says_nothing(node: ast.stmt) -> bool:
        if isinstance(node, ast.Raise):
            return "NotImplementedError" in ast.unparse(node)
        return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))

    return all(says_nothing(node) for node in function.body)


def _own_classes(prompt: ast.Module, others: set[str]) -> set[str]:
    """Qualified names of the classes that the prompt defines and that the answer is not to write."""
    found: set[str] = set()

    def walk(body: list[ast.stmt], prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.ClassDef) and node.name not in others:
                found.add(prefix + node.name)
                walk(node.body, f"{prefix}{node.name}.")

    walk(prompt.body, "")
    for node in prompt.body:
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            maker = ast.unparse(node.value.func).rpartition(".")[2]
            if maker in _CLASS_MAKERS:
                found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return found


_CLASS_MAKERS = frozenset(
    ["namedtuple", "NamedTuple", "Enum", "IntEnum", "Flag", "IntFlag", "StrEnum", "make_dataclass", "TypedDict"]
)
_MUTABLE = frozenset(["list", "dict", "set", "defaultdict", "deque", "Counter", "OrderedDict", "bytearray"])


def _changed_classes(prompt: ast.Module) -> set[str]:
    """`Class.attribute` for what the prompt's own classes change of themselves, as a count of their instances."""
    found: set[str] = set()
    for cls in (node for node in ast.walk(prompt) if isinstance(node, ast.ClassDef)):
        for node in ast.walk(cls):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                owner = ast.unparse(node.value)
                if owner in (cls.name, "cls", "type(self)", "self.__class__"):
                    found.add(f"{cls.name}.{node.attr}")
        data = [node for node in cls.body if isinstance(node, ast.Assign) and _makes_mutable(node.value)]
        found |= {f"{cls.name}.{name.id}" for node in data for name in node.targets if isinstance(name, ast.Name)}
    return found


def _makes_mutable(value: ast.expr | None) -> bool:
    made = isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] in _MUTABLE
    return made or isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp)


def _mutable_globals(prompt: ast.Module) -> set[str]:
    """Names of the prompt's own lists, dicts and the like: one object for the answer and its test."""
    found: set[str] = set()
    for node in prompt.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
        if _makes_mutable(value):
            found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


def _fields(prompt: ast.Module) -> set[str]:
    """Names of attributes and methods of the prompt's classes."""
    found: set[str] = set()
    for cls in (node for node in ast.walk(prompt) if isinstance(node, ast.ClassDef)):
        for node in ast.walk(cls):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.add(node.name)
            elif isinstance(node, ast.Attribute):
                found.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
    return found


def _words(test: ast.Module) -> set[str]:
    nodes = list(ast.walk(test))
    return {node.id for node in nodes if isinstance(node, ast.Name)} | {
        node.attr for node in nodes if isinstance(node, ast.Attribute)
    }


def _answers_modules(test: ast.Module, module: str) -> set[str]:
    """Names under which the test imports the answer's module whole."""
    return {
        alias.asname or alias.name
        for node in ast.walk(test)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == module
    }


def _check_parameter(tree: ast.Module) -> set[str]:
    """What `check` calls the candidate."""
    checks = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "check"]
    return {check.args.args[0].arg for check in checks if check.args.args}


def _loaded(tree: ast.Module) -> set[str]:
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}


def bound_names(tree: ast.Module) -> set[str]:
    """Names that some statement or parameter binds: `input` may be the test's own list."""
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            bound.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            bound.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            bound.add(node.name)
        elif isinstance(node, ast.MatchMapping) and node.rest:
            bound.add(node.rest)
    return bound


def _free_names(tree: ast.Module) -> set[str]:
    """Names that the tree reads and nothing in it binds; none where a star import may bind anything."""
    if any(isinstance(node, ast.alias) and node.name == "*" for node in ast.walk(tree)):
        return set()
    return _loaded(tree) - bound_names(tree) - PRELUDE_NAMES
