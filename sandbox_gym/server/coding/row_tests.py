"""A row's tests as its dataset has them, by their names and packings there."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from sandbox_gym.server.protocol.wire import Document
from sandbox_gym.verifiers.coding import arguments, results, unpacked

_NAMES = ("test", "tests", "input_output", "test_list", "assertions")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_NEAR = 1e-3


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
        return {**test, "inputs": [arguments(one) for one in given], "outputs": results(said, given)}
    return [{"input": {"stdin": one}, "output": {"stdout": other}} for one, other in zip(given, said, strict=True)]


def printed_answer(row: Document, labels: Mapping[str, object]) -> tuple[Document, Sequence[object]] | None:
    """The tests of a row of PAL-Math, and their case: a program prints the row's answer, which ends in `#### 18` in
    GSM8K."""
    said = row.get("answer", labels.get("answer"))
    text = _THOUSANDS.sub("", f"{said}".rpartition("####")[2].strip()) if isinstance(said, str | int | float) else ""
    if not text:
        return None
    checker = {"type": "tokens", "float_absolute_tolerance": _NEAR, "float_relative_tolerance": _NEAR}
    metadata: Document = {"unit_tests": {"inputs": [""], "outputs": [text]}, "checker": checker}
    return metadata, [{"input": {"stdin": ""}, "output": {"stdout": text}}]


def setup_of(row: Document, labels: Mapping[str, object]) -> str:
    """What MBPP's tests want before them."""
    imports = unpacked(row.get("test_imports", labels.get("test_imports")))
    setup = labels.get("test_setup_code") or row.get("test_setup_code")
    lines = [*(imports if isinstance(imports, list) else ()), setup]
    return "\n".join(line for line in lines if isinstance(line, str) and line)
