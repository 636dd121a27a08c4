"""Notations of one meaning: derivatives, combinations and permutations, words in front of a value.

Works on normalised text; every pattern is linear or bounded.
"""

from __future__ import annotations

import re
from typing import Final

_LONGEST: Final = 2_000
_PRIME: Final = re.compile(r"\^ ?(?:\{ ?((?:\\prime ?){1,3})\}|(\\prime))")
_D: Final = r"‹?d›? ?"
_DERIVATIVE: Final = re.compile(
    rf"\\frac ?\{{ ?{_D}([A-Za-z]) ?\}} ?\{{ ?{_D}[a-z] ?\}}|(?<![A-Za-z\\])d([A-Za-z]) ?/ ?d[a-z](?![A-Za-z])"
    rf"|\\frac ?\{{ ?{_D}\^ ?\{{?2\}}? ?([A-Za-z]) ?\}} ?\{{ ?{_D}[a-z] ?\^ ?\{{?2\}}? ?\}}"
)
_APPLIED: Final = re.compile(r"\\frac ?\{ ?d ?\} ?\{ ?d ?([a-z]) ?\} ?(?:\[ ?)?([fghFGH]) ?\( ?\1 ?\)(?: ?\])?")
_ALL: Final = re.compile(
    r"^‹ ?(?:for )?(?:all|any|every|each) ?› ?(?=[a-z] ?(?:\\(?:[gl]e|ne|in|equiv)(?![a-z])|[<>]))"
    r"|^‹ ?[Oo]nly ?› ?(?=[a-z] ?=)|(?<=[0-9}]) ?‹ ?works ?›$"
)
_NTH: Final = re.compile(r"(?<![A-Za-z\\])([fghFGHy]) ?\^ ?\{ ?\(([1-3])\) ?\}")
_SYSTEM: Final = re.compile(
    r"^(?:\\\{ ?)?\\begin\{(cases|array|aligned)\}(?: ?\{[clr| ]*\})?((?:[^&=↵]*=[^&=↵]*(?:↵|(?=\\end)))+)\\end\{\1\}$"
)
_N: Final = r" ?\{?([0-9]{1,4})\}? ?"
_COUNTED: Final = re.compile(
    rf"(?<![A-Za-z0-9)}}])(?:\{{ ?\}} ?)?[_^]{_N}‹?([CP])›? ?_{_N}|‹?([CPA])›? ?(?:_{_N}\^{_N}|\^{_N}_{_N})"
    r"|(?<![A-Za-z0-9.^_])([0-9]{1,3})(?:‹?([CP])›?|‹? ?choose ?›?)([0-9]{1,3})(?![0-9.]|\)? ?_)"
)
_INDEX: Final = r" ?(?:([kmn])|\{ ?([0-9]{0,3} ?[kmn](?: ?[-+] ?[0-9]{1,3})?|[0-9]{1,3}) ?\}|([0-9]))"
_CHOSEN: Final = re.compile(rf"‹?(?<![A-Za-z])C›? ?_{_INDEX} ?\^{_INDEX}")
"""`C_{2n}^n`, and not `C_5^2`, which may be a power."""
_CALLED: Final = re.compile(r"(?<![A-Za-z\\])n?([CP])r? ?\( ?([0-9]{1,4}) ?, ?([0-9]{1,4}) ?\)")
_NAMED: Final = r"([0-9]{0,3}[A-Za-z](?:[-+][0-9]{1,3})?|[0-9]{1,3})"
_CHOSEN_BY_NAME: Final = re.compile(
    rf"(?<![A-Za-z\\])C ?\( ?{_NAMED} ?, ?{_NAMED} ?\)"
    rf"|(?:\{{ ?\}} ?)?[_^] ?\{{?{_NAMED}\}}? ?C ?_ ?\{{?{_NAMED}\}}?(?![A-Za-z0-9])"
)
_CIS: Final = re.compile(
    r"‹? ?(?<![A-Za-z])cis ?›? ?(\([^()]{1,40}\)|\{[^{}]{1,40}\}|[0-9.]{1,9} ?\^\\circ"
    r"|-?(?:[0-9]{1,4} ?)?\\pi(?: ?/ ?[0-9]{1,4})?"
    r"|-?\\frac ?\{[^{}]{1,20}\} ?\{[^{}]{1,20}\}|\\[a-z]{2,8}|[0-9.]{1,9}|[a-z](?![a-z]))"
)
_COORDINATES: Final = re.compile(
    r"(?:\(|\\langle ?)[^()]{3,200}(?:\)|\\rangle)|\\begin\{[pb]matrix\}[^&]{3,200}\\end\{[pb]matrix\}"
)
_UNIT_TERM: Final = re.compile(
    r" ?([-+]?) ?((?:\\frac ?\{[^{}]{1,20}\} ?\{[^{}]{1,20}\}|\\sqrt ?\{[^{}]{1,20}\}"
    r"|\\(?:pi|cos|sin|theta|omega|lambda)|\^ ?\{[^{}]{1,20}\}|[0-9./*^ a-hl-z]){0,16}) ?([ijk])(?![A-Za-z])"
)
"""A part of a vector, such as `-\\frac{1}{2} x^2` and `j`."""
_OTHER_LETTERS: Final = re.compile(r"(?<![A-Za-z\\])[A-Za-z]")
_VERB: Final = r"(?:\b(?:is|are|equals|ist|est|es|jest|è)|:|是|为|共)"
_SAID: Final = re.compile(rf"^‹[^‹›]{{0,60}}{_VERB} ?› ?(?=[-+]?[0-9A-Za-z\\(\[$|])(?!.*{_VERB} ?›)")
_SAID_IN_TEXT: Final = re.compile(
    r"^(‹?)(?:(?:so|thus|therefore|hence),? )?(?:the )?(?:final |correct )?answer(?: is|:|=)+:? (?=[-+$\\(]?[0-9\\])",
    re.I,
)
_ALSO: Final = re.compile(
    r" ?\( ?‹ ?(?:or(?: equivalently)?|equivalently|that is|i[.]e[.]),? ?› ?([^()‹›]{1,60}?) ?\)$"
)
"""`\\frac{3}{5} (\\text{or } 0.6)`."""
_SIGN: Final = re.compile(
    r"^(?:(?:\\(?:approx|simeq|sim|therefore)(?![A-Za-z])|[=≃∴:]"
    r"|‹? ?\b(?:about|approximately|approx\.?|exactly) ?›?) ?)++"
    r"(?=[-+$]?[0-9.]|[-+]?\\(?:frac|sqrt|pi)(?![A-Za-z]))"
)
"""What may stand before a value and changes nothing of it."""
_NEXT: Final = re.compile(r"(= ?(?:[^={}]|\{[^={}]*\})*?)(?<=[0-9}] )(?=[A-Za-z](?:_\w)? ?=)")
"""Between `x=1` and `y=2`."""
_PROGRESSION: Final = re.compile(
    r"(?<![0-9.])((?:-?[0-9]{1,5} ?, ?){1,6})(?:\\[lc]?dots|\.\.\.|…) ?, ?(-?[0-9]{1,5})(?![0-9.])"
)
_VECTOR: Final = r"(\([^()&=<>]{3,200}\)|\\begin\{[pb]matrix\}[^&()=<>]{3,200}?\\end\{[pb]matrix\})"
_LINE: Final = re.compile(rf"^([^=]{{1,30}}= ?)?{_VECTOR} ?\+ ?([a-z]|\\lambda ?|\\mu ?) ?\*? ?{_VECTOR}$")
_MOST_MEMBERS: Final = 500
_DENIED: Final = re.compile(r"\b(?:not|no|never|less|more|greater|or|wrong|nicht|pas)\b|n't|[不没非或]")
_POINT: Final = re.compile(r"^\\?[A-Z]'?(?:_\{?[0-9]\}?)? ?(\([^()]{3,200}\))$")
_PAIR: Final = re.compile(r"^\([^()]{3,200}\)$|^\\begin\{[pb]matrix\}")


def usual(text: str) -> str:
    """The text with `y'` for a derivative, `\\binom` and factorials for what counts, no words in front of a value."""
    if len(text) > _LONGEST:
        return text
    if "prime" in text or "d" in text or "^" in text:
        text = _PRIME.sub(lambda found: "'" * (found[1] or found[2]).count("prime"), text)
        text = _NTH.sub(lambda found: found[1] + "'" * int(found[2]), text)
        text = _APPLIED.sub(r"\2'(\1)", text)
        text = _DERIVATIVE.sub(lambda found: f"{found[3]}''" if found[3] else f"{found[1] or found[2]}'", text)
    if "\\begin" in text and (system := _SYSTEM.match(text.replace("&=", "="))):
        text = ", ".join(row.strip(" ,;") for row in system[2].strip("↵ ").split("↵"))
    if line := _LINE.match(text):
        text = _along(line) or text
    said = _SAID.match(text)
    if said and not _DENIED.search(said.group()):
        text = text[said.end() :]
    if said := _SAID_IN_TEXT.match(text):
        text = text[said.end() :].replace("›", "", len(said[1]))
    text = _ALL.sub("", _SIGN.sub("", text))
    if text.endswith(")") and "‹" in text:
        text = _ALSO.sub(r" ‹or› \1", text)
    if "\\mp" in text and "\\pm" not in text:
        text = text.replace("\\mp", "\\pm")
    if text.count("=") > 1:
        text = _NEXT.sub(lambda found: f"{found[1].rstrip()}, ", text)
    if "," in text:
        text = _PROGRESSION.sub(_written_out, text)
    if "C" in text:
        text = _CHOSEN.sub(_chosen, text)
    if "cis" in text:
        text = _CIS.sub(_cosine_and_sine, text)
    return _spelled(_COUNTED, text)


def _along(line: re.Match[str]) -> str | None:
    """`(1,2)+t(3,4)` as `(1+t(3),2+t(4))`."""
    start, way = (re.split("[,↵]", re.sub(r"\\(?:begin|end)\{[pb]matrix\}|[()]", "", line[at])) for at in (2, 4))
    if len(start) != len(way):
        return None
    parts = (f"{one.strip()}+{line[3]}*({step.strip()})" for one, step in zip(start, way, strict=True))
    return f"{line[1] or ''}({', '.join(parts)})"


def _chosen(found: re.Match[str]) -> str:
    many, few = (next(filter(None, found.groups()[at : at + 3])) for at in (0, 3))
    return found.group() if many.isdigit() else f"\\binom{{{many}}}{{{few}}}"


def counted(gold: str, answer: str) -> tuple[str, str]:
    """A pair in which `C(10,3)` and `P(10,3)` are what they count, or points without their names, and sums of unit
    vectors as coordinates, where the other side is a list of coordinates."""
    for one, other in ((gold, answer), (answer, gold)):
        point = _POINT.match(one) if _PAIR.match(other) else None
        if named := point[1] if point else _in_coordinates(one, other):
            return (named, answer) if one is gold else (gold, named)
    if "\\binom" in gold + answer:
        gold, answer = (_CHOSEN_BY_NAME.sub(_by_name, text) for text in (gold, answer))
    return _spelled(_CALLED, gold), _spelled(_CALLED, answer)


def _by_name(found: re.Match[str]) -> str:
    many, few = filter(None, found.groups())
    return f"\\binom{{{many}}}{{{few}}}"


def _written_out(found: re.Match[str]) -> str:
    """`1, 3, \\ldots, 9` as `1, 3, 5, 7, 9`: steps of one where only one number stands before the dots."""
    given, last = [int(part) for part in found[1].split(",") if part.strip()], int(found[2])
    step = given[1] - given[0] if len(given) > 1 else 1
    members = range(given[0], last + (1 if step > 0 else -1), step) if step else range(0)
    whole = list(members[: len(given)]) == given and last == members[-1] and len(members) <= _MOST_MEMBERS
    return ", ".join(map(str, members)) if whole else found.group()


def _cosine_and_sine(found: re.Match[str]) -> str:
    angle = found[1][1:-1] if found[1][0] in "({" else found[1]
    return f"(\\cos({angle})+i\\sin({angle}))"


def _in_coordinates(text: str, like: str) -> str | None:
    """`3i + 4j` in the coordinates of `like`; None where they are no two such."""
    if not text.rstrip().endswith(("i", "j", "k")) or not _COORDINATES.fullmatch(like):
        return None
    found: dict[str, str] = {}
    at = 0
    while at < len(text.rstrip()):
        term = _UNIT_TERM.match(text, at)
        if not term or term[3] in found or (at and not term[1]):
            return None
        found[term[3]] = f"{term[1]}{term[2].strip() or 1}"
        at = term.end()
    matrix = like.startswith("\\b")
    letters = "ijk"[: like.count("↵" if matrix else ",") + 1]
    if not set(letters) >= set(found):
        return None
    parts = [found.get(letter, "0").removeprefix("+") for letter in letters]
    return f"\\begin{{pmatrix}}{'↵'.join(parts)}\\end{{pmatrix}}" if matrix else f"({', '.join(parts)})"


def _spelled(pattern: re.Pattern[str], text: str) -> str:
    """The text with its matches in factorials, where it has no other letters: `C_5^2` beside an x is a power."""
    if not any(letter in text for letter in ("C", "P", "A", "choose")):
        return text
    return text if _OTHER_LETTERS.search(pattern.sub("", text)) else pattern.sub(_counted, text)


def _counted(found: re.Match[str]) -> str:
    letter = next((part for part in found.groups() if part and part.isalpha()), "C")
    few, many = sorted(int(part) for part in found.groups() if part and part.isdigit())
    return f"\\binom{{{many}}}{{{few}}}" if letter == "C" else f"\\frac{{{many}!}}{{{many - few}!}}"
