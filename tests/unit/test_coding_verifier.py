"""The pure half: extraction, row checks, comparison, the value wire. No sandbox."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest

from sandbox_gym.errors import RequestError
from sandbox_gym.guest.protocol import values as guest_values
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.verifiers.bounded import MAX_DEPTH
from sandbox_gym.verifiers.coding import PYTHON, extract_code, has_reasoning_format_violation, parse_task
from sandbox_gym.verifiers.coding.compare import explain_stdout, values_equal
from sandbox_gym.verifiers.coding.functions.shapes import CheckTests
from sandbox_gym.verifiers.coding.functions.split import why_not_isolated
from sandbox_gym.verifiers.coding.functions.wire import BadReply, decode, encode, parse_reply
from sandbox_gym.verifiers.coding.plan import candidate_source

DOCUMENTED = 'def f():\n    """\n    ```\n    f()\n    ```\n    """'


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("a\n```python\nx = 1\n```\nb\n```python\ny = 2\n```", "y = 2"),
        ("```python\nx = 1\n```\nOutput:\n```text\n1\n```", "x = 1"),
        ("```python\nx = 1\n```\nOutput:\n```\n1\n```", "x = 1"),
        ("```\n1 2\n```\nas input:\n```python\nx = 1", "x = 1"),
        ("Run it:\n```\nx = 1\n```\nwith\n```bash\npython main.py\n```", "x = 1"),
        ("```Python3\nx = 1\n```", "x = 1"),
        ("```python:main.py\nx = 1\n```\n```\n1\n```", "x = 1"),
        ("```python,ignore\nx = 1\n```\n```\n1\n```", "x = 1"),
        ("```\r\nx = 1\r\n```", "x = 1"),
        ("~~~py\nx = 1\n~~~", "x = 1"),
        ("````python\ns = '''\n```\n'''\n````", "s = '''\n```\n'''"),
        ("~~~python\ns = '''\n```\n'''\n~~~", "s = '''\n```\n'''"),
        ("```js\nlet x\n```", "let x"),
        ("```python\nx = 1", "x = 1"),
        ("<think>```python\nno\n```</think>\n```python\nyes\n```", "yes"),
        ("\n    return 1\n", "    return 1"),
        ("```python\nx = 1\n```\n```python\n```", "x = 1"),
        ("```\nx = 1\n```\nbetter:\n```\ny = 2\n```", "y = 2"),
        ("```python\nx = 1\n```<|im_end|>", "x = 1"),
        ("```python\nx = 1\n```</s>\n", "x = 1"),
        ("```python\nx = 1\n```<\uff5cend\u2581of\u2581sentence\uff5c>", "x = 1"),
        ("<answer>```python\nx = 1\n```</answer>\n", "x = 1"),
        ("```python\nx = 1\n``` This sets x.\nDone.", "x = 1"),
        ("```python\nx = 1```", "x = 1"),
        (f"```python\n{DOCUMENTED}\n```", DOCUMENTED),
        ("1. so\n```python\nx = 1\n     ```\nDone.", "x = 1"),
        ("<answer>\nx = 1\n</answer>", "x = 1"),
        ("[THINK]```python\nx = 0\n```[/THINK]\nx = 1", "x = 1"),
        ("<seed:think>x = 0</seed:think>\nx = 1", "x = 1"),
        ("<|channel|>analysis<|message|>x = 0<|end|><|start|>assistant<|channel|>final<|message|>x = 1", "x = 1"),
        ("[PYTHON]\nx = 1\n[/PYTHON]\n[TESTS]\nassert x\n[/TESTS]", "x = 1"),
        ("[BEGIN]\nx = 1\n[DONE]", "x = 1"),
        ("x = 1\n[DONE]\n\nAnother task:\n[BEGIN]\nx = 2\n[DONE]\n", "x = 1"),
        ("<answer><code>x = 1</code></answer>", "x = 1"),
        ('```python\n"""\n```\nx\n```\n"""\ny = 1\n```\nit is', '"""\n```\nx\n```\n"""\ny = 1'),
        ("```python\nx = 1  # no ''' here\n```\nprints\n```\n1\n```", "x = 1  # no ''' here"),
        ("```python\nx = '''\n```\nbetter:\n```python\ny = 1\n```", "y = 1"),
        ("> ```python\n> if x:\n>     y = 1\n>\n> z = 1\n> ```", "if x:\n    y = 1\n\nz = 1"),
        ("````markdown\n# So\n```python\nx = 1\n```\n````", "x = 1"),
        ("", None),
        ("```python\n\n```", None),
    ],
)
def test_extract_code(text: str, code: str | None) -> None:
    assert extract_code(text) == code


DEFINED = ("def f(x):\n    return x", "async def f(x):\n    return x", "class f:\n    pass", "f = abs", "f: int = 1")
USES = ("print(f(1))", "def main():\n    f(1)\n\nmain()", "assert f(1) == 1", "g = f", "x.f = 1")


@pytest.mark.parametrize("defined", [*DEFINED, "class Solution:\n    def f(self, x):\n        return x"])
@pytest.mark.parametrize("use", USES)
def test_a_block_that_shows_how_to_use_it_is_no_answer(defined: str, use: str) -> None:
    draft, answer, shown = (f"```python\n{code}\n```\n" for code in ("def f(x):\n    return 0", defined, use))
    for text in (answer, f"{answer}Use:\n{shown}", f"{draft}Better:\n{answer}Use:\n{shown}{shown}"):
        assert extract_code(text, PYTHON, ("f",)) == defined
    assert extract_code(answer + shown) == use, "a program is the last block"
    assert extract_code(draft + shown, PYTHON, ("h",)) == use, "none defines it"


PROGRAMS = ("n = int(input())\nprint(2 * n)", "import sys\nsys.stdout.write(input())", "from solution import *")
NO_PROGRAMS = ("3\n6", "O(n)", "for i in range(n):\n    a[i] += 1", "# $ echo 3 | python3 a.py", ">>> print(6)\n6")


@pytest.mark.parametrize("tag", ["", "python"])
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("other", NO_PROGRAMS)
def test_a_block_that_prints_nothing_is_no_program(program: str, other: str, tag: str) -> None:
    answer, shown = (f"```{tag}\n{code}\n```\n" for code in (program, other))
    assert extract_code(f"{answer}Complexity, or sample:\n{shown}{shown}") == program
    assert extract_code(f"{shown}{answer}") == program
    assert extract_code(f"{shown}") == other, "there is no other"


def test_a_completion_is_the_last_block() -> None:
    text = "```python\ndef f(x):\n    pass\n```\ngoes on:\n```python\n    return x\n```"
    assert extract_code(text, PYTHON, ("f",)) == "    return x"


def test_reasoning_format_violation() -> None:
    assert has_reasoning_format_violation("a </think> b", [])
    assert has_reasoning_format_violation("", ["<think>", "<think>"])
    assert not has_reasoning_format_violation("b", ["<think>x</think>"])


GOOD: dict[str, Any] = {"unit_tests": {"inputs": ["1"], "outputs": ["2"]}}
CHECK = {"test": "def check(candidate):\n    assert candidate(1)", "entry_point": "f"}


@pytest.mark.parametrize(
    ("row", "field"),
    [
        (None, "verifier_metadata"),
        ({}, "verifier_metadata.unit_tests"),
        ({"unit_tests": []}, "verifier_metadata.unit_tests"),
        ({"unit_tests": {"inputs": [], "outputs": []}}, "verifier_metadata.unit_tests.inputs"),
        ({"unit_tests": {"inputs": ["1"]}}, "verifier_metadata.unit_tests.outputs"),
        ({"unit_tests": {"inputs": ["1"], "outputs": ["1", "2"]}}, "verifier_metadata.unit_tests.outputs"),
        ({"unit_tests": {"inputs": [1], "outputs": ["1"]}}, "verifier_metadata.unit_tests.inputs[0]"),
        ({"unit_tests": {"inputs": ["1"], "outputs": [" \n"]}}, "verifier_metadata.unit_tests.outputs"),
        ({"unit_tests": {"inputs": ["x"], "outputs": ["1"], "fn_name": "f"}}, "verifier_metadata.unit_tests.inputs[0]"),
        ({"unit_tests": {"inputs": ["1"], "outputs": ["1"], "fn_name": "f()"}}, "verifier_metadata.unit_tests.fn_name"),
        (GOOD | {"time_limit_s": 0}, "verifier_metadata.time_limit_s"),
        (GOOD | {"time_limit_s": True}, "verifier_metadata.time_limit_s"),
        (GOOD | {"memory_limit_mb": math.inf}, "verifier_metadata.memory_limit_mb"),
        (GOOD | {"float_tolerance": "1"}, "verifier_metadata.float_tolerance"),
        (GOOD | {"language": "cobol"}, "verifier_metadata.language"),
        (GOOD | CHECK, "verifier_metadata"),
        (CHECK | {"test": "x = 1"}, "verifier_metadata.test"),
        (CHECK | {"test": "def check(candidate): pass"}, "verifier_metadata.test"),
        (CHECK | {"test": "def check("}, "verifier_metadata.test"),
        ({"test": CHECK["test"]}, "verifier_metadata.entry_point"),
    ],
)
def test_a_bad_row_is_named(row: object, field: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse_task(row, limits=Limits(), early_stop=True)
    assert caught.value.field == field
    assert caught.value.remedy


def test_a_row_only_tightens() -> None:
    row = GOOD | {"time_limit_s": 99, "memory_limit_mb": 64}
    limits = parse_task(row, limits=Limits(cpu_time_s=5, wall_time_s=17), early_stop=True).limits
    assert (limits.cpu_time_s, limits.wall_time_s, limits.memory_bytes) == (5, 17, 64 * MIB)


@pytest.mark.parametrize(
    ("got", "expected", "right"),
    [
        (b"1 2\n3\n", "1 2\n3", True),
        (b" 1 2 \r\n3 \n\n", "1 2\n3", True),
        (b"1.0 2", "1 2.00", True),
        (b"1e3", "1000", True),
        (b"YES", "yes", False),
        (b"1\n\n2", "1\n2", False),
        (b"nan", "nan", True),
        (b"nan", "1", False),
        (b"sNaN", "1", False),
        (b"50000000000000001", "50000000000000000", False),
        (b"\xff", "?", False),
        (b"", "1", False),
        (b"9" * 200_000, "1", False),
    ],
)
def test_stdout(got: bytes, expected: str, right: bool) -> None:
    assert (explain_stdout(got, expected) == "") is right


def test_float_tolerance() -> None:
    assert explain_stdout(b"0.33334 x", "0.33333 x", 1e-4) == ""
    assert explain_stdout(b"0.334", "0.33333", 1e-4)
    assert explain_stdout(b"inf", "1e308", 1e300)


@pytest.mark.parametrize(
    ("got", "expected", "right"),
    [
        ((1, 2), [1, 2], True),
        ([(1, 2)], [[1, 2]], True),
        (0.1 + 0.2, 0.3, True),
        (True, 1, True),
        ([1], [2], False),
        ({1: 2}, {"1": 2}, True),
        (math.nan, 1.0, False),
        ({1, 2}, [1, 2], False),
    ],
)
def test_values(got: object, expected: object, right: bool) -> None:
    assert values_equal(got, expected) is right


def test_huge_integers() -> None:
    """Python refuses to print integers of over 4,300 digits; comparing them is fine."""
    assert values_equal(10**5000, 10**5000)
    assert not values_equal(10**5000, 1)


VALUES: list[object] = [
    None, True, 0, -5, 2**60, -(10**400), 1.5, -0.0, math.inf, "", "é\ud800\x00",
    b"\xff", bytearray(b"x"), [], [1, [2]],
    (1, (2,)), {1, 2}, frozenset({3}), {"a": [1], (1, 2): None}, 1 + 2j, range(1, 9, 2),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=lambda value: type(value).__name__)
def test_both_ends_of_the_value_wire_agree(value: object) -> None:
    wire = json.loads(json.dumps(guest_values.encode(value)))
    assert decode(wire) == value
    assert type(decode(wire)) is type(value)
    assert guest_values.decode(wire) == value


def test_json_values_are_encoded_alike() -> None:
    for value in ([1, {"a": 2.5, "b": None}], 2**70, "x", True):
        assert encode(value) == guest_values.encode(value)


def _framed(body: bytes) -> bytes:
    return len(body).to_bytes(4, "big") + body


@pytest.mark.parametrize(
    "channel",
    [
        b"",
        b"\x00",
        b"\xff\xff\xff\xff{}",
        _framed(b"[" * 100_000),
        _framed(b"[1]"),
        _framed(b"\xff"),
        _framed(b"{}") * 2,
    ],
)
def test_bad_replies(channel: bytes) -> None:
    with pytest.raises(BadReply):
        parse_reply(channel)


@pytest.mark.parametrize(
    "wire", [[], [1], ["x", 1], ["i", "zz"], ["d", [[1]]], ["s", [["l", [1]]]], ["b", "!"], {}, ["r", 1, 2, 0], 1.5]
)
def test_malformed_values(wire: object) -> None:
    with pytest.raises(BadReply):
        decode(wire)


def test_depth_is_counted_before_parsing() -> None:
    deep = b'{"value":' + b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1) + b"}"
    with pytest.raises(BadReply, match="deep"):
        parse_reply(_framed(deep))


PROMPT = 'import math\ndef f(x):\n    """Doc."""\n'


def test_candidate_source() -> None:
    assert candidate_source(PROMPT, "f", "    return x") == PROMPT + "    return x"
    assert candidate_source(PROMPT, "f", "def f(x): return x").startswith(PROMPT)


@pytest.mark.parametrize(
    ("body", "isolated"),
    [
        ("assert candidate(1) == 2", True),
        ("assert list(map(candidate, [1])) == [2]", True),
        ("assert math.sqrt(candidate(1)) == 2", True),
        ("assert candidate.__name__", True),
        ("assert candidate.__code__", False),
        ("assert candidate(1)(2)", True),
        ("assert candidate(lambda x: x)", True),
        ("assert helper_of_the_answer(candidate(1))", True),
        ("import inspect; assert inspect.getsource(candidate)", False),
        ("assert eval(candidate(1)) == 2", False),
        ("random.seed(1); assert candidate(1) == 2", False),
        ("assert candidate(random.random()) < 2", True),
        ("import numpy as np; np.random.seed(1); candidate(1)", False),
        ("from contextlib import redirect_stdout; candidate(1)", False),
        ("import sys; assert candidate(sys.maxsize)", True),
        ("import sys; sys.stdin = None; candidate(1)", False),
        ("import os; os.environ['A'] = '1'; candidate(1)", False),
        ("import os; assert candidate(os.path.join('a', 'b'))", True),
        ("from unittest.mock import Mock; candidate(Mock())", True),
        ("from unittest.mock import patch; patch('time.time')", False),
        ("import math; math.pi = 3; candidate(1)", False),
        ("open('x').read()", False),
    ],
)
def test_what_can_be_isolated(body: str, isolated: bool) -> None:
    tests = CheckTests(f"def check(candidate):\n    {body}\n", "f", PROMPT)
    assert (why_not_isolated(tests) == "") is isolated
