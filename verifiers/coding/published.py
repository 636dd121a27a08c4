"""A row's tests as its data set publishes them: under its names and in its packings, as fields of `verifier_metadata`.

Sources: the data sets' cards. APPS and TACO (`input_output`), LiveCodeBench (`public_test_cases`, and
`private_test_cases` in base64, zlib and pickle), CodeContests (`public_tests`, `private_tests`, `generated_tests`),
SYNTHETIC-1 (`verification_info`), DeepCoder (`tests`), AceCode (`test_cases`), open-r1's Codeforces
(`official_tests`), Eurus-2 (`inputs` and `outputs`), OpenCodeInstruct (`unit_tests` as JSON), KodCode (`test_info`),
ClassEval (`class_name`) and MBPP+ (`test` beside `test_list`).
"""

from __future__ import annotations

import base64
import io
import json
import pickle
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from sandbox_gym.errors import RequestError
from sandbox_gym.limits import MIB

_OWN: Final = ("unit_tests", "test", "entry_point", "test_list", "base_input")
_ONE: Final = ("input_output", "verification_info", "tests", "test_cases", "official_tests")
_PARTS: Final = (("private_test_cases", "public_test_cases"), ("private_tests", "public_tests", "generated_tests"))
"""Names of which a row has several; the first must be there, since rows of our own may have `public_tests`."""
_INNER: Final = ("input_output", "unit_tests", "test_cases")
_PACKED: Final = frozenset(("inputs", "outputs", *_ONE, *_PARTS[0], *_PARTS[1]))
_OF_REQUESTS: Final = frozenset({"verifier_metadata", "responses_create_params", "response", "answer", "agent_ref"})
"""Fields that say nothing of a task."""
_MAX_UNPACKED: Final = 64 * MIB
_REMEDY: Final = "give {inputs, outputs}, or a list of {input, output}, as they are or as JSON"
Case = tuple[object, object, object]
"""Input, output, the name of the function that is called or None."""


def task_fields(row: Mapping[str, object]) -> object:
    """A row's `verifier_metadata`, or its fields where it has none: with tests as they are, or made of what a data
    set publishes. Where there are no tests, what is its `verifier_metadata`. Raises RequestError."""
    given = row.get("verifier_metadata")
    if given is not None and not isinstance(given, Mapping):
        return given
    fields = given or {name: one for name, one in row.items() if name not in _OF_REQUESTS and not name.startswith("_")}
    if isinstance(fields.get("unit_tests"), str):  # OpenCodeInstruct's assertions, or an object as JSON
        fields = {**fields, "unit_tests": None, "tests": fields["unit_tests"]}
    if any(fields.get(name) for name in _OWN):
        return _named(fields)
    try:
        return _with_tests(fields, list(_published(fields))) or given
    except RecursionError:
        raise RequestError("tests", "are nested too deep", "nest at most 256 deep") from None


def _with_tests(fields: Mapping[str, object], found: Sequence[Case | str]) -> Mapping[str, object] | None:
    if not found:
        return None
    fields = {name: one for name, one in fields.items() if name not in _PACKED}
    if all(isinstance(one, str) for one in found):
        return {**fields, "test_list": found}
    cases = [one for one in found if not isinstance(one, str)]
    if len(cases) < len(found):
        raise RequestError("tests", "are assertions and cases", "give one of them")
    name = next((name for _given, _said, name in cases if name), None) or _labels(fields).get("func_name")
    inputs, outputs = [given for given, _said, _name in cases], [said for _given, said, _name in cases]
    if name:
        tests = {"inputs": [arguments(one) for one in inputs], "outputs": results(outputs, inputs), "fn_name": name}
    else:
        tests = {"inputs": [_lines(one) for one in inputs], "outputs": [_lines(one) for one in outputs]}
    return {**fields, "unit_tests": tests}


def _named(fields: Mapping[str, object]) -> Mapping[str, object]:
    """With the names that KodCode, ClassEval and MBPP+ have for what is asked for."""
    listed, said = fields.get("test_list"), fields.get("test_info")
    if fields.get("test") and listed and not fields.get("entry_point"):
        return {**{name: one for name, one in fields.items() if name != "test"}, "test_list": [fields["test"]]}
    known = said[0].get("function_name") if isinstance(said, list) and said and isinstance(said[0], dict) else None
    name = known or fields.get("class_name")
    return {**fields, "entry_point": name} if name and fields.get("test") and not fields.get("entry_point") else fields


def unpacked(value: object) -> object:
    """Text of JSON is what it holds."""
    try:
        return json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value


def arguments(given: object) -> object:
    """Of APPS and TACO, whose inputs are lists of arguments, as LiveCodeBench's lines of JSON."""
    return "\n".join(map(json.dumps, given)) if isinstance(given, list) else given


def results(said: Sequence[object], given: Sequence[object]) -> list[object]:
    """The same, each a result in a list of its own where all of them are lists of one. Texts are JSON; beside inputs
    that are lists they are results themselves where one of them is none."""
    bare = all(isinstance(one, list) for one in given)
    wrapped = [one[0] for one in said if isinstance(one, list) and len(one) == 1]
    plain = wrapped if len(wrapped) == len(said) else said
    if all(isinstance(one, str) for one in said) and not (bare and any(unpacked(one) is one for one in said)):
        return list(said)
    return [json.dumps(one) for one in plain]


def _published(fields: Mapping[str, object]) -> Iterator[Case | str]:
    """Cases, or MBPP's assertions. Raises RequestError where there are tests that can't be read, so that none is left
    out."""
    if isinstance(fields.get("inputs"), list):
        return (yield from _cases(fields, "inputs"))
    if fields.get("official_tests") and fields.get("generated_checker"):
        raise RequestError("generated_checker", "is not run", "give the row a checker program, or leave it out")
    for name in _ONE:
        if fields.get(name):
            return (yield from _cases(fields[name], name))
    for first, *others in _PARTS:
        if fields.get(first):
            for name in (first, *others):
                yield from _cases(fields[name], name) if fields.get(name) else ()


def _cases(packed: object, field: str) -> Iterator[Case | str]:
    value = unpacked(packed)
    if isinstance(value, str):
        value = unpacked(_unpickled(value))
    while isinstance(value, Mapping) and (inner := next((value[name] for name in _INNER if name in value), None)):
        value = unpacked(inner)
    if isinstance(value, Mapping):
        given, said = value.get("inputs", value.get("input")), value.get("outputs", value.get("output"))
        if not (isinstance(given, list) and isinstance(said, list) and len(given) == len(said)):
            raise RequestError(field, "has no inputs with an output for each", _REMEDY)
        yield from ((one, other, value.get("fn_name")) for one, other in zip(given, said, strict=True))
        return
    if not isinstance(value, list):
        raise RequestError(field, f"holds {type(value).__name__}, and no tests", _REMEDY)
    for index, one in enumerate(value):
        if isinstance(one, str):
            yield one
        elif isinstance(one, Mapping) and "input" in one and "output" in one:
            yield one["input"], one["output"], one.get("fn_name") or _labels(one).get("func_name")
        else:
            raise RequestError(f"{field}[{index}]", "has no input and output", _REMEDY)


def _labels(holder: Mapping[str, object]) -> Mapping[str, object]:
    found = unpacked(holder.get("metadata"))
    return found if isinstance(found, Mapping) else {}


def _lines(value: object) -> object:
    """Of TACO, whose inputs may be lists of lines."""
    return "\n".join(map(str, value)) if isinstance(value, list) else value


_DAMAGED: Final = (
    ArithmeticError, AttributeError, EOFError, LookupError, TypeError, ValueError, pickle.PickleError, zlib.error
)  # fmt: skip


class _Plain(pickle.Unpickler):
    def find_class(self, _module: str, name: str) -> object:
        raise pickle.UnpicklingError(f"{name} is no text")


def _unpickled(value: str) -> object:
    """LiveCodeBench's packing of text; what is none is itself."""
    try:
        unpacker = zlib.decompressobj()
        data = unpacker.decompress(base64.b64decode(value, validate=True), _MAX_UNPACKED)
        text = None if unpacker.unconsumed_tail else _Plain(io.BytesIO(data)).load()
    except _DAMAGED:
        return value
    if text is None and unpacker.unconsumed_tail:
        raise RequestError("private_test_cases", "are over 64 MiB when unpacked", "give the row unit_tests")
    return text if isinstance(text, str) else value
