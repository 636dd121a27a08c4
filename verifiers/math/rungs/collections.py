"""Lists, tuples, sets and matrices, compared member by member: in order where the order has a meaning, else in any
order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from sandbox_gym.verifiers.math.expressions.quantities import read_quantity
from sandbox_gym.verifiers.math.expressions.shapes import Shape, assigned, shape_of, split_top
from sandbox_gym.verifiers.math.expressions.tex import squeezed
from sandbox_gym.verifiers.math.expressions.values import variables
from sandbox_gym.verifiers.math.options import Decision
from sandbox_gym.verifiers.math.rungs.intervals import is_region

Compare = Callable[[str, str], bool | None]
NAME = "collection"
_ZEROS = re.compile(r",0[0-9]")
_MAX_PAIRS = 10_000
_DECIMAL_COMMA = 2
_LABEL = re.compile(r"‹([^‹›]*)›|(?<![\\A-Za-z])([A-Za-z]{3,})")
_IS = re.compile(r"^[ ,]+|(?:[ :,]|\b(?:is|are|equals|the))+$")
_RELATION = re.compile(r"[<>]|\\[gl]e(?![a-z])")
_LINK = re.compile(r"(?<![A-Za-z\\])(and|or)(?![A-Za-z])")
_POINT = re.compile(r"^([A-Z]'?(?:_\{?[0-9]\}?)?) ?=? ?(?=\([^()]*,)")
_PART = re.compile(r"(?<![,; ])[,; ]*+‹?[,; ]*+\(([a-f1-6])\) ?:? ?›? ?")
"""`(a) 5 (b) 7`, `(1) 5; (2) 7`."""
_RESPECTIVELY = re.compile(r",? ?‹? ?\brespectively\b ?›?")
_IN_ORDER = (["x", "y"], ["x", "y", "z"], ["a", "b"], ["a", "b", "c"], ["a", "b", "c", "d"])


def same_collection(gold: str, answer: str, compare: Compare) -> Decision | None:
    """`compare` decides a pair of members. Both texts are normalised and without their left side."""
    links = [set(_LINK.findall(text)) for text in (gold, answer)]
    said = gold + answer
    of_values = re.search("[0-9=]", said) and not all(_RELATION.search(text) for text in (gold, answer))
    if not links[0] & links[1] and all(links) and not of_values:
        return Decision(False, NAME, "`and` is not `or`")
    if "respectively" in gold + answer:
        first, second = (shape_of(_RESPECTIVELY.sub("", text)) for text in (gold, answer))
        return _ordered(first, second, compare) if min(len(first.items), len(second.items)) > 1 else None
    first, second = (_expanded(shape_of(text)) for text in _apart(gold, answer))
    first, second = _opened(first, second), _opened(second, first)
    kinds = {first.kind, second.kind}
    if kinds == {"scalar"}:
        return None
    if "scalar" in kinds:
        return _against_scalar(first, second, compare)
    if kinds == {"tuple", "set"}:
        return Decision(False, NAME, "a tuple is not a set")
    if "matrix" in kinds:
        return _matrices(_as_matrix(first), _as_matrix(second), compare)
    if "tuple" in kinds:
        return _ordered(first, second, compare)
    if kinds == {"set"}:
        compare = _with_sets_apart(compare)
        if len({sum(map(_is_set, shape.items)) for shape in (first, second)}) > 1:
            return Decision(False, NAME, "another number of sets as members")
    named = _by_name(first, second, compare)
    return named or _unordered(first, second, compare)


def _apart(gold: str, answer: str) -> tuple[str, str]:
    """Both, `120,240` as two numbers where the other side has as many members, or where both are sets."""
    keep = all(_has_names(text) for text in (gold, answer))
    texts = [_points(gold, keep), _points(answer, keep)]
    many = [len(shape_of(text).items) for text in texts]
    written = [text.count(",") + 1 for text in texts]
    sets = all(text.startswith("\\{") for text in texts)
    for own, other in ((0, 1), (1, 0)):
        tuple_like = texts[other].startswith(("(", "["))  # a point is no number with a separator
        if _ZEROS.search(texts[own]):
            continue  # 1,000,000
        if many[own] < written[own] == (written if sets else many)[other] and not tuple_like:
            texts[own] = texts[own].replace(",", ", ")
    return texts[0], texts[1]


def _has_names(text: str) -> bool:
    return all(_POINT.match(part.strip()) for part in split_top(text, ","))


def _points(text: str, keep: bool) -> str:
    """`x=1, y=2 or x=3, y=4` as `(1,2), (3,4)`, and `A(1,2), B(3,4)` without the points' names, if not both have
    them."""
    labels = _PART.split(text)
    counted = labels[1] in "abcdef" or labels[1::2] == list("123456"[: len(labels) // 2]) if labels[1:] else False
    if len(labels) > 4 and not labels[0] and all(labels[2::2]) and counted:
        return ", ".join(f"‹{label}›={value}" for label, value in zip(labels[1::2], labels[2::2], strict=True))
    parts = [part.strip(" ,") for part in re.split(r"‹ ?,? ?or ?,? ?›|;", text)]
    systems = [shape_of(part) for part in parts]
    named = [sorted(map(assigned, system.items)) for system in systems]
    if len(parts) > 1 and all([name for name, _ in names] in _IN_ORDER for names in named):
        return ", ".join(f"({','.join(value for _, value in names)})" for names in named)
    points = [_POINT.sub(r"\1=" if keep else "", part.strip()) for part in split_top(text, ",")]
    return ", ".join(points) if len(points) > 1 and all(point.startswith("(") or keep for point in points) else text


def _with_sets_apart(compare: Compare) -> Compare:
    """A set as a member is no number: the library takes `\\{1, \\{2\\}\\}` for `\\{1, 2\\}`."""
    return lambda mine, theirs: compare(mine, theirs) if _is_set(mine) == _is_set(theirs) else False


def _is_set(text: str) -> bool:
    return text.startswith("\\{") and shape_of(text).kind == "set"


def _opened(shape: Shape, other: Shape) -> Shape:
    """The one point of a set, where the other side is a point."""
    point = shape_of(shape.items[0]) if shape.kind == "set" and len(shape.items) == 1 else shape
    return point if point.kind == other.kind == "tuple" else shape


def _expanded(shape: Shape) -> Shape:
    """A list or set with each `±` written as two members."""
    if shape.kind not in ("scalar", "list", "set") or sum("\\pm" in item for item in shape.items) == 0:
        return shape
    items: list[str] = []
    for item in shape.items:
        one = item.count("\\pm") == 1
        items += [item.replace("\\pm", "+").lstrip("+ "), item.replace("\\pm", "-")] if one else [item]
    return Shape("list" if shape.kind == "scalar" and len(items) > 1 else shape.kind, tuple(items))


def _against_scalar(first: Shape, second: Shape, compare: Compare) -> Decision | None:
    """Several numbers are not one. `1,22` may be a decimal, and words may have been split: those settle nothing."""
    many, one = (second, first) if first.kind == "scalar" else (first, second)
    if many.kind == "matrix" or len(many.items) < 2:
        return None
    spelled = many is second and many.kind == "list" and len(set(map(squeezed, many.items))) == len(many.items)
    if spelled and all(compare(one.items[0], item) and compare(many.items[0], item) for item in many.items):
        return Decision(True, NAME, "the same value in several spellings")
    if _plain_number(one.items[0]) is None or any(_plain_number(item) is None for item in many.items):
        return None
    if many.kind == "list" and len(many.items) == _DECIMAL_COMMA and "." in one.items[0]:
        return None
    return Decision(False, NAME, "several values against one")


def _ordered(first: Shape, second: Shape, compare: Compare) -> Decision | None:
    mine, theirs = _members(first), _members(second)
    if (
        second.kind == "list"
        and set("[]") & set(first.brackets)
        and len(mine) == 2
        and is_region(",".join(mine).join(first.brackets))
    ):
        return Decision(False, NAME, "an interval's ends are not the interval")
    if len(mine) != len(theirs):
        return Decision(False, NAME, "another number of members") if _flat(first) and _flat(second) else None
    brackets = {shape.brackets for shape in (first, second)} - {""}
    if len(brackets) > 1 and len(mine) == 2:
        return None  # intervals are compared before
    return _all_members([compare(a, b) for a, b in zip(mine, theirs, strict=True)], "the same members in order")


def _as_matrix(shape: Shape) -> Shape:
    """`[[1,2],[3,4]]` as the matrix of these rows."""
    rows = [shape_of(item) for item in shape.items if item.startswith("[")]
    if shape.brackets != "[]" or len(rows) != len(shape.items) or any(row.brackets != "[]" for row in rows):
        return shape
    return Shape("matrix", rows=tuple(row.items for row in rows))


def _matrices(first: Shape, second: Shape, compare: Compare) -> Decision | None:
    if first.kind != second.kind:
        return None
    if [len(row) for row in first.rows] != [len(row) for row in second.rows]:
        return Decision(False, NAME, "matrices of other sizes")
    pairs = [
        (a, b) for mine, theirs in zip(first.rows, second.rows, strict=True) for a, b in zip(mine, theirs, strict=True)
    ]
    return _all_members([compare(a, b) for a, b in pairs], "the same entries")


def _all_members(found: list[bool | None], why: str) -> Decision | None:
    if any(equal is False for equal in found):
        return Decision(False, NAME, "a member differs")
    return Decision(True, NAME, why) if all(found) else None


def _by_name(first: Shape, second: Shape, compare: Compare) -> Decision | None:
    """`x=1, y=2`: by name where both are named, in the gold's order where one side is. Equal names are a plain list."""
    mine = [_labelled(item) for item in first.items]
    theirs = [_labelled(item) for item in second.items]
    names, others = [name for name, _ in mine], [name for name, _ in theirs]
    distinct = [len(set(group)) == len(group) and all(group) for group in (names, others)]
    if all(names + others) and [len({name.partition("_")[0] for name in each}) for each in (names, others)] == [1, 2]:
        return Decision(False, NAME, "the values of two names, not of one")
    if all(distinct) and len(names) > 1:
        if set(names) != set(others):
            return None
        values = dict(theirs)
        keys = [(_key(value), _key(values[name])) for name, value in mine]
        if Counter(key for key, _ in keys) == Counter(key for _, key in keys):  # each of its own name, or swapped
            return _all_members([key == other for key, other in keys], "the same values by name")
        return _all_members([compare(value, values[name]) for name, value in mine], "the same values by name")
    if len(names) != len(others) or not ((distinct[0] and not any(others)) or (distinct[1] and not any(names))):
        return None
    if len(names) < 2 or len({name.partition("_")[0] for name in (*names, *others) if name}) == 1:
        return None  # x_1 and x_2 are roots of one equation, in any order
    pairs = zip([value for _, value in mine], [value for _, value in theirs], strict=True)
    return _all_members([compare(a, b) for a, b in pairs], "the same values in order")


def _labelled(item: str) -> tuple[str, str]:
    """What a member names and its value: `\\sin x=1`, `\\text{max: }5`, `12 boys`; an empty name where it has none."""
    name, value = assigned(item)
    sides = split_top(item, "=")
    if name or len(sides) == 2:
        return (name, value) if name else (squeezed(sides[0]), sides[1].strip())
    words = " ".join(found[1] or found[2] for found in _LABEL.finditer(item))
    words = _IS.sub("", words[:80].lower())
    rest = _LABEL.sub(" ", item).strip(" :")
    return (words, rest) if words and any(c.isdigit() for c in rest) else ("", item)


def _unordered(first: Shape, second: Shape, compare: Compare) -> Decision | None:
    """Lists of numbers are equal with each member's multiplicity; a set's member may be written twice."""
    mine, theirs = _each(first), _each(second)
    keys, others = [_key(item) for item in mine], [_key(item) for item in theirs]
    if Counter(keys) == Counter(others):
        return Decision(True, NAME, "the same members")
    exact = all(key.startswith("=") for key in (*keys, *others))
    decimals = any("." in item for item in (*mine, *theirs))
    if exact and not decimals:
        return Decision(False, NAME, "other members")
    if len(mine) != len(theirs) or len(mine) * len(theirs) > _MAX_PAIRS:
        return None
    return _matched(mine, theirs, compare)


def _each(shape: Shape) -> list[str]:
    """The members; those of a set once, and points (tuples) once: a number may be a double root, a point may not."""
    points = all(item.startswith(("(", "[", "\\langle")) and shape_of(item).kind == "tuple" for item in shape.items)
    once = shape.kind == "set" or points
    return list({_key(item): item for item in shape.items}.values()) if once else list(shape.items)


def other_multiplicity(gold: str, answer: str) -> Decision | None:
    """Lists of another length, or with a member written more often: math-verify takes every list for a set."""
    first, second = _expanded(shape_of(gold)), _expanded(shape_of(answer))
    lists = [shape for shape in (first, second) if shape.kind == "list" and len(shape.items) > 1]
    mine, theirs = (Counter(map(_key, _each(shape))) for shape in (first, second))
    if len(lists) == 2 and mine.total() != theirs.total():
        return Decision(False, NAME, "another number of members")
    alike = {first.kind, second.kind} <= {"list", "set", "scalar"}
    repeated = any(count != theirs[key] for key, count in mine.items() if count > 1)
    repeated = repeated or any(count != mine[key] for key, count in theirs.items() if count > 1)
    return Decision(False, NAME, "a member more or less often") if lists and alike and repeated else None


def _matched(mine: list[str], theirs: list[str], compare: Compare) -> Decision | None:
    """Whether each member has an equal on the other side; False where one surely has none."""
    left = list(theirs)
    for item in mine:
        found = [compare(item, other) for other in left]
        if True in found:
            left.pop(found.index(True))
        elif all(equal is False for equal in (compare(item, other) for other in theirs)):
            return Decision(False, NAME, "a member is on one side only")
        else:
            return None
    return Decision(True, NAME, "the same members")


def _members(shape: Shape) -> list[str]:
    """The members; of a list that is compared with a tuple by name (`y=2, x=1`) in the order of the names."""
    if shape.kind != "list":
        return list(shape.items)
    named = [assigned(item) for item in shape.items]
    names = sorted(name for name, _ in named)
    return [value for _, value in (sorted(named) if names in _IN_ORDER else named)]


def _flat(shape: Shape) -> bool:
    return all(_plain_number(assigned(item)[1]) is not None for item in shape.items)


def _plain_number(text: str) -> str | None:
    """A canonical key where the member is a number without words, units or variables."""
    found = read_quantity(assigned(text)[1])
    if found is None or variables(found.value) or found.kind.noun:
        return None
    return _key(text)


def _key(text: str) -> str:
    """A member's canonical key; it starts with `=` where the member is an exact number."""
    value = assigned(text)[1]
    found = read_quantity(value)
    if found is None or not found.kind.bare or variables(found.value):
        return f"text {squeezed(value)}"
    terms = sorted((repr(term), f"{part.numerator:x}/{part.denominator:x}") for term, part in found.value.items())
    return f"={terms}"
