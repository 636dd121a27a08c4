"""A coding row as values: three shapes of tests, checked field by field. Source of the shapes: NeMo Gym's code_gen
(LiveCodeBench) and HumanEval."""

from __future__ import annotations

import ast
import contextlib
import json
import keyword
import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass

from sandbox_gym.errors import RequestError
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.verifiers.coding.wire import MAX_MESSAGE, nesting

ROOT = "verifier_metadata"
MAX_NESTING = 100
"""Of a function test's values; the guest's wire carries 150 levels."""


@dataclass(frozen=True, slots=True)
class StdinTests:
    """Programs: `inputs[i]` goes to stdin, stdout must match `outputs[i]`."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class FunctionTests:
    """Functions: `fn_name(*calls[i])` must equal `outputs[i]`, both JSON values."""

    fn_name: str
    calls: tuple[tuple[object, ...], ...]
    outputs: tuple[object, ...]


@dataclass(frozen=True, slots=True)
class CheckTests:
    """HumanEval's form: `test` defines `check(candidate)`; `prompt` holds imports and helpers it may use."""

    test: str
    entry_point: str
    prompt: str


Tests = StdinTests | FunctionTests | CheckTests


@dataclass(frozen=True, slots=True)
class CodingTask:
    """One row, ready to be planned."""

    tests: Tests
    limits: Limits
    language: str = "python"
    early_stop: bool = True
    float_tolerance: float | None = None
    difficulty: str | None = None


def parse_task(verifier_metadata: object, *, limits: Limits, early_stop: bool) -> CodingTask:
    """The row's task; its limits only tighten `limits`. Raises RequestError naming the field."""
    if not isinstance(verifier_metadata, Mapping):
        raise _wrong(ROOT, verifier_metadata, "give an object with unit_tests, or with test and entry_point")
    row = verifier_metadata
    language = row.get("language")
    known = isinstance(language, str) and language.lower() in ("python", "python3", "py")
    if language is not None and not known:
        raise _wrong(f"{ROOT}.language", language, "only python is judged")
    time_limit_s = _positive(row, "time_limit_s")
    memory_mb = _positive(row, "memory_limit_mb")
    if memory_mb is not None and memory_mb < 16:
        raise _wrong(f"{ROOT}.memory_limit_mb", memory_mb, "an interpreter needs at least 16")
    difficulty = row.get("difficulty")
    stop = row.get("early_stop")
    if stop is not None and not isinstance(stop, bool):
        raise _wrong(f"{ROOT}.early_stop", stop, "give true or false")
    return CodingTask(
        tests=_tests(row),
        limits=limits.tightened(
            cpu_time_s=time_limit_s,
            wall_time_s=3 * time_limit_s + 2 if time_limit_s else None,
            memory_bytes=int(memory_mb * MIB) if memory_mb else None,
        ),
        early_stop=early_stop if stop is None else stop,
        float_tolerance=_positive(row, "float_tolerance"),
        difficulty=difficulty if isinstance(difficulty, str) else None,
    )


def _wrong(field: str, value: object, remedy: str) -> RequestError:
    try:
        shown = repr(value)
    except (ValueError, RecursionError):  # integers of over 4,300 digits have no decimal text
        shown = f"a {type(value).__name__} too large to show"
    return RequestError(field, f"is {shown[:80]}{'…' if len(shown) > 80 else ''}", remedy)


def _positive(row: Mapping[str, object], name: str) -> float | None:
    value = row.get(name)
    if value is None:
        return None
    number = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        with contextlib.suppress(OverflowError):  # such an integer is as wrong as infinity
            number = float(value)
    if not math.isfinite(number) or number <= 0:
        raise _wrong(f"{ROOT}.{name}", value, "give a finite number greater than zero, or leave it out")
    return number


def _tests(row: Mapping[str, object]) -> Tests:
    if row.get("unit_tests") is not None and row.get("test") is not None:
        raise RequestError(ROOT, "has both unit_tests and test", "give one of them")
    if row.get("unit_tests") is not None:
        return _unit_tests(row["unit_tests"])
    if row.get("test") is not None:
        return _check_tests(row)
    raise RequestError(f"{ROOT}.unit_tests", "is missing", "give unit_tests{inputs, outputs}, or test and entry_point")


def _texts(value: object, field: str) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise _wrong(field, value, "give a list of strings")
    for index, item in enumerate(value):
        if not isinstance(item, str):
            raise _wrong(f"{field}[{index}]", item, "give a string")
    return tuple(value)


def _unit_tests(value: object) -> StdinTests | FunctionTests:
    field = f"{ROOT}.unit_tests"
    if not isinstance(value, Mapping):
        raise _wrong(field, value, "give an object with inputs and outputs")
    inputs = _texts(value.get("inputs"), f"{field}.inputs")
    outputs = _texts(value.get("outputs"), f"{field}.outputs")
    if not inputs:
        raise RequestError(f"{field}.inputs", "is an empty list", "give at least one test; none proves nothing")
    if len(inputs) != len(outputs):
        counts = f"has {len(outputs)} entries for {len(inputs)} inputs"
        raise RequestError(f"{field}.outputs", counts, "give one output for each input")
    name = value.get("fn_name")
    if name is None:
        if not any(output.strip() for output in outputs):
            remedy = "give an expected output; any silent program would pass"
            raise RequestError(f"{field}.outputs", "holds blank outputs only", remedy)
        return StdinTests(inputs, outputs)
    _identifier(name, f"{field}.fn_name")
    calls = tuple(
        tuple(_json(line, f"{field}.inputs[{index}]") for line in text.split("\n")) for index, text in enumerate(inputs)
    )
    expected = tuple(_json(text, f"{field}.outputs[{index}]") for index, text in enumerate(outputs))
    return FunctionTests(str(name), calls, expected)


def _identifier(name: object, field: str) -> None:
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise _wrong(field, name, "give the function's name, a Python identifier")


def _json(text: str, field: str) -> object:
    """Python's own parser: integers of over 64 bits and NaN are in the field's rows, and orjson refuses both."""
    if len(text) > MAX_MESSAGE // 4:
        raise RequestError(field, f"is {len(text)} characters long", f"keep it below {MAX_MESSAGE // 4}")
    if nesting(text.encode("utf-8", "surrogatepass")) > MAX_NESTING:
        raise _wrong(field, text, f"nest at most {MAX_NESTING} deep")
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError):
        raise _wrong(field, text, "give JSON: one value a line for inputs, one value for outputs") from None
    return value


def parse_trusted(source: str) -> ast.Module:
    """The tree of a row's own source, never of an answer's. Raises what ast.parse raises, but warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(source)


def _check_tests(row: Mapping[str, object]) -> CheckTests:
    test, name, prompt = row["test"], row.get("entry_point"), row.get("prompt")
    prompt = "" if prompt is None else prompt
    if not isinstance(test, str):
        raise _wrong(f"{ROOT}.test", test, "give Python source that defines check(candidate)")
    if not isinstance(prompt, str):
        raise _wrong(f"{ROOT}.prompt", prompt, "give the task's prompt as a string, or leave it out")
    _identifier(name, f"{ROOT}.entry_point")
    try:
        tree = parse_trusted(test)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise RequestError(f"{ROOT}.test", f"does not parse ({error})", "give valid Python source") from None
    if not any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in tree.body):
        raise RequestError(f"{ROOT}.test", "defines no check function", "define check(candidate)")
    if not any(isinstance(node, ast.Assert | ast.Raise | ast.Call) for node in ast.walk(tree)):
        raise RequestError(f"{ROOT}.test", "asserts nothing", "assert something about candidate; none proves nothing")
    return CheckTests(test, str(name), prompt)
