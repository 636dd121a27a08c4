"""Rewrites an answer for math-verify: spellings that it misreads become ones that it reads."""

from __future__ import annotations

import re

from sandbox_gym.verifiers.math.expressions.quantities import decimal_places, merge_thousands
from sandbox_gym.verifiers.math.expressions.tex import ROW_END, normalise
from sandbox_gym.verifiers.math.rungs.equations import paired
from sandbox_gym.verifiers.math.rungs.intervals import without_outward_brackets

_CALLS = {
    "sqrt": ("\\sqrt{", "}"),
    "cbrt": ("\\sqrt[3]{", "}"),
    "exp": ("e^{", "}"),
    "abs": ("|", "|"),
    "factorial": ("(", ")!"),
    "floor": ("\\lfloor ", "\\rfloor "),
    "ceil": ("\\lceil ", "\\rceil "),
    "binom": ("\\binom{", "}"),
    "coth": ("(\\frac{1}{\\tanh(", ")})"),
    "sech": ("(\\frac{1}{\\cosh(", ")})"),
    "csch": ("(\\frac{1}{\\sinh(", ")})"),
}
"""What opens and what closes a call; the comma of `binom` becomes `}{`."""
_BINOM = "}\n"
_CALL = re.compile(rf"\\?({'|'.join(_CALLS)}) ?\(|[(),]")
_WORDS = re.compile(r"(?<![A-Za-z\\‹])(pi|theta|alpha|beta|gamma|infinity|infty|oo)(?![A-Za-z›])")
_COMMANDS = {"infinity": "\\infty ", "oo": "\\infty ", "infty": "\\infty "}
_SCIENTIFIC = re.compile(r"(?<![\w.\\])([0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE]([+-]?[0-9]{1,4})(?![\w.])")
_MIXED = re.compile(r"(?<![0-9.)}/^_])([0-9]{1,9}) +([0-9]{1,9})\s*/\s*([0-9]{1,9})(?![0-9.])")
_DEGREES = r"([0-9]{1,6}(?:\.[0-9]{1,6})?) ?\^\\circ"
_IN_DEGREES = re.compile(_DEGREES)
_WHOLE_ANGLE = re.compile(rf"(-?){_DEGREES}")
_INVERSE = re.compile(r"\\(?:arc[a-z]{3,4}|(?:sin|cos|tan|cot|sec|csc) ?\^ ?\{ ?-1 ?\})")
_POWER = r"(?: ?\^ ?(?:[0-9]|\{[0-9]{1,3}\}))?"
_ANGLE = re.compile(rf"\\((?:sin|cos|tan|cot|sec|csc){_POWER}) ?(?:\( ?{_DEGREES} ?\)|\{{ ?{_DEGREES} ?\}}|{_DEGREES})")
_OF_ANGLE = re.compile(r"\\(?:sin|cos|tan|cot|sec|csc)(?![a-z]| ?\^ ?\{ ?-1)[^,;=]{1,400}")
_FACTOR = re.compile(r"(?<![\w.)}/^\]])([0-9]{1,9})/([0-9]{1,9}) (?=\\?[A-Za-z(])")
_ALL_BUT = re.compile(r"(\\mathbb\{[A-Z]\}) ?(?:-|\\backslash) ?(?=\\\{)")
_NUMERAL = re.compile(r"^\(([0-9A-Fa-f]{1,400})\)(?= ?_)")
_PRIMED = re.compile(r"(?<![A-Za-z\\])([A-Za-z])('{1,3})(?! ?\()")
"""math-verify drops primes, and takes y' = 2x for y' = -2x where it is written as a quotient."""
_PLAIN_ROOT = re.compile(r"\\sqrt(\[[^\[\]]{1,9}\])?\s+([0-9]+|[A-Za-z])")
_LETTER_ROOT = re.compile(r"\\sqrt(\[[^\[\]]{1,9}\])?([0-9](?![0-9])|(?<=\])[A-Za-z])")
_FACTORIAL_RAISED = re.compile(r"(?<![A-Za-z0-9)}])([0-9]{1,9}|[a-z]|\([^()]{1,40}\))!(?= ?\^)")
_LOG = r"(\\(?:ln|log)(?:_\{?[0-9a-z]{1,6}\}?)?) ?"
_LOG_OF = re.compile(rf"{_LOG}([0-9]{{1,9}}|[A-Za-z])(?= ?/)|{_LOG}([0-9]{{0,9}}\.[0-9]{{1,9}})(?! ?[0-9.^!A-Za-z\\])")
"""ln 2/2 is (ln 2)/2, and math-verify takes \\log_2 1.5 for the logarithm of 1 * 0.5."""
_FACTOR_BEHIND = re.compile(
    r"(\\(?:sin|cos|tan|cot|sec|csc|ln|log)"
    + _POWER
    + r") ?((?:[0-9]{1,3} ?)?(?:[A-Za-z]|\\[a-z]{2,8})|[0-9]{1,3}) ?(?=\*)"
)
"""math-verify takes sin x * y for sin(xy)."""
_BINOM_PAIR = re.compile(r"\\binom ?([A-Za-z0-9]) ?([A-Za-z0-9])")
_CURRENT = re.compile(r"(\\[A-Za-z]+)|I(?= ?_)")
_TO_THE_T = re.compile(r"(?<!matrix\})\^ ?(?:\{ ?T ?\}|T)")
"""math-verify reads I_1 and I_2 as unit matrices, and drops ^T."""
_RELATION = re.compile(r"[=<>]|\\(?:le|ge|ne|approx)(?![A-Za-z])")
_LAST = re.compile(r"(?<=[0-9}\s])((?:ab|am|bc|by|cc|dm|gm|lt|mp|mt|pm|rd|rs|st|th|[cdghlmost])(?:e?s)?)$")
_FORMULA = re.compile(r"\\(?!(?:frac|sqrt|pi|ln|log|exp|circ|binom)(?![A-Za-z]))[A-Za-z]+")
_LETTERS = re.compile(r"\\[A-Za-z]+|‹[^›]*›|([A-Za-z])")
_EITHER_CASE = re.compile(
    r"\\math[a-z]{2,4} ?\{[^{}]{1,40}\}|\\[A-Za-z]+|‹[^›]*›|\^ ?\{? ?T ?\}?(?![A-Za-z])"
    r"|([A-Za-z])( ?_ ?(?:[A-Za-z0-9]|\{[^{}]{1,20}\}))?"
)
_MATRIX = re.compile(r"\\(begin|end)\{(?:B|small)matrix\}")
_DETERMINANT = re.compile(r"\| ?\\begin\{array\}\{[clr]{1,20}\}([^|]{1,2000}?)\\end\{array\} ?\|")


def rewrite(text: str) -> str:
    """The text for math-verify: the same meaning in plain LaTeX. Linear in the text's length."""
    return _rewritten(normalise(text))


def _rewritten(text: str) -> str:
    """A normalised text (normalising twice would lose the marks around words) as LaTeX."""
    text = _NUMERAL.sub(r"\1", text)  # math-verify takes (1011)_{2} for a number of permutations
    text = _MIXED.sub(_mixed, without_outward_brackets(text))
    text = _ALL_BUT.sub(r"\1\\setminus ", _FACTOR.sub(r"\\frac{\1}{\2} ", text))  # 4/3 \pi is no 4/(3 \pi)
    text = _SCIENTIFIC.sub(r"(\1 \\times 10^{\2})", text) if not _SCIENTIFIC.fullmatch(text) else _power_of_ten(text)
    text = _calls(_PRIMED.sub(lambda found: f"{found[1]}_{{{'pr' * len(found[2])}}}", text))
    text = _WORDS.sub(lambda found: _COMMANDS.get(found[1], f"\\{found[1]} "), text)
    text = _PLAIN_ROOT.sub(r"\\sqrt\1{\2}", _LETTER_ROOT.sub(r"\\sqrt\1{\2}", text))
    text = _FACTORIAL_RAISED.sub(r"(\1!)", text)
    text = _LOG_OF.sub(r"\1\3(\2\4)", text)
    text = _BINOM_PAIR.sub(r"\\binom{\1}{\2}", text) if "binom" in text else text
    text = _TO_THE_T.sub(r"^{\\Psi_{t}}", _CURRENT.sub(lambda found: found[1] or "\\Xi ", text))
    text = _MATRIX.sub(r"\\\1{pmatrix}", _DETERMINANT.sub(r"\\begin{vmatrix}\1\\end{vmatrix}", text))
    text = _ANGLE.sub(lambda found: f"\\{found[1]}(\\frac{{{found[2] or found[3] or found[4]}\\pi}}{{180}})", text)
    text = _OF_ANGLE.sub(lambda found: _IN_DEGREES.sub(r"\\frac{\1\\pi}{180}", found.group()), text)
    if "*" in text:
        text = _FACTOR_BEHIND.sub(r"\1(\2)", text).replace("*", " \\cdot ")
    text = text.replace(ROW_END, "\\\\")
    text = text.replace("...", "\\ldots ").replace("…", "\\ldots ")
    text = text.replace("%", "\\%").replace("$", "\\$")
    return _texts(merge_thousands(text))


def rewrite_pair(gold: str, answer: str) -> tuple[str, str]:
    """Gold and answer for math-verify, the answer with the gold's names for a function's variable and for the
    constant."""
    first, second = _of_one_case(*paired(normalise(gold), normalise(answer)))
    first, second = _last_factor(first, second), _last_factor(second, first)
    for one, other in ((first, second), (second, first)):
        if _INVERSE.search(one) and (degrees := _WHOLE_ANGLE.fullmatch(other)):
            radians = f"{degrees[1]}\\frac{{{degrees[2]}\\pi}}{{180}}"
            first, second = (first, radians) if one is first else (radians, second)
        if "\\circ" in one and "+" in one and "\\pi" in other and "\\circ" not in other:
            radians = _IN_DEGREES.sub(r"\\frac{\1\\pi}{180}", one)
            first, second = (radians, second) if one is first else (first, radians)
    return _rewritten(first), _rewritten(second)


def _of_one_case(gold: str, answer: str) -> tuple[str, str]:
    """Both with another name for a capital letter whose small one stands beside it, and for `E_1` and `e_1`:
    math-verify reads every letter in lower case, `R - r` as 0, and no `E_1`."""
    capitals = set()
    for text in (gold, answer):
        letters = {found[1] for found in _EITHER_CASE.finditer(text) if found[1]}
        capitals |= {letter for letter in letters if letter.isupper() and letter.lower() in letters} - {"C"}

    def named(found: re.Match[str]) -> str:
        of_e = found[1] and found[1] in "Ee" and found[2]
        if not of_e and found[1] not in capitals:
            return found.group()
        stem = "\\Upsilon " if found[1] in "Ee" else found[1]
        return f"{stem}_{{{'low' if found[1] == 'e' else 'cap'}{(found[2] or '').strip(' _{}')}}}"

    return _EITHER_CASE.sub(named, gold), _EITHER_CASE.sub(named, answer)


def _last_factor(text: str, other: str) -> str:
    """The text with its last factor in braces where that is no unit: math-verify drops the t of `\\cos \\omega t`, and
    the ab of `\\frac{1}{2}ab`. A unit stands behind numbers alone, and the other text has no such letter."""
    found = _LAST.search(text.rstrip())
    if not found:
        return text
    relation = _RELATION.search(text)
    at = relation.end() if relation else 0
    head, body, last = text[:at], text[at : found.start()], found[1]
    named = set(_LETTERS.findall(head.rpartition("(")[2] + other))
    is_unit = not any(_LETTERS.findall(body)) and not _FORMULA.search(body) and not set(last) & named
    return text if is_unit else f"{head}{body}{{{last}}}"


def _mixed(found: re.Match[str]) -> str:
    whole, top, bottom = found.groups()
    return f"({whole}+\\frac{{{top}}}{{{bottom}}})" if 0 < int(top) < int(bottom) else found.group()


def _power_of_ten(text: str) -> str:
    mantissa, _, exponent = text.lower().partition("e")
    places = decimal_places(text)
    if places is None:
        return text
    return f"{mantissa} \\times 10^{{{int(exponent)}}}"


def _calls(text: str) -> str:
    """`sqrt(x)` as `\\sqrt{x}`, `exp(x)` as `e^{x}`: one pass, closing each call at its own bracket."""
    out: list[str] = []
    closers: list[str] = []
    at = 0
    for found in _CALL.finditer(text):
        out.append(text[at : found.start()])
        at = found.end()
        token = found.group()
        if token == ",":
            out.append("}{" if closers and closers[-1] == _BINOM else ",")
        elif token == ")":
            out.append(closers.pop().strip("\n") if closers else ")")
        else:
            opening, closing = _CALLS[found[1]] if found[1] else ("(", ")")
            out.append(opening)
            closers.append(_BINOM if found[1] == "binom" else closing)
    return "".join([*out, text[at:]]) if not closers else text


def _texts(text: str) -> str:
    return text.replace("‹", "\\text{").replace("›", "}")
