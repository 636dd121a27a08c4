"""A row's tests as its dataset has them, by their names and packings there."""

from __future__ import annotations

import json
from collections.abc import Mapping

from sandbox_gym.server.protocol.wire import Document

_NAMES = ("test", "tests", "input_output", "test_list")


def unpacked(value: object) -> object:
    """Text of JSON is what it holds."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def test_of(row: Document) -> object:
    """A row's tests under the name that its dataset has for them; LiveCodeBench's inputs and outputs as cases."""
    test = unpacked(next((row[name] for name in _NAMES if name in row), None))
    test = unpacked(test["input_output"]) if isinstance(test, dict) and "input_output" in test else test
    if not isinstance(test, dict):
        return test
    given, said = test.get("inputs"), test.get("outputs")
    if not (isinstance(given, list) and isinstance(said, list) and len(given) == len(said)):
        return test
    if test.get("fn_name"):
        return {**test, "inputs": [_arguments(one) for one in given], "outputs": _results(said)}
    return [{"input": {"stdin": one}, "output": {"stdout": other}} for one, other in zip(given, said, strict=True)]


def _arguments(given: object) -> object:
    """Of APPS and TACO, whose inputs are lists of arguments, as LiveCodeBench's lines of JSON."""
    return "\n".join(map(json.dumps, given)) if isinstance(given, list) else given


def _results(said: list[object]) -> list[object]:
    """The same, each a result in a list of its own where all of them are lists of one."""
    wrapped = [one[0] for one in said if isinstance(one, list) and len(one) == 1]
    results = wrapped if len(wrapped) == len(said) else said
    return said if all(isinstance(one, str) for one in said) else [json.dumps(one) for one in results]


def setup_of(row: Document, labels: Mapping[str, object]) -> str:
    """What MBPP's tests want before them."""
    imports = unpacked(row.get("test_imports", labels.get("test_imports")))
    setup = labels.get("test_setup_code") or row.get("test_setup_code")
    lines = [*(imports if isinstance(imports, list) else ()), setup]
    return "\n".join(line for line in lines if isinstance(line, str) and line)
