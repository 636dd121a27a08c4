"""Function tests whose expected values a reference solution gives, as EvalPlus has them: base and plus inputs.

The reference runs in the judge's box, once for all answers to a row; its values never enter the answer's box. Source of
the rules of equality: EvalPlus's own evaluator, its list of tasks that compare as sets or by `is not None` included.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sandbox_gym.contract import Outcome
from sandbox_gym.verifiers.coding.functions.wire import BadReply, bodies_of, decode, parse_body

RELATIVE = 1e-7
ABSOLUTE_FOR_FLOATS = 1e-6
_AS_SETS = frozenset(
    (
        *("similar_elements", "find_char_long", "common_in_nested_lists", "extract_singly"),
        *("larg_nnum", "intersection_array", "find_dissimilar", "Diff"),
    )
)
_AS_PRESENCE = frozenset(("check_str", "text_match_three", "text_starta_endb"))


@dataclass(frozen=True, slots=True)
class ReferenceTests:
    """`entry_point(*calls[i])` must return what `reference` returns; the first `base` calls are the base inputs."""

    entry_point: str
    prompt: str
    reference: str
    calls: tuple[tuple[object, ...], ...]
    base: int
    atol: float = 0.0

    @property
    def names(self) -> tuple[str, ...]:
        """See `shapes.CheckTests.names`."""
        return (self.entry_point,)


class ReferenceFailed(Exception):
    """The row's own solution returned no value for some input."""


def expected_values(tests: ReferenceTests, outcome: Outcome) -> list[object]:
    """The reference's value for each call. Raises ReferenceFailed."""
    try:
        replies = [parse_body(body) for body in bodies_of(outcome.channel)]
        values = [decode(reply["value"]) for reply in replies if "value" in reply]
    except (BadReply, RecursionError) as error:
        raise ReferenceFailed(f"the reference's values can't be read: {error}") from None
    if len(values) != len(tests.calls):
        raise ReferenceFailed(f"the reference gave {len(values)} values for {len(tests.calls)} inputs")
    return values


def equal_to_reference(tests: ReferenceTests, index: int, got: object, expected: object) -> bool:
    """EvalPlus's rule for one value."""
    name = tests.entry_point
    if name == "find_zero":  # any root of the polynomial will do
        return _is_root(tests.calls[index], got, tests.atol or 1e-4)
    if name in _AS_SETS and isinstance(got, list | tuple | set) and isinstance(expected, list | tuple | set):
        return _same_sets(got, expected)
    if name in _AS_PRESENCE and not isinstance(got, bool):
        return expected == (got is not None)
    if got == expected:
        return True
    atol = tests.atol or (ABSOLUTE_FOR_FLOATS if _is_floats(expected) else 0.0)
    return atol > 0 and type(got) is type(expected) and _close(got, expected, atol)


def _same_sets(got: Sequence[object] | set[object], expected: Sequence[object] | set[object]) -> bool:
    try:
        return set(got) == set(expected)
    except TypeError:  # a list inside can't be in a set
        return False


def _is_root(call: tuple[object, ...], got: object, atol: float) -> bool:
    coefficients = call[0] if call else None
    if isinstance(got, bool) or not isinstance(got, int | float) or not isinstance(coefficients, list):
        return False
    try:
        value = sum(float(c) * float(got) ** power for power, c in enumerate(coefficients))
    except (OverflowError, TypeError, ValueError):
        return False
    return abs(value) <= atol


def _is_floats(value: object) -> bool:
    if isinstance(value, list | tuple):
        return bool(value) and all(isinstance(item, float) for item in value)
    return isinstance(value, float)


def _close(got: object, expected: object, atol: float) -> bool:
    """numpy.allclose(got, expected, rtol=1e-7, atol), NaN equal to nothing, over lists of one shape."""
    if isinstance(got, list | tuple) and isinstance(expected, list | tuple):
        return len(got) == len(expected) and all(
            _close(mine, theirs, atol) for mine, theirs in zip(got, expected, strict=True)
        )
    if not isinstance(got, int | float) or not isinstance(expected, int | float):
        return False
    try:
        mine, theirs = float(got), float(expected)
    except OverflowError:
        return got == expected
    if math.isinf(mine) or math.isinf(theirs):
        return mine == theirs
    return abs(mine - theirs) <= atol + RELATIVE * abs(theirs)
