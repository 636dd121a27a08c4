"""What stands left of `=`: false equations, functions under another variable's name, constants of integration."""

from __future__ import annotations

import re
from fractions import Fraction

from sandbox_gym.verifiers.math.expressions.evaluate import try_evaluate
from sandbox_gym.verifiers.math.expressions.notations import counted
from sandbox_gym.verifiers.math.expressions.shapes import split_top
from sandbox_gym.verifiers.math.expressions.tex import composed, squeezed
from sandbox_gym.verifiers.math.expressions.values import approximate, as_fraction, variables
from sandbox_gym.verifiers.math.options import Decision, MathOptions
from sandbox_gym.verifiers.math.rungs.bound import with_bound_letters
from sandbox_gym.verifiers.math.rungs.intervals import same_interval
from sandbox_gym.verifiers.math.rungs.named import with_sets_of_numbers, without_arrows, words_as_names
from sandbox_gym.verifiers.math.rungs.piecewise import by_conditions
from sandbox_gym.verifiers.math.rungs.texts import TOLD_CHOICE

_FUNCTION = re.compile(r"^([A-Za-z]'{0,3})\(([a-z])\)\s*=")
_SEQUENCE = re.compile(r"^([A-Za-z]) ?_ ?\{? ?([i-n]) ?\}? ?=")
_ANGLES = re.compile(r"\\angle ?\{? ?([A-Z]{1,3})(?![A-Z])")
_ANGLE = re.compile(r"(\\angle) ?\{? ?[A-Z]([A-Z])[A-Z] ?\}?(?![A-Z])")
_UNAPPLIED = re.compile(r"^([A-Za-z]'{0,3}) ?(?:=|\\equiv(?![a-z]))")
_HEAD = re.compile(r"^(y|[fghFGH](?: ?\^ ?\{? ?-1 ?\}?)?(?='{0,3} ?\(x\)))('{0,3}) ?(?:\(x\))? ?=")
_ASKED = re.compile(
    r"^(?:\\(?:det|dim|deg|arg|lim|limsup|liminf|i{0,3}int|oint|sum|prod|max|min|sup|inf|gcd|lcm|varphi|phi|chi|lVert)"
    r"(?![A-Za-z])|#|\\?\||\[|[fghFGH] ?(?:_ ?\{?[a-z]{1,3}\}?)? ?\((?=.*[0-9])(?=.*[,(]))"
)
"""A value that is asked for: `\\det A = 5`, `f(g(2)) = 5`, `[\\mathrm{H}^+] = 5`."""
_RANGE = re.compile(
    r"[,;(]? ?‹?(?: ?where|for)? ?›? ?"
    r"[klmn] ?(?:\\in ?\\mathbb\{[ZN]\}(?:[_^]\{?[*+]\}?)?|‹ ?(?:is )?(?:an |any )?integer ?›) ?\)?$"
    r"|[,;(]? ?‹ ?(?:where |for )?(?:all |any |some |every )?"
    r"(?:integers?|(?:positive|natural|non-?negative|whole) (?:integers?|numbers?)) ?› ?[klmn] ?\)?$"
    r"|(?:[,;(]|‹ ?,? ?(?:for|where|when|with) ?(?:all|any|every|each)? ?›) ?n"
    r" ?(?:\\ge ?[01]|> ?0|\\in ?N ?(?:[_^] ?\{? ?[*+] ?\}?)?) ?\)?$"
    r"|‹ ?,? ?for all ›? ?[a-z] ?(?:> ?|\\ne ?)0$"
    r"|[,;(]? ?\\forall ?[a-z](?: ?\\in ?\\mathbb\{[A-Z]\})?$"
    r"|[,;(]? ?‹? ?(?:for|with|where) (?:all|any|every|each|some) ?(?:(?:real|arbitrary|integers?) ?)?"
    r"(?:(?:numbers?|constants?|values of) ?)?›? ?[A-Za-z]?(?: ?\\in ?\\mathbb\{[A-Z]\})? ?\)?$"
    r"|[,;(]? ?(?:‹ ?where ?›)? ?"
    r"(?:[a-zC] ?\\in ?\\mathbb\{R\}|[CcK] ?‹ ?is (?:an? )?(?:arbitrary |real )?constant ?›) ?\)?$"
    r"|(?:[,;(]|‹ ?where ?›) ?[a-zC](?: ?, ?[a-zC]){1,3} ?\\in ?\\mathbb\{R\} ?\)?$"
)
_SUM = re.compile(r"[0-9.]+ ?[-+*/\\^]")
_MUTUAL = re.compile(r"([A-Za-z]{1,3}) ?(\\(?:parallel|perp)) ?([A-Za-z]{1,3})")
_PARTIAL = re.compile(r"\\frac ?\{ ?\\partial ?([A-Za-z]) ?\} ?\{ ?\\partial ?([a-z]) ?\}")
_NUMBERS = re.compile(r"[klmn] ?\\in ?\\mathbb\{([ZN])\}( ?[_^] ?\{? ?(?:[*+]|> ?0) ?\}?)?")
_BUILT = re.compile(
    r"^\\\{ ?(?:[a-z] ?(?:\\mid|\\vert|\||:) ?([a-z] ?=.{1,300}\\mathbb\{Z\})"
    r"|([^|:=,]{1,100}) ?(?:\\mid|\\vert|\||:) ?([klmn] ?\\in ?\\mathbb\{Z\})) ?\\\}$"
)
_SET = re.compile(
    r"^\\\{ ?([^|:{}\\]{1,60}?) ?(\\in ?\\mathbb\{[A-Z]\}(?: ?[_^] ?\{?[-+*0-9n]\}?)?)? ?,?"
    r" ?(?:\\mid(?![A-Za-z])|\||:|‹ ?(?:such that|where) ?›) ?(.{1,400}?) ?\\\}$"
)
"""`\\{x \\in \\mathbb{R} \\mid x > 2\\}`."""
_MEMBER = re.compile(r"^([a-z])(?: ?\\in(?![a-z])|$)")
_UNSAID = re.compile(r"\\in ?\\mathbb\{[RC]\}")
_A_CHOICE = re.compile(r"^‹? ?(?:[A-Za-z ]{0,20} )?\(?[A-Ja-j](?:[.):›]|$)")
_CONDITION = re.compile(
    r"^(.{1,200}?[^,;( ]) ?[,;]? ?(?:‹ ?,? ?(?:for|where|when|if|with) ?›)? ?\(? ?"
    r"((?:[^,;()=<>\\ ]{1,20} ?(?:\\le|<) ?)?"
    r"[a-z](?:_\w)? ?(?:\\(?:ne|ge|le|in)(?![a-z])|[<>])[^;=‹›]{1,40}?)\)?$"
)
_SOLUTION = re.compile(r"^(?:[a-z]|[A-Za-z] ?\([a-z]\)) ?=")
_FREE = re.compile(r"(?<![A-Za-z\\])(?:[A-Z]|c)(?:_\{?[0-9]\}?)?(?! ?\()")
"""What may name the constant of a solution."""
_EXPONENTIAL = re.compile(r"^[^=]*(?<![A-Za-z\\])C(?:_1)? ?e ?\^[^=]*$")
"""`Ce^{-x}`."""
_BARE_LOG = re.compile(r"\\log(?![A-Za-z]| ?_)")
_DERIVED_BY = re.compile(
    r"d\}? ?(?:\^ ?\{?[0-9]\}?)? ?\}? ?[A-Za-z] ?\}? ?(?:/|\} ?\{|\}) ?"
    r"(?:\\[a-z]{2,8} ?\{ ?)?\{? ?d ?\}? ?([a-z])(?![A-Za-z])"
)
_ORDERED = re.compile(
    r"(?<![A-Za-z\\])([fghFGHy]) ?(?:\( ?([fghFGH]) ?\(|\^ ?\{? ?\(([0-9n])\)|\^ ?\{ ?(-1) ?\}(?= ?\()(?!.*=))"
)
"""`f(g(x))`, which is no product, `f^{(3)}` and `f^{-1}(x)`, which are no powers."""
_OF_VECTORS = re.compile(
    r"\\(?:nabla|(?:vec|mathbf|overrightarrow|boldsymbol|bm) ?\{? ?\\?[A-Za-z]{1,8} ?\}?) ?\\(cdot|times)(?![a-z])"
)
"""`\\nabla \\cdot F` and `\\vec a \\times \\vec b`, whose signs of multiplication are two operations."""
_CARTESIAN = re.compile(r"([A-Z]) ?(\\times(?![a-z]))? ?([A-Z])")
_NUMBER = re.compile(r"[0-9]{1,20}(?:\.[0-9]{1,20})?")
_BEFORE = re.compile(r"[0-9./]*[-+*]?|\\frac[0-9]{2}")
_ACCENT = re.compile(r"\\(?:overline|d?dot)")
_NO_BRACES = str.maketrans("", "", "{}")
"""What changes the value of what it stands before."""
_PRIME = re.compile(r"\^ ?\{? ?(?:((?:\\prime ?){1,4})|\(([1-9])\)) ?\}?")
_PRIMES = re.compile(r"\\[A-Za-z]+|([A-Za-z])((?:'(?!s(?![A-Za-z])))*)")
_TURNS = re.compile(r"(?<![A-Za-z\\])(?:[klmn] ?\\pi(?![A-Za-z])|\\pi ?[klmn](?![A-Za-z]))")
_ABOUT = re.compile(r"\\(?:approx|simeq|cong|doteq|sim)(?![A-Za-z])|[≃≅≒∼]")
_DECIMAL_TAIL = re.compile(
    r"^([^.<>]{1,300}?[^.<>=]) ?(?:=|\\approx(?![a-z])) ?(?:(-?[0-9]{0,20}\.([0-9]{2,20})) ?(?:\\[lc]?dots|\.\.\.)?"
    r"(?: ?‹[^‹›]{1,20}›)?|(-?[0-9]{0,20}\.[0-9]{0,20}\\overline ?\{[0-9]{1,20}\}))$"
)
_PLACES = re.compile(r"[0-9]?\.([0-9]{1,20})")
_ROUNDED = Fraction(1, 6)
_CONSTANT = re.compile(
    r"(?:\+|(?:(?<=[^=\s]{2})|(?<=[^=]{2}[^=\s])) ?=(?= ?‹? ?[CKck]))"
    r" ?‹?\s*([A-Zck]|const(?:ant)?\.?)(?:_\{?[0-9]\}?)?\s*›?$"
)


def _without_decimal(gold: str, answer: str) -> str:
    """The answer without the decimal that it ends in, `x = \\sqrt{2} = 1.41`, where that rounds what it says before;
    the decimal where that is the gold."""
    tail = _DECIMAL_TAIL.match(answer) if "=" not in gold else None
    value = try_evaluate(split_top(tail[1], "=")[-1]) if tail else None
    exact = approximate(value) if value is not None and not variables(value) else None
    near = tail is not None and tail[3] and exact is not None and abs(float(tail[2]) - exact) <= 10.0 ** -len(tail[3])
    if not tail or not (near or (tail[4] and value == try_evaluate(tail[4]))):
        return answer
    return tail[2] if gold == tail[2] else answer if "." in gold else tail[1].strip()


def false_equation(gold: str, answer: str) -> Decision | None:
    """An answer that is an equation between different numbers (`1+2=5`, `x=4=5`, `4 \\approx 5`) is no answer, whatever
    the gold."""
    if "=" in gold or "\\pmod" in answer:
        return None
    equation, about = _ABOUT.subn("=", answer.replace("\\equiv", "="))
    sides = [try_evaluate(side) for side in split_top(equation, "=")]
    known = [side for side in sides if side is not None and not variables(side)]
    if not (about or "." in answer):  # decimals may be rounded, as in `2/3 = 0.67`
        differ = any(side != known[0] for side in known)
    else:
        numbers = [number for side in known if (number := as_fraction(side)) is not None and number.denominator == 1]
        round_ones = any(number % 10 == 0 for number in numbers)
        much = max(map(abs, numbers), default=Fraction(0)) * (_ROUNDED if round_ones or "." in answer else 0)
        differ = bool(numbers) and max(numbers) - min(numbers) > much
        told = known if not about or "." not in answer else []  # of x = 1/3 \approx 1.3 the exact one is meant
        near = [value for side in told if (value := approximate(side)) is not None]
        places = [len(each) for each in _PLACES.findall(answer)] + ([0] if numbers else [])
        rounding = 10.0 ** -min(places, default=0) if "." in answer else 0.0  # of the coarsest side
        far = max(rounding, float(_ROUNDED) * max(map(abs, near), default=0.0))
        differ = differ or (bool(near) and max(near) - min(near) > far)
    return Decision(False, "equation", "an equation between different numbers") if differ else None


def paired(gold: str, answer: str) -> tuple[str, str]:
    """Both in one notation, the answer with the gold's names: `y` or `f(x)`, a function's variable, a constant of
    integration."""
    gold, answer = by_conditions(gold, answer)
    told, given = TOLD_CHOICE.match(gold), TOLD_CHOICE.match(answer)
    if told and given and {told[1], told[2]} == {given[1], given[2]}:
        answer = answer[given.end() :]
    if told and not _A_CHOICE.match(answer):
        gold = gold[told.end() :]
    answer = _without_decimal(gold, with_sets_of_numbers(gold, answer))
    mutual = _MUTUAL.fullmatch(gold), _MUTUAL.fullmatch(answer)
    if mutual[0] and mutual[1] and mutual[0].groups() == mutual[1].groups()[::-1]:
        answer = gold
    if ("\\partial" in gold) != ("\\partial" in answer):
        gold, answer = (_PARTIAL.sub(r"\1_\2", text) for text in (gold, answer))
    gold, answer = without_arrows(gold, answer)
    gold, answer = words_as_names(*_of_one_thing(*with_bound_letters(gold, answer)))
    gold, answer = _without_range(*_natural(*counted(*(_of_sets(gold, answer) or _without_condition(gold, answer)))))
    mine, theirs = _HEAD.match(gold), _HEAD.match(answer)
    if mine and theirs and (mine[1] == theirs[1] or "y" in (mine[1], theirs[1])) and mine[2] == theirs[2]:
        answer = mine.group() + answer[theirs.end() :]
    return gold, _renamed(gold, answer)


def other_derivative(gold: str, answer: str) -> Decision | None:
    """Derivatives by other variables, as the texts are before `dy/dx` and `dy/dt` become `y'`; functions of functions
    in another order."""
    alike = ("=" in gold) == ("=" in answer)
    if alike and "d" not in gold + answer and _other_primes(gold, answer):
        return Decision(False, "equation", "a function for its derivative")
    if (
        alike
        and "'" not in gold + answer
        and len({tuple(sorted(_ORDERED.findall(composed(text)))) for text in (gold, answer)}) > 1
    ):
        return Decision(False, "equation", "another derivative, or functions in another order")
    pair = [_CARTESIAN.fullmatch(text.strip(" $")) for text in (gold, answer)]
    if pair[0] and pair[1] and pair[0][2] and pair[0].groups() != pair[1].groups():
        return Decision(False, "equation", "another product of sets")
    mine, theirs = (set(_OF_VECTORS.findall(text)) for text in (gold, answer))
    if mine != theirs and ((mine and theirs) or all("\\nabla" in text for text in (gold, answer))):
        return Decision(False, "equation", "another product of vectors")
    if "d" not in gold or "d" not in answer:
        return None
    mine, theirs = (set(_DERIVED_BY.findall(text)) for text in (gold, answer))
    differ = mine and theirs and mine != theirs
    return Decision(False, "equation", "derivatives by other variables") if differ else None


def of_another(gold: str, answer: str) -> Decision | None:
    """What is right of `=` is said of something else that differs in a number, a factor or a sign: `P(X=8)`, `2P(X=1)`
    and `1-P(X=1)` for `P(X=1)`, a sum to another bound."""
    first, second = ([side.strip() for side in split_top(text, "=")] for text in (gold, answer))
    angles = [{min(name, name[::-1]) for name in _ANGLES.findall(text)} for text in (gold, answer)]
    if all(angles) and angles[0] != angles[1]:
        return Decision(False, "equation", "another angle")
    if len(first) != 2 or len(second) != 2 or squeezed(first[0]) == squeezed(second[0]):
        return None
    values = try_evaluate(first[1]), try_evaluate(second[1])
    if squeezed(first[1]) != squeezed(second[1]) and (values[0] is None or values[0] != values[1]):
        return None
    shorter, longer = sorted((squeezed(each[0]).translate(_NO_BRACES) for each in (first, second)), key=len)
    numbers = re.search("[A-Za-z]", shorter) and _NUMBER.sub("", shorter) == _NUMBER.sub("", longer)
    own, theirs = (sorted(map(float, _NUMBER.findall(each))) for each in (shorter, longer))
    numbers = numbers and own != theirs
    before = longer.removesuffix(shorter) if shorter and shorter != longer else ""
    other = before != longer and (_BEFORE.fullmatch(before) or (len(shorter) == 1 and _ACCENT.fullmatch(before)))
    return Decision(False, "equation", "said of something else") if numbers or (before and other) else None


def _other_primes(gold: str, answer: str) -> bool:
    """Whether a letter that has primes in one text has other ones in the other, which math-verify does not see."""
    texts = (_PRIME.sub(lambda found: "'" * int(found[2] or found[1].count("p")), text) for text in (gold, answer))
    mine, theirs = ({(each[1], each[2]) for each in _PRIMES.finditer(text) if each[1]} for text in texts)
    primed = {letter for letter, primes in mine | theirs if primes}
    own, other = ({each for each in marks if each[0] in primed} for marks in (mine, theirs))
    return own != other and {letter for letter, _ in own} == {letter for letter, _ in other}


def _of_sets(gold: str, answer: str) -> tuple[str, str] | None:
    """What is to be compared of two sets `\\{x \\mid x > 2\\}`: the conditions where their elements are the same, the
    elements where the conditions are. That elements are real, or complex, need not be said."""
    mine, theirs = _SET.match(gold), _SET.match(answer)
    if not mine or not theirs:
        return None
    names = [found[1] if (found := _MEMBER.match(each[1]) or _MEMBER.match(each[3])) else "" for each in (mine, theirs)]
    if all(names) and not _letter(names[0]).search(answer):
        theirs = _SET.match(_letter(names[1]).sub(names[0], answer)) or theirs
    of, whose = (squeezed(each[2] or "") for each in (mine, theirs))
    if of == whose or ((not of or not whose) and _UNSAID.match(of + whose)):
        for compared, same in ((3, 1), (1, 3)):
            if squeezed(mine[same]) == squeezed(theirs[same]):
                return mine[compared], theirs[compared]
    return gold, answer


def _without_condition(gold: str, answer: str) -> tuple[str, str]:
    """Both without the condition that both end in: `y = x^2 (x \\ne 0)` and `y = x^2, x \\ne 0`."""
    mine, theirs = _CONDITION.match(gold), _CONDITION.match(answer)
    if (
        not mine
        or not theirs
        or any(sign in mine[1] + theirs[1] for sign in ("<", ">", "\\le", "\\ge", "\\ne", "\\in"))
    ):
        return gold, answer
    regions = same_interval(mine[2], theirs[2], MathOptions())
    same = squeezed(mine[2]) == squeezed(theirs[2]) or (regions and regions.equal)
    return (mine[1], theirs[1]) if same else (gold, answer)


def _of_one_thing(gold: str, answer: str) -> tuple[str, str]:
    """What both say of one thing, or the gold of what it asks for: math-verify takes `\\varphi(12) = 5` for
    `\\varphi(12) = 6`, as it does with all equations without variables."""
    if len({len(_ANGLE.findall(text)) for text in (gold, answer)}) > 1:  # in a triangle, angle BAC is angle A
        gold, answer = (_ANGLE.sub(r"\1 \2", text) for text in (gold, answer))
    mine, theirs = split_top(gold, "="), split_top(answer, "=")
    if (
        len(mine) != 2
        or _CONSTANT.search(gold)
        or any(pattern.match(gold) for pattern in (_HEAD, _FUNCTION, _SOLUTION))
    ):
        return gold, answer
    known = try_evaluate(mine[0]) if _SUM.match(mine[0]) else None
    if len(theirs) == 1 and (_ASKED.match(gold) or (known is not None and not variables(known))):
        return mine[1].strip(), answer
    of_one = len(theirs) == 2 and len({squeezed(each[0]).translate(_NO_BRACES) for each in (mine, theirs)}) == 1
    return (mine[1].strip(), theirs[1].strip()) if of_one else (gold, answer)


def _natural(gold: str, answer: str) -> tuple[str, str]:
    """Both with `\\ln`, where one writes it and the other has `\\log` without a base in its place."""
    texts = [gold, answer]
    for own, other in ((0, 1), (1, 0)):
        if "\\ln" in texts[other] and "\\log" not in texts[other] and "\\ln" not in texts[own]:
            texts[own] = _BARE_LOG.sub(r"\\ln", texts[own])
    return texts[0], texts[1]


def _without_range(gold: str, answer: str) -> tuple[str, str]:
    """Both without `k \\in \\mathbb{Z}` behind them, the answer with the gold's letter."""
    if not any(
        word in gold + answer
        for word in ("\\mathbb", "\\ge", "\\in", "integer", "constant", "for ", "with ", "where ", "\\pi")
    ):
        return gold, answer
    ranges = [found for text in (gold, answer) if (found := _NUMBERS.search(text))]
    if len({found[1] == "N" or bool(found[2]) for found in ranges}) > 1:
        return gold, answer
    first, second = (_RANGE.sub("", _BUILT.sub(_from_its_rule, text)) for text in (gold, answer))
    if (first, second) != (gold, answer) or all(map(_TURNS.search, (gold, answer))):
        mine, theirs = ([name for name in "klmn" if _letter(name).search(text)] for text in (first, second))
        if len(mine) == len(theirs) == 1:
            second = _letter(theirs[0]).sub(mine[0], second)
    return first.strip() or gold, second.strip() or answer


def _from_its_rule(found: re.Match[str]) -> str:
    return found[1] or f"{found[2].strip()}, {found[3]}"


def _renamed(gold: str, answer: str) -> str:
    if (
        (own := _SEQUENCE.match(gold))
        and (other := _SEQUENCE.match(answer))
        and own[1] == other[1]
        and own[2] != other[2]
    ):
        body = answer[other.end() :]
        return answer if _letter(own[2]).search(body) else own.group() + _letter(other[2]).sub(own[2], body)
    first, second = _FUNCTION.match(gold), _FUNCTION.match(answer)
    if first and not second and (named := _UNAPPLIED.match(answer)) and named[1] == first[1]:
        answer = first.group() + answer[named.end() :]
    elif first and second and first[1] == second[1] and first[2] != second[2]:
        body = answer[second.end() :]
        if not _letter(first[2]).search(body):
            answer = f"{first[1]}({first[2]})=" + _letter(second[2]).sub(first[2], body)
    if (_SOLUTION.match(gold) or _EXPONENTIAL.search(gold)) and "‹" not in gold + answer:
        answer = _with_constants(gold, answer)
    mine, theirs = _CONSTANT.search(gold), _CONSTANT.search(answer)
    if not (mine and theirs and (mine[1].isupper() or len(mine[1]) > 1)) or theirs.group() == mine.group():
        return answer
    rest = answer[: theirs.start()]
    if len(theirs[1]) > 1:
        return rest + mine.group()
    return answer if _letter(theirs[1]).search(rest) else rest + mine.group()


def _with_constants(gold: str, answer: str) -> str:
    """The answer with the names of the gold's constants, where those are `C`, or `C_1` and `C_2`, and no other capital
    letter is in the gold."""
    mine, theirs = (sorted(set(_FREE.findall(text.partition("=")[2] or text))) for text in (gold, answer))
    if mine == theirs or len(mine) != len(theirs) or any(name[0] not in "Cc" for name in mine):
        return answer
    if set(mine) & set(theirs):
        return answer
    names = dict(zip(theirs, mine, strict=True))
    return _FREE.sub(lambda found: names.get(found.group(), found.group()), answer)


def _letter(name: str) -> re.Pattern[str]:
    """The variable where it stands alone, not inside a command's or a function's name."""
    return re.compile(rf"(?<![A-Za-z\\]){re.escape(name)}(?![A-Za-z])")
