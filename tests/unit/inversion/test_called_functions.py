"""A function without parameters that a test calls runs: its assertions are as certain as the call, and no others."""

from __future__ import annotations

import itertools

import pytest

from sandbox_gym.verifiers.inversion import edited, variants_of

CALLS = {"{}()": True, "{}(1)": False, "if f(0):\n    {}()": False, "print({})": False, "{}": False, "": False}
HEADS = {
    "def {}():": True,
    "async def {}():": False,
    "@mark\ndef {}():": False,
    "def {}(x=3):": False,
    "def {}():\n    yield": False,
}


@pytest.mark.parametrize(("call", "head"), list(itertools.product(CALLS, HEADS)))
def test_by_form(call: str, head: str) -> None:
    for before, passed in (("", True), ("if f(0):\n    return\n", False)):
        body = f"{head.format('inner')}\n    assert f(1) == 10\n{before}{call.format('inner')}\n".replace(
            "\n", "\n    "
        )
        source = f"def check(f):\n    {body}\n"
        found = [
            one for one in variants_of(source, "check") if one.line == source[: source.index("== 10")].count("\n") + 1
        ]
        expected = CALLS[call] and HEADS[head] and passed
        assert {one.certain for one in found} == {expected}, source
        for one in found if expected else ():
            space: dict[str, object] = {}
            exec(edited(source, one.edits), space)
            check = space["check"]
            assert callable(check)
            with pytest.raises(AssertionError):
                check(lambda _: 10)


CALLERS = {
    "inner(f)": True,
    "inner()": True,
    "inner(f, 1)": False,
    "inner(x=f)": False,
    "if f:\n        inner(f)": False,
    "print(inner)": False,
}


@pytest.mark.parametrize("call", CALLERS)
def test_a_function_of_the_file_is_certain_where_it_gets_what_the_test_got(call: str) -> None:
    for head, plain in (("def inner(g=None, x=None):", True), ("@mark\ndef inner(g):", False)):
        source = f"{head}\n    assert f(1) == 10\n\ndef check(f):\n    {call}\n"
        found = [
            one for one in variants_of(source, "check") if one.line == source[: source.index("== 10")].count("\n") + 1
        ]
        assert {one.certain for one in found} <= {CALLERS[call] and plain}, source
        assert found or "print" in call
