"""Rows whose tests stand as their data sets publish them: the same tests, whichever the packing."""

from __future__ import annotations

import base64
import json
import pickle
import random
import zlib
from collections.abc import Callable

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.coding import CodingTask, parse_task, task_fields
from sandbox_gym.verifiers.coding.functions.shapes import FunctionTests, StdinTests

Row = dict[str, object]
Pairs = list[tuple[str, str]]
Calls = list[tuple[list[object], object]]


def packed(value: object) -> str:
    """As LiveCodeBench packs its private tests."""
    return base64.b64encode(zlib.compress(pickle.dumps(json.dumps(value)))).decode("ascii")


def cases(pairs: Pairs, **more: object) -> list[Row]:
    return [{"input": given, "output": said, **more} for given, said in pairs]


PYTEST = "from solution import f\n\n\ndef test_f():\n    assert f(1) == 2\n"
UNITTEST = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self): assert A().f()\n"


def halves(pairs: Pairs) -> tuple[Pairs, Pairs]:
    return pairs[: len(pairs) // 2], pairs[len(pairs) // 2 :]


def both(pairs: Pairs, given: str = "inputs", said: str = "outputs") -> Row:
    return {given: [one for one, _ in pairs], said: [other for _, other in pairs]}


def lines(calls: Calls) -> Pairs:
    """As LiveCodeBench writes arguments and results."""
    return [("\n".join(map(json.dumps, given)), json.dumps(said)) for given, said in calls]


STDIN: dict[str, Callable[[Pairs], Row]] = {
    "apps": lambda pairs: {"question": "q", "input_output": json.dumps(both(pairs))},
    "taco": lambda pairs: {"input_output": {**both(pairs), "inputs": [x.split("\n") for x, _ in pairs]}},
    "livecodebench": lambda pairs: {
        "question_title": "t",
        "private_test_cases": packed(cases(halves(pairs)[0], testtype="stdin")),
        "public_test_cases": json.dumps(cases(halves(pairs)[1], testtype="stdin")),
        "metadata": "{}",
    },
    "livecodebench, its older private tests": lambda pairs: {"private_test_cases": json.dumps(cases(pairs))},
    "codecontests": lambda pairs: {
        "private_tests": both(halves(pairs)[0], "input", "output"),
        "public_tests": both(halves(pairs)[1], "input", "output"),
        "generated_tests": {"input": [], "output": []},
    },
    "synthetic-1": lambda pairs: {
        "verification_info": json.dumps({"test_cases": cases(pairs, type="stdin_stdout", fn_name=None)})
    },
    "deepcoder": lambda pairs: {"tests": json.dumps(cases(pairs, type="stdin_stdout", metadata={"func_name": None}))},
    "codeforces": lambda pairs: {"official_tests": cases(pairs), "generated_checker": None, "time_limit": 2.0},
    "json of our own": lambda pairs: {"unit_tests": json.dumps(both(pairs))},
    "eurus": lambda pairs: {"verifier_metadata": both(pairs)},
    "a trainer's label": lambda pairs: {"verifier_metadata": {"tests": cases(pairs)}},
}  # fmt: skip
CALLS: dict[str, Callable[[Calls], Row]] = {
    "apps": lambda calls: {
        "input_output": {"fn_name": "f", "inputs": [x for x, _ in calls], "outputs": [[y] for _, y in calls]}
    },
    "livecodebench": lambda calls: {
        "private_test_cases": packed(cases(lines(calls), testtype="functional")),
        "metadata": json.dumps({"func_name": "f"}),
    },
    "deepcoder": lambda calls: {"tests": cases(lines(calls), metadata={"func_name": "f"})},
    "synthetic-1": lambda calls: {
        "verification_info": {"test_cases": [{"input": x, "output": [y], "fn_name": "f"} for x, y in calls]}
    },
}  # fmt: skip


def parsed(row: Row) -> CodingTask:
    return parse_task(task_fields({"response": {}, **row}), limits=Settings().limits(), early_stop=True)


@pytest.mark.parametrize("form", STDIN)
def test_programs(form: str) -> None:
    random.seed(form)
    pairs = [("\n".join(str(random.random()) for _ in range(1 + n % 3)), f"{n}\n{n}\n") for n in range(9)]
    assert parsed(STDIN[form](pairs)).tests == StdinTests(tuple(x for x, _ in pairs), tuple(y for _, y in pairs))


@pytest.mark.parametrize("form", CALLS)
def test_calls(form: str) -> None:
    values: list[object] = [1, -2.5, "a\nb", [1, [2]], {"k": None}, True, 2**70, ""]
    calls: Calls = [([random.choice(values) for _ in range(1 + n % 3)], [n, values[n % 8]]) for n in range(12)]
    wanted = FunctionTests("f", tuple(tuple(given) for given, _ in calls), tuple(said for _, said in calls))
    assert parsed(CALLS[form](calls)).tests == wanted


def test_assertions() -> None:
    """AceCode's and OpenCodeInstruct's."""
    listed = ["assert f(1) == 2", "assert f(3) == 4"]
    for row in (
        {"test_cases": listed},
        {"unit_tests": json.dumps(listed)},
    ):
        assert parsed(dict(row)).tests == parsed({"test_list": listed}).tests


@pytest.mark.parametrize(
    ("row", "named"),
    [
        (
            {"test": PYTEST, "test_info": [{"function_name": "f"}]},
            {"test": PYTEST, "entry_point": "f"},
        ),
        (
            {"test": UNITTEST, "class_name": "A"},
            {"test": UNITTEST, "entry_point": "A"},
        ),
        (
            {"test": "for x in [1, 2]:\n    assert f(x) == x\n", "test_list": ["assert f(1) == 1"], "test_imports": []},
            {"test_list": ["for x in [1, 2]:\n    assert f(x) == x\n"], "test_imports": []},
        ),
    ],
)  # fmt: skip
def test_what_is_asked_for_by_other_names(row: Row, named: Row) -> None:
    assert parsed(row).tests == parsed(named).tests


@pytest.mark.parametrize(
    "row",
    [
        {"input_output": "{}"},
        {"input_output": json.dumps({"inputs": ["1"], "outputs": []})},
        {"private_test_cases": "bm8gdGVzdHM="},
        {"private_test_cases": base64.b64encode(zlib.compress(pickle.dumps(print))).decode("ascii")},
        {"private_test_cases": base64.b64encode(zlib.compress(pickle.dumps([cases([("1", "2")])]))).decode("ascii")},
        {"tests": "assert f(1) == 2"},
        {"private_test_cases": packed([" " * (65 << 20)])},
        {"tests": '[{"fn_name": "f", "output": 1, "input": [' + "[" * 900 + "]" * 900 + "]}]"},
        {"tests": '{"unit_tests":' * 900 + "1" + "}" * 900},
        {"private_test_cases": "bm8gdGVzdHM=", "public_test_cases": json.dumps(cases([("1", "2")]))},
        {"private_tests": both([("1", "2")], "input", "output"), "public_tests": {"input": ["3"], "output": []}},
        {"tests": [{"input": "1", "output": "2"}, {"input": "3"}]},
        {"tests": [{"input": "1", "output": "2"}, "assert f(1) == 2"]},
        {"tests": [1, None, {}]},
        {"official_tests": cases([("1", "2")]), "generated_checker": "print(1)"},
        {"public_tests": both([("1", "2")], "input", "output")},
        {"input_output": json.dumps({"inputs": [1], "outputs": [{}]})},
    ],
)
def test_what_is_no_test_is_refused(row: Row) -> None:
    with pytest.raises(RequestError):
        parsed(row)


def test_the_rows_own_tests_go_first() -> None:
    own: Row = {"unit_tests": both([("1", "2")]), "input_output": json.dumps(both([("3", "4")]))}
    assert parsed(own).tests == parsed({"verifier_metadata": own}).tests == StdinTests(("1",), ("2",))


def test_plain_texts_are_results_beside_lists_of_arguments() -> None:
    def outputs(inputs: list[object], said: list[object]) -> object:
        row = {"input_output": json.dumps({"fn_name": "up", "inputs": inputs, "outputs": said})}
        fields = task_fields(row)
        assert isinstance(fields, dict)
        return fields["unit_tests"]["outputs"]

    assert outputs([["ab"], ["c"]], ["AB", "5"]) == ['"AB"', '"5"']
    assert outputs([["ab"], ["c"]], ['"AB"', '"C"']) == ['"AB"', '"C"']  # JSON already
    assert outputs(['"ab"', '"c"'], ["AB", "C"]) == ["AB", "C"]  # lines of JSON: refused later
    assert outputs([["ab"], ["c"]], [["AB"], ["C"]]) == ['"AB"', '"C"']
