"""Random pairs of gold and response, their truth known from how they are made, against the rules, and math-verify alone
beside them: `python -m tests.math.random_pairs --pairs 5000 --seed 1`."""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

from sandbox_gym.verifiers.math import MathOptions
from tests.math.library import Found, judged
from tests.math.random_collections import COLLECTIONS
from tests.math.random_functions import FUNCTIONS
from tests.math.random_values import NUMBERS

MAKERS = NUMBERS | COLLECTIONS | FUNCTIONS
_RESPONSES = (
    "\\boxed{{{}}}",
    "So it is $\\boxed{{{}}}$.",
    "\\[\\boxed{{{}}}\\]",
    "$$\n\\boxed{{{}}}\n$$",
    "**Answer:** \\boxed {{{}}}",
    "First \\boxed{{0.123}}, no: \\(\\boxed{{{}}}\\)",
)


_WITHOUT_BOX = (
    "The answer is ${}$.",
    "**Answer:**\n\\[\n{}\n\\]",
    "Final Answer: The value of it is ${}$.",
    "So it is\n$$\n{}\n$$",
)
_NO_PROSE = frozenset({"words", "money"})


@dataclass(frozen=True, slots=True)
class Pair:
    """A gold, a response, whether the response's answer is the gold, and the class of the value."""

    name: str
    gold: str
    answer: str
    response: str
    equal: bool


def pairs(seed: int) -> Iterator[Pair]:
    """Endless, each class in its turn."""
    rng = Random(seed)
    while True:
        for name, maker in MAKERS.items():
            gold, answer, equal = maker(rng)
            if rng.random() < 0.2:
                gold = f"${gold}$" if "$" not in gold else gold
            boxed = rng.random() < 0.8 or name in _NO_PROSE or "$" in answer
            yield Pair(name, gold, answer, rng.choice(_RESPONSES if boxed else _WITHOUT_BOX).format(answer), equal)


def alone(pair: Pair) -> bool:
    """What math-verify says of the pair, called as math_with_judge does but without its time limits."""
    try:
        gold = parse(f"\\boxed{{{pair.gold.strip('$')}}}", (LatexExtractionConfig(),), parsing_timeout=None)
        answer = parse(pair.response, (ExprExtractionConfig(), LatexExtractionConfig()), parsing_timeout=None)
        return bool(verify(gold, answer, timeout_seconds=None))
    except Exception:
        return False


def missed(seed: int, count: int, budget_s: float) -> tuple[int, list[tuple[Pair, Found]]]:
    """How many pairs were judged, at most `count` in at most `budget_s`, and those judged wrongly."""
    wrong: list[tuple[Pair, Found]] = []
    started, done = time.monotonic(), 0
    for done, pair in enumerate(pairs(seed), 1):
        found = judged(pair.gold, pair.response, MathOptions())
        if found.equal != pair.equal:
            wrong.append((pair, found))
        if done >= count or time.monotonic() - started > budget_s:
            break
    return done, wrong


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget-s", type=float, default=3600.0)
    parser.add_argument("--alone", action="store_true", help="math-verify alone on the same pairs, too")
    given = parser.parse_args()
    done, wrong = missed(given.seed, given.pairs, given.budget_s)
    for pair, found in wrong:
        sys.stdout.write(json.dumps([pair.name, pair.gold, pair.answer, pair.equal, found.by, found.why]) + "\n")
    positives = sum(not pair.equal for pair, _ in wrong)
    false = f"{positives} false positives, {len(wrong) - positives} false negatives"
    lines = [f"{done} pairs of {len(MAKERS)} classes, seed {given.seed}: {false}"]
    if given.alone:
        said = [(pair.equal, alone(pair)) for _, pair in zip(range(done), pairs(given.seed), strict=False)]
        false = f"{said.count((False, True))} false positives, {said.count((True, False))} false negatives"
        lines.append(f"math-verify alone: {false}")
    sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
