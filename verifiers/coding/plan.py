"""Makes the programs that must run from a task and an answer. Pure; never parses the candidate's code."""

from __future__ import annotations

import ast
import json
import re
from dataclasses import replace
from functools import lru_cache

from sandbox_gym.contract import Answer, Build, Dialogue, Plan, Program, Run, Step
from sandbox_gym.errors import RequestError
from sandbox_gym.limits import Limits
from sandbox_gym.verifiers.coding.answers.extract import defines, extract_code
from sandbox_gym.verifiers.coding.answers.fenced_files import sources_of
from sandbox_gym.verifiers.coding.answers.folders import Sources
from sandbox_gym.verifiers.coding.functions.inverted import doubt_of, key_of, order_of, pool_of, seed_of, strict_test
from sandbox_gym.verifiers.coding.functions.plain_asserts import plain_asserts
from sandbox_gym.verifiers.coding.functions.reference import ReferenceTests
from sandbox_gym.verifiers.coding.functions.shapes import CheckTests, StdinTests
from sandbox_gym.verifiers.coding.functions.split import Parting, closing_body, part
from sandbox_gym.verifiers.coding.functions.syntax import parse_trusted
from sandbox_gym.verifiers.coding.functions.wire import MAX_MESSAGE, frame_call
from sandbox_gym.verifiers.coding.running.checkers import ProgramChecker
from sandbox_gym.verifiers.coding.running.checking import checker_plan
from sandbox_gym.verifiers.coding.running.programs import (
    RECURSION_LIMIT,
    answer_program,
    encoded,
    folder_program,
    image_for,
    python_program,
)
from sandbox_gym.verifiers.coding.task import CodingTask
from sandbox_gym.verifiers.inversion import STRICT

__all__ = ["ASSERTED", "REHEARSAL", "TOGETHER", "candidate_source", "make_plan", "together_runs"]


def make_plan(task: CodingTask, answer: Answer) -> Plan:
    """One run per test, or one dialogue for a check function; no steps where the answer holds no code. Raises
    RequestError for a call that is too long for the channel."""
    code = extract_code(answer.text, task.language, task.tests.names)
    if code is None:
        return Plan(())
    tests = task.tests
    if isinstance(tests, CheckTests):
        return _check_plan(task, tests, code)
    if isinstance(tests, StdinTests):
        files = sources_of(answer.text, task.language, task.answer_files) if task.multi_file else None
        return _stdin_plan(task, tests, files or code)
    builds: tuple[Build, ...] = ()
    if isinstance(tests, ReferenceTests):
        source, name, field = candidate_source(tests.prompt, tests.entry_point, code), tests.entry_point, "base_input"
        builds = (_reference(task, tests),)
    else:
        source, name, field = code, tests.fn_name, "unit_tests.inputs"
    program = replace(python_program("call", encoded(source)), entry_point=name)
    shared, alone = _may_share(task, program), task.processes == "alone"
    steps = tuple(
        Run(f"test-{index}", program, _framed(call, f"{field}[{index}]"), task.limits, shared, alone)
        for index, call in enumerate(tests.calls)
    )
    return _plan(task, steps, builds)


def _may_share(task: CodingTask, program: Program) -> bool:
    """Whether one process may run the program on one input after the other."""
    return task.processes != "own" and program.mode in ("fork", "call")


def _plan(task: CodingTask, steps: tuple[Step, ...], builds: tuple[Build, ...], image: str = "python") -> Plan:
    groups = tuple(group.tests for group in task.scoring.groups)
    return Plan(steps, image, early_stop=task.early_stop, builds=builds, groups=groups)


def _stdin_plan(task: CodingTask, tests: StdinTests, code: str | Sources) -> Plan:
    if isinstance(code, Sources):
        program, build, limits = folder_program(task.language, code, task.limits)
    else:
        program, build, limits = answer_program(task.language, code, task.limits)
    builds = () if build is None else (build,)
    shared, alone = _may_share(task, program), task.processes == "alone"
    runs = [
        Run(f"test-{index}", program, encoded(text), limits, shared, alone) for index, text in enumerate(tests.inputs)
    ]
    if not isinstance(task.checker, ProgramChecker):
        return _plan(task, tuple(runs), builds, image_for(task.language))
    checker = checker_plan(task.checker, task.limits)
    steps = tuple(
        checker.step(index, run, given, expected)
        for index, (run, given, expected) in enumerate(zip(runs, tests.inputs, tests.outputs, strict=True))
    )
    image = image_for(task.language, task.checker.language)
    return _plan(task, steps, (*builds, *checker.builds), image)


def _reference(task: CodingTask, tests: ReferenceTests) -> Build:
    """A run of the row's own solution on all calls, in one process of the judge's box."""
    frames = b"".join(_framed(call, f"base_input[{index}]") for index, call in enumerate(tests.calls))
    program = replace(python_program("call", encoded(tests.reference)), entry_point=tests.entry_point)
    patient = replace(task.limits, cpu_time_s=task.limits.cpu_time_s * 10, wall_time_s=task.limits.wall_time_s * 10)
    return Build("reference", Run("reference", program, frames, patient), place="judge")


def _framed(call: tuple[object, ...], field: str) -> bytes:
    frame = frame_call(call)
    if len(frame) > MAX_MESSAGE:
        field = f"verifier_metadata.{field}"
        raise RequestError(field, f"takes {len(frame)} bytes as a call", f"keep it below {MAX_MESSAGE}")
    return frame


def candidate_source(prompt: str, entry_point: str, code: str) -> str:
    """The candidate's module: the prompt's imports and helpers, then its code; a completion continues the prompt."""
    if not prompt:
        return code
    if not defines(code, entry_point):
        return prompt + ("" if prompt.endswith("\n") else "\n") + code
    futures = "".join(f"{line}\n" for line in _FUTURE.findall(code))  # only the top of a module may hold them
    return f"{futures}{prompt.rstrip()}\n{closing_body(prompt)}\n\n{_FUTURE.sub('', code)}"


@lru_cache(maxsize=512)
def imports_given(tests: CheckTests) -> str:
    """What the test imports, as source that follows the answer's: in one file with the test, an answer may use that
    without an import of its own. Not what may take the place of the function that is asked for."""
    if tests.style == "pytest":
        return ""
    body = parse_trusted(tests.test).body
    checks = [one.body for one in body if isinstance(one, ast.FunctionDef) and one.name == "check"]
    scripts = [one for one in checks if any(isinstance(node, ast.Global) for node in one)]
    lines = [
        f"\n{ast.unparse(node)}"
        for node in (*body, *(node for one in scripts for node in one))
        if isinstance(node, ast.Import | ast.ImportFrom)
        and {tests.entry_point, "*"}.isdisjoint((one.asname or one.name).partition(".")[0] for one in node.names)
        and _OF_RUNNERS.isdisjoint([getattr(node, "module", ""), *(alias.name for alias in node.names)])
    ]
    return "".join(dict.fromkeys(lines))


_OF_RUNNERS = frozenset(("__future__", "unittest", "unittest.mock", "pytest"))
"""What no answer needs of its test."""
_FUTURE = re.compile(r"^from __future__ import [\w, ]+$", re.M)


def _check_plan(task: CodingTask, tests: CheckTests, code: str) -> Plan:
    """The answer's calls alone where their values may settle the test; else test and answer in two boxes, and in one
    process where the test can't be separated, or asks for that at run time."""
    source = candidate_source(tests.prompt, tests.entry_point, code)
    candidate = replace(python_program("call", encoded(source + imports_given(tests))), entry_point=tests.entry_point)
    asserted = None if task.dialogue else plain_asserts(tests)
    if asserted is not None:
        candidate = replace(candidate, requires=tests.libraries)
        return Plan((Run(ASSERTED, candidate, asserted.frames, task.limits),))
    parting = part(tests)
    builds = (_rehearsal(task, tests, parting),) if tests.reference and task.in_process == "allow" else ()
    together = together_runs(task, tests, source)
    if parting.why_not:
        if task.in_process != "allow":
            return Plan((), integrity="in_process")
        return Plan(together, integrity="in_process", early_stop=True, builds=builds)
    patient = _patient(task.limits)
    dialogue = Dialogue(
        "check", Run("test", _asker(tests, parting), b"", patient), Run("answer", candidate, b"", task.limits)
    )
    if task.in_process != "allow":
        return Plan((dialogue,))
    return Plan((dialogue, *together), early_stop=True, builds=builds)


def together_runs(task: CodingTask, tests: CheckTests, source: str) -> tuple[Run, ...]:
    """The runs with test and answer in one process: the true test, and where it passes, variants that must fail and the
    true test among them."""
    seed = task.seed or seed_of(tests, source, task.secret)
    shown = (tests.test, *(tests.test if one is None else one.test for one in order_of(tests, seed)))
    return tuple(
        Run(TOGETHER, _together(tests, source, test), key_of(seed, index).encode(), task.limits)
        for index, test in enumerate(shown)
    )


def _together(tests: CheckTests, source: str, test: str) -> Program:
    files = {"main.py": encoded(source), "test.py": encoded(f"{test}\n")}
    program = Program("check", files, argv=_options(tests), entry_point=tests.entry_point)
    return replace(program, recursion_limit=RECURSION_LIMIT, implicit_imports=True, requires=tests.libraries)


def _options(tests: CheckTests) -> tuple[str, ...]:
    """The test's style, the answer's module, and whether a StopIteration of the answer could end a loop of the test."""
    words = set(re.findall(r"\w+", tests.written or tests.test))
    own = re.search(r"\bStop(?:Async)?Iteration\b", tests.reference)
    guarded = words & _STEPPERS and not own and "StopIteration" not in words
    return (tests.style, tests.module, *(("guarded",) if guarded else ()))


_STEPPERS = frozenset(
    ["map", "filter", "iter", "starmap", "takewhile", "dropwhile", "filterfalse", "accumulate", "groupby", "__next__"]
)
"""What calls a function in C for each step: its StopIteration ends the steps, and with them an `all`."""


def _asker(tests: CheckTests, parting: Parting, **more: object) -> Program:
    """The program of the hidden test, and what guest/python/calls.py needs of the row."""
    row: dict[str, object] = {
        "names": parting.names,
        "classes": parting.classes,
        "shared": parting.shared,
        "attributes": parting.attributes,
        "words": parting.words,
        "operates": parting.operates,
        "of_results": parting.of_results,
        "of_classes": parting.of_classes,
        "suspected": parting.suspected,
        "vacuous": parting.vacuous,
        "style": tests.style,
        "strict": STRICT,
        "prompt": "prompt.py" if tests.prompt else "",
        **more,
    }
    files = {"main.py": encoded(f"{strict_test(tests)}\n"), "row.json": json.dumps(row, sort_keys=True).encode()}
    if tests.prompt:
        files["prompt.py"] = encoded(f"{tests.prompt.rstrip()}\n{closing_body(tests.prompt)}\n")
    asker = Program("ask", files, entry_point=tests.entry_point, recursion_limit=RECURSION_LIMIT)
    return replace(asker, implicit_imports=True, requires=tests.libraries)


def _rehearsal(task: CodingTask, tests: CheckTests, parting: Parting) -> Build:
    """A run of the test on the row's own solution: apart, and in one process with the test and its variants. It never
    shares a box with an answer."""
    source = candidate_source(tests.prompt, tests.entry_point, tests.reference) + imports_given(tests)
    shown = [tests.test, *(one.test for one in (*pool_of(tests), *doubt_of(tests)))]
    names = [f"{number}/test.py" for number in range(len(shown))]
    more: dict[str, object] = {
        "rehearsal": "solution.py",
        "together": names,
        "options": list(_options(tests)),
        "apart": not parting.why_not,
    }
    program = _asker(tests, parting, **more)
    files = {name: encoded(f"{test}\n") for name, test in zip(names, shown, strict=True)}
    program = replace(program, files={**program.files, "solution.py": encoded(source), **files})
    patient = replace(task.limits, cpu_time_s=task.limits.cpu_time_s * 10, wall_time_s=task.limits.wall_time_s * 10)
    return Build(REHEARSAL, Run("row's own solution", program, b"", patient), place="judge", advisory=True)


ASSERTED = "asserted calls"
"""The run of the calls that a check makes assertions about (plain_asserts.py)."""
TOGETHER = "together"
"""The runs that hold test and answer in one process."""
REHEARSAL = "rehearsal"


def _patient(limits: Limits) -> Limits:
    """Limits with which the test outlives the candidate, so that a timeout is the candidate's without doubt."""
    return replace(limits, cpu_time_s=limits.cpu_time_s + 5, wall_time_s=limits.wall_time_s + 5)
