"""The outer shape of a normalised answer: a scalar, a list, a tuple, a set, a matrix; split in one pass over it.

Brackets of any kind around a matrix are one matrix; `vmatrix` and `Vmatrix` are a determinant and a norm: scalars.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Literal

from sandbox_gym.verifiers.math.expressions.quantities import merge_thousands
from sandbox_gym.verifiers.math.expressions.tex import ROW_END

Kind = Literal["scalar", "list", "tuple", "set", "matrix"]
MAX_ITEMS = 3_000
_MATRIX = re.compile(r"^\\begin\{((?:[pbB]|small)?matrix|array)\}(?:\{[clr| ]*\})?(.*)\\end\{\1\}$", re.DOTALL)
_CASES = re.compile(r"^(?:\\\{ ?\\begin\{array\} ?\{[clr| ]*\}|\\begin\{cases\})(.*)\\end\{(?:cases|array)\}$")
_CONDITION = re.compile(r"^,|,(?= ?&)|‹[, ]*(?:if|for|when)? ?,?›|[,. ]+$")
_TRANSPOSED = re.compile(r"(?<=[)\]}]) ?\^ ?\{? ?(?:T|‹T›|\\top|\\intercal) ?\}?$")
_NAME = r"(?:\\?[A-Za-z]+'*(?:_(?:\{[^{}]{1,20}\}|[A-Za-z0-9]))?|\|[A-Z]{2}\|)"
_VALUE = r"[fghFGHPQ]'{0,3} ?\( ?-? ?(?:[0-9]{1,9}(?:[./][0-9]{1,9})?|\\frac ?\{?[0-9]{1,3}\}? ?\{?[0-9]{1,3}\}?) ?\)"
_PROBABILITY = r"(?:‹?(?:P|Pr|E|Var|Cov|SD)›?|\\Pr|\\mathbb\{[PE]\}) ?(?:\([^()=]{1,60}\)|\[[^\[\]=]{1,60}\])"
_WORDS = r"‹(?![^›]*\b(?:not|never|less|more|greater|wrong|or)\b) ?[A-Za-z][A-Za-z ]{0,30} ?›"
_MARKED = r"m?\\(?:angle|overline|vec|hat|bar|widehat|nabla) ?\{? ?[A-Za-z]{1,3} ?\}?|\\sigma ?\^ ?\{?2\}?"
_QUOTIENT = r"\\frac\{ ?(?:\\partial ?)?[A-Za-z]{1,3} ?\}\{ ?(?:\\partial ?)?[A-Za-z]{1,3} ?\}"
_ASSIGNED = re.compile(
    rf"^({_NAME}(?:\({_NAME}(?:,\s?{_NAME}){{0,5}}\))?|\({_NAME}(?:,\s?{_NAME}){{1,8}}\)|{_VALUE}|{_QUOTIENT}|{_PROBABILITY}|"
    rf"{_WORDS}|{_MARKED})\s?(?:=|\\approx|\\in)\s?(.+)$",
    re.DOTALL,
)
_MARKS = re.compile(
    r"\\(?:overline(?!\{?[a-z]\}?$)|vec|hat|widehat|mathbb)(?![A-Za-z])|[‹›]|\\(?=Pr)|(?<=P)r(?=[(\[])|[{}|]"
)
_INDEX = re.compile(r"^([a-z])\((n)\)$")
_BUILDER = re.compile(r"\\mid|\\vert|\||:|\\in\b|\\dots|\\cdots|\\ldots|\.\.\.")
_WORDS_BETWEEN = re.compile(r"\s*,?\s*(?:‹\s*,?\s*(?:and|or)\s*,?\s*›|\b(?:and|or)\b)\s*")
_NOUN_AND = re.compile(r"‹([^‹›]{0,40}?),? ?\band\b ?([^‹›]{0,40})›(?= ?[-0-9\\$(=])")
"""`12 \\text{ boys and } 15 \\text{ girls}`."""


@dataclass(frozen=True, slots=True)
class Shape:
    """`brackets` are the two outer ones of a tuple, empty for other kinds. A matrix has its rows' cells in `rows`."""

    kind: Kind
    items: tuple[str, ...] = ()
    brackets: str = ""
    rows: tuple[tuple[str, ...], ...] = ()


def shape_of(text: str) -> Shape:
    """The shape of a normalised text whose left side, if it had one, is gone."""
    text = text.strip()
    if (
        "^" in text[-12:]
        and (turned := _TRANSPOSED.search(text))
        and (shape := shape_of(text[: turned.start()])).kind == "tuple"
    ):
        return replace(shape, brackets="()")
    if (cases := _CASES.match(text)) and all(row.count("&") == 1 for row in _rows(cases[1])):
        rows = (",".join(_CONDITION.sub("", part.strip()) for part in row.split("&")) for row in _rows(cases[1]))
        return Shape("set", tuple(f"({row})" for row in rows))
    matrix = _MATRIX.match(_inside_brackets(text))
    if matrix:
        return _matrix(matrix.group(2))
    if text.startswith("\\{") and text.endswith("\\}") and _one_group(text):
        inner = text[2:-2]
        if _BUILDER.search(inner):
            return Shape("scalar", (text,))  # a set by its rule
        return Shape("set", _items(inner))
    for opening, closing in (("\\langle", "\\rangle"), ("(", ")"), ("(", "]"), ("[", ")"), ("[", "]")):
        if text.startswith(opening) and text.endswith(closing) and _one_group(text):
            items = _items(text[len(opening) : -len(closing)], words=False)
            if len(items) > 1:
                return Shape("tuple", items, "()" if "angle" in opening else opening + closing)
    if text.startswith("{") and text.endswith("}") and _one_group(text):
        return shape_of(text[1:-1]) if len(_items(text[1:-1])) > 1 else Shape("scalar", (text[1:-1],))
    items = _items(text)
    return Shape("list", items) if len(items) > 1 else Shape("scalar", (text,))


def assigned(text: str) -> tuple[str, str]:
    """The name on the left of a single `=`, `≈` or `∈` and what it equals; `("", text)` where there is none.

    Of a chain `x = 5 + 2 = 7` it is the first name and the last value, as mathematicians read it.
    """
    text = text.strip()
    found = _ASSIGNED.match(text) if len(text) < 5000 else None
    if not found:
        return "", text
    name, rest = re.sub(r"\s", "", found.group(1)), found.group(2).strip()
    parts = split_top(rest, "=")
    if "or" in rest and any(sign in rest for sign in ("<", ">", "\\le", "\\ge")):
        return "", text  # x = 1 or x > 2
    if len(parts) > 1:
        if "," in rest or ";" in rest or _WORDS_BETWEEN.search(rest) or any(not part.strip() for part in parts):
            return "", text
        rest = parts[-1].strip()
    return "" if name.startswith("‹") and "(" not in name else _INDEX.sub(r"\1_\2", _plain_name(name)), rest


def _plain_name(name: str) -> str:
    return _MARKS.sub("", name).replace("[", "(").replace("]", ")")


def split_top(text: str, separators: str) -> list[str]:
    """The parts between separators that stand outside every bracket. Linear."""
    parts: list[str] = []
    depth, start = 0, 0
    for index, c in enumerate(text):
        if c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif depth == 0 and c in separators:
            parts.append(text[start:index])
            start = index + 1
    return [*parts, text[start:]]


def _items(text: str, words: bool = True) -> tuple[str, ...]:
    if words:
        text = merge_thousands(_WORDS_BETWEEN.sub(", ", _NOUN_AND.sub(_parted, text)))
    parts = split_top(text, ";")
    if len(parts) == 1:
        parts = split_top(text, ",")
    return tuple(part.strip() for part in parts[: MAX_ITEMS + 1])


def _parted(found: re.Match[str]) -> str:
    before, after = (f"‹{words}›" if words else "" for words in found.groups())
    return f"{before}, {after}" if before or after else found.group()


def _matrix(body: str) -> Shape:
    """A matrix; a single row or column is a tuple of its entries."""
    rows = tuple(tuple(cell.strip() for cell in row.split("&")) for row in _rows(body))
    if len(rows) == 1 or all(len(row) == 1 for row in rows):
        items = tuple(cell for row in rows for cell in row)
        return Shape("tuple", items, "()") if len(items) > 1 else Shape("scalar", items)
    return Shape("matrix", rows=rows)


def _rows(body: str) -> list[str]:
    return body.strip().strip(ROW_END).split(ROW_END)


def _inside_brackets(text: str) -> str:
    """`[\\begin{array}..\\end{array}]` and `(\\begin{..}..)` without the brackets around."""
    if text[:1] in ("(", "[") and text[1:].lstrip().startswith("\\begin") and text[-1:] in (")", "]"):
        return text[1:-1].strip()
    return text


def _one_group(text: str) -> bool:
    """Whether the bracket that opens the text closes at its very end."""
    if text.startswith("\\langle"):
        return text.find("\\rangle") == len(text) - len("\\rangle") and "\\langle" not in text[1:]
    depth = 0
    for index, c in enumerate(text):
        depth += (c in "([{") - (c in ")]}")
        if depth == 0 and c in ")]}":
            return index == len(text) - 1
    return False
