"""Normalises a short math text: unicode, spacing and command variants get one spelling.

Text commands (`\\text{ cm}`, `\\mathrm{kg}`) become runs between two marks, so that later readers can tell words from
variables. Every pattern here is linear; callers bound the length first.
"""

from __future__ import annotations

import re

from sandbox_gym.verifiers.math.expressions.functions import operator, with_commands
from sandbox_gym.verifiers.math.expressions.notations import usual
from sandbox_gym.verifiers.math.expressions.spellings import one_spelling

_UNICODE = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "⁻": "^{-}",
    "×": "*", "·": "*", "⋅": "*", "∙": "*", "∗": "*", "÷": "/", "∕": "/", "⁄": "/",
    "π": "\\pi ", "√": "\\sqrt ", "∞": "\\infty ", "°": "^\\circ ", "º": "^\\circ ",
    "≤": "\\le ", "⩽": "\\le ", "≥": "\\ge ", "⩾": "\\ge ", "≠": "\\ne ", "≈": "\\approx ", "≡": "\\equiv ",
    "∪": "\\cup ", "∩": "\\cap ", "∈": "\\in ", "±": "\\pm ", "ℝ": "\\mathbb{R}", "∅": "\\emptyset ",
    "α": "\\alpha ", "β": "\\beta ", "γ": "\\gamma ", "δ": "\\delta ", "θ": "\\theta ",
    "λ": "\\lambda ", "ρ": "\\rho ",
    "σ": "\\sigma ", "φ": "\\phi ", "ω": "\\omega ",
    "⟨": "\\langle ", "⟩": "\\rangle ", "′": "'", "％": "%", "，": ",", "．": ".", "：": ":", "（": "(", "）": ")",
    "½": "\\frac{1}{2}", "⅓": "\\frac{1}{3}", "⅔": "\\frac{2}{3}", "¼": "\\frac{1}{4}", "¾": "\\frac{3}{4}",
    "⅕": "\\frac{1}{5}", "⅖": "\\frac{2}{5}", "⅗": "\\frac{3}{5}", "⅘": "\\frac{4}{5}", "⅙": "\\frac{1}{6}",
    "⅚": "\\frac{5}{6}", "⅛": "\\frac{1}{8}", "⅜": "\\frac{3}{8}", "⅝": "\\frac{5}{8}", "⅞": "\\frac{7}{8}",
    "\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u2007": " ", "\u200a": " ", "\u3000": " ", "\u200b": "",
    "‹": "", "›": "",
}  # fmt: skip
_UNICODE |= {chr(0xFF10 + digit): str(digit) for digit in range(10)}
_UNICODE |= {sub: f"_{{{digit}}}" for digit, sub in enumerate("₀₁₂₃₄₅₆₇₈₉")}
_TABLE = str.maketrans(_UNICODE)
_RAISED = "⁰¹²³⁴⁵⁶⁷⁸⁹"
_RAISED_RUN = re.compile(f"⁻?[{_RAISED}]+")
_LOWERED_RUN = re.compile("[₀₁₂₃₄₅₆₇₈₉]{2,}")

_SAME = {
    "dfrac": "\\frac", "tfrac": "\\frac", "cfrac": "\\frac", "cdot": "*", "times": "*", "ast": "*", "div": "/",
    "leq": "\\le", "leqslant": "\\le", "geq": "\\ge", "geqslant": "\\ge", "lt": "<", "gt": ">", "neq": "\\ne",
    "degree": "^\\circ", "degrees": "^\\circ", "lbrace": "\\{", "rbrace": "\\}", "lbrack": "[", "rbrack": "]",
    "left": "", "right": "", "bigl": "", "bigr": "", "Bigl": "", "Bigr": "", "big": "", "Big": "", "bigg": "",
    "Bigg": "", "large": "", "Large": "", "LARGE": "", "huge": "", "Huge": "", "boldsymbol": "", "bm": "",
    "underline": "", "displaystyle": "", "textstyle": "", "limits": "", "quad": " ", "qquad": " ", "thinspace": " ",
    "varnothing": "\\emptyset", "rm": "", "bf": "", "it": "", "colon": ":", "euro": "€", "pounds": "£", "imath": "i",
    "tbinom": "\\binom", "dbinom": "\\binom", "lvert": "|", "rvert": "|", "vert": "|", "land": "‹and›", "lor": "‹or›",
    "vee": "‹or›", "nicefrac": "\\frac", "sfrac": "\\frac", "bigcup": "\\cup", "bigcap": "\\cap",
    "R": "\\mathbb{R}", "rightarrow": "\\to", "longrightarrow": "\\to",
}  # fmt: skip
_COMMAND = re.compile(r"\\([A-Za-z]+)\*?")
_TEXT_COMMANDS = "text textbf textit textrm textnormal mbox mathrm mathbf mathit operatorname mathsf texttt mathop hbox"
_TEXT = re.compile(rf"\\({'|'.join(_TEXT_COMMANDS.split())})\*?\s*(?:\{{([^{{}}]*)\}}|(?<=\s)([A-Za-z]))")
_UNIT_VECTOR = re.compile(r"\\(?:mathbf|boldsymbol|bm|vec|hat|widehat) ?\{ ?(?:\\?([ij])(?:math)?|(k)) ?\}")
_BLACKBOARD = re.compile(r"\\mathbb ?([A-Z])")
_NATURAL = re.compile(r"\\log ?_ ?(?:\{ ?e ?\}|e(?![A-Za-z0-9]))")
_EXTREME = re.compile(r"\\(max|min|gcd|lcm) ?\\\{([^{}\\]{1,200})\\\}")
_TEMPERATURE = re.compile(r"‹? ?[Dd]egrees? (?:([Cc])elsius|([Ff])ahrenheit) ?›?")
_DIGIT_GAP = re.compile(r"(?<=[0-9])(?:\\[,;:! ]|\{,\}|,\\!\s*|\{\s\})(?=\s*[0-9]{3}(?![0-9]))\s*")
_SEPARATOR = re.compile(r"(?:\\(?:text|mathrm|mathbin|mathord|mathpunct))?\{([,:])\}")
_OLD_FONT = re.compile(r"\\(?:rm|bf|it) ?\{([^{}]{1,80})\}|\{ ?\\(?:rm|bf|it) ([^{}]{1,80})\}")
_PI_OVER = re.compile(r"\\frac ?\\pi ?(?:([0-9A-Za-z])|(?=\{))")
_BARE_ROOT = re.compile(r"(?<![A-Za-z\\])sqrt ?([0-9]{1,9})(?![0-9.])")
_LETTER_DEGREE = re.compile(r"(?<=[0-9])\^\{?o\}?(?![A-Za-z])")
_SPACING = re.compile(r"\\[,;:!> ]|~|\\\n")
_SPACES = re.compile(r"\s+")
ROW_END = "↵"
_HALF_MARKS = ("‹", "›")
_WRAPPERS = (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"), ("**", "**"))
_SYMBOLS = {"<=": "\\le ", ">=": "\\ge ", "!=": "\\ne ", "\\%": "%", "\\$": "$", "\\#": "#", "\\&": "&", "\\_": "_"}


def normalise(text: str) -> str:
    """The text with one spelling per meaning, spaces collapsed, outer delimiters and a final full stop gone."""
    text = _RAISED_RUN.sub(_raised, _LOWERED_RUN.sub(_lowered, text)).translate(_TABLE)
    text = _unwrap(_SPACES.sub(" ", text))
    text = text.replace("\\\\", ROW_END if "\\begin" in text else "\\")  # without a matrix it is a doubled escape
    text = _DIGIT_GAP.sub("", text)
    text = _SEPARATOR.sub(r"\1", text.replace("\\$", "$"))
    text = _OLD_FONT.sub(r"\\text{\1\2}", _PI_OVER.sub(_pi_over, text))
    text = _BLACKBOARD.sub(r"\\mathbb{\1}", text)
    text = _NATURAL.sub(r"\\ln ", _UNIT_VECTOR.sub(r" \1\2 ", text))
    text = _TEXT.sub(_marked, _TEXT.sub(_marked, text))
    text = _SPACING.sub(" ", text)
    text = _COMMAND.sub(_same, text)
    for old, new in _SYMBOLS.items():
        text = text.replace(old, new)
    text = text.replace("^{\\circ}", "^\\circ").replace("^{\\circ }", "^\\circ").replace("**", "^")
    text = _LETTER_DEGREE.sub(r"^\\circ ", _BARE_ROOT.sub(r"\\sqrt{\1}", text))
    text = with_commands(text.replace("+-", "-").replace("›‹", ""))
    text = _TEMPERATURE.sub(lambda found: f"^\\circ {(found[1] or found[2]).upper()}", text)
    text = _EXTREME.sub(r"\\\1(\2)", text)
    return one_spelling(usual(_unwrap(_SPACES.sub(" ", text))))


def squeezed(normal: str) -> str:
    """A normalised text for comparison as text: no marks, and no spaces except between two digits or two letters."""
    plain = normal.replace("‹", "").replace("›", "")
    return re.sub(r"(?<![A-Za-z0-9]) | (?![A-Za-z0-9])", "", _SPACES.sub(" ", plain)).strip()


def _pi_over(found: re.Match[str]) -> str:
    return f"\\frac{{\\pi}}{{{found[1]}}}" if found[1] else "\\frac{\\pi}"


def _raised(run: re.Match[str]) -> str:
    digits = run.group().replace("⁻", "-")
    return "^{" + "".join(str(_RAISED.index(c)) if c in _RAISED else c for c in digits) + "}"


def _lowered(run: re.Match[str]) -> str:
    return "_{" + "".join(str("₀₁₂₃₄₅₆₇₈₉".index(c)) for c in run.group()) + "}"


def _marked(command: re.Match[str]) -> str:
    """A text command's words between marks; a number, a single letter or a formula in it stands for itself."""
    inner = command.group(2) if command.group(2) is not None else command.group(3)
    bare = inner.strip()
    rest = command.string[command.end() : command.end() + 12]
    if function := operator(bare, rest, words=command.group(1) not in ("operatorname", "mathop")):
        return function
    if any(mark in inner for mark in _HALF_MARKS):
        return inner
    if bare in ("i", "e") or (bare and not any(c.isalpha() for c in bare)):
        return f" {bare} " if inner != bare else bare
    return f"‹{inner}›"


def _same(command: re.Match[str]) -> str:
    return _SAME.get(command.group(1), command.group())


def _unwrap(text: str) -> str:
    """The text without delimiters around all of it, in at most eight rounds."""
    for _ in range(8):
        text, before = text.strip().rstrip("\\"), text
        text = text[:-1].rstrip() if text.endswith(".") and not text.endswith("..") else text
        for opening, closing in _WRAPPERS:
            inner = text[len(opening) : -len(closing)]
            if inner and text.startswith(opening) and text.endswith(closing) and opening not in inner:
                text = inner.strip()
                break
        for frame in ("\\boxed{", "\\fbox{"):
            if text.startswith(frame) and text.endswith("}") and _spans(text[len(frame) - 1 :]):
                text = text[len(frame) : -1].strip()
        if text.startswith("‹") and text.endswith("›") and text.count("‹") == 1:
            text = text[1:-1].strip() if not text[1:-1].strip().isalpha() else text
        if text == before:
            break
    return text


def _spans(text: str) -> bool:
    """Whether the brace that opens the text closes at its very end."""
    depth = 0
    for index, c in enumerate(text):
        depth += (c == "{") - (c == "}")
        if depth == 0:
            return index == len(text) - 1
    return False
