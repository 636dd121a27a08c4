"""Normalises a short math text: unicode, spacing and command variants get one spelling.

Text commands (`\\text{ cm}`, `\\mathrm{kg}`) become runs between two marks, so that later readers can tell words from
variables. Every pattern here is linear; callers bound the length first.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from sandbox_gym.verifiers.math.expressions.functions import operator, with_commands
from sandbox_gym.verifiers.math.expressions.notations import usual
from sandbox_gym.verifiers.math.expressions.spellings import one_spelling
from sandbox_gym.verifiers.math.expressions.units import parse_unit

_UNICODE = {
    "−": "-", "–": "-", "—": "-", "‐": "-", "‑": "-", "⁻": "^{-}",
    "×": "*", "·": "*", "⋅": "*", "∙": "*", "∗": "*", "÷": "/", "∕": "/", "⁄": "/",
    "π": "\\pi ", "√": "\\sqrt ", "∛": "\\sqrt[3]", "∞": "\\infty ", "°": "^\\circ ", "º": "^\\circ ",
    "℃": "^\\circ C", "℉": "^\\circ F", "∶": ":",
    "≤": "\\le ", "⩽": "\\le ", "≥": "\\ge ", "⩾": "\\ge ", "≠": "\\ne ", "≈": "\\approx ", "≡": "\\equiv ",
    "∪": "\\cup ", "∩": "\\cap ", "∈": "\\in ", "±": "\\pm ", "ℝ": "\\mathbb{R}", "∅": "\\emptyset ",
    "ε": "\\epsilon ", "ϵ": "\\epsilon ", "ϕ": "\\phi ",
    "α": "\\alpha ", "β": "\\beta ", "γ": "\\gamma ", "δ": "\\delta ", "θ": "\\theta ",
    "λ": "\\lambda ", "ρ": "\\rho ", "。": ".",
    "σ": "\\sigma ", "φ": "\\phi ", "ω": "\\omega ",
    "⟨": "\\langle ", "⟩": "\\rangle ", "′": "'", "％": "%", "，": ",", "．": ".", "：": ":", "（": "(", "）": ")",
    "＝": "=", "＋": "+", "－": "-", "＜": "<", "＞": ">", "；": ";", "、": ",",
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
    "left": "", "right": "", "middle": "", "bigl": "", "bigr": "", "Bigl": "", "Bigr": "", "big": "", "Big": "",
    "bigg": "", "Bigg": "", "large": "", "Large": "", "LARGE": "", "huge": "", "Huge": "", "boldsymbol": "", "bm": "",
    "underline": "", "displaystyle": "", "textstyle": "", "limits": "", "quad": " ", "qquad": " ", "thinspace": " ",
    "varnothing": "\\emptyset", "rm": "", "bf": "", "it": "", "colon": ":", "euro": "€", "pounds": "£", "imath": "i",
    "tbinom": "\\binom", "dbinom": "\\binom", "lvert": "|", "rvert": "|", "vert": "|",
    "lVert": "\\|", "rVert": "\\|", "Vert": "\\|", "Re": "‹Re›", "Im": "‹Im›", "land": "‹and›", "lor": "‹or›",
    "vee": "‹or›", "nicefrac": "\\frac", "sfrac": "\\frac", "bigcup": "\\cup", "bigcap": "\\cap",
    "tt": "", "sf": "", "small": "", "normalsize": "", "scriptstyle": "", "wedge": "‹and›", "lnot": "\\neg",
    "measuredangle": "\\angle", "bar": "\\overline",
    "checkmark": "", "blacksquare": "", "surd": "\\sqrt", "infin": "\\infty", "backslash": "\\setminus", "cr": "↵",
    "varepsilon": "\\epsilon", "varphi": "\\phi", "vartheta": "\\theta", "varrho": "\\rho",
    "textdegree": "^\\circ", "R": "\\mathbb{R}", "rightarrow": "\\to", "longrightarrow": "\\to",
}  # fmt: skip
_COMMAND = re.compile(r"\\([A-Za-z]+)\*?")
_TEXT_COMMANDS = "text textbf textit textrm textsf texttt textnormal mbox hbox operatorname"
_TEXT_COMMANDS += " mathrm mathbf mathit mathsf mathtt mathop"
_TEXT = re.compile(
    rf"\\({'|'.join(_TEXT_COMMANDS.split())})\*?\s*(?:\{{((?:[^{{}}]|[_^]\{{[-+0-9]{{1,3}}\}})*)\}}|(?<=\s)([A-Za-z]))"
)
_UNIT_VECTOR = re.compile(
    r"\\(?:mathbf|boldsymbol|bm|vec|hat|widehat)"
    r"(?: ?\{ ?(?:\\?([ij])(?:math)?|(k)) ?\}| ?\\([ij])math(?![A-Za-z])| ([ijk])(?![A-Za-z]))"
)
_CROSS = re.compile(
    r"(\\(?:vec|mathbf|boldsymbol|bm|overrightarrow) ?(?:\{[A-Za-z]{1,2}\}|[A-Za-z])(?:_\w)?) ?\\times(?= ?\\[vmbo])"
)
"""The product of vectors."""
_BLACKBOARD = re.compile(
    r"\\(?:mathbb|Bbb|mathds) ?\{?([A-Z])(?![A-Za-z])\}?|(?<=\\in)(?: ?\\mathbf ?\{| )([RZNQC])(?![A-Za-z_^(])\}?"
)
_CALLIGRAPHIC = re.compile(r"\\(?:mathcal|mathscr|mathfrak) ?(?:\{ ?([A-Za-z]) ?\}|(?<= )([A-Za-z]))")
_NATURAL = re.compile(r"\\log ?_ ?(?:\{ ?e ?\}|e(?![A-Za-z0-9]))")
_EXTREME = re.compile(r"\\(max|min|gcd|lcm) ?\\\{([^{}\\]{1,200})\\\}")
_DETERMINANT = re.compile(r"\\det ?\( ?([A-Z]) ?\)")
_DIVIDES = re.compile(r"^([0-9a-z]{1,9}) ?\| ?([0-9a-z]{1,9})$")
_NORM = re.compile(r"\|\|([^|]{1,60})\|\|")
_PART = re.compile(r"‹(Re|Im)› ?\{? ?([a-z])(?![A-Za-z}]) ?\}?")
_GIVEN = re.compile(r"((?<![A-Za-z])(?:P|Pr|E|Var) ?[(\[][^()\[\]|]{1,60}?) ?\\mid(?![a-z])")
_COMPOSITION = r"\1(\2(\3))"
_COMPOSED = re.compile(r"\( ?([A-Za-z]) ?\\circ ?([A-Za-z]) ?\) ?\(([^()]{1,40})\)")
_RESIDUES = re.compile(r"\\mathbb\{Z\} ?/ ?\(? ?([0-9]{1,6}|[nmp](?![A-Za-z])) ?(?:\\mathbb\{Z\})? ?\)?")
_PARTIAL = re.compile(
    r"\\partial ?_ ?\{?([a-z])\}? ?([A-Za-z])(?![A-Za-z])|\\partial ?([A-Za-z]) ?/ ?\\partial ?([a-z])(?![A-Za-z])"
)
_TEMPERATURE = re.compile(r"‹? ?[Dd]egrees? (?:([Cc])elsius|([Ff])ahrenheit) ?›?")
_DIGIT_GAP = re.compile(r"(?<=[0-9])(?:\\[,;:! ]|\{(?:,|\\,)\}|,\\!\s*|'|\{\s\})(?=\s*[0-9]{3}(?![0-9]))\s*")
_SEPARATOR = re.compile(r"(?:\\(?:text|mathrm|mathbin|mathord|mathpunct))?\{([,:.])\}")
_DECIMAL_COMMA = re.compile(r"(?<=[0-9])\{,\}(?=[0-9](?![0-9]{2}(?![0-9])))")
_OLD_FONT = re.compile(r"\\(?:rm|bf|it) ?\{([^{}]{1,80})\}|\{ ?\\(?:rm|bf|it)(?![A-Za-z]) ?([^{}]{1,80})\}")
_CHOOSE = re.compile(r"\{ ?([^{}]{1,40}?) ?\\choose ?([^{}]{1,40}?) ?\}")
_SIUNITX = re.compile(r"\\(?:num(?:print)? ?\{([^{}]{1,60})\}|(?:SI|qty) ?\{([^{}]{1,60})\} ?\{([^{}]{0,60})\})")
_CHEMICAL = re.compile(r"(?:[A-Z][a-z]?(?:_?[0-9]|[_^]\{[-+0-9]{1,3}\}|[_^][-+0-9])*){1,12}")
_FORMULA = re.compile(r"\\ce ?\{([A-Za-z0-9()]{1,40})\}")
_LAYOUT = re.compile(
    r"\\(?:left|right) ?\.(?![0-9])|"
    r"\\(?:(?:text)?color(?:box)?|[hv]space|[hv]?phantom|label|tag)\*? ?\{[^{}]{0,60}\}|(?<=↵)\[[0-9.]{1,5} ?[a-z]{2}\]"
)
_TIMES = re.compile(r"(?<=[0-9]) ?‹? ?[xX] ?›? ?(?=10 ?\^)")
_UNIT_QUOTIENT = re.compile(r"\\frac ?\{ ?‹([^‹›]{1,20})› ?\}\{ ?‹([^‹›]{1,20})›( ?\^ ?\{?[0-9]\}?)? ?\}")
"""`\\frac{\\text{m}}{\\text{s}^2}`."""
_UNION = re.compile(r"(?<=[)\]}]) ?U ?(?=[(\[{])")
_MODULE = re.compile(r"(?<![A-Za-z\\])(?:np|numpy|math|sympy|sp)\.(?=(?:pi|sqrt|exp|log|e)(?![A-Za-z]))")
_MICRO = re.compile(
    r"(?<=[0-9}i]) *\\mu ?‹ ?([A-Za-z]{1,3}) ?›|‹ ?\\mu ?([A-Za-z]{1,3}) ?›|(?<=[0-9}]) *\\mu ?([msgACFVJWHTL])(?= ?$)"
)
_NAMED_INDEX = re.compile(r"(?<=_)(?:\{ ?‹ ?([A-Za-z]{1,12}) ?› ?\}|‹ ?([A-Za-z]{1,12}) ?›)")
"""`V_{\\text{in}}`."""
_OHMS = re.compile(r"‹ ?([kMmμ]?)\\Omega ?›|(?<=[0-9}i]) *(?:‹ ?([kMmμ]?) ?› ?|([kMmμ]))?\\Omega(?![A-Za-z_^(])")
_PI_OVER = re.compile(r"\\frac ?\\pi ?(?:([0-9A-Za-z])|(?=\{))")
_BARE_ROOT = re.compile(r"(?<![A-Za-z\\])sqrt ?([0-9]{1,9})(?![0-9.])")
_ROOT_SIGN = re.compile(r"√ ?([0-9]{1,30})(?![0-9.])")
_ACCENT = re.compile(r"\\(vec|bar|hat|overline|tilde) ([A-Za-z])(?![A-Za-z])")
_BOLD_FORMULA = re.compile(r"\\(?:math(?:bf|rm|it|sf)|text(?:bf|it)?) ?(?=\{ ?-? ?\\[dt]?(?:frac|sqrt)(?![A-Za-z]))")
_LINK = re.compile(r"‹ ?(?:(或者?|oder|ou)|(?:并?且|和|与|及|und|et)) ?›")
_MINUS = re.compile(r"^‹ ?(?:minus|negative) ?› ?(?=[0-9\\])")
_MAPS = re.compile(r"^(?:([A-Za-z]) ?: ?)?([a-z]) ?\\mapsto ?")
_LETTER_DEGREE = re.compile(r"(?<=[0-9])\^ ?\{?‹?o›?\}?(?![A-Za-z])")
_OTHER_SCRIPTS = re.compile("[\u0400-\u04ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+:?")
_SPACING = re.compile(r"\\[,;:!> ]|~|\\\n")
_AFTER_COMMAND = re.compile(r"(\\[A-Za-z]+) (?=[0-9])")
_SPACES = re.compile(r"\s+")
ROW_END = "↵"
_ONE_SCRIPT = re.compile(r"(?<=_)\{([A-Za-z0-9])\}|(?<=\^)\{([A-Za-z0-9])\}(?![A-Za-z0-9])")
_HALF_MARKS = ("‹", "›")
_WRAPPERS = (
    ("$$", "$$"),
    ("$", "$"),
    ("\\(", "\\)"),
    ("\\[", "\\]"),
    ("**", "**"),
    ("``", "''"),
    ("`", "`"),
    ("'", "'"),
    ('"', '"'),
)
_SYMBOLS = {
    "<=": "\\le ", ">=": "\\ge ", "!=": "\\ne ", "\\%": "%", "\\$": "$", "\\#": "#", "US$": "$", "\\&": "‹and›",
    "\\_": "_", "&lt;": "<", "&gt;": ">", "\\not=": "\\ne ", "\\not =": "\\ne ", "^{\\circ}": "^\\circ",
    "^{\\circ }": "^\\circ", "^ \\circ": "^\\circ", "^^\\circ": "^\\circ", "**": "^",
}  # fmt: skip


def normalise(text: str) -> str:
    """The text with one spelling per meaning, spaces collapsed, outer delimiters and a final full stop gone."""
    text = _ROOT_SIGN.sub(r"\\sqrt{\1}", _RAISED_RUN.sub(_raised, _LOWERED_RUN.sub(_lowered, text))).translate(_TABLE)
    text = text if text.isascii() else _OTHER_SCRIPTS.sub(r"‹\g<0>›", text)
    text = _SPACES.sub(" ", text)
    text = _unwrap(_CHOOSE.sub(r"\\binom{\1}{\2}", text) if "choose" in text else text)
    text = text.replace("\\\\", ROW_END if "\\begin" in text else "\\")  # without a matrix it is a doubled escape
    text = _rewritten(_BEFORE_WORDS, text.replace("\\$", "$"))
    text = _TEXT.sub(_marked, _TEXT.sub(_marked, text))
    text = _SPACING.sub(" ", text)
    text = _COMMAND.sub(_same, text)
    for old, new in _SYMBOLS.items():
        text = text.replace(old, new)
    text = with_commands(_rewritten(_AFTER_WORDS, text).replace("+-", "-").replace("›‹", ""))
    text = _rewritten(_AFTER_NAMES, text)
    return one_spelling(usual(_unwrap(_SPACES.sub(" ", text))))


def _rewritten(steps: tuple[_Step, ...], text: str) -> str:
    for needle, pattern, new in steps:
        if needle in text:
            text = pattern.sub(new, text)
    return text


def composed(text: str) -> str:
    """`f(g(x))` for `(f \\circ g)(x)`."""
    return _COMPOSED.sub(_COMPOSITION, text)


def squeezed(normal: str) -> str:
    """A normalised text for comparison as text: no marks, and no spaces except between two digits or two letters."""
    plain = _ONE_SCRIPT.sub(r"\1\2", normal.replace("‹", "").replace("›", ""))
    return re.sub(r"(?<![A-Za-z0-9]) | (?![A-Za-z0-9])", "", _AFTER_COMMAND.sub(r"\1", _SPACES.sub(" ", plain))).strip()


def _measured(found: re.Match[str]) -> str:
    """siunitx's `\\SI{5}{\\metre\\per\\second}`."""
    unit = (found[3] or "").replace("\\per", "/").replace("\\", "").replace("~", " ")
    return found[1] or f"{found[2]} \\text{{ {unit}}}"


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
    if "{" in inner and parse_unit(_SPACING.sub(" ", inner.replace("\\cdot", " "))) is None:
        return inner if _CHEMICAL.fullmatch(inner) else command.group()
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
        text = text[:-1].rstrip() if text.endswith((".", ",", ";", ":")) and not text.endswith("..") else text
        for opening, closing in _WRAPPERS:
            inner = text[len(opening) : -len(closing)]
            if inner and text.startswith(opening) and text.endswith(closing) and opening not in inner:
                text = inner.strip()
                break
        for frame in ("\\boxed{", "\\fbox{", "{"):
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


_Step = tuple[str, re.Pattern[str], str | Callable[[re.Match[str]], str]]
"""What a text must hold for the pattern to be tried, the pattern, and what takes its place."""
_BEFORE_WORDS: tuple[_Step, ...] = (
    ("{", _SIUNITX, _measured),
    ("\\ce", _FORMULA, lambda found: re.sub(r"(?<=[A-Za-z)])([0-9]+)", r"_{\1}", found[1])),
    ("\\", _LAYOUT, " "),
    ("", _DIGIT_GAP, ""),
    ("{,}", _DECIMAL_COMMA, "."),
    ("{", _SEPARATOR, r"\1"),
    ("pi", _PI_OVER, _pi_over),
    ("{", _OLD_FONT, r"\\text{\1\2}"),
    ("\\times", _CROSS, r"\1\\otimes "),
    ("\\", _BLACKBOARD, r"\\mathbb{\1\2}"),
    ("\\", _UNIT_VECTOR, r" \1\2\3\4 "),
    ("\\", _UNIT_VECTOR, r" \1\2\3\4 "),  # a hat on a bold letter
    ("\\math", _CALLIGRAPHIC, r"\1\2"),
    ("log", _NATURAL, r"\\ln "),
    ("\\", _ACCENT, r"\\\1{\2}"),
    ("{", _BOLD_FORMULA, ""),
)
_AFTER_WORDS: tuple[_Step, ...] = (
    ("sqrt", _BARE_ROOT, r"\\sqrt{\1}"),
    ("o", _LETTER_DEGREE, r"^\\circ "),
    ("10", _TIMES, "*"),
    ("{‹", _UNIT_QUOTIENT, r"‹\1/\2\3›"),
    ("‹", _LINK, lambda found: "‹or›" if found[1] else "‹and›"),
    ("‹", _MINUS, "-"),
    ("\\mapsto", _MAPS, lambda found: f"{found[1] or 'f'}({found[2]})="),
    ("U", _UNION, r"\\cup "),
    (".", _MODULE, ""),
    ("_", _NAMED_INDEX, r"{\1\2}"),
    ("\\mu", _MICRO, r"‹μ\1\2\3›"),
    ("\\Omega", _OHMS, r"‹\1\2\3Ω›"),
)
_AFTER_NAMES: tuple[_Step, ...] = (
    ("egree", _TEMPERATURE, lambda found: f"^\\circ {(found[1] or found[2]).upper()}"),
    ("\\{", _EXTREME, r"\\\1(\2)"),
    ("\\det", _DETERMINANT, r"\\det \1"),
    ("|", _DIVIDES, r"\1 \\mid \2"),
    ("||", _NORM, r"\\|\1\\|"),
    ("›", _PART, r"‹\1›(\2)"),
    ("\\mid", _GIVEN, r"\1|"),
    ("\\circ", _COMPOSED, _COMPOSITION),
    ("\\mathbb{Z}", _RESIDUES, r"\\mathbb{Z}_{\1}"),
    ("\\partial", _PARTIAL, r"\\frac{\\partial \2\3}{\\partial \1\4}"),
)
