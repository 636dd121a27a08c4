"""From a task and an answer to the programs that must run. Pure; never parses the candidate's code."""

from __future__ import annotations

import ast
import builtins
import hashlib
import re
from dataclasses import replace
from typing import Literal

from sandbox_gym.contract import Answer, Dialogue, Plan, Program, Run
from sandbox_gym.limits import Limits
from sandbox_gym.verifiers.coding.extract import extract_code
from sandbox_gym.verifiers.coding.task import CheckTests, CodingTask, StdinTests
from sandbox_gym.verifiers.coding.wire import frame_call

RECURSION_LIMIT = 50_000
"""As LiveCodeBench's prelude sets it."""


def make_plan(task: CodingTask, answer: Answer) -> Plan:
    """One run per test, or one dialogue for a check function; no steps where the answer holds no code."""
    code = extract_code(answer.text, task.language)
    if code is None:
        return Plan(())
    tests = task.tests
    if isinstance(tests, CheckTests):
        return _check_plan(task, tests, code)
    source = _bytes(code)
    if isinstance(tests, StdinTests):
        program = _program("fork", source)
        inputs = [_bytes(text) for text in tests.inputs]
    else:
        program = replace(_program("call", source), entry_point=tests.fn_name)
        inputs = [frame_call(call) for call in tests.calls]
    steps = tuple(Run(f"test-{index}", program, data, task.limits) for index, data in enumerate(inputs))
    return Plan(steps, early_stop=task.early_stop)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _program(mode: Literal["fork", "call"], source: bytes) -> Program:
    return Program(mode, {"main.py": source}, recursion_limit=RECURSION_LIMIT, implicit_imports=True)


def candidate_source(tests: CheckTests, code: str) -> str:
    """The candidate's module: the prompt's imports and helpers, then its code; a completion continues the prompt."""
    if not tests.prompt:
        return code
    name = re.escape(tests.entry_point)
    defines = re.search(rf"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+{name}\b|^{name}[ \t]*(?::[^=\n]+)?=", code, re.M)
    if not defines:
        return tests.prompt + code
    return f"{tests.prompt.rstrip()}\n{_closing_body(tests.prompt)}\n\n{code}"


def _closing_body(prompt: str) -> str:
    """A prompt that ends in a bare signature is made whole, so that it parses before the real definition."""
    try:
        ast.parse(prompt)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "    pass"
    return ""


def _check_plan(task: CodingTask, tests: CheckTests, code: str) -> Plan:
    source = candidate_source(tests, code)
    why = why_not_isolated(tests)
    if why:
        program = _program("fork", _bytes(in_process_source(tests, source)))
        return Plan((Run("check", program, b"", task.limits),), integrity="in_process")
    candidate = replace(_program("call", _bytes(source)), entry_point=tests.entry_point)
    hidden = _bytes(f"{tests.prompt.rstrip()}\n{_closing_body(tests.prompt)}\n\n{tests.test}\n")
    asker = Program("ask", {"main.py": hidden}, entry_point=tests.entry_point, recursion_limit=RECURSION_LIMIT)
    asker = replace(asker, implicit_imports=True)
    patient = _patient(task.limits)
    return Plan((Dialogue("check", Run("test", asker, b"", patient), Run("answer", candidate, b"", task.limits)),))


def _patient(limits: Limits) -> Limits:
    """The test outwaits the candidate, so that whose time was up is never in doubt."""
    return replace(limits, cpu_time_s=limits.cpu_time_s + 5, wall_time_s=limits.wall_time_s + 5)


def nonce(tests: CheckTests, source: str) -> str:
    """What an in-process run prints last after `check` returned; a value the answer's author can't hold in advance
    without the test, though code in the same process could find it: such verdicts say in_process."""
    return hashlib.sha256(f"{tests.test}\0{source}".encode("utf-8", "surrogatepass")).hexdigest()


def in_process_source(tests: CheckTests, source: str) -> str:
    """Candidate, test and the call, in one module."""
    ending = f"check({tests.entry_point})\nprint({nonce(tests, source)!r})\n"
    return f"{source}\n\n{tests.test}\n\n{ending}"


def why_not_isolated(tests: CheckTests) -> str:
    """Why the test must share a process with the candidate; empty when it need not. Reads the trusted test only."""
    try:
        tree = ast.parse(f"{tests.prompt}\n{_closing_body(tests.prompt)}\n{tests.test}")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "the test does not parse behind the prompt"
    names = {"candidate", tests.entry_point}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in names:
            return f"the test reads candidate.{node.attr}"
        if not isinstance(node, ast.Call):
            continue
        if isinstance(node.func, ast.Call) and _is_candidate(node.func.func, names):
            return "the test calls what the candidate returns"
        if _is_candidate(node.func, names) and any(isinstance(arg, ast.Lambda) for arg in node.args):
            return "the test passes a function to the candidate"
        owner = node.func.value if isinstance(node.func, ast.Attribute) else None
        if isinstance(owner, ast.Name) and owner.id == "inspect":
            return "the test inspects the candidate"
    unknown = _free_names(tree) - names - set(dir(builtins)) - {"__name__", "__file__"}
    return f"the test uses names that only the answer defines: {', '.join(sorted(unknown))}" if unknown else ""


def _is_candidate(node: ast.expr, names: set[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


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
        elif isinstance(node, ast.ExceptHandler) and node.name:
            bound.add(node.name)
    return loaded - bound - _PRELUDE_NAMES


_PRELUDE_NAMES = frozenset(
    [
        "string",
        "re",
        "datetime",
        "collections",
        "heapq",
        "bisect",
        "copy",
        "math",
        "random",
        "statistics",
        "itertools",
        "functools",
        "operator",
        "io",
        "sys",
        "json",
        "typing",
        "List",
        "Dict",
        "Set",
        "Tuple",
        "Optional",
        "Any",
        "Union",
        "Callable",
        "Counter",
        "defaultdict",
        "deque",
    ]
)
