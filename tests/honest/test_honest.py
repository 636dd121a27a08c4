"""An honest answer's verdict is what the test says in plain CPython: rows written by hand and rows by rule.

A regular run takes a third of the hand-written rows and of some generated ones, and of their answers a part; with
--extended it takes all. `python -m tests.honest.report` names the rows that differ, and counts how they ran.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from sandbox_gym.engine import Engine
from tests.daily import part
from tests.honest import oracle
from tests.honest.generate import generated_rows
from tests.honest.judging import differing, judge_all
from tests.honest.row import Case, Row, written_rows

WRITTEN = written_rows()
GENERATED = 2000
SAMPLE = 60
"""Generated rows in a regular run."""


def _cases(rows: Sequence[Row]) -> list[Case]:
    return [case for row in rows for case in row.cases()]


def _some(rows: Sequence[Row], on_docker: bool) -> list[Case]:
    """On local a right answer of each row and a wrong one of every fourth; on docker both, of every sixth row."""
    found: list[Case] = []
    for number, row in enumerate(rows):
        right, *_, wrong = row.cases()
        if not on_docker:
            found += [right, wrong] if number % 4 == 0 else [right]
        elif number % 6 == 2:
            found += [right, wrong]
    return found


def _disagreeing(cases: Sequence[Case]) -> list[str]:
    said = zip(cases, oracle.ask(cases), strict=True)
    return [f"{case.name}: {found.words[-200:]}" for case, found in said if found.passed != case.passes]


def test_there_are_enough_rows() -> None:
    assert len(WRITTEN) >= 170
    assert len({row.name for row in generated_rows(GENERATED)}) == GENERATED


def test_the_same_seed_gives_the_same_rows() -> None:
    assert generated_rows(50, seed=3) == generated_rows(50, seed=3) != generated_rows(50, seed=4)


def test_plain_cpython_passes_right_answers_and_fails_wrong_ones(whole: bool) -> None:
    assert _disagreeing(_cases(part([*WRITTEN, *generated_rows(SAMPLE)], 3, whole=whole))) == []


@pytest.mark.anyio
async def test_verdicts_are_plain_cpythons(engine: Engine, request: pytest.FixtureRequest, whole: bool) -> None:
    rows = part([*WRITTEN, *generated_rows(SAMPLE)], 3, whole=whole)
    cases = _some(rows, on_docker="docker" in request.node.name)
    assert differing(await judge_all(engine, cases)) == []


@pytest.mark.extended
@pytest.mark.timeout(3600)
def test_plain_cpython_on_all_generated_rows() -> None:
    assert _disagreeing(_cases(generated_rows(GENERATED))) == []


@pytest.mark.extended
@pytest.mark.timeout(3600)
@pytest.mark.anyio
async def test_verdicts_on_all_rows(engine: Engine) -> None:
    assert differing(await judge_all(engine, _cases([*WRITTEN, *generated_rows(GENERATED)]))) == []
