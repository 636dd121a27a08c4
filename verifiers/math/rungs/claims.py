"""What is claimed in words: yes or no with a reason, who wins, that there is none, the same with other small words."""

from __future__ import annotations

import re

from sandbox_gym.verifiers.math.options import Decision

_LONGEST = 300
_SHORT = 6
"""A word in marks that the rung `text` takes for a product."""
_ARTICLE = re.compile(r"(?:\b(?:[Tt]he|an?|An) |^A )(?=\S)")
_LONG = re.compile(r"[A-Za-z]{2,}")
"""A word; letters alone are names, whose case counts."""
_BOOLEAN = re.compile(r"(yes|no|true|false)\.?")
_REASONED = re.compile(r"(yes|no|true|false) ?[,.;:-]+ ?(?P<reason>[A-Za-z].*)")
_DOUBT = re.compile(
    r"\b(?:yes|no(?=[,.;:]|$)|true|false|or|but|if|unless|except|only|when|whenever|however|although|though|maybe|perhaps"
    r"|sometimes|otherwise|depends|depending|either|neither|for (?:some|odd|even))\b"
)
_WINS = re.compile(
    r"(?: (?:always|will|can|does|must))* (?:wins?|(?:force|guarantee|ensure)s? (?:win|victory)"
    r"|(?:has|have) winning strategy|is winner)(?: game)?(?= |$)"
)
_SUBJECT = re.compile(
    r"(?:(?:so|thus|hence|therefore),? )?"
    r"(?:(?:it|this|that|(?:this |our |final |correct )*(?:answer|result|solution|triangle|quadrilateral|polygon|shape"
    r"|figure|function|sequence|series|integral|limit|graph|curve|conic|equation|statement|number|day|colou?r|winner))"
    r"(?: (?:is|was|will be|would be|must be)|'s)|(?:final |correct )?(?:answer|result) ?:|is|on(?= [a-z]{3,6}day$)) "
)
"""What is spoken of, before a word that says what it is."""
_DIVIDED = re.compile(r"[0-9]+ ‹R› [0-9]+")
_PHRASE = re.compile(r"(?!not\b)[a-z]+(?:[ -](?!or\b|and\b|but\b|not\b|nor\b|if\b|unless\b)[a-z]+){0,3}")
_WINNER = re.compile(r"(?:(first|second)(?: player)?|(?:player )?([A-Za-z]{1,20})|player ([1-9]))( wins)?")
_NONE = re.compile(r"(?:there (?:is|are|exists?) )?no (?P<what>[a-z ]{3,60}?)(?: exists?)?")
_NARROWER = re.compile(r"(?:such|positive|real|integer|possible|valid) ")
_SMALL: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(rf"\b(?:{pattern})\b"), plain)
    for pattern, plain in (
        ("exactly when|precisely when|if and only if", "iff"),
        ("when|whenever|provided that|in case|if", "if"),
        ("(?:with|having|and) (?=(?:radius|diameter|side|sides|center|centre|vertex|vertices|height|length)\\b)"
         "|whose (?=(?:radius|diameter|side|center|centre|height|length) is\\b)", "of "),
        ("(?<=radius|length|height) is|(?<=diameter) is|(?<=side) is|(?<=center|centre) is", ""),
        ("right-angled", "right"),
        ("centered at|centred at", "of center"),
    )
)  # fmt: skip
_SENTENCE = re.compile(r"[A-Za-z][A-Za-z -]*[A-Za-z](?: [-+*/=<>(){}\\^_A-Za-z0-9., ]*)?")


def same_claim(gold: str, answer: str) -> Decision | None:
    """Equal where both claim the same in words; anything else is another rung's."""
    if len(gold) + len(answer) > _LONGEST:
        return None
    first, second = (_plain(text) for text in (gold, answer))
    if _BOOLEAN.fullmatch(first):
        reasoned = _REASONED.fullmatch(second)
        same = reasoned and reasoned[1] == first.rstrip(".") and not _DOUBT.search(reasoned["reason"])
        return Decision(True, "words", "the same word, with a reason") if same else None
    divided = [_DIVIDED.fullmatch(text) for text in (gold, answer)]
    if divided[0] and divided[1]:
        return Decision(gold == answer, "words", "the quotients and their remainders")
    if not re.search("[a-z]{3}", first):
        return None
    if "\\" not in gold + answer and _same_phrase(first, second, "‹" in gold and len(gold) <= _SHORT):
        return Decision(True, "words", "the same words")
    winners = [_winner(text) for text in (first, second)]
    none = [_NONE.fullmatch(text) for text in (first, second)]
    if winners[0] and winners[0] == winners[1] and first != second:
        return Decision(True, "words", "the same winner")
    if none[0] and none[1] and _lacking(none[0]["what"], none[1]["what"]):
        return Decision(True, "words", "there is none")
    if all(_SENTENCE.fullmatch(text) for text in (first, second)):
        shorter = [_without_small_words(text) for text in (first, second)]
        if shorter[0] == shorter[1] and first != second:
            return Decision(True, "words", "the same words")
    return None


def _same_phrase(one: str, other: str, marked: bool) -> bool:
    """Whether both are one phrase, whatever is said of what it is: `hyperbola`, `it is hyperbola`. A word alone is one
    where the gold has it as text: `abc` may be a product."""
    mine, theirs = (_SUBJECT.sub("", text, count=1) if _SUBJECT.match(text) else text for text in (one, other))
    told = one != mine or other != theirs or marked
    return told and mine == theirs and bool(_PHRASE.fullmatch(mine)) and len(mine) > 2


def _plain(text: str) -> str:
    spaced = re.sub(r"\s+", " ", text.replace("‹", " ").replace("›", " ")).strip(" .")
    return _LONG.sub(lambda found: found[0].lower(), _ARTICLE.sub("", spaced))


def _winner(text: str) -> str:
    """Who is said to win, `first` or `bob`; a name alone may be the answer to who does. Empty where nobody is."""
    found = _WINNER.fullmatch(_WINS.sub(" wins", text))
    return (found[1] or found[2] or found[3]) if found else ""


def _lacking(one: str, other: str) -> bool:
    """Whether no such thing is said twice; a plain `no solutions` may leave out which are meant."""
    names = [each.rstrip("s") for each in (one, other)]
    bare = [_NARROWER.sub("", each) for each in names]
    return bare[0] == bare[1] and (names[0] == names[1] or any(_NARROWER.sub("", each) == each for each in names))


def _without_small_words(text: str) -> str:
    for pattern, plain in _SMALL:
        text = pattern.sub(plain, text)
    return "".join(text.split())
