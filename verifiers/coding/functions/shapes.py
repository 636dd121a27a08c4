"""The shapes of a row's tests, checked field by field.

Sources: NeMo Gym's code_gen (LiveCodeBench), HumanEval, EvalPlus, MBPP, BigCodeBench, pytest.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar, cast

from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.bounded import nesting
from sandbox_gym.verifiers.coding.fields import ROOT, choice, identifier, mapping, positive, text, texts, wrong
from sandbox_gym.verifiers.coding.functions.reference import ReferenceTests
from sandbox_gym.verifiers.coding.functions.scripts import (
    defines_cases,
    idle,
    importing,
    of_candidate,
    source_of,
    without_runners,
)
from sandbox_gym.verifiers.coding.functions.styles import (
    MAX_TESTS,
    Style,
    assert_list_test,
    joined,
    module_of,
    pytest_test,
    refuse_idle,
    unittest_test,
)
from sandbox_gym.verifiers.coding.functions.syntax import asked_for, imported_names, imports, libraries, parse_field
from sandbox_gym.verifiers.coding.functions.wire import MAX_MESSAGE
from sandbox_gym.verifiers.wellformed import must_be_text

MAX_DIGITS = 50_000
"""Of an integer in a function test, as in LiveCodeBench."""
MAX_NESTING = 100
"""Of a function test's values; the guest's wire carries 150 levels."""
_OF_CLASS = re.compile(r"(\w+)((?:\(\))?(?:\.\w+)+)")
"""An entry point that a class has: `Calc.add`, `Calc().add`, `Outer.Inner`."""


@dataclass(frozen=True, slots=True)
class StdinTests:
    """Programs: `inputs[i]` goes to stdin, stdout must match `outputs[i]`."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    names: ClassVar[tuple[str, ...]] = ()
    """See `CheckTests.names`."""


@dataclass(frozen=True, slots=True)
class FunctionTests:
    """Functions: `fn_name(*calls[i])` must equal `outputs[i]`, both JSON values."""

    fn_name: str
    calls: tuple[tuple[object, ...], ...]
    outputs: tuple[object, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """See `CheckTests.names`."""
        return (self.fn_name,)


@dataclass(frozen=True, slots=True)
class CheckTests:
    """HumanEval's form: `test` defines `check(candidate)`; `prompt` holds imports and helpers it may use.

    Other styles are made into this one. `written` is the test as the row has it, which decides how it may be run.
    """

    test: str
    entry_point: str
    prompt: str
    style: Style = "check"
    written: str = ""
    module: str = "solution"
    """What the test imports the answer as."""
    reference: str = ""
    """The row's own solution, where it gives one: it tells whether the test can be parted from an answer."""

    @property
    def names(self) -> tuple[str, ...]:
        """The answer's functions that the test calls by name."""
        if self.style != "pytest":
            return (self.entry_point,)
        return (self.entry_point, *imported_names(parse_field(self.written, f"{ROOT}.test"), self.module))

    @property
    def libraries(self) -> tuple[str, ...]:
        """Packages of others that the row's own source imports."""
        found = (libraries(one, self.module) for one in (self.written or self.test, self.prompt))
        return tuple(dict.fromkeys(name for names in found for name in names))

    @property
    def said(self) -> str:
        """All source of the row."""
        return "\n".join((self.written, self.prompt, self.reference))


Tests = StdinTests | FunctionTests | CheckTests | ReferenceTests


def parse_tests(row: Mapping[str, object], *, outputs_may_be_blank: bool = False) -> Tests:
    """The row's tests, of exactly one shape. Raises RequestError.

    `outputs_may_be_blank`: where a checker program decides, an expected output may well be empty.
    """
    shapes = [name for name in ("unit_tests", "test", "test_list", "base_input") if row.get(name) is not None]
    if len(shapes) > 1:
        raise RequestError(ROOT, f"has {' and '.join(shapes)}", "give one of them")
    if not shapes:
        remedy = "give unit_tests{inputs, outputs}, or test and entry_point, or test_list, or base_input"
        raise RequestError(f"{ROOT}.unit_tests", "is missing", remedy)
    if shapes == ["unit_tests"]:
        return _unit_tests(row["unit_tests"], blank=outputs_may_be_blank)
    if shapes == ["base_input"]:
        return _reference_tests(row)
    if shapes == ["test_list"]:
        test, name, style = assert_list_test(row)
        entry, prompt = identifier(name, f"{ROOT}.entry_point"), text(row, "prompt_code")
        return _styled(test, style, entry, prompt, module_of(row), text(row, "canonical_solution"))
    return _check_tests(row)


def _unit_tests(value: object, *, blank: bool) -> StdinTests | FunctionTests:
    field = f"{ROOT}.unit_tests"
    value = mapping(value, field, "give an object with inputs and outputs")
    inputs = texts(value.get("inputs"), f"{field}.inputs")
    outputs = texts(value.get("outputs"), f"{field}.outputs")
    if not inputs:
        raise RequestError(f"{field}.inputs", "is an empty list", "give at least one test; none proves nothing")
    if len(inputs) > MAX_TESTS:
        raise RequestError(f"{field}.inputs", f"holds {len(inputs)} tests", f"give at most {MAX_TESTS}")
    if len(inputs) != len(outputs):
        counts = f"has {len(outputs)} entries for {len(inputs)} inputs"
        raise RequestError(f"{field}.outputs", counts, "give one output for each input")
    name = value.get("fn_name")
    if name is None:
        if not blank and not any(output.strip() for output in outputs):
            remedy = "give an expected output; any silent program would pass"
            raise RequestError(f"{field}.outputs", "holds blank outputs only", remedy)
        return StdinTests(inputs, outputs)
    calls = tuple(
        tuple(_json(line, f"{field}.inputs[{index}]") for line in content.strip().split("\n") if content.strip())
        for index, content in enumerate(inputs)
    )
    expected = tuple(_json(content, f"{field}.outputs[{index}]") for index, content in enumerate(outputs))
    return FunctionTests(identifier(name, f"{field}.fn_name"), calls, expected)


def _json(content: str, field: str) -> object:
    """Python's own parser: integers of over 64 bits and NaN are in the field's rows, and orjson refuses both."""
    if len(content) > MAX_MESSAGE // 4:
        raise RequestError(field, f"is {len(content)} characters long", f"keep it below {MAX_MESSAGE // 4}")
    if nesting(content.encode("utf-8", "surrogatepass")) > MAX_NESTING:
        raise wrong(field, content, f"nest at most {MAX_NESTING} deep")
    try:
        value: object = _loads(content)
    except (ValueError, RecursionError):
        raise wrong(field, content, "give JSON: one value a line for inputs, one value for outputs") from None
    if "\\u" in content:
        must_be_text(value, field)
    return value


def _loads(content: str) -> object:
    """Integers of up to MAX_DIGITS digits, as LiveCodeBench reads them. Raises ValueError, RecursionError."""
    try:
        return json.loads(content)
    except json.JSONDecodeError:
        raise
    except ValueError:  # over 4,300 digits
        return json.loads(content, parse_int=_long_integer)


def _long_integer(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"over {MAX_DIGITS} digits")
    return int(Decimal(digits))


def _reference_tests(row: Mapping[str, object]) -> ReferenceTests:
    """EvalPlus: `base_input`, `plus_input`, `canonical_solution`, `entry_point`, `prompt`, `atol`."""
    base = _calls(row["base_input"], f"{ROOT}.base_input")
    plus = _calls(row.get("plus_input") or [], f"{ROOT}.plus_input")
    if not base:
        raise RequestError(f"{ROOT}.base_input", "is an empty list", "give at least one input; none proves nothing")
    prompt, solution = text(row, "prompt"), text(row, "canonical_solution")
    if not solution.strip():
        raise RequestError(
            f"{ROOT}.canonical_solution", "is missing", "give the solution that expected values come from"
        )
    return ReferenceTests(
        entry_point=identifier(row.get("entry_point"), f"{ROOT}.entry_point"),
        prompt=prompt,
        reference=prompt + solution,
        calls=base + plus,
        base=len(base),
        atol=positive(row, "atol", zero=True) or 0.0,
    )


def _calls(value: object, field: str) -> tuple[tuple[object, ...], ...]:
    if not isinstance(value, list):
        raise wrong(field, value, "give a list of argument lists")
    for index, call in enumerate(value):
        if not isinstance(call, list):
            raise wrong(f"{field}[{index}]", call, "give the list of arguments")
        if _depth(call) > MAX_NESTING:
            raise RequestError(f"{field}[{index}]", "nests too deeply", f"nest at most {MAX_NESTING} deep")
    return tuple(tuple(call) for call in value)


def _depth(value: object) -> int:
    """How deep lists and objects nest, counted without recursion."""
    depth, level = 0, [value]
    while level:
        level = [
            item
            for holder in level
            if isinstance(holder, list | dict)
            for item in (holder.values() if isinstance(holder, dict) else holder)
        ]
        depth += 1
    return depth


def _check_tests(row: Mapping[str, object]) -> CheckTests:
    test = row["test"]
    if not isinstance(test, str):
        raise wrong(f"{ROOT}.test", test, "give Python source that defines check(candidate)")
    prompt = text(row, "prompt", remedy="give the task's prompt as a string, or leave it out")
    tree = parse_field(test, f"{ROOT}.test")
    module, reference = module_of(row), text(row, "canonical_solution")
    name, path = _entry_point(row, tree, module)
    test, style = without_runners(test, tree), _style(row, tree, module)
    refuse_idle(idle(tree.body, style), f"{ROOT}.test")
    if path and style == "check":
        test = of_candidate(test, path)
        tree = parse_field(test, f"{ROOT}.test")
    if style == "pytest" and not imports(tree, module):
        test = importing(test, module)
    if style != "check":
        return _styled(test, style, name, prompt, module, reference)
    checks = [node.args for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "check"]
    if not checks:
        raise RequestError(f"{ROOT}.test", "defines no check function", "define check(candidate), or give a style")
    if not (checks[-1].posonlyargs or checks[-1].args or checks[-1].vararg):
        raise RequestError(f"{ROOT}.test", "has a check that takes no argument", "define check(candidate)")
    if not any(isinstance(node, ast.Assert | ast.Raise | ast.Call) for node in ast.walk(tree)):
        raise RequestError(f"{ROOT}.test", "asserts nothing", "assert something about candidate; none proves nothing")
    if imports(tree, module):
        test = source_of(joined(tree.body, module)[0])
    return _styled(test, style, name, prompt, module, reference)


def _entry_point(row: Mapping[str, object], tree: ast.Module, module: str) -> tuple[str, str]:
    """As the row says; else what the test imports from the answer's module. With it what the candidate is of it:
    `.add` of `Calc.add`, `().add` of `Calc().add`. Raises RequestError."""
    name = row.get("entry_point")
    if isinstance(name, str):  # LeetCodeDataset's rows say how it is called
        name = name.removeprefix("Solution().").removeprefix("Solution.")
        if (found := _OF_CLASS.fullmatch(name)) is not None:
            return identifier(found[1], f"{ROOT}.entry_point"), found[2]
    if name is not None:
        return identifier(name, f"{ROOT}.entry_point"), ""
    imported = asked_for(tree, module)
    if not imported:
        remedy = f"give the function's name, or import it from {module} (or what `module` says) in the test"
        raise RequestError(f"{ROOT}.entry_point", "is missing", remedy)
    return imported, ""


def _styled(test: str, style: Style, entry: str, prompt: str, module: str, reference: str) -> CheckTests:
    """The tests of a file in that style."""
    whole = (
        test if style == "check" else unittest_test(test) if style == "unittest" else pytest_test(test, module, entry)
    )
    return CheckTests(whole, entry, prompt, style, test, module, reference)


def _style(row: Mapping[str, object], tree: ast.Module, module: str) -> Style:
    """As the row says; else by what the test defines: BigCodeBench's rows don't say. Cases of unittest that import the
    answer are run by pytest, which knows them too."""
    if row.get("style") is not None:
        style = cast(Style, choice(row, "style", ("check", "unittest", "pytest")))
        return "pytest" if style == "unittest" and imports(tree, module) else style
    if any(isinstance(node, ast.FunctionDef) and node.name == "check" for node in tree.body):
        return "check"
    if defines_cases(tree.body):
        return "pytest" if imports(tree, module) else "unittest"
    kinds = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
    names = [node.name for node in tree.body if isinstance(node, kinds)]
    return "pytest" if any(name.startswith(("test_", "Test")) for name in names) else "check"
