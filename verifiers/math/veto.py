"""Denies equalities that math-verify claims wrongly: it drops units and bases, takes sets for tuples and products for
names, and rounds differences below 10⁻¹⁵ to nothing.
"""

from __future__ import annotations

import re

from sandbox_gym.verifiers.math.expressions.kinds import relation
from sandbox_gym.verifiers.math.expressions.quantities import read_parts, read_quantity
from sandbox_gym.verifiers.math.expressions.shapes import assigned, shape_of
from sandbox_gym.verifiers.math.expressions.tex import normalise
from sandbox_gym.verifiers.math.expressions.values import variables
from sandbox_gym.verifiers.math.options import Decision, MathOptions
from sandbox_gym.verifiers.math.rungs.bases import has_base, same_based, same_residue
from sandbox_gym.verifiers.math.rungs.collections import other_multiplicity
from sandbox_gym.verifiers.math.rungs.equations import false_equation, paired
from sandbox_gym.verifiers.math.rungs.intervals import is_region, without_outward_brackets
from sandbox_gym.verifiers.math.rungs.numbers import same_number
from sandbox_gym.verifiers.math.rungs.piecewise import of_one_value
from sandbox_gym.verifiers.math.rungs.texts import same_points

_HEDGES = re.compile(
    r"\b(?:not|isn't|wrong|incorrect|false|never|except|unless|neither|maybe|perhaps|squared|cubed|factorial(?! ?\()"
    r"|permutations?|cyclic|or (?!so\b)[a-z]{2,20}|or [0-9]+)\b"
    r"|\b(?:(?:less|more|greater|fewer) than|at (?:least|most))\b"
    r"|\b(?:if(?! and only)|when|else|otherwise)\b|(?<=[a-z0-9)}])'(?=[^=]*$)"
    r"|^ ?(?:\\[gl]e(?![a-z])|[<>])|\\(?:not|neg|lnot)(?![a-z])"
)
_DOTS = r"(?:\\[lc]?dots|\.\.\.|…)"
_GOES_ON = re.compile(rf"[,;] ?{_DOTS}|(?<![0-9.])[0-9]{{1,40}} ?{_DOTS}$")
_MORE = re.compile(
    r"\b(?:permutations?|cyclic|or (?:more|less|fewer|greater)|at (?:least|most)|(?:less|more|greater|fewer) than)\b"
    r"|\bif\b.*\b(?:if|else|otherwise)\b|\bfor\b[^0-9]*+[0-9].*\bfor\b"
)
"""What a gold says besides a value, and no answer may leave out."""
_NEGATED = re.compile(r"(?:^|[,;›]) ?- ?\\?[A-Za-z]+(?:_\{?\w\}?)?(?: ?\([^()=]{1,20}\))? ?=")
_GROUP = r"\{-?[^{}]{1,20}\}"
_MULTIPLE = re.compile(
    rf"-? ?(?:[0-9]{{1,20}}|\\frac ?(?:[0-9]{{2}}|{_GROUP}{_GROUP})|\\sqrt ?(?:[0-9]|{_GROUP})|[A-Za-z])? ?\*? ?"
    r"[(\[]?\\begin\{(?:[pbB]|small)?matrix\}"
)
"""A number times a matrix, which is a matrix; a determinant is none."""
_FRACTIONAL = re.compile(r"\\\{ ?[0-9]{0,9} ?n? ?[a-df-hj-z] ?\\\}$")
"""`\\{x\\}`, which the library takes for x."""
_NUMBER_BEHIND_WORDS = re.compile(
    r"[0-9]\s*‹\s*(?!and\b|or\b)[A-Za-z]{2}[^‹›]{0,40}›\s*[0-9]"
    r"|[0-9A-Za-z)}\]]\s*‹\s*(?!(?:and|or|where|for|if|when|with|such|in|by|to|per|of|times|over|on|is|at|from)\b)"
    r"[^\W\d_]{2}[^‹›]{0,40}›\s*(?:[0-9]|\\(?:[cdt]?frac|sqrt|pi|binom|\{))"
)
_VARIABLE = re.compile(r"‹[^‹›]*›|(\\[A-Za-z]+)|[A-Za-z][a-z]{3,}|([A-Za-z])")
_PARTIAL = re.compile(r"\\partial ?(?:\^ ?\{?[0-9]\}? ?)?\{?(\\?[A-Za-z]+)")
_DERIVED = re.compile(r"(?<=[A-Za-z])'")
_IS_ZERO = re.compile(r"^[^<>=]{1,200}= ?0$")
_INDEX = re.compile(r"\\(?:sum|prod) ?_ ?\{? ?([a-z]) ?=")
_NUMBERS = re.compile(r"[0-9]+(?:\.[0-9]+)?")


def veto(gold: str, answer: str, options: MathOptions | None = None) -> Decision | None:
    """A Decision that the two differ although math-verify called them equal; None where its result stands."""
    options = options or MathOptions()
    first, second = paired(normalise(gold), normalise(answer))
    (left, mine), (right, theirs) = assigned(first), assigned(second)
    if left and right and left != right:
        mine, theirs = first, second  # m = n is n = m
    numbers = same_number(mine, theirs, options)
    for found in (
        same_points(first, second),
        of_one_value(first, second),
        false_equation(first, second),
        same_based(mine, theirs, options),
        same_residue(first, second),
        numbers or _other_quantity(mine, theirs),
        _other_shape(mine, theirs),
        _no_equation(first, second),
        _a_set(mine, theirs),
        other_multiplicity(mine, theirs),
        _index_dropped(first, second),
        _base_dropped(mine, theirs),
        _hedged(mine, theirs),
        _other_numbers(mine, theirs),
        _other_variables(mine, theirs) if options.strict_variables else None,
        _other_case(*((first, second) if "=" in theirs else (mine, theirs))) if options.strict_variables else None,
    ):
        if found is not None and not found.equal:
            return found
    return None


def _other_quantity(gold: str, answer: str) -> Decision | None:
    """Kinds of numbers that only the library could read: equal numbers of different units are not equal."""
    first, second = read_parts(gold), read_parts(answer)
    if first is None or second is None:
        return None
    how = relation(first.kind, second.kind)
    one, other = first.kind.unit, second.kind.unit
    turned = how == "turned" and not (first.kind.bare or second.kind.bare)
    if (
        first.scale != second.scale
        or how == "never"
        or turned
        or (how == "converted" and one and other and one != other)
    ):
        return Decision(False, "units", "different kinds of quantity")
    return None


def _other_shape(gold: str, answer: str) -> Decision | None:
    shapes = [shape_of(without_outward_brackets(text)) for text in (gold, answer)]
    kinds = {shape.kind for shape in shapes}
    if kinds == {"list", "set"} and len({any("\\{" in item for item in shape.items) for shape in shapes}) > 1:
        return Decision(False, "collection", "several sets are not one of their members")
    if kinds == {"tuple", "set"}:
        return Decision(False, "collection", "a tuple is not a set")
    if kinds == {"scalar", "set"} and any(map(_FRACTIONAL.match, (gold, answer))):
        return Decision(False, "collection", "a fractional part")
    if len(kinds) > 1 and ("vmatrix}" in gold or "vmatrix}" in answer):
        return Decision(False, "collection", "a determinant is a number")
    if kinds != {"matrix", "scalar"} or "\\begin{" not in gold + answer:
        return None
    multiple = _MULTIPLE.match(gold) or _MULTIPLE.match(answer)
    return None if multiple else Decision(False, "collection", "a matrix is no number")


def _no_equation(gold: str, answer: str) -> Decision | None:
    """The library takes `y' + y = 0` for its right side, `f'(x) = 2x` for `f(x) = 2x`, and `-y = 2` for 2."""
    if _NEGATED.search(answer) and not _NEGATED.search(gold):
        return Decision(False, "equation", "the negative of what is asked for")
    if any(name in gold + answer for name in ("\\gcd", "\\lcm")) and len(set(map(_letters, (gold, answer)))) > 1:
        return Decision(False, "number", "the divisors of other numbers")
    names = [assigned(text)[0] for text in (gold, answer)]
    if len({tuple(sorted(_PARTIAL.findall(assigned(text)[1]))) for text in (gold, answer)}) > 1:
        return Decision(False, "equation", "another derivative")
    if all(names) and names[0].count("'") != names[1].count("'"):
        return Decision(False, "equation", "another derivative")
    if _IS_ZERO.search(gold) and "=" not in answer and not assigned(gold)[0]:
        return Decision(False, "equation", "an equation's roots are not the equation")
    if _DERIVED.search(gold) and "=" in gold and "=" not in answer and not assigned(gold)[0]:
        return Decision(False, "equation", "no differential equation")
    return None


def _a_set(gold: str, answer: str) -> Decision | None:
    """The library takes `\\{2, 3\\}` for what lies between 2 and 3."""
    regions = [is_region(text) for text in (gold, answer)]
    other = answer if regions[0] else gold
    if regions[0] != regions[1] and shape_of(other).kind in ("set", "list"):
        return Decision(False, "interval", "an interval is no set of numbers")
    return None


def _index_dropped(gold: str, answer: str) -> Decision | None:
    """The library takes `\\alpha_k` in a sum over k for one number, and the sum for n times that."""
    if "\\sum" in answer or "\\prod" in answer:
        return None
    for name in _INDEX.findall(gold):
        if re.search(rf"_ ?(?:{name}(?![a-z])|\{{[^{{}}=]{{0,20}}{name}[^{{}}=]{{0,20}}\}})", gold):
            return Decision(False, "number", "what changes with the sum's index is no one number")
    return None


def _base_dropped(gold: str, answer: str) -> Decision | None:
    """A numeral in a base against a number that is not its digits."""
    if has_base(gold) != has_base(answer) and not gold.strip("()").startswith(answer.strip("()")):
        return Decision(False, "base", "a base on one side only")
    return None


def _hedged(gold: str, answer: str) -> Decision | None:
    """What the library drops: `\\text{not } 4` is not 4, `4 \\text{ or more}` means more than 4, `A'` is no `A`, and
    `\\{1,2,\\ldots\\}` goes on."""
    if bool(_GOES_ON.search(gold)) != bool(_GOES_ON.search(answer)):
        return Decision(False, "words", "one of them goes on")
    added = set(_HEDGES.findall(answer.lower())) - set(_HEDGES.findall(gold.lower()))
    if not added and _MORE.search(gold.lower()) and not _MORE.search(answer.lower()):
        return Decision(False, "words", "the expected answer says more")
    if "," in gold:
        added = {word for word in added if not word.startswith("or ") or word[3:].isalpha()}
    return Decision(False, "words", f"the answer adds {', '.join(sorted(added))!r}") if added else None


def _other_numbers(gold: str, answer: str) -> Decision | None:
    """Numbers behind words: the library drops what follows the first unit, as in `5 feet 7 inches`."""
    if not (_NUMBER_BEHIND_WORDS.search(gold) or _NUMBER_BEHIND_WORDS.search(answer)):
        return None
    mine, theirs = (sorted(_NUMBERS.findall(text)) for text in (gold, answer))
    return Decision(False, "words", "other numbers behind the words") if mine != theirs else None


def _other_variables(gold: str, answer: str) -> Decision | None:
    """`2j` is no `2i`: exact forms in other variables."""
    first, second = read_quantity(gold), read_quantity(answer)
    if first is None or second is None or first.has_point or second.has_point:
        return None
    cased = gold.strip().lower() == answer.strip().lower()  # the library takes E for e, and so may the asker
    if variables(first.value) != variables(second.value) and first.value != second.value and not cased:
        return Decision(False, "number", "other variables")
    return None


def _letters(text: str) -> frozenset[str]:
    """The variables, and commands that may be some."""
    return frozenset(found[0] for found in _VARIABLE.finditer(text) if found.lastindex) - {"\\gcd", "\\lcm"}


def _other_case(gold: str, answer: str) -> Decision | None:
    """The library reads every letter in lower case: `GM/r` is no `Gm/r`. One letter alone may be of either case."""
    first, second = (_letters(text) - {"C", "c"} for text in (gold, answer))
    lowered = [{name.lower(): name for name in names} for names in (first, second)]
    other = {name for name in first ^ second if all(name.lower() in names for names in lowered)}
    low, read = gold.lower(), [read_parts(text) for text in (gold, answer)]
    if gold.isalpha() and {gold, answer} <= {low, low.title(), low.upper()}:
        return None  # a word
    if not other or len(gold) == 1 or all(one and one.kind.unit for one in read):
        return None
    return Decision(False, "number", f"{', '.join(sorted(other))} in another case")
