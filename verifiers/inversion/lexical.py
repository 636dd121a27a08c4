"""Variants of tests in languages that are not parsed: values that assertions expect, found by how tests are written.

A definition is told by its first line, its end by the indentation, a literal's place by what stands before it. None of
this is certain: a variant counts where it fails over the reference, and one that does not compile is left out there.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from sandbox_gym.verifiers.inversion.edits import Edit, Variant
from sandbox_gym.verifiers.inversion.text import MAX_CHARS
from sandbox_gym.verifiers.inversion.values import EXACT, changed

_LANGUAGES = """.js .jsx .ts .tsx .mjs .cjs .mts .cts .go .rs .java .kt .kts .scala .groovy .php .rb .c .cc .cpp .cs
    .swift .dart .lua"""
SUFFIXES: Final = tuple(_LANGUAGES.split())
"""Of files that are looked into."""
_QUOTED = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts", ".php", ".rb", ".dart", ".lua", ".groovy")
"""Where a single quote begins a text; elsewhere it is one character's, or a lifetime's."""
_MOST = 6
_DEFINED = re.compile(
    r"\b(?:func|fn|def|fun|function|void|Task|class)[ \t]+(?:\([^)\n]*\)[ \t]*)?(?P<word>`[^`\n]+`|\w+)"
    r"|\b(?:it|test|specify|example|scenario|t\.Run)(?:\.\w+)*[ \t]*\(?[ \t]*"
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
_ROWS, _LAST = ("{{", "[{", "{(", "[("), re.compile(r"\s*,?\s*[})]")
_OPPOSITES = re.compile(
    r"\b(?:assert|assert_|is|toBe|be_|assert\.|require\.)(True|False|true|false|Truthy|Falsy|truthy|falsy)\b"
)
_OTHER = {"True": "False", "true": "false", "Truthy": "Falsy", "truthy": "falsy"}
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
        Definition(_named(match), match.end(), _end(source, match.start())) for match in _DEFINED.finditer(source)
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
    values = list(_values(source, path, one))
    rows = [variant for in_row, variant in values if in_row]
    made = [*(variant for in_row, variant in values if not in_row), *rows, *_opposites(source, one)]
    return tuple(sorted(made, key=lambda variant: variant.line not in fresh)[:_MOST])


def _values(source: str, path: str, one: Definition) -> Iterator[tuple[bool, Variant]]:
    """Whether it is the last of a table's row, which may be what is expected there, and the variant."""
    callers: list[str] = []
    opened = " "
    for token in (_MANY if path.endswith(_QUOTED) else _ONE).finditer(source, one.start, one.end):
        before = source[max(one.start, token.start() - 120) : token.start()]
        if token["open"]:
            word = re.search(r"([\w]+!?)[ \t]*$", before)
            called = word[1] if word and token["open"] == "(" else ""
            callers.append(called or (callers[-1] if callers and token["open"] != "(" else ""))
            opened += "c" if called else token["open"]
        elif token["close"]:
            del callers[-1:]
            opened = opened[:-1] or " "
        elif not token["skip"]:
            expected = _EXPECTED.search(before) or (callers and _ASSERTS.fullmatch(callers[-1]))
            in_row = not expected and opened[-2:] in _ROWS and _LAST.match(source, token.end())
            other = _changed(token[0], len(callers)) if expected or in_row else ""
            if other:
                edit = Edit(token.start(), token.end(), other)
                yield bool(in_row), Variant("expected_value", _line(source, token), (edit,), False)


def _changed(text: str, turn: int) -> str:
    """The literal with another value; empty where there is none to be made."""
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
    other = next(changed(plain, value, EXACT, turn), "")
    return f"`{other[1:-1]}`" if text[0] == "`" and other else other and other + tail


def _opposites(source: str, one: Definition) -> Iterator[Variant]:
    for match in _OPPOSITES.finditer(source, one.start, one.end):
        edit = Edit(match.start(1), match.end(1), _OTHER[match[1]])
        yield Variant("opposite_assertion", _line(source, match), (edit,), False)


def _line(source: str, match: re.Match[str]) -> int:
    return source.count("\n", 0, match.start()) + 1
