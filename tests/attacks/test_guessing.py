"""An answer that can't tell a changed test from a true one, and guesses: how often it is right, by arithmetic.

Here the liar is as strong as can be: it knows the runs of inverted tests from the verdict's run, decides freely how
each test ends, and knows nothing of which test is changed.
"""

from __future__ import annotations

from random import Random

import pytest

from sandbox_gym.verifiers.swe import ByteEdit, CaseStatus
from sandbox_gym.verifiers.swe.reference import InvertibleTest, KeptVariant, Reference, rounds

TRIES = 1000
MOST = {1: 0.09, 2: 0.04, 4: 0.01}
"""The best guesser's share, by how many tests decide."""


def reference(deciding: int) -> Reference:
    variants = tuple(
        KeptVariant("expected_value", line, (ByteEdit(line, line + 1, "x"),), {"t": CaseStatus.FAILED})
        for line in range(6)
    )
    tests = []
    for number in range(deciding + 4):
        own = tuple(
            KeptVariant(one.kind, one.line, one.edits, {f"tests/test_a.py::test_{number}": CaseStatus.FAILED})
            for one in variants
        )
        tests.append(InvertibleTest("tests/test_a.py", f"test_{number}", number < deciding, own))
    return Reference(tests=tuple(tests), digests={"tests/test_a.py": ""}, ran=True, seconds=1.0)


def share(deciding: int, passes: float) -> float:
    """How often a guesser is right that lets each deciding test pass with that probability."""
    random, known = Random(17), reference(deciding)
    wanted = {f"tests/test_a.py::test_{number}" for number in range(deciding)}
    right = 0
    for _ in range(TRIES):
        asked = [(test in run.unchanged) for run in rounds(known, random) for test in wanted & set(run.ids)]
        assert asked
        right += all(true == (random.random() < passes) for true in asked)
    return right / TRIES


@pytest.mark.parametrize("deciding", MOST)
def test_no_guess_pays(deciding: int) -> None:
    best = max(share(deciding, passes / 10) for passes in range(11))
    assert best <= MOST[deciding]


@pytest.mark.parametrize("deciding", MOST)
def test_neither_always_nor_never_is_right(deciding: int) -> None:
    assert share(deciding, 1.0) == share(deciding, 0.0) == 0.0
