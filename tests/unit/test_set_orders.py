"""The order of a set is its table's: it crosses, or the test's end knows that it did not, and values alone settle
nothing that goes through it."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from sandbox_gym.guest.objects.asking import Asking
from sandbox_gym.guest.objects.peer import Peer
from sandbox_gym.verifiers.coding.functions.plain_asserts import plain_asserts
from sandbox_gym.verifiers.coding.functions.shapes import CheckTests
from tests.unit.test_graph import ROW, carried
from tests.unit.test_plain_asserts import by_values

Made = Callable[[set[int], set[int]], set[int] | frozenset[int]]


def _some_left(one: set[int], other: set[int]) -> set[int]:
    left = set(range(60)) | one
    for item in list(left):
        if item not in one:
            left.discard(item)
    return left


HISTORIES: dict[str, Made] = {
    "as it was": lambda one, other: one,
    "a copy": lambda one, other: one.copy(),
    "a frozen one": lambda one, other: frozenset(one),
    "a union": lambda one, other: one | other,
    "what both have": lambda one, other: one & other,
    "what one has": lambda one, other: one ^ other,
    "some left": _some_left,
}


@pytest.mark.parametrize("history", HISTORIES)
def test_the_order_crosses_or_the_tests_end_knows_that_it_did_not(history: str) -> None:
    chance, same = random.Random(3), 0
    for _ in range(200):
        one, other = ({chance.randrange(60) for _ in range(chance.randrange(2, 9))} for _ in range(2))
        made = HISTORIES[history](one, other)
        for to_answer in (True, False):
            asking = Asking(ROW)
            test, answer = Peer("hidden_test", asking), Peer("candidate")
            (there,) = carried(test, answer, made) if to_answer else carried(answer, test, made)
            assert there == made
            assert list(there) == list(made) or asking.suspected, (list(there), list(made), to_answer)
            same += list(there) == list(made)
    assert same > 50


@pytest.mark.parametrize("form", ["list({})", "tuple({})", "sorted({})", "len({})", "set({})"])
def test_values_settle_what_does_not_go_through_a_set(form: str) -> None:
    made = {1, 2, 3} | {20, 5, 6}
    expected = repr(eval(form.format(repr(made)))).replace("{", "set([").replace("}", "])")
    test = CheckTests(f"def check(candidate):\n    assert {form.format('candidate(1)')} == {expected}\n", "answer", "")
    assert by_values(test, lambda _: made) == ("" if form[:4] in ("list", "tupl") else "passed")
    single = CheckTests("def check(candidate):\n    assert list(candidate({7})) == [7]\n", "answer", "")
    assert by_values(single, lambda x: x) == "passed"


@pytest.mark.parametrize("passed", ["{1, 2}", "frozenset({1, 2})", "[{1, 2}]", "{'x': {1, 2}}", "({1, 2},)"])
def test_a_set_that_is_passed_has_the_test_run(passed: str) -> None:
    test = f"def check(candidate):\n    assert candidate({passed}) == 1\n"
    assert plain_asserts(CheckTests(test, "answer", "")) is None
