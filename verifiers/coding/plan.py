"""From a task and an answer to the programs that must run. Pure; never parses the candidate's code."""

from __future__ import annotations

import hashlib
import re
from dataclasses import replace
from typing import Literal

from sandbox_gym.contract import Answer, Dialogue, Plan, Program, Run
from sandbox_gym.errors import RequestError
from sandbox_gym.limits import Limits
from sandbox_gym.verifiers.coding.extract import extract_code
from sandbox_gym.verifiers.coding.split import closing_body, why_not_isolated
from sandbox_gym.verifiers.coding.task import CheckTests, CodingTask, StdinTests
from sandbox_gym.verifiers.coding.wire import MAX_MESSAGE, frame_call

__all__ = ["candidate_source", "in_process_source", "make_plan", "nonce", "planned_nonce", "why_not_isolated"]

RECURSION_LIMIT = 50_000
"""As LiveCodeBench's prelude sets it."""


def make_plan(task: CodingTask, answer: Answer) -> Plan:
    """One run per test, or one dialogue for a check function; no steps where the answer holds no code.

    Raises RequestError for a call that is too long for the channel.
    """
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
        inputs = [_framed(call, index) for index, call in enumerate(tests.calls)]
    steps = tuple(Run(f"test-{index}", program, data, task.limits) for index, data in enumerate(inputs))
    return Plan(steps, early_stop=task.early_stop)


def _framed(call: tuple[object, ...], index: int) -> bytes:
    frame = frame_call(call)
    if len(frame) > MAX_MESSAGE:
        field = f"verifier_metadata.unit_tests.inputs[{index}]"
        raise RequestError(field, f"takes {len(frame)} bytes as a call", f"keep it below {MAX_MESSAGE}")
    return frame


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _program(mode: Literal["fork", "call"], source: bytes) -> Program:
    return Program(mode, {"main.py": source}, recursion_limit=RECURSION_LIMIT, implicit_imports=True)


def candidate_source(tests: CheckTests, code: str) -> str:
    """The candidate's module: the prompt's imports and helpers, then its code; a completion continues the prompt."""
    if not tests.prompt:
        return code
    name = re.escape(tests.entry_point)
    statement = rf"^[ \t]*(?:async[ \t]+)?(?:def|class)[ \t]+{name}\b"
    defines = re.search(rf"{statement}|^{name}[ \t]*(?::[^=\n]+)?=(?!=)", code, re.M)
    if not defines:
        return tests.prompt + ("" if tests.prompt.endswith("\n") else "\n") + code
    futures = "".join(f"{line}\n" for line in _FUTURE.findall(code))  # only the top of a module may hold them
    return f"{futures}{tests.prompt.rstrip()}\n{closing_body(tests.prompt)}\n\n{_FUTURE.sub('', code)}"


_FUTURE = re.compile(r"^from __future__ import [\w, ]+$", re.M)


def _check_plan(task: CodingTask, tests: CheckTests, code: str) -> Plan:
    source = candidate_source(tests, code)
    why = why_not_isolated(tests)
    if why:
        program = _program("fork", _bytes(in_process_source(tests, source)))
        return Plan((Run("check", program, b"", task.limits),), integrity="in_process")
    candidate = replace(_program("call", _bytes(source)), entry_point=tests.entry_point)
    hidden = _bytes(f"{tests.prompt.rstrip()}\n{closing_body(tests.prompt)}\n\n{tests.test}\n")
    asker = Program("ask", {"main.py": hidden}, entry_point=tests.entry_point, recursion_limit=RECURSION_LIMIT)
    asker = replace(asker, implicit_imports=True)
    patient = _patient(task.limits)
    return Plan((Dialogue("check", Run("test", asker, b"", patient), Run("answer", candidate, b"", task.limits)),))


def _patient(limits: Limits) -> Limits:
    """The test outwaits the candidate, so that whose time was up is never in doubt."""
    return replace(limits, cpu_time_s=limits.cpu_time_s + 5, wall_time_s=limits.wall_time_s + 5)


def nonce(tests: CheckTests, source: str) -> str:
    """What an in-process run prints last after `check` returned.

    No secret from the program: code in the same process can find it, skip the test and print it. Such verdicts say
    `in_process`. It stops what is not meant for us: programs that exit early or print "ok".
    """
    return hashlib.sha256(f"{tests.test}\0{source}".encode("utf-8", "surrogatepass")).hexdigest()


def in_process_source(tests: CheckTests, source: str) -> str:
    """Candidate, test and the call, in one module that ends by printing the nonce."""
    ending = f"check({tests.entry_point})\nprint({nonce(tests, source)!r})\n"
    return f"{source}\n\n{tests.test}\n\n{ending}"


def planned_nonce(plan: Plan) -> bytes:
    """The nonce at the end of an in-process plan's program."""
    step = plan.steps[0]
    source = step.program.files["main.py"] if isinstance(step, Run) else b""
    return source.rstrip().removesuffix(b"')").rpartition(b"print('")[2]
