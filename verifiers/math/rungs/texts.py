"""Texts that are equal after normalisation; whole numbers of any length; words; letters of a choice; names of
points."""

from __future__ import annotations

import re

from sandbox_gym.verifiers.math.expressions.tex import squeezed
from sandbox_gym.verifiers.math.extract import choice_letter
from sandbox_gym.verifiers.math.options import Decision, MathOptions

_WHOLE = re.compile(r"^([-+]?)([0-9]++)(?:\.0{0,1000})?$")
_DECIMAL_COMMA = re.compile(r"^[-+]?(?:[0-9]{1,30},(?:[0-9]{2}|[0-9]{4,30})|0,[0-9]{2,30})$")
_GAP = re.compile(r"(?<![0-9]) | (?![0-9])")
"""A space that keeps no two numbers apart."""
_POINTS = re.compile(r"^[A-Z]{2,6}$")
_FIGURE = re.compile(r"^\\(angle|triangle|overline) ?\{?(?=[A-Z]{2,6}\}?$)|(?<=[A-Z])\}$")
_WORD = re.compile(r"^[A-Za-z][A-Za-z' -]*$")
_CHOICE = re.compile(r"^\(?([A-J])\)?$")
_LETTERS = re.compile(r"^(?:\([A-J]\)|[A-J])(?:(?:,| ?and ?|,and ?| |&)?(?:\([A-J]\)|[A-J])){1,9}$")
_NUMBERED = re.compile(r"^[①-⑩](?:(?:[,、，;]| ?and ?|,and ?| )? ?[①-⑩]){0,9}$")
"""Statements of an exercise."""
TOLD_CHOICE = re.compile(r"^‹?(?:\(([A-J])\)|([A-J])[.)]) ?›? ?(?=[-0-9A-Za-z\\$‹])(?!and |or )")
"""A gold that gives a choice's letter and its value."""
_OPTION = re.compile(
    r"^(?:‹?选:? ?›? ?|(?:[Tt]he )?(?:correct )?[Aa]nswer(?: is)?:? ?|[Oo]ption ?|[Cc]hoice ?)+(?=\(?[A-Ja-j]\b)"
)
_CASES = re.compile(r"‹ ?(?:if|for|when) ?›|(?<=\\[gl]e) (?=[0-9])|,(?= ?[&↵])|, ?(?=\\end)")
"""How the rows of a piecewise function may be written."""
_ALL_EQUAL = re.compile(r"^[^=<>,;]{1,60}(?:=[^=<>,;]{1,60}){2,9}$")
_LOWER_CHOICE = re.compile(r"^\(?([a-j])\)?\.?$")
_FORMULA = re.compile(r"^(?:[A-Z][a-z]?[0-9]*|\((?=[A-Z])|\)[0-9]+)+$")
"""Of a substance, such as `Ca(OH)2`."""
_SUBSCRIPT = re.compile(r"\\ce(?![a-z])|[_{}]")
_SET_SIGN = re.compile(r"\\(?:cup|cap|setminus|backslash|times|triangle|mid)(?![a-z])|[-=<>:|]")
_ARTICLE = re.compile(r"^(?:(?:all|any|every) (?:of )?)?(?:(?:an?|the) )?(?=[a-z]{3})| (?:function|triangle)$")
_OPPOSITES = (
    "north south;east west;northward southward;eastward westward;northeast southwest;northwest southeast;left right;"
    "up down;upward downward;upwards downwards;above below;over under;before after;more less;more fewer;"
    "increase decrease;increased decreased;rise fall;gain loss;profit loss;maximum minimum;max min;largest smallest;"
    "clockwise counterclockwise;clockwise anticlockwise;inward outward;forward backward;forwards backwards;"
    "ahead behind;odd even;area perimeter;mean median;mean mode;median mode;radius diameter;length width;sum product"
)
_PAIRS = tuple(pair.split() for pair in _OPPOSITES.split(";"))
_PLAIN_WORD = re.compile(r"(?<![\\A-Za-z])[A-Za-z]{2,}")
_PARITY = re.compile(
    r"(?:[a-z]|(?:\\[gl]e|[<>]) ?[0-9]{1,9}) ?‹(?: ?is| ?are)?(?: an?)? ?(odd|even|prime)(?: integers?| numbers?)? ?›$"
)
_SENTENCE = re.compile(r"^[a-z0-9 ,.;'&_{}-]{3,400}$")
_LONG_WORD = re.compile(r"[a-z]{3}")
_TOKEN = re.compile(r"[a-z]+|[0-9]+")
_ITEMS = re.compile(r"[,;&]|\b(?:and|or)\b")
_COUNTED = re.compile(r"[,;&]|\b(?:and|or)\b|(?<=[a-z]) +(?=[0-9])")
"""Of `3 wins 2 losses`."""
_CYCLE = re.compile(r"\(([0-9]{1,3}(?: [0-9]{1,3})+)\) ?")
_TIGHT_CYCLE = re.compile(r"\(([1-9]{2,9}|[0-9]{1,3}(?:, ?[0-9]{1,3})+)\)")
_BEARING = re.compile(r"\b((?:north|south|east|west) of (?:north|south|east|west))\b")
_CAPITAL = re.compile(r"(?<![A-Za-z\\])[A-J](?![A-Za-z])")
_NUMBER_START = re.compile(r"^[-+]?(?:[0-9]|\.[0-9]|\\frac|\\sqrt)")


def same_text(gold: str, answer: str) -> Decision | None:
    """Both normalised. Words are compared without case, math with it."""
    if "\\begin{cases}" in gold:
        gold, answer = _CASES.sub("", gold), _CASES.sub("", answer)
    first, second = squeezed(gold), squeezed(answer)
    if not first or not second:
        return Decision(False, "blank", "gold or answer is blank")
    if _GAP.sub("", first) == _GAP.sub("", second):
        return Decision(True, "text", "the same text")
    hour = f"{first}:00" if first.isdigit() else first
    if ":" in hour and second in (f"{hour} AM", f"{hour} PM"):
        return Decision(True, "text", "the same time, its half of the day not asked for")
    if first.lower() == second.lower() and first.lower() in ("yes", "no", "true", "false"):
        return Decision(True, "text", "the same word")
    if any(_in_any_order(sign, first, second) for sign in ("\\cup", "\\cap")):
        return Decision(True, "text", "the same sets")
    if _ALL_EQUAL.match(first) and sorted(first.split("=")) == sorted(second.split("=")):
        return Decision(True, "text", "the same are equal")
    plain = _SUBSCRIPT.sub("", first)
    if plain == _SUBSCRIPT.sub("", second) and _FORMULA.match(plain):
        return Decision(True, "text", "the same formula")
    words = len(first + second) > 7 and _WORD.match(first) and _WORD.match(second)
    if words and _ARTICLE.sub("", first.lower()) == _ARTICLE.sub("", second.lower()):
        return Decision(True, "text", "the same words")
    return None


def _in_any_order(sign: str, first: str, second: str) -> bool:
    """Whether both are the same sets, joined by this sign alone."""
    parts = [sorted(map(str.strip, text.split(sign))) for text in (first, second)]
    return sign in first and parts[0] == parts[1] and not _SET_SIGN.search(first.replace(sign, ""))


def same_integer(gold: str, answer: str) -> Decision | None:
    """Whole numbers written in digits, of any length, compared as text."""
    first, second = _WHOLE.match(gold.strip()), _WHOLE.match(answer.strip())
    if not first or not second:
        return None
    one, two = ((found[1] == "-", found[2].lstrip("0")) for found in (first, second))
    equal = one[1] == two[1] and (one[0] == two[0] or not one[1])
    return Decision(equal, "integer", "the same integer" if equal else "different integers")


def same_decimal_comma(gold: str, answer: str) -> Decision | None:
    """`1000,99` as `1000.99`. One decimal after a comma is a list of two, three are thousands; those are left alone."""
    for one, other in ((gold, answer), (answer, gold)):
        if _DECIMAL_COMMA.match(one.strip()) and one.strip().replace(",", ".") == other.strip():
            return Decision(True, "number", "equal, with a decimal comma")
    return None


def same_choice(gold: str, answer: str, options: MathOptions) -> Decision | None:
    """A gold that is the letter of a choice. Without the option only unambiguous cases are decided."""
    if several := _same_letters(squeezed(gold), squeezed(answer)):
        return several
    wanted = _CHOICE.match(_OPTION.sub("", squeezed(gold)).strip("."))
    bare = _LOWER_CHOICE.sub(lambda found: found[1].upper(), _OPTION.sub("", squeezed(answer)))
    told = TOLD_CHOICE.match(squeezed(gold))
    alone, another = _CHOICE.match(bare), TOLD_CHOICE.match(bare)
    if told and (given := alone[1] if alone else another and (another[1] or another[2])):
        letter = told[1] or told[2]
        if alone or letter != given:
            return Decision(letter == given, "choice", f"choice {given}, wanted {letter}")
    if options.multiple_choice and (letter := choice_letter(squeezed(gold))):
        given = choice_letter(bare)
        return Decision(letter == given, "choice", f"choice {given or 'none'}, wanted {letter}")
    if not wanted:
        return None
    if "=" in bare and set(_CAPITAL.findall(bare)) - {wanted[1]}:
        return Decision(False, "choice", "more than one choice")
    if found := re.match(r"^\(([A-J])\)|^([A-J])\)|^([A-J])[.:]\s?\S", bare):
        given = found[1] or found[2] or found[3]
        if choice_letter(bare) != given:
            return Decision(False, "choice", "more than one choice")
        return Decision(given == wanted[1], "choice", f"choice {given}, wanted {wanted[1]}")
    if other := _CHOICE.match(bare):
        return Decision(other[1] == wanted[1], "choice", f"choice {other[1]}, wanted {wanted[1]}")
    if _NUMBER_START.match(bare) and not re.search(r"[A-Za-z]", re.sub(r"\\[a-z]+", "", bare)):
        return Decision(False, "choice", f"a number where the letter {wanted[1]} was wanted")
    return None


def _same_letters(gold: str, answer: str) -> Decision | None:
    """Letters of choices: a gold `B, C` may be written `BC`, and the other way round."""
    together = gold.isalpha() and sorted(set(gold)) == list(gold) and "," in answer
    numbered = _NUMBERED.match(gold) and _NUMBERED.match(answer)
    if not numbered and not (_LETTERS.match(gold) and _LETTERS.match(answer) and ("," in gold or together)):
        return None
    mine, theirs = (sorted(re.findall("[A-J①-⑩]", text)) for text in (gold, answer))
    return Decision(mine == theirs, "choice", f"choices {''.join(theirs)}, wanted {''.join(mine)}")


def opposite_words(gold: str, answer: str) -> Decision | None:
    """`5 km north` is no `5 km south`, whatever is forgiven of the words beside a number."""
    first, second = gold.lower(), answer.lower()
    mine, theirs = set(_PLAIN_WORD.findall(first)), set(_PLAIN_WORD.findall(second))
    denied = not {"no", "not"}.isdisjoint(mine | theirs)
    opposite = not denied and any(
        {one, other} <= mine ^ theirs and (one in mine) != (other in mine) for one, other in _PAIRS
    )
    bearings = set(_BEARING.findall(first)), set(_BEARING.findall(second))
    opposite = opposite or (all(bearings) and bearings[0] != bearings[1])
    opposite = opposite or _PARITY.findall(first) != _PARITY.findall(second)
    return Decision(False, "words", "the opposite word") if opposite else None


def other_order(gold: str, answer: str) -> Decision | None:
    """The same words in another order say something else, `x divides y`; they are no product. What `and`, commas or
    numbers in front tell apart may stand in any order."""
    sentences = [text.replace("‹", " ").replace("›", " ").strip().lower() for text in (gold, answer)]
    if not all(_SENTENCE.match(text) and _LONG_WORD.search(text) for text in sentences):
        return None
    apart = [(_COUNTED if text[0].isdigit() else _ITEMS).split(text) for text in sentences]
    items = [sorted(part.split() for part in parts if part.strip()) for parts in apart]
    first, second = (_TOKEN.findall(text) for text in sentences)
    if first == second or items[0] == items[1] or sorted(first) != sorted(second):
        return None
    return Decision(False, "words", "the same words in another order")


def same_cycles(gold: str, answer: str) -> Decision | None:
    """Permutations in cycles, `(1 2 3)(4 5)`, which are no products."""
    cycles = [_CYCLE.findall(text) if not _CYCLE.sub("", text) else [] for text in (gold, answer)]
    if not any(cycles):
        return None
    if not all(cycles):  # (132) and (1, 3, 2) beside (1 3 2)
        texts = (_TIGHT_CYCLE.sub(_loosened, text) for text in (gold, answer))
        cycles = [each or _CYCLE.findall(text) for each, text in zip(cycles, texts, strict=True)]
    mine, theirs = (sorted(map(_from_least, each)) for each in cycles)
    equal = mine == theirs
    return Decision(equal, "cycles", "the same permutation" if equal else "no such permutation")


def _loosened(found: re.Match[str]) -> str:
    return f"({' '.join(re.findall('[0-9]+', found[1]) if ',' in found[1] else found[1])})"


def _from_least(cycle: str) -> list[int]:
    members = [int(member) for member in cycle.split()]
    first = members.index(min(members))
    return members[first:] + members[:first]


def same_points(gold: str, answer: str) -> Decision | None:
    """Two or more capital letters name points, a segment or a figure; they are no product."""
    first, second = squeezed(gold), squeezed(answer)
    figures = [found[1] for text in (first, second) if (found := _FIGURE.match(text))]
    first, second = _FIGURE.sub("", first), _FIGURE.sub("", second)
    if not (_POINTS.match(first) and _POINTS.match(second)) or (first == second and not figures):
        return None
    reversible = figures and set(figures) != {"triangle"}
    if len(set(figures)) < 2 and (first == second or (reversible and first == second[::-1])):
        return Decision(True, "points", "the same points")
    return Decision(False, "points", "different letters, or in another order")
