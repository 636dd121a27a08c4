"""Letters that stand for nothing outside: the index of a sum, the variable of an integral, constants that may be any.
The answer gets the gold's; and what has an index is written so that math-verify sees that it changes with it."""

from __future__ import annotations

import re

from sandbox_gym.verifiers.math.expressions.shapes import assigned, shape_of, split_top
from sandbox_gym.verifiers.math.expressions.tex import squeezed

_LONGEST = 500
_INDEX = re.compile(r"\\(?:sum|prod) ?_ ?\{? ?([a-z]) ?=")
_INTEGRAL = re.compile(r"\\int ?_")
_VARIABLE = re.compile(r"(?<![A-Za-z\\])d ?([a-z])(?![A-Za-z])")
_INDEXED = re.compile(r"\\[A-Za-z]+|([A-Za-z]) ?_ ?(?:([a-z])|\{ ?([a-z] ?(?:[-+] ?[0-9]{1,3})?) ?\})")
_FUNCTIONS = "fgh"
"""What math-verify reads as a function before a bracket."""
_NAME = r"\\?[A-Za-z]{1,8}(?:_\{?[0-9]\}?)?"
_NAMES = re.compile(rf"^\( ?({_NAME}(?: ?, ?{_NAME}){{1,5}}) ?\) ?(=|\\in(?![a-z]))")
_ARGUMENTS = re.compile(r"^([A-Za-z]) ?\( ?([a-z](?: ?, ?[a-z]){1,3}) ?\) ?=")
_CHAIN = re.compile(
    r"^([A-Za-z](?:_\{?[0-9]\}?)?(?: ?= ?[A-Za-z](?:_\{?[0-9]\}?)?){1,5})"
    r" ?= ?(-? ?(?:[0-9]|\\(?:frac|sqrt|pi))[^=,;‹›]{0,80})$"
)
_TUPLE = re.compile(r"\(([^()]{1,200})\)")
_ANY = r"(?:(?:are|is|be|with|where|for|any|all|some|every|arbitrary|an?|real|fixed|numbers?|constants?) ?)"
_LETTERS = r"([A-Za-z](?:_\{?[0-9]\}?)?(?:(?: ?, ?| ?‹ ?and ?› ?)[A-Za-z](?:_\{?[0-9]\}?)?){0,3})"
_DECLARED = re.compile(
    rf"(?: ?[,;(] ?|(?= ?‹)) ?(?:‹ ?,? ?{_ANY}{{1,5}}› ?)?{_LETTERS} ?(?:\\in ?\\mathbb\{{R\}}|‹ ?{_ANY}{{1,6}}›) ?\)?$"
    rf"| ?[,;(]? ?‹ ?,? ?{_ANY}{{1,6}}› ?{_LETTERS} ?\)?$"
)
_LETTER = re.compile(r"\\[A-Za-z]+|‹[^›]*›|([A-Za-z](?:_\{?[0-9]\}?)?)")
_TOKEN = re.compile(r"\\[A-Za-z]+|‹[^›]*›|(d ?)?([A-Za-z])")
_BODY = re.compile(r"^(?:[a-zA-Z](?: ?\([a-z]\))? ?=|\()")


def with_bound_letters(gold: str, answer: str) -> tuple[str, str]:
    """Both normalised; the answer with the gold's letters for what is bound in each."""
    if len(gold) + len(answer) > _LONGEST:
        return gold, answer
    gold, answer = _unchained(gold, answer), _unchained(answer, gold)
    gold, answer = _one_by_one(gold, answer), _one_by_one(answer, gold)
    gold, answer = _constants(gold, _permuted(gold, _by_place(gold, answer)))
    if "\\sum" in gold or "\\prod" in gold:
        mine, theirs = _INDEX.findall(gold), _INDEX.findall(answer)
        answer = _exchanged(gold, answer, mine, theirs)
        free = next((name for name in "kjmpq" if name not in _names(gold + answer)), "i")
        if "i" in mine and free != "i":  # which math-verify takes for the imaginary one
            gold, answer = (_with(text, {"i": free}) for text in (gold, answer))
            mine[mine.index("i")] = free
        gold, answer = _as_functions(gold, answer, set(mine))
    elif _INTEGRAL.search(gold) and _INTEGRAL.search(answer):
        answer = _exchanged(gold, answer, _VARIABLE.findall(gold), _VARIABLE.findall(answer))
    return gold, answer


def _exchanged(gold: str, answer: str, mine: list[str], theirs: list[str]) -> str:
    """The answer with its bound letters exchanged for the gold's; as it is where one of those stands for something
    else in it, or one of its own in the gold."""
    if mine == theirs or len(mine) != len(theirs) or len(set(mine)) != len(mine) or len(set(theirs)) != len(theirs):
        return answer
    if _names(answer) & (set(mine) - set(theirs)) or _names(gold) & (set(theirs) - set(mine)):
        return answer
    return _with(answer, dict(zip(theirs, mine, strict=True)))


def _with(text: str, names: dict[str, str]) -> str:
    """Other letters, also behind the `d` of an integral."""
    return _TOKEN.sub(lambda found: (found[1] or "") + names[found[2]] if found[2] in names else found.group(), text)


def _as_functions(gold: str, answer: str, bound: set[str]) -> tuple[str, str]:
    """Both with `f(k, 1)` for `a_{k+1}`, where k is an index of the gold's: math-verify takes that for one number."""
    used = {found[1] for found in _INDEXED.finditer(gold) if found[1] and (found[2] or found[3])[0] in bound}
    free = [name for name in _FUNCTIONS if not {name, name.upper()} & _names(gold + answer)]
    if not used or len(used) > len(free):
        return gold, answer
    names = dict(zip(sorted(used), free, strict=False))

    def called(found: re.Match[str]) -> str:
        index = (found[2] or found[3] or " ").replace(" ", "")
        if found[1] not in names or index[:1] not in bound:
            return found.group()
        return f"{names[found[1]]}({index[0]},{int(index[1:] or 0)})"

    return _INDEXED.sub(called, gold), _INDEXED.sub(called, answer)


def _unchained(text: str, other: str) -> str:
    """`x = 1, y = 1` for `x = y = 1`, where the other side says more than a value."""
    chain = _CHAIN.match(text)
    if not chain or not ("=" in other or other.startswith("(")):
        return text
    return ", ".join(f"{name.strip()}={chain[2]}" for name in chain[1].split("="))


def _one_by_one(text: str, other: str) -> str:
    """`q = 2, p = 5` for `(q, p) = (2, 5)`, where the other side names its values one by one."""
    head = _NAMES.match(text)
    names = [squeezed(name) for name in head[1].split(",")] if head else []
    systems = [shape_of(part).items for part in re.split(r"‹ ?,? ?or ?,? ?›|;", other)]
    if not head or any(sorted(names) != sorted(assigned(item)[0] for item in items) for items in systems):
        return text
    tuples = [split_top(inner, ",") for inner in _TUPLE.findall(text[head.end() :])]
    if any(len(values) != len(names) for values in tuples):
        return text
    return " ‹or› ".join(", ".join(map("=".join, zip(names, values, strict=True))) for values in tuples) or text


def _by_place(gold: str, answer: str) -> str:
    """The answer with the gold's names for a function's arguments: `f(b, a) = b - a` is `f(a, b) = a - b`."""
    mine, theirs = _ARGUMENTS.match(gold), _ARGUMENTS.match(answer)
    if not mine or not theirs or mine[1] != theirs[1]:
        return answer
    own, other = (re.findall("[a-z]", each[2]) for each in (mine, theirs))
    body = answer[theirs.end() :]
    if len(own) != len(other) or len(set(own)) != len(own) or _names(body) & (set(own) - set(other)):
        return answer
    return mine.group() + _with(body, dict(zip(other, own, strict=True)))


def _permuted(gold: str, answer: str) -> str:
    """The answer with its names in the gold's order: `(p, n) = (3, 2)` for `(n, p) = (2, 3)`."""
    mine, theirs = _NAMES.match(gold), _NAMES.match(answer)
    if not mine or not theirs or mine[2] != theirs[2]:
        return answer
    own, other = ([squeezed(name) for name in each[1].split(",")] for each in (mine, theirs))
    if own == other or sorted(own) != sorted(other) or len(set(own)) != len(own):
        return answer
    at = [other.index(name) for name in own]
    rest = answer[theirs.end() :]
    values = [split_top(inner, ",") for inner in _TUPLE.findall(rest)]
    if not values or any(len(each) != len(own) for each in values) or "(" in _TUPLE.sub("", rest):
        return answer
    return mine.group() + _TUPLE.sub(
        lambda found: f"({','.join(split_top(found[1], ',')[place] for place in at)})", rest
    )


def _constants(gold: str, answer: str) -> tuple[str, str]:
    """Both without what says that letters are any constants, the answer with the gold's letters for its own, in the
    order in which they come."""
    declared = _DECLARED.search(gold)
    if not declared or not _BODY.match(gold) or not _BODY.match(answer):
        return gold, answer
    theirs = _DECLARED.search(answer)
    first = gold[: declared.start()].strip()
    second = answer[: theirs.start()].strip() if theirs else answer
    mine, other = (
        [found[1] for found in _LETTER.finditer(text.partition("=")[2] or text) if found[1]] for text in (first, second)
    )
    own = list(dict.fromkeys(name for name in mine if name in _named(declared)))
    said = _named(theirs) if theirs else set(other) - (set(mine) - _named(declared)) - {"e", "i"}
    others = list(dict.fromkeys(name for name in other if name in said))
    heads = [name for text in (first, second) if "=" in text for name in re.findall("[A-Za-z]", text.partition("=")[0])]
    if len(own) != len(_named(declared)) or len(others) != len(own) or "‹" in second or set(heads) & {*own, *others}:
        return gold, answer
    names = dict(zip(others, own, strict=True))
    if set(own) & (set(other) - set(others)):
        return gold, answer
    return first, _LETTER.sub(lambda found: f" {names[found[1]]}" if found[1] in names else found.group(), second)


def _named(declared: re.Match[str]) -> set[str]:
    return {squeezed(name) for name in re.split(r" ?, ?| ?‹ ?and ?› ?", declared[1] or declared[2])}


def _names(text: str) -> set[str]:
    """The letters that stand for something, without their indices."""
    return {found[1][0] for found in _LETTER.finditer(text) if found[1]}
