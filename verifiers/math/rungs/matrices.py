"""Products of matrices, which do not commute: `A^{-1}B` is no `BA^{-1}`, `AB-BA` is not 0, `(AB)^{-1}` is
`B^{-1}A^{-1}`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator
from fractions import Fraction

from sandbox_gym.verifiers.math.expressions.shapes import assigned
from sandbox_gym.verifiers.math.options import Decision

_LONGEST = 120
_MOST_TERMS, _MOST_FACTORS = 32, 32
"""Of a sum, and of a product: `((AB)^9)^9` grows without an end."""
_LARGEST = 10**40
_BRACED = re.compile(r"(?<![\^_])\{ ?([A-Za-z]) ?\}")
_BOLD = re.compile(r"‹([A-Za-z]{1,6})›")
_TOKEN = re.compile(
    r"[\s*]*(?:(?P<sign>[-+])|(?P<number>[0-9]{1,4}|\\frac ?\{?([0-9]{1,3})\}? ?\{?([0-9]{1,3})\}?)"
    r"|(?P<name>[A-Za-z](?:_\{?[0-9]\}?)?)|(?P<open>\()|(?P<close>\))"
    r"|\^ ?\{? ?(?P<power>-?[0-9]|-?T|\\top|\\intercal)(?![0-9]) ?\}?)"
)
_DIMENSIONS = re.compile(r"(?=.*(?<![\^{])T)(?:[MLTAIKQ ]|\^ ?\{? ?-?[0-9] ?\}?)+")
"""`ML^{2}T^{-2}`."""
_VECTORS = frozenset("uvwxyz")

Factor = tuple[Hashable, int, bool]
"""A letter (or a sum in brackets), its power, and whether it is transposed."""
Word = tuple[Factor, ...]
Sum = Counter[Word]


def other_product(gold: str, answer: str) -> Decision | None:
    """Both normalised. Decides where the gold has products in which the order counts: an inverse or a transposed one
    beside another matrix, or one product in two orders."""
    mine = _read(assigned(gold)[1])
    if mine is None or not _ordered(mine) or _DIMENSIONS.fullmatch(gold):
        return None
    theirs = _read(assigned(answer)[1])
    if theirs is None:
        return None
    equal = mine == theirs
    return Decision(equal, "matrices", "the same product" if equal else "matrices do not commute")


def _ordered(terms: Sum) -> bool:
    letters: Counter[Word] = Counter()
    for word in terms:
        bases = {(base, turned) for base, _, turned in word if not _scalar(base)}
        if len(bases) > 1 and any(power < 0 or turned for _, power, turned in word):
            return True
        letters[tuple(sorted(word, key=repr))] += len(bases) > 1
    return any(count > 1 for count in letters.values())


def _read(text: str) -> Sum | None:
    """The sum's products with their coefficients; None where it is none of plain matrices."""
    text = _BRACED.sub(r"\1", _BOLD.sub(r"\1", text))
    if len(text) > _LONGEST or not re.search("[A-Z]|^0$", text):
        return None
    tokens: list[re.Match[str]] = []
    at = 0
    while at < len(text.rstrip()):
        if not (found := _TOKEN.match(text, at)):
            return None
        tokens.append(found)
        at = found.end()
    try:
        rest = iter([*tokens, None])
        return _sum(rest, nested=False)
    except ValueError:
        return None


def _sum(tokens: Iterator[re.Match[str] | None], nested: bool) -> Sum:
    """Up to the closing bracket, or the end. Raises ValueError where the text is none."""
    total: Sum = Counter()
    term: Sum = Counter({(): 1})
    factor: Sum | None = None
    empty, sign = True, 1

    def closed() -> None:
        nonlocal term, factor
        term, factor = _times(term, factor) if factor is not None else term, None

    for token in tokens:
        if token and token["sign"] and empty:
            sign *= -1 if token["sign"] == "-" else 1
            continue
        if token is None or token["close"] or token["sign"]:
            closed()
            if empty:
                raise ValueError("no term")
            total = _plus(total, term, sign)
            if token is None or token["close"]:
                if nested != bool(token):
                    raise ValueError("brackets")
                return total
            term, empty, sign = Counter({(): 1}), True, -1 if token["sign"] == "-" else 1
            continue
        if token["power"]:
            if factor is None:
                raise ValueError("no base")
            factor = _raised(factor, token["power"])
            continue
        closed()
        empty = False
        factor = _factor(token, tokens)
    raise ValueError("no end")


def _factor(token: re.Match[str], tokens: Iterator[re.Match[str] | None]) -> Sum:
    if token["open"]:
        return _sum(tokens, nested=True)
    if token["number"]:
        top, bottom = token[3] or token["number"], token[4] or "1"
        if not int(bottom):
            raise ValueError("division by zero")
        return Counter({(): Fraction(int(top), int(bottom))})
    return Counter({() if token["name"] == "I" else ((token["name"], 1, False),): 1})


def _plus(total: Sum, term: Sum, sign: int) -> Sum:
    for word, times in term.items():
        total[word] += sign * times
    if len(total) > _MOST_TERMS or any(
        max(abs(times.numerator), times.denominator) > _LARGEST for times in total.values()
    ):
        raise ValueError("too many terms")
    return Counter({word: times for word, times in total.items() if times})


def _times(first: Sum, second: Sum) -> Sum:
    product: Sum = Counter()
    for one, times in first.items():
        for other, more in second.items():
            product[_word((*one, *other))] += times * more
    return _plus(Counter(), product, 1)


def _raised(factor: Sum, power: str) -> Sum:
    if not power.lstrip("-").isdigit():
        factor = Counter({_word(_turned(word)): times for word, times in factor.items()})
        return _raised(factor, "-1") if power.startswith("-") else factor
    if int(power) < 0:
        ((word, times), *others) = factor.items()
        upright = {base for base, *_ in word}
        if not others and len(upright) == len({one[::2] for one in word}):  # X of (X^T X)^{-1} need have no inverse
            back = _word(tuple((base, -exponent, turned) for base, exponent, turned in reversed(word)))
            factor = Counter({back: 1 / Fraction(times)})
        else:
            factor = Counter({((frozenset(factor.items()), -1, False),): 1})
    result: Sum = Counter({(): 1})
    for _ in range(abs(int(power))):
        result = _times(result, factor)
    return result


def _turned(word: Word) -> Word:
    if any(not isinstance(base, str) for base, _, _ in word):
        raise ValueError("a sum transposed")
    return tuple((base, power, not turned) for base, power, turned in reversed(word))


def _word(factors: Word) -> Word:
    """Numbers' letters first, in one order; powers of one matrix beside each other as one."""
    if len(factors) > _MOST_FACTORS:
        raise ValueError("too many factors")
    scalars = [one for one in factors if _scalar(one[0])]
    word: list[Factor] = []
    for base, power, turned in sorted(scalars, key=repr) + [one for one in factors if not _scalar(one[0])]:
        if word and (word[-1][0], word[-1][2]) == (base, turned):
            power += word.pop()[1]
        if power:
            word.append((base, power, turned))
    return tuple(word)


def _scalar(base: Hashable) -> bool:
    return isinstance(base, str) and base[0].islower() and base[0] not in _VECTORS
