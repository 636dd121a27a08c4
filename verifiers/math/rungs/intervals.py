"""Intervals, unions of them, and the relations that mean the same: `0 \\le x < 1`, `x < 1 or x > 2`, `x \\ne 3`."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from itertools import pairwise

from sandbox_gym.verifiers.math.expressions.evaluate import try_evaluate
from sandbox_gym.verifiers.math.expressions.shapes import split_top
from sandbox_gym.verifiers.math.expressions.tex import squeezed
from sandbox_gym.verifiers.math.expressions.values import approximate, as_fraction, variables
from sandbox_gym.verifiers.math.options import Decision, MathOptions

_OPERATORS = re.compile(r"\\le(?![A-Za-z])|\\ge(?![A-Za-z])|\\ne(?![A-Za-z])|<|>")
_OR = re.compile(r"‹\s*or\s*›|\bor\b|\\cup|\\vee|\\lor")
_AND = re.compile(r"‹\s*and\s*›|\band\b|\\wedge|\\cap")
_NAME = re.compile(r"^\\?[A-Za-z]+(?:_\{?\w\}?)?(?:\([A-Za-z]\))?$")
_ABSOLUTE = re.compile(r"^\| ?(\\?[A-Za-z]+) ?\|$")
_IN = re.compile(r"^\\?[A-Za-z]+(?:_\{?\w\}?)?\s*\\in\s*")
_SET_BUILDER = re.compile(
    r"^(?:\\\{)?\s*\\?[A-Za-z]+\s*(?:\\in\s*\\mathbb\{?R\}?\s*)?(?:\||:|\\mid|\\vert)\s*(.+?)(?:\\\})?$"
)
_LINE = re.compile(r"^(?:\\?[A-Za-z]+ ?\\in ?)?\\mathbb ?\{?R\}? ?(?:[_^] ?\{? ?([-+]|(?:\\[gl]e|<|>) ?0) ?\}?)?$")
_ALL_BUT = re.compile(r"^\\mathbb\{R\} ?(?:\\setminus|\\backslash|-) ?\\\{(.{1,200})\\\}$")
_REAL = re.compile(r"^(?:\\?[A-Za-z]+ ?\\in ?)?\\mathbb\{R\} ?(?:,|‹ ?and ?›) ?(?=[a-z] ?\\ne(?![a-z]))")
_NEITHER = re.compile(r"^[a-z] ?\\ne ?([^<>=a-z\\]{1,60},[^<>=a-z\\]{1,60})$")
"""`x \\ne 0, 2`."""
_SINGLE = re.compile(r"^\\\{(?P<end>[^{},;=]{1,60})\\\}$")
_EQUAL = re.compile(r"^([a-z]) ?= ?(?P<end>[^=,;<>]{1,60})$")
_INFINITY = re.compile(r"^([-+]?)\s*(?:\\infty|\\infin|oo|inf|infinity|‹\s*inf(?:inity|ty)?\s*›)$")
_DECIMAL_COMMA = re.compile(r"^(\s*[-+]?[0-9]{1,30}),([0-9]{1,30}\s*)$")
_OUTWARD = re.compile(r"(?P<low>[\]\[(])(?P<inner>[^\[\]()<>=]{3,200})(?P<high>[\]\[)])")
_MOST_PIECES = 40
_FLIPPED = {"<": ">", ">": "<", "\\le": "\\ge", "\\ge": "\\le", "\\ne": "\\ne"}


@dataclass(frozen=True, slots=True)
class Piece:
    """One interval; its ends are canonical keys (`-inf`, `+inf`, a value's own, or a text that is not exact)."""

    low: str
    low_closed: bool
    high: str
    high_closed: bool


_NOTHING = Piece("", False, "", False)


@dataclass(frozen=True, slots=True)
class Region:
    """`exact`: every end is a number known exactly. `relation`: it was written with < or >. `variable`: its name."""

    pieces: frozenset[Piece]
    exact: bool
    relation: bool
    variable: str = ""


def same_interval(gold: str, answer: str, options: MathOptions) -> Decision | None:
    first, second = _region(gold), _region(answer)
    if first is None or second is None:
        return None
    if second.relation and not first.relation and not options.relation_as_interval:
        return None
    if first.variable and second.variable and first.variable != second.variable:
        return None
    if first.pieces == second.pieces:
        return Decision(True, "interval", "the same ends, open and closed alike")
    if first.exact and second.exact and len(first.pieces) == len(second.pieces) == 1:
        [mine], [theirs] = first.pieces, second.pieces
        alike = (mine.low_closed, mine.high_closed) == (theirs.low_closed, theirs.high_closed)
        if alike and "." in gold + answer:
            return None  # decimals may round the ends: member by member
        return Decision(False, "interval", "other ends" if alike else "open where it should be closed")
    if first.exact and second.exact and _disjoint(first) and _disjoint(second) and "." not in gold + answer:
        return Decision(False, "interval", "different unions of intervals")
    return None


def _disjoint(region: Region) -> bool:
    """Whether the union's pieces neither overlap nor touch, so that it can be written in one way only."""
    numbered = sorted((_position(piece.low), _position(piece.high)) for piece in region.pieces)
    return all(before[1] < after[0] for before, after in pairwise(numbered))


def _position(key: str) -> tuple[int, float]:
    if key in ("-inf", "+inf"):
        return (1 if key == "+inf" else -1, 0.0)
    if key.startswith("exact "):
        return (0, float(key.split(" ", 2)[1]))
    top, _, bottom = key.partition("/")
    try:
        return (0, int(top, 16) / int(bottom, 16))
    except (ValueError, OverflowError):
        return (0, math.nan)  # no number, or too large: before nothing and behind nothing, so nothing is said


def without_outward_brackets(text: str) -> str:
    """`]0,1[` as `(0,1)`, where the text is European intervals and unions of them; for math-verify."""
    parts = _OR.split(text)
    found = [_OUTWARD.fullmatch(_IN.sub("", part.strip())) for part in parts]
    european = [each for each in found if each and (each["low"] == "]" or each["high"] == "[")]
    if not european or not all(found):
        return text
    return " \\cup ".join(
        f"{'[' if each['low'] == '[' else '('}{each['inner'].replace(';', ',')}{']' if each['high'] == ']' else ')'}"
        for each in found
        if each
    )


def is_region(text: str) -> bool:
    """Whether the text is an interval, a union of them or a relation."""
    return _region(text) is not None


def cover_the_line(conditions: list[str]) -> bool:
    """Whether each real number meets exactly one of these conditions on one variable."""
    found = [_region(condition) or _relation(condition) for condition in conditions]
    regions = [region for region in found if region is not None and region.exact]
    pieces = [piece for each in regions for piece in each.pieces]
    pieces.sort(key=lambda piece: (_position(piece.low), _position(piece.high)))
    if len(regions) < len(conditions) or len({region.variable for region in regions} - {""}) > 1 or not pieces:
        return False
    meet = all(one.high == other.low and one.high_closed != other.low_closed for one, other in pairwise(pieces))
    return meet and pieces[0].low == "-inf" and pieces[-1].high == "+inf"


def _region(text: str) -> Region | None:
    text = text.strip()
    if len(text) > 2000:
        return None
    builder = _SET_BUILDER.match(text)
    if builder:
        text = builder.group(1).strip()
    text = _REAL.sub("", text)
    if line := _LINE.match(text):
        return Region(frozenset({_part_of_line(line[1] or "")}), True, False)
    if others := _NEITHER.match(text):
        return _without(split_top(others[1], ","))
    if _OPERATORS.search(text):
        return _by_comma(text) if "," in text else _relation(text)
    text = _IN.sub("", text)
    if without := _ALL_BUT.match(text):
        return _without(split_top(without[1], ","))
    pieces: set[Piece] = set()
    exact = True
    for part in _OR.split(text):
        found = _interval(part.strip()) or _point(_SINGLE.match(part.strip()))
        if found is None:
            return None
        pieces.add(found[0])
        exact = exact and found[1]
    return Region(frozenset(pieces), exact, False) if any(piece.low != piece.high for piece in pieces) else None


def _part_of_line(sign: str) -> Piece:
    """The real numbers, or those of one sign, without 0 unless it says `\\ge` or `\\le`."""
    zero, closed = _end("0")[0], sign.startswith("\\")
    if not sign:
        return Piece("-inf", False, "+inf", False)
    if sign[0] in "+>" or "\\g" in sign:
        return Piece(zero, closed, "+inf", False)
    return Piece("-inf", False, zero, closed)


def _point(found: re.Match[str] | None) -> tuple[Piece, bool] | None:
    """`\\{2\\}` and `x = 2` as a part of a union."""
    if not found:
        return None
    end, exact = _end(found["end"])
    return Piece(end, True, end, True), exact


def _without(numbers: list[str]) -> Region | None:
    """All real numbers but these."""
    ends = sorted((_end(number) for number in numbers), key=lambda end: _position(end[0]))
    if not all(exact and "/" in key for key, exact in ends):
        return None
    keys = ["-inf", *(key for key, _ in ends), "+inf"]
    return Region(frozenset(Piece(low, False, high, False) for low, high in pairwise(keys)), True, False)


def _interval(text: str) -> tuple[Piece, bool] | None:
    """`[0,1)`, and as Europeans write it `[0,1[` and `[0;1[`."""
    if len(text) < 5 or text[0] not in "([]" or text[-1] not in ")][":
        return None
    inner = text[1:-1]
    ends = split_top(inner, ";") if ";" in inner else split_top(inner, ",")
    if len(ends) != 2 or not ends[0].strip() or not ends[1].strip():
        return None
    if ";" in inner:
        ends = [_DECIMAL_COMMA.sub(r"\1.\2", end) for end in ends]
    (low, sure), (high, certain) = _end(ends[0]), _end(ends[1])
    if sure and certain and _position(low) > _position(high):
        return None  # a list or a point
    return Piece(low, text[0] == "[", high, text[-1] == "]"), sure and certain


def _by_comma(text: str) -> Region | None:
    """`x \\ge 0, x < 1` is both; `x < 1, x > 2`, which nothing is, is one of them."""
    both, either = (_relation(f"{sign}".join(split_top(text, ","))) for sign in ("‹and›", "‹or›"))
    return both if both is None or both.pieces else either


def _relation(text: str) -> Region | None:
    pieces: set[Piece] = set()
    names: set[str] = set()
    exact = True
    for part in _OR.split(text):
        if (single := _EQUAL.match(part.strip())) and (point := _point(single)):
            pieces.add(point[0])
            names.add(single[1])
            exact = exact and point[1]
            continue
        found = _conjunction(part.strip().strip(","))
        if found is None:
            return None
        for piece in found.pieces:
            pieces.add(piece)
        names.add(found.variable)
        exact = exact and found.exact
    return Region(frozenset(pieces), exact, True, names.pop()) if len(names) == 1 else None


def _conjunction(text: str) -> Region | None:
    """`a < x`, `a < x \\le b` or `x \\ne a`, the name alone on its place."""
    if "=" in text or "," in text:
        return None
    if _AND.search(text):
        return _both([_conjunction(part.strip()) for part in _AND.split(text)])
    operators = _OPERATORS.findall(text)
    terms = [term.strip() for term in _OPERATORS.split(text)]
    if len(operators) == 1 and (absolute := _ABSOLUTE.match(terms[0])):
        return _within(absolute[1], operators[0], terms[1])
    if len(operators) == 1 and _NAME.match(terms[1]) and not _is_number(terms[1]):
        terms, operators = terms[::-1], [_FLIPPED[operators[0]]]
    if len(operators) == 1 and _NAME.match(terms[0]) and not _is_number(terms[0]):
        return _one_sided(terms[0], operators[0], terms[1])
    if len(operators) != 2 or not _NAME.match(terms[1]) or _is_number(terms[1]):
        return None
    if operators[0] in (">", "\\ge"):
        terms, operators = terms[::-1], [_FLIPPED[operator] for operator in operators[::-1]]
    if not set(operators) <= {"<", "\\le"}:
        return None
    (low, sure), (high, certain) = _end(terms[0]), _end(terms[2])
    piece = Piece(low, operators[0] == "\\le", high, operators[1] == "\\le")
    return Region(frozenset({piece}), sure and certain, True, squeezed(terms[1]))


def _both(regions: list[Region | None]) -> Region | None:
    """`x \\ge 2` and `x < 5` and `x \\ne 3`: what lies in each of them."""
    known = [region for region in regions if region is not None and region.exact]
    if len(known) != len(regions) or len({region.variable for region in known}) != 1:
        return None
    pieces = known[0].pieces
    for region in known[1:]:
        met = [_overlap(mine, other) for mine in pieces for other in region.pieces]
        if None in met or len(met) > _MOST_PIECES:
            return None
        pieces = frozenset(piece for piece in met if piece and piece != _NOTHING)
    return Region(pieces, True, True, known[0].variable)


def _overlap(one: Piece, other: Piece) -> Piece | None:
    """Where both are; None where the order of their ends is not known."""
    lows = sorted(((one.low, one.low_closed), (other.low, other.low_closed)), key=lambda end: _position(end[0]))
    highs = sorted(((one.high, one.high_closed), (other.high, other.high_closed)), key=lambda end: _position(end[0]))
    (low, low_closed), (high, high_closed) = lows[1], highs[0]
    if not all(_ordered(*pair) for pair in ((lows[0][0], low), (high, highs[1][0]), (low, high))):
        return None
    low_closed &= lows[0][1] or lows[0][0] != low
    high_closed &= highs[1][1] or highs[1][0] != high
    if _position(low) > _position(high) or (low == high and not (low_closed and high_closed)):
        return _NOTHING
    return Piece(low, low_closed, high, high_closed)


def _ordered(one: str, other: str) -> bool:
    """Whether they are one end, or so far apart that `_position` tells which comes first."""
    (side, first), (another, second) = _position(one), _position(other)
    return one == other or side != another or abs(first - second) > 1e-9 * max(abs(first), abs(second))


def _within(name: str, operator: str, end: str) -> Region | None:
    """`|x| \\le a` and `|x| > a`, with a positive number."""
    value = try_evaluate(end)
    number = approximate(value) if value is not None else None
    if number is None or number <= 0 or operator == "\\ne":
        return None
    (low, _), (high, _) = _end(f"-({end})"), _end(end)
    closed = operator in ("\\le", "\\ge")
    inside = {Piece(low, closed, high, closed)}
    outside = {Piece("-inf", False, low, closed), Piece(high, closed, "+inf", False)}
    return Region(frozenset(inside if operator in ("<", "\\le") else outside), True, True, name)


def _one_sided(name: str, operator: str, end: str) -> Region | None:
    if not end:
        return None
    key, exact = _end(end)
    below = Piece("-inf", False, key, operator == "\\le")
    above = Piece(key, operator == "\\ge", "+inf", False)
    pieces = {"<": {below}, "\\le": {below}, ">": {above}, "\\ge": {above}, "\\ne": {below, above}}[operator]
    return Region(frozenset(pieces), exact, True, squeezed(name))


def _end(text: str) -> tuple[str, bool]:
    """An end's canonical key, and whether it is exact."""
    text = text.strip()
    infinite = _INFINITY.match(text)
    if infinite:
        return ("-inf" if infinite.group(1) == "-" else "+inf"), True
    value = try_evaluate(text)
    if value is None or variables(value):
        return f"text {squeezed(text)}", False
    number = as_fraction(value)
    if number is not None:
        return f"{number.numerator:x}/{number.denominator:x}", True  # decimal digits are bounded by Python
    size = approximate(value)
    if size is None:
        return f"text {squeezed(text)}", False
    terms = sorted((repr(term), f"{part.numerator:x}/{part.denominator:x}") for term, part in value.items())
    return f"exact {size!r} {terms}", True


def _is_number(text: str) -> bool:
    value = try_evaluate(text)
    return bool(_INFINITY.match(text)) or (value is not None and not variables(value))
