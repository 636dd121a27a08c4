"""Variants of tests in languages that are not parsed: values that assertions expect, found by how tests are written.

A definition is told by its first line, its end by the indentation, a literal's place by what stands before it. None of
this is certain: a variant counts where it fails over the reference, and one that does not compile is left out there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

from sandbox_gym.verifiers.inversion.edits import Edit, Variant
from sandbox_gym.verifiers.inversion.text import MAX_CHARS
from sandbox_gym.verifiers.inversion.values import EXACT, changed, elsewhere

_LANGUAGES = """.js .jsx .ts .tsx .mjs .cjs .mts .cts .go .rs .java .kt .kts .scala .groovy .php .rb .c .cc .cpp .cs
    .swift .dart .lua"""
SUFFIXES: Final = tuple(_LANGUAGES.split())
"""Of files that are looked into."""
_QUOTED = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".php", ".rb", ".dart", ".lua", ".groovy")
"""Where a single quote begins a text; elsewhere it is one character's, or a lifetime's."""
_MOST = 6
_DEFINED = re.compile(
    r"\b(?:func|fn|def|fun|function|void|Task|class)[ \t]+(?:\([^)\n]*\)[ \t]*)?(?P<word>`[^`\n]+`|\w+)"
    r"|\b(?:it|test|specify|example|scenario|t\.Run)(?:\.(?!each\b)\w+)*"
    r"(?:\.each[ \t]*(?P<table>`[^`]*`|\((?:[^()]++|\((?:[^()]++|\([^()]*+\))*+\))*+\)))?[ \t]*\(?\s*"
    r"(?P<quote>['\"`])(?P<text>(?:\\.|(?!(?P=quote))[^\\\n])+)(?P=quote)"
    r"|\bTEST(?:_[FP])?\(\s*(?P<suite>\w+)\s*,\s*(?P<case>\w+)"
)
_ASSERTS = re.compile(
    r"(?i:\w*assert\w*|\w*equals?|(?:expect|check|require)_\w+|to_?(?:be|equal|contain|have|match|throw)\w*)!?"
    r"|eql?|is|is(?:Equal|Same|Not)\w*|be|same|expect|deepEqual\w*|contains?\w*|includes?|throws?|match(?:es)?|has[SM]\w+"
    r"|(?:starts|ends)With|Len|Contains|JSONEq|EqualError"
)
_EXPECTED = re.compile(
    r"(?:[=!]==?|\b(?:eq|eql|be|include|shouldBe|mustEqual|assert_\w+)"
    r"|\b(?i:want|expect|result|output|exp)\w*[\"']?[ \t]*(?::?=|:|=>)[ \t]*(?:\w+[ \t]*=)?)[ \t]*$"
)
_ROWS, _LAST = ("{{", "[{", "{(", "[(", "[["), re.compile(r"\s*,?\s*[})\]]")
_BOUND = re.compile(r"(?i:great|less|above|below|least|most|between)|Not(?![a-z])|_not|_ne\b|^not$|refute")
"""Of assertions that another right answer may pass with another value, too."""
_NEGATED = re.compile(r"\b(?:not|not_to|to_not|should_not)[ \t.]+\w*!?[ \t]*$")
_NEAR = re.compile(r"(?i)close|delta|within|approx")
"""Of those whose first value alone is expected: the others say how near."""
_SEARCH = re.compile(r"(?i)contain|include|match|throw|raise|start|end|message|error")
"""Of those that look for a value in another one."""
_COMPARES = re.compile(r"(?<![=<>-])[<>]=?[ \t]*$")
_Opposites = tuple[tuple[re.Pattern[str], str], ...]
_OPPOSITES: Final[_Opposites] = tuple(
    (re.compile(pattern), other)
    for pattern, other in (
        (r"(?:\b(?:assert|assert_|is|be_|assert\.|require\.)|\.toBe)"
         r"((?:Greater|Less)Than(?:OrEqual)?|True|False|true|false|Truthy|Falsy|truthy|falsy)\b", ""),
        (r"(?<!\.not)\.()to(?:Be|Equal|StrictEqual|Match|Contain|Have|Throw)\w*\(", "not."),
        (r"\.(to)[ (]+(?:eq|be|match|include|raise|contain|start|end|have)", "not_to"),
        (r"\.to()\.(?:be|deep|eql?|equal|include|have|contain|match|throw)\b", ".not"),
        (r"\bassert\.(s|deepS)trictEqual\(", "not"),
        (r"\bassert\.(e|deepE)qual\(", "not"),
        (r"\b(assert)_(?:equal|nil|empty|includes?|match|same|in_delta)\b", "refute"),
        (r"\bassert()(?:Same|Equals|Null|Empty)\b", "Not"),
        (r"\bassert_(eq)!", "ne"),
        (r"\b(?:assert|require)\.()(?:Equal|Contains|Nil|Empty)\(", "Not"),
        (r"\bif\b[^\n{]*?(!)=[^\n{]*\{", "="),
        (r"\bif\b[^\n{]*?(!)(?:reflect|cmp|bytes|errors|strings|slices|maps)\.\w+\(", ""),
    )
)  # fmt: skip
"""What turns an assertion into its opposite, in the place of the first group. All but the first, of truths and bounds,
are for tests in which no value stands that is expected: what equals everything fails them, too."""
_OTHER = {"True": "False", "true": "false", "Truthy": "Falsy", "truthy": "falsy"}
_OTHER |= {"GreaterThan": "LessThanOrEqual", "LessThan": "GreaterThanOrEqual"}
_OTHER |= {other: one for one, other in _OTHER.items()}
_TOKEN = r"""(?P<skip>//[^\n]*|/\*.*?\*/|(?:^|(?<=\s))\#(?=\s)[^\n]*)|(?P<text>"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`|%s)
    |(?P<number>(?<![\w.$])\d[\d_]*(?:\.\d+)?(?:[uif]\d+|[LlfFdD])?(?![\w.]))|(?P<flag>\b(?:true|false)\b)
    |(?P<open>[(\[{])|(?P<close>[)\]}])"""
_ONE, _MANY = (
    re.compile(_TOKEN % single, re.VERBOSE | re.DOTALL | re.MULTILINE)
    for single in (r"'(?:\\.|[^'\\\n])'", r"'(?:\\.|[^'\\\n])*'")
)


@dataclass(frozen=True, slots=True)
class Definition:
    """A test in its file: `name` as results may have it, and where its body is."""

    name: str
    start: int
    end: int


def definitions(source: str) -> tuple[Definition, ...]:
    """Every test, function and class of a file."""
    if len(source) > MAX_CHARS:
        return ()
    return tuple(
        Definition(_named(match), match.start("table") if match["table"] else match.end(), _end(source, match.start()))
        for match in _DEFINED.finditer(source)
    )


def _named(match: re.Match[str]) -> str:
    word, text, suite = match["word"], match["text"], match["suite"]
    return word.strip("`") if word else text or f"{suite}.{match['case']}"


def _end(source: str, start: int) -> int:
    """Where the first line begins that is indented no more than the one of `start`."""
    line = source.rfind("\n", 0, start) + 1
    deep = len(re.match(r"[ \t]*", source[line:])[0])  # type: ignore[index]  # it matches always
    after = re.compile(rf"\n[ \t]{{0,{deep}}}(?![ \t\n){{]|$)")
    found = after.search(source, start)
    return found.end() if found else len(source)


def lexical_variants(
    source: str, path: str, one: Definition, fresh: frozenset[int] = frozenset()
) -> tuple[Variant, ...]:
    """Each with another value expected, or the opposite of a truth. Those in the lines `fresh`, counted from 1, come
    first."""
    values = list(values_of(source, path, one))
    rows = [variant for in_row, variant in values if in_row]
    made = [*(variant for in_row, variant in values if not in_row), *rows, *_opposites(source, one, _OPPOSITES[:1])]
    made = made or [*_opposites(source, one, _OPPOSITES)]
    return tuple(sorted(made, key=lambda variant: variant.line not in fresh)[:_MOST])


def tokens_of(source: str, path: str, one: Definition) -> Iterator[re.Match[str]]:
    """The literals, brackets and comments of a test."""
    return (_MANY if path.endswith(_QUOTED) else _ONE).finditer(source, one.start, one.end)


def values_of(source: str, path: str, one: Definition) -> Iterator[tuple[bool, Variant]]:
    """Whether it is the last of a table's row, which may be what is expected there, and the variant."""
    callers: list[str] = []
    opened = " "
    for token in tokens_of(source, path, one):
        before = source[max(one.start, token.start() - 120) : token.start()]
        if token["open"]:
            word = re.search(r"([\w]+!?)[ \t]*$", before)
            called = word[1] if word and token["open"] == "(" else ""
            called = "not" if _NEGATED.search(before) else called
            callers.append(called or (callers[-1] if callers and token["open"] != "(" else ""))
            opened += "c" if called else token["open"]
        elif token["close"]:
            del callers[-1:]
            opened = opened[:-1] or " "
        elif not token["skip"]:
            expected = _is_expected(before, callers[-1] if callers else "", source[token.end() : token.end() + 3])
            in_row = not expected and opened[-2:] in _ROWS and _LAST.match(source, token.end())
            sought = _SEARCH.search(callers[-1] if callers else before[-12:]) is not None
            other = _changed(token[0], len(callers), sought=sought) if expected or in_row else ""
            if other:
                edit = Edit(token.start(), token.end(), other)
                yield bool(in_row), Variant("expected_value", _line(source, token), (edit,), False)


def _is_expected(before: str, called: str, after: str) -> bool:
    """Whether a literal is a value that an assertion expects, and no right answer has another one."""
    if _BOUND.search(called) or _NEGATED.search(before) or _COMPARES.search(before) or after.lstrip()[:1] in ("<", ">"):
        return False
    if _NEAR.search(called) and not before.endswith("("):
        return False
    if before.rstrip().endswith(("!=", "!==")) and called not in ("", "if"):
        return False
    return _EXPECTED.search(before) is not None or _ASSERTS.fullmatch(called) is not None


def _changed(text: str, turn: int, *, sought: bool) -> str:
    """The literal with another value; empty where there is none to be made. `sought`: it is looked for in another."""
    if text in ("true", "false"):
        return "false" if text == "true" else "true"
    number = re.match(r"\d[\d_]*(?:\.\d+)?", text)
    tail = text[number.end() :] if number else ""
    plain = f'"{text[1:-1]}"' if text[0] == "`" else text.removesuffix(tail)
    if "${" in text or "#{" in text:
        return ""
    try:
        value = ast.literal_eval(plain)
    except (SyntaxError, ValueError):
        return ""
    found = elsewhere(plain, value, turn) if sought and isinstance(value, str | int | float) else ()
    other = next(chain(found, changed(plain, value, EXACT, turn)), "")
    return f"`{other[1:-1]}`" if text[0] == "`" and other else other and other + tail


def _opposites(source: str, one: Definition, forms: _Opposites) -> Iterator[Variant]:
    for pattern, other in forms:
        for match in pattern.finditer(source, one.start, one.end):
            word = match[1]
            text = _OTHER.get(word, other) if other != "not" else f"not{word[0].upper()}{word[1:]}"
            yield Variant(
                "opposite_assertion", _line(source, match), (Edit(match.start(1), match.end(1), text),), False
            )


def _line(source: str, match: re.Match[str]) -> int:
    return source.count("\n", 0, match.start()) + 1
