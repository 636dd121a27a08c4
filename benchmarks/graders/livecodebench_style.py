"""LiveCodeBench's way to grade: the candidate runs beside the expected outputs, all tests in one forked child.

Our own small version of its documented working. A function is called and its value compared with `==`; a stdin program
is wrapped into a function, its input comes from patched `sys.stdin` and its output goes to a StringIO. `signal.alarm`
limits each test. Results and metadata come back through lists in a `multiprocessing` manager; a candidate is right
where every result is above zero. As there, a child that dies without metadata makes the caller fail with IndexError.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import multiprocessing
import signal
from collections.abc import Callable, Iterator, MutableSequence
from decimal import Decimal, InvalidOperation
from types import FrameType, ModuleType
from unittest.mock import mock_open, patch

from benchmarks.graders.corpus import Job
from benchmarks.graders.guard import guard
from benchmarks.graders.verdict import answer

PRELUDE = """
import bisect, collections, copy, datetime, functools, heapq, io, itertools, json, math, operator, random, re, sys
import string
from bisect import *
from collections import *
from functools import *
from heapq import *
from itertools import *
from math import *
from typing import *
sys.setrecursionlimit(50000)
"""
WRONG, TOO_LONG, FAILED, NO_RESULT = -2, -3, -4, -1


class TooLong(Exception):
    """The alarm rang."""


def grade(job: Job) -> bool:
    manager = multiprocessing.Manager()
    results, metadata = manager.list(), manager.list()
    tests = json.dumps({"inputs": job.inputs, "outputs": job.outputs, "fn_name": job.function or None})
    args = (tests, job.source, job.time_limit_s, results, metadata)
    child = multiprocessing.Process(target=execute, args=args)
    child.start()
    child.join(timeout=(job.time_limit_s + 1) * len(job.inputs) + 5)
    if child.is_alive():
        child.kill()
    found, _about = results[0] if results else [NO_RESULT], metadata[0]
    return all(result > 0 for result in found)


def execute(
    tests: str, source: str, timeout: int, results: MutableSequence[object], metadata: MutableSequence[object]
) -> None:
    """In the child: all that the candidate needs to be right is in its callers' frames, under the names used there."""
    signal.signal(signal.SIGALRM, ring)
    guard(keep_exit=True)
    in_outs = json.loads(tests)
    name, all_inputs, all_outputs = in_outs["fn_name"], in_outs["inputs"], in_outs["outputs"]
    try:
        if name:
            found, about = call_all(source, all_inputs, all_outputs, name, timeout)
        else:
            found, about = read_and_print_all(source, all_inputs, all_outputs, timeout)
    except Exception as error:
        found, about = [FAILED], {"error": repr(error)}
    results.append(found)
    metadata.append(about)


def ring(_signal: int, _frame: FrameType | None) -> None:
    raise TooLong


@contextlib.contextmanager
def limit(seconds: int) -> Iterator[None]:
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def loaded(source: str, name: str, time_limit_s: int) -> Callable[..., object]:
    """The function `name` of the program, or the method of its `Solution`."""
    module = ModuleType("solution", "")
    with limit(time_limit_s):
        exec(source, module.__dict__)
        owner = module.Solution() if "class Solution" in source else module
    found: Callable[..., object] = getattr(owner, name)
    return found


def call_all(
    code: str, inputs: list[str], outputs: list[str], fn_name: str, timeout: int
) -> tuple[list[object], dict[str, str]]:
    method = loaded(f"{PRELUDE}\n{code}", fn_name, timeout)
    all_inputs = [[json.loads(line) for line in given.split("\n")] for given in inputs]
    all_outputs = [json.loads(wanted) for wanted in outputs]
    all_results: list[object] = []
    for gt_inp, gt_out in zip(all_inputs, all_outputs, strict=True):
        try:
            with limit(timeout):
                prediction = method(*gt_inp)
            if isinstance(prediction, tuple):
                prediction = list(prediction)
            result = prediction == gt_out
            all_results.append(result)
            if not result:
                return all_results, {"error": "wrong", "output": str(prediction)[:300]}
        except Exception as error:
            return [*all_results, failure(error)], {"error": repr(error)}
    return all_results, {}


def read_and_print_all(
    code: str, all_inputs: list[str], all_outputs: list[str], timeout: int
) -> tuple[list[object], dict[str, str]]:
    method = loaded(as_function(code), "wrapped", timeout)
    all_results: list[object] = []
    for gt_inp, gt_out in zip(all_inputs, all_outputs, strict=True):
        captured = io.StringIO()
        try:
            with limit(timeout), contextlib.redirect_stdout(captured):
                call_with_input(method, gt_inp)
        except Exception as error:
            return [*all_results, failure(error)], {"error": repr(error)}
        if not same_lines(captured.getvalue(), gt_out):
            return [*all_results, WRONG], {"error": "wrong"}
        all_results.append(True)
    return all_results, {}


def failure(error: Exception) -> int:
    return TOO_LONG if isinstance(error, TooLong) else FAILED


def as_function(source: str) -> str:
    """The program's statements in a function, its imports before; unchanged where it does not parse."""
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError):
        return source
    imports = [line for line in body if isinstance(line, ast.Import | ast.ImportFrom)]
    rest: list[ast.stmt] = [line for line in body if not isinstance(line, ast.Import | ast.ImportFrom)]
    function = ast.parse("def wrapped(): pass")
    assert isinstance(function.body[0], ast.FunctionDef)
    function.body[0].body = rest or [ast.Pass()]
    return "\n".join([PRELUDE, *map(ast.unparse, imports), ast.unparse(function)])


def call_with_input(method: Callable[..., object], given: str) -> None:
    """Every way to read a file or standard input gives the test's input; leaving early is not an error."""
    lines = iter(given.split("\n"))
    with (
        patch("builtins.open", mock_open(read_data=given)),
        patch("sys.stdin", io.StringIO(given)),
        patch("sys.stdin.readline", lambda *_: next(lines)),
        patch("sys.stdin.readlines", lambda *_: given.split("\n")),
        patch("sys.stdin.read", lambda *_: given),
        contextlib.suppress(SystemExit),
    ):
        method()


def same_lines(printed: str, wanted: str) -> bool:
    """Line by line, ends stripped: equal text, or equal decimals word by word."""
    left, right = ([line.strip() for line in text.strip().split("\n")] for text in (printed, wanted))
    return len(left) == len(right) and all(a == b or same_decimals(a, b) for a, b in zip(left, right, strict=True))


def same_decimals(left: str, right: str) -> bool:
    try:
        return [Decimal(word) for word in left.split()] == [Decimal(word) for word in right.split()]
    except InvalidOperation:
        return False


if __name__ == "__main__":
    answer(grade)
