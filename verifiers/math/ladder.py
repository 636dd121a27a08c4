"""The pure rungs, in order: the first that is sure decides. Linear in hostile input: large texts are only compared as
text.
"""

from __future__ import annotations

from sandbox_gym.verifiers.math.expressions.evaluate import try_evaluate
from sandbox_gym.verifiers.math.expressions.shapes import assigned, split_top
from sandbox_gym.verifiers.math.expressions.tex import normalise
from sandbox_gym.verifiers.math.expressions.values import variables
from sandbox_gym.verifiers.math.extract import plain_gold
from sandbox_gym.verifiers.math.options import Decision, MathOptions
from sandbox_gym.verifiers.math.rungs.bases import same_based, same_ratio, same_residue
from sandbox_gym.verifiers.math.rungs.caps import READ, costly, too_large
from sandbox_gym.verifiers.math.rungs.claims import same_claim
from sandbox_gym.verifiers.math.rungs.collections import same_collection
from sandbox_gym.verifiers.math.rungs.equations import false_equation, of_another, other_derivative, paired
from sandbox_gym.verifiers.math.rungs.families import same_families
from sandbox_gym.verifiers.math.rungs.integers import same_integers
from sandbox_gym.verifiers.math.rungs.intervals import same_interval
from sandbox_gym.verifiers.math.rungs.matrices import other_product
from sandbox_gym.verifiers.math.rungs.named import another_set, with_sets_of_numbers
from sandbox_gym.verifiers.math.rungs.numbers import same_number
from sandbox_gym.verifiers.math.rungs.restated import OPERATION, unevaluated
from sandbox_gym.verifiers.math.rungs.texts import (
    opposite_words,
    other_order,
    same_choice,
    same_cycles,
    same_decimal_comma,
    same_integer,
    same_points,
    same_text,
)

_NESTED_COLLECTIONS = 4


def decide(gold: str, answer: str, options: MathOptions | None = None) -> Decision | None:
    """Whether the extracted answer equals the gold, and which rung decided; None leaves it to math-verify. A decision
    of the rung `caps` stands without math-verify: the texts differ and are too large for it."""
    options = options or MathOptions()
    gold, answer = gold.strip(), answer.strip()
    if not gold or not answer:
        return Decision(False, "blank", "gold or answer is blank")
    if gold == answer:
        return Decision(True, "text", "the same text")
    integers = same_integer(gold, answer)
    if integers:
        return integers
    if too_long := too_large(gold, answer, READ):
        return too_long
    if other := other_derivative(gold, answer):
        return other
    return _decide_normal(normalise(plain_gold(gold)), normalise(answer), options) or too_large(gold, answer)


def _decide_normal(gold: str, answer: str, options: MathOptions) -> Decision | None:
    answer = with_sets_of_numbers(gold, answer)
    if other := another_set(gold, answer):
        return other
    if families := same_families(gold, answer):
        return families
    if said := same_integers(gold, answer) or same_claim(gold, answer):
        return said
    gold, answer = paired(gold, answer)
    for found in (
        same_text(gold, answer),
        other_product(gold, answer),
        opposite_words(gold, answer),
        other_order(gold, answer),
        same_cycles(gold, answer),
        same_integer(gold, answer),
        same_decimal_comma(gold, answer),
        same_choice(gold, answer, options),
        same_points(gold, answer),
        same_residue(gold, answer),
        false_equation(gold, answer),
        of_another(gold, answer),
        unevaluated(gold, answer),
    ):
        if found:
            return found
    return _decide_values(gold, answer, options)


def _decide_values(gold: str, answer: str, options: MathOptions, depth: int = 0) -> Decision | None:
    """Compares what is right of `=`; members of collections are compared here too."""
    (left, first), (right, second) = assigned(gold), assigned(answer)
    sides = split_top(second, "=")
    worked = len(sides) > 2 or (len(sides) == 2 and OPERATION.search(sides[0]))
    chain = worked and not depth and not right and "=" not in gold
    known = [try_evaluate(side) for side in sides[1:]] if chain else []
    if known and not any(value is None or variables(value) for value in known):  # m+n = 35+7 = 42, \\gcd(4, 6) = 2
        second = sides[-1].strip()
    if left and right and left != right:
        return None  # x = 5 and y = 5: whether the name matters is the library's call
    if depth and (same := same_text(first, second)):
        return same
    if left != right and (same := same_text(first, second)):
        return same
    return (
        same_based(first, second, options)
        or same_ratio(first, second)
        or same_number(first, second, options)
        or (None if costly(first) or costly(second) else _by_members(first, second, options, depth))
    )


def _by_members(gold: str, answer: str, options: MathOptions, depth: int) -> Decision | None:
    return same_interval(gold, answer, options) or _collections(gold, answer, options, depth)


def _collections(gold: str, answer: str, options: MathOptions, depth: int) -> Decision | None:
    if depth >= _NESTED_COLLECTIONS:
        return None

    def compare(mine: str, theirs: str) -> bool | None:
        found = _decide_values(mine, theirs, options, depth + 1)
        return found.equal if found else None

    return same_collection(gold, answer, compare)
