"""Tests that the row's own fix does not pass: they decide nothing, and other tests decide as ever."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import combinations
from pathlib import Path

import pytest
from anyio import create_task_group

from sandbox_gym.engine import Engine
from sandbox_gym.observe.metrics import Metrics
from sandbox_gym.swe.references import References
from sandbox_gym.verifiers.swe import OWN_FIX_FAILS, CaseStatus, failing
from tests.swe.rows import own_task
from tests.swe.test_inverted import reference
from tests.swe.test_judging import TESTS, F, Played, asked, verdict

pytestmark = pytest.mark.anyio


def some(tests: list[str]) -> list[tuple[str, ...]]:
    return [chosen for count in range(len(tests) + 1) for chosen in combinations(tests, count)]


def _ending(failed: tuple[str, ...], _run: int, test: str, must: str) -> str:
    return F if test in failed else must


@pytest.mark.parametrize("broken", some(TESTS), ids=len)
async def test_an_answer_is_undecided_where_all_that_it_fails_fails_anyway(broken: tuple[str, ...]) -> None:
    for failed in some(TESTS):
        played = Played(partial(_ending, failed))
        found = await verdict(played, asked(replace(reference(3), fails=broken)))
        if not failed:
            assert (found.reward, found.failure_reason) == (1.0, "")
        else:
            undecided = {*failed} <= {*broken}
            assert found.reward == 0.0
            assert found.failure_reason == f"{OWN_FIX_FAILS}: " * undecided + f"FAIL_TO_PASS FAILED: {failed[0]}"


@pytest.mark.parametrize(
    ("ends", "expected"),
    [
        (lambda _run, _test, must: must, ()),
        (lambda _run, test, must: F if test == TESTS[1] else must, (TESTS[1],)),
        (lambda run, test, must: F if test == TESTS[1] and run == 0 else must, ()),  # a flake
        (lambda run, test, must: F if run < 2 and test in TESTS[run:] else must, tuple(TESTS[1:])),
    ],
)
async def test_two_runs_tell_what_the_fix_does_not_pass(
    ends: Callable[[int, str, str], str], expected: tuple[str, ...]
) -> None:
    async with create_task_group() as background:
        made = await References(None, background).ensure(
            Engine(Played(ends), Metrics()), replace(asked(), reference=None)
        )
    assert (made.ran, made.fails) == (True, expected)


def test_what_ends_so_by_its_nature_is_no_failure(tmp_path: Path) -> None:
    task = own_task(tmp_path, ["t.py::a", "t.py::b"], ["t.py::c", "t.py::d", "t.py::e"])
    ended = {
        "t.py::a": CaseStatus.XFAIL, "t.py::b": CaseStatus.SKIPPED, "t.py::c": CaseStatus.SKIPPED,
        "t.py::d": CaseStatus.XPASS,
    }  # fmt: skip
    assert failing(task, ended) == ("t.py::b", "t.py::d", "t.py::e")


@pytest.mark.parametrize(
    ("ended", "exit_code", "ran", "expected"),
    [
        ({"a": CaseStatus.PASSED, "b": CaseStatus.PASSED}, 0, True, ()),
        ({"a": CaseStatus.PASSED, "b": CaseStatus.PASSED}, 3, True, ("a", "b")),
        ({"a": CaseStatus.PASSED, "b": CaseStatus.FAILED}, 1, True, ("b",)),
        ({"a": CaseStatus.PASSED, "b": CaseStatus.PASSED, "c": CaseStatus.FAILED}, 1, True, ()),
        ({}, 0, False, ("a", "b")),
    ],
)
def test_a_log_that_is_not_believed_shows_nothing_of_the_fix_either(
    tmp_path: Path, ended: dict[str, CaseStatus], exit_code: int, ran: bool, expected: tuple[str, ...]
) -> None:
    task = own_task(tmp_path, ["a"], ["b"], runner="log")
    assert failing(task, ended, exit_code=exit_code, ran=ran) == expected
