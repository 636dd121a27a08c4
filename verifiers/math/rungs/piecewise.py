"""Piecewise functions: which of the answer's values stands for which of the gold's, by their conditions. The values are
compared elsewhere."""

from __future__ import annotations

import re
from typing import Final

from sandbox_gym.verifiers.math.expressions.shapes import split_top
from sandbox_gym.verifiers.math.expressions.tex import squeezed
from sandbox_gym.verifiers.math.options import Decision, MathOptions
from sandbox_gym.verifiers.math.rungs.intervals import cover_the_line, same_interval

_LONGEST: Final = 2_000
_MOST_ROWS: Final = 12
_CASES: Final = re.compile(
    r"^([^=&↵]{0,40}=)? ?(?:\\\{ ?\\begin\{array\} ?\{[clr| ]*\}|\\begin\{cases\})(.*)\\end\{(?:cases|array)\}$"
)
_IF: Final = r"(?:if|for|when|where|whenever|as)"
_IN_A_ROW: Final = re.compile(rf"^(.*[^\s,;‹]) ?,? ?(‹ ?,? ?(?:{_IF}\b|otherwise|else(?:where)?).*)$")
_LEAD: Final = re.compile(rf"^{_IF}\b ?")
_OTHERWISE: Final = re.compile(
    r"(?:otherwise|else|elsewhere|(?:(?:in|for) )?(?:all )?(?:the )?other(?: cases?| values?| [a-z])?(?: of [a-z])?)"
)
_PARITY: Final = re.compile(r"([a-z]) ?(?:is )?(?:an )?(even|odd)(?: integer| number)?|(even|odd) ([a-z])")
_RESIDUE: Final = re.compile(
    r"([a-z]) ?(?:\\equiv|=) ?([01]) ?(?:\\pmod ?\{? ?2 ?\}?|\(? ?(?:\\bmod|\\mod|mod) ?2 ?\)?)"
)
_AND: Final = re.compile(r"(?:‹|(?<=[a-z])),? ?and ?›")
_BEYOND: Final = re.compile(r"([kmn]) ?([<>]) ?([0-9]{1,9})")
"""Of whole numbers."""
_FROM: Final = re.compile(r"([kmn]) ?\\ge ?([0-9]{1,9})")
_ONE: Final = re.compile(r"([kmn]) ?= ?([0-9]{1,9})")
_BRACKETS: Final = re.compile(r"\(([^()]*(?:\\[gl]e|\\ne|\\in|[<>=])[^()]*)\)")
_END: Final = " ,.;"
_REST: Final = "‹otherwise›"
_Row = tuple[str, str]
"""A value and its condition."""


def by_conditions(gold: str, answer: str) -> tuple[str, str]:
    """The values of two piecewise functions as columns, in the order of the gold's conditions, where both have the same
    conditions; `otherwise` is what the other's rows leave to it. Else both as they are."""
    if len(gold) + len(answer) > _LONGEST or not (mine := _CASES.match(gold)):
        return gold, answer
    theirs = _CASES.match(answer)
    own, other = _rows(mine[2]), _rows(theirs[2]) if theirs else _said(answer)
    names = {squeezed(head) for head in (mine[1], theirs and theirs[1]) if head}
    if len(names) > 1 or any(set("=") & set(value) or len(split_top(value, ",;")) > 1 for value, _ in (*own, *other)):
        return gold, answer
    if own and other and (own[-1][1] == _REST) != (other[-1][1] == _REST):
        own, other = (own, _closed(other, own)) if own[-1][1] == _REST else (_closed(own, other), other)
    found = [[value for value, condition in other if _same(condition, wanted)] for _, wanted in own]
    if len(own) < 2 or len(own) != len(other) or any(len(values) != 1 for values in found):
        return gold, answer
    return _column([value for value, _ in own]), _column([values[0] for values in found])


def of_one_value(gold: str, answer: str) -> Decision | None:
    """After math-verify: what is still a piecewise function it has not read, but the first fraction in it."""
    for text in (gold, answer):
        if (cases := _CASES.match(text)) and len({squeezed(value) for value, _ in _rows(cases[2])}) > 1:
            return Decision(False, "collection", "a piecewise function, not one value or other conditions")
    return None


def _column(values: list[str]) -> str:
    return f"\\begin{{pmatrix}}{'↵'.join(values)}\\end{{pmatrix}}"


def _rows(body: str) -> list[_Row]:
    """Empty where one is no value with a condition."""
    found: list[_Row] = []
    for row in body.strip().strip("↵").split("↵"):
        cells = [cell.strip() for cell in row.split("&") if cell.strip(_END)]
        if len(cells) == 1 and (parted := _IN_A_ROW.match(cells[0])):
            cells = [parted[1], parted[2]]
        if len(cells) != 2 or len(found) == _MOST_ROWS:
            return []
        found.append((cells[0].strip(_END), _condition(cells[1])))
    return found


def _said(text: str) -> list[_Row]:
    """Rows in a sentence, `2 if x > 1, 0 otherwise`; empty where it is something else."""
    parts = [part for part in split_top(_AND.sub("›,", text), ",;") if part.strip(_END)]
    found = [_IN_A_ROW.match(part.strip(_END)) for part in parts]
    if not 1 < len(parts) <= _MOST_ROWS:
        return []
    rows = [(row[1].strip(_END), _condition(row[2])) for row in found if row]
    return rows if len(rows) == len(parts) else []


def _condition(text: str) -> str:
    plain = " ".join(text.replace("‹", " ").replace("›", " ").split()).strip(_END)
    if plain.startswith("(") and plain.endswith(")") and not set("()") & set(plain[1:-1]):
        plain = plain[1:-1].strip(_END)
    bare = _LEAD.sub("", plain)
    if _OTHERWISE.fullmatch(bare.lower()) or _OTHERWISE.fullmatch(plain.lower()):
        return _REST
    if parity := _PARITY.fullmatch(bare):
        return f"{parity[1] or parity[4]} ‹{parity[2] or parity[3]}›"
    if residue := _RESIDUE.fullmatch(bare):
        return f"{residue[1]} ‹{'odd' if residue[2] == '1' else 'even'}›"
    marked = re.sub(rf"‹ ?,? ?(?:{_IF} ?)?,? ?›", " ", text).strip(_END)
    if bracketed := _BRACKETS.fullmatch(marked):
        marked = bracketed[1].strip(_END)
    if not (beyond := _BEYOND.fullmatch(marked)):
        return marked
    above = beyond[2] == ">"
    return f"{beyond[1]} \\{'ge' if above else 'le'} {int(beyond[3]) + (1 if above else -1)}"


def _closed(rows: list[_Row], like: list[_Row]) -> list[_Row]:
    """The rows with `otherwise` for the conditions that `like` leaves to it, where these rows are for every number and
    those have one value; else as they are."""
    told = [condition for _, condition in like[:-1]]
    left = [row for row in rows if not any(_same(row[1], condition) for condition in told)]
    complete = _complete([condition for _, condition in rows])
    if not left or len(left) + len(told) != len(rows) or len({squeezed(value) for value, _ in left}) > 1:
        return rows
    return [*(row for row in rows if row not in left), (left[0][0], _REST)] if complete else rows


def _same(one: str, other: str) -> bool:
    found = same_interval(one, other, MathOptions())
    return squeezed(one) == squeezed(other) or bool(found and found.equal)


def _complete(conditions: list[str]) -> bool:
    parities = [condition.partition(" ") for condition in conditions]
    if {word for _, _, word in parities} == {"‹even›", "‹odd›"}:
        return len(conditions) == 2 and len({name for name, _, _ in parities}) == 1
    return cover_the_line(conditions) or _counted(conditions)


def _counted(conditions: list[str]) -> bool:
    """Whether they are `n = 1`, `n = 2` and so on from 0 or 1, and `n \\ge 3` for the rest."""
    first = [found for condition in conditions if (found := _FROM.fullmatch(condition))]
    alone = [found for condition in conditions if (found := _ONE.fullmatch(condition))]
    if len(first) != 1 or not alone or len(alone) + 1 != len(conditions):
        return False
    numbers, end = sorted(int(found[2]) for found in alone), int(first[0][2])
    one_name = len({found[1] for found in (*first, *alone)}) == 1
    return one_name and numbers[0] in (0, 1) and numbers == list(range(numbers[0], end))
