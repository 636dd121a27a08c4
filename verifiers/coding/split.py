"""Whether a check function can be parted from the answer it checks. Reads the row's prompt and test, never an answer.

A test that can't be parted runs in the answer's own process, and its verdict says `in_process`: so a doubt here costs
integrity, and a miss costs a right answer.
"""

from __future__ import annotations

import ast
import builtins

from sandbox_gym.verifiers.coding.shapes import CheckTests
from sandbox_gym.verifiers.coding.syntax import UNPARSEABLE, parse_trusted

_PRELUDE = """
    string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json
    typing List Dict Set Tuple Optional Any Union Callable Iterable Iterator Generator Sequence Deque DefaultDict Type
    TypeVar Counter defaultdict deque OrderedDict namedtuple ChainMap
"""
_PRELUDE_NAMES = frozenset(_PRELUDE.split())
"""What the guest's import prelude gives to both ends."""
_REFLECTION = {"globals", "inspect"}


def why_not_isolated(tests: CheckTests) -> str:
    """Why the test must share a process with the candidate; empty when it need not."""
    try:
        tree = parse_trusted(f"{tests.prompt}\n{closing_body(tests.prompt)}\n{tests.written or tests.test}")
    except UNPARSEABLE:
        return "the test does not parse behind the prompt"
    names = {"candidate", *tests.names, *_check_parameter(tree)}
    foreign = _foreign_modules(tree, tests.module) if tests.style != "check" else set()
    if foreign:
        return f"the test imports {', '.join(sorted(foreign))}, whose objects can't cross between boxes"
    classes = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    functions = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    functions |= {name for name, value in vars(builtins).items() if callable(value)}
    functions -= names | _variables(tree)
    results = _names_of_results(tree, names)
    for node in ast.walk(tree):
        why = _why_node(node, names, results, classes, functions)
        if why:
            return why
    unknown = _free_names(tree) - names - set(dir(builtins)) - {"__name__", "__file__"}
    return f"the test uses names that only the answer defines: {', '.join(sorted(unknown))}" if unknown else ""


def closing_body(prompt: str) -> str:
    """A prompt that ends in a bare signature is made whole, so that it parses before the real definition."""
    try:
        parse_trusted(prompt)
    except UNPARSEABLE:
        return "    pass"
    return ""


def _foreign_modules(tree: ast.Module, module: str) -> set[str]:
    """What a test imports that may reach the answer otherwise than by values: files, streams, clocks, patches, types
    that can't cross. Only modules that are known not to count as harmless."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module != module:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= names & {"unittest.mock"} or {node.module or "."}
        elif isinstance(node, ast.Name | ast.arg):
            name = node.id if isinstance(node, ast.Name) else node.arg
            found |= {name} & _FIXTURES
    return found - _HARMLESS


_HARMLESS = frozenset(
    (
        *("unittest", "pytest", "math", "cmath", "collections", "itertools", "functools", "json", "re", "string"),
        *("typing", "operator", "textwrap", "copy", "heapq", "bisect", "statistics", "__future__"),
    )
)
_FIXTURES = frozenset(("capsys", "capfd", "monkeypatch", "tmp_path", "tmpdir", "caplog", "recwarn", "open"))
"""pytest's own, and open: they see what happens in the test's process only."""


def _check_parameter(tree: ast.Module) -> list[str]:
    """What `check` calls the candidate."""
    checks = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "check"]
    return [check.args.args[0].arg for check in checks if check.args.args]


def _variables(tree: ast.Module) -> set[str]:
    """Names that some statement or parameter binds: `input` may well be the test's own list."""
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    return stored | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}


def _is_call_of(node: ast.AST, names: set[str]) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in names


def _names_of_results(tree: ast.Module, names: set[str]) -> set[str]:
    """Names bound to what a call of the candidate gave."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and _is_call_of(node.value, names):
            found |= {target.id for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.NamedExpr) and _is_call_of(node.value, names):
            found.add(node.target.id)
    return found


def _why_node(node: ast.AST, names: set[str], results: set[str], classes: set[str], functions: set[str]) -> str:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
        return f"the test reads candidate.{node.attr}"
    if isinstance(node, ast.Name) and node.id in _REFLECTION:
        return f"the test uses {node.id}"
    if isinstance(node, ast.ImportFrom) and node.module == "inspect":
        return "the test uses inspect"
    if not isinstance(node, ast.Call):
        return ""
    if _is_call_of(node.func, names) or _is_call_of(node, results):
        return "the test calls what the candidate returns"
    if _is_call_of(node, names):
        arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
        if any(_stays_home(argument, classes, functions) for argument in arguments):
            return "the test passes a function or an object to the candidate"
    return ""


def _stays_home(node: ast.expr, classes: set[str], functions: set[str]) -> bool:
    """Whether an argument is, or holds, what can't cross between boxes: code, classes, instances, generators."""
    if isinstance(node, ast.Lambda | ast.GeneratorExp):
        return True
    if isinstance(node, ast.Name):
        return node.id in classes or node.id in functions
    if isinstance(node, ast.Call):
        return _is_call_of(node, classes)
    if isinstance(node, ast.Starred):
        return _stays_home(node.value, classes, functions)
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return any(_stays_home(item, classes, functions) for item in node.elts)
    if isinstance(node, ast.Dict):
        return any(_stays_home(item, classes, functions) for item in node.values)
    if isinstance(node, ast.ListComp):
        return _stays_home(node.elt, classes, functions)
    return False


def _free_names(tree: ast.Module) -> set[str]:
    loaded: set[str] = set()
    bound: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (loaded if isinstance(node.ctx, ast.Load) else bound).add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            bound.add(node.name)
        elif isinstance(node, ast.arg):
            bound.add(node.arg)
        elif isinstance(node, ast.alias):
            if node.name == "*":
                return set()
            bound.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            bound.add(node.name)
    return loaded - bound - _PRELUDE_NAMES
