"""A seeded share of the random pairs: no right answer loses its reward, and no wrong one gets it."""

from __future__ import annotations

from collections import Counter

from tests.math.random_pairs import MAKERS, missed, pairs

PAIRS = 400
BUDGET_S = 60.0
SEED = 20


def test_no_random_pair_is_judged_wrongly() -> None:
    done, wrong = missed(SEED, PAIRS, BUDGET_S)
    assert not wrong
    assert done >= len(MAKERS), "every class came up, on a slow machine too"


def test_the_pairs_are_as_varied_as_they_claim() -> None:
    chosen = [pair for _, pair in zip(range(2000), pairs(SEED), strict=False)]
    truths = Counter((pair.name, pair.equal) for pair in chosen)
    assert all(truths[name, truth] >= 10 for name in MAKERS for truth in (True, False))
    assert len({(pair.gold, pair.answer) for pair in chosen}) > 1500
    assert sum("boxed" not in pair.response for pair in chosen) > 200
