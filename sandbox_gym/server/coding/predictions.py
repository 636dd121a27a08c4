"""Rows of CRUXEval: a function with an input and its output, of which a completion predicts one. That is read as a
value and never run.

CRUXEval-X has programs in other languages, whose `input` and `output` are the same test with one of the two left blank.
There a prediction is put in, if it is one expression of constants and of names that the true value has.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Final, Literal

_TAG: Final = r"(?:ANSWER|answer|PYTHON)[\]>]"
_ANSWER: Final = re.compile(rf"[\[<]{_TAG}(.*?)(?:[\[<]/{_TAG}|\Z)", re.DOTALL)
_FENCED: Final = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
_QUOTED: Final = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_BLANK: Final = re.compile(r"\?{4}")
_STRING: Final = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'")
_NAMES: Final = re.compile(r"[A-Za-z_]\w*")
_RUNS: Final = re.compile(r"[$`;\n]|[#@]\{|\\\(")
"""What ends an expression, or runs code in a string."""
_OPERATORS: Final = re.compile(r"[|&?<>=!+*/%^~@]+")
"""`f(x) == 5 || 1`, put in for 5, holds whatever f is."""
_COMMENT: Final = re.compile(r"#|//|/\*|--")
_KEYS: Final = re.compile(r"[A-Za-z_]\w*(?=\s*(?::(?!:)|=(?!=)))")
_WORDS: Final = frozenset({"bash"})
"""Languages in which a name is a text."""
_PATTERNS: Final = {"bash": re.compile(r"[\[\]{}]")}
"""By language, what makes a pattern of a word without quotes: `[0-9]` is every digit."""
_CONSTANTS: Final = frozenset({"true", "false", "True", "False", "TRUE", "FALSE", "None", "null", "nil", "NULL"})
MAX_READ: Final = 64 << 10
_PARTS: Final = ("code", "input", "output")


def is_asked(row: Mapping[str, object]) -> bool:
    """Whether a row asks for a prediction."""
    return "test" not in row and all(isinstance(row.get(name), str) for name in _PARTS)


def is_blank(row: Mapping[str, object]) -> bool:
    """Whether its test has blanks, as in CRUXEval-X."""
    return is_asked(row) and all(_BLANK.search(str(row[half])) for half in ("input", "output"))


def filled(
    row: Mapping[str, object], completion: str, mode: Literal["input", "output"], language: str
) -> tuple[str, str]:
    """(the row's program with what the completion predicts in its blank, that); nothing predicted leaves the blank."""
    half, other = (str(row[one]) for one in ((mode, "input") if mode == "output" else (mode, "output")))
    blank = _BLANK.search(half)
    assert blank is not None
    before, after = half[: blank.start()], half[blank.end() :]
    value = _true_value(before, after, other)
    for one in _told(completion):
        line_before, line_after = before.rpartition("\n")[2].lstrip(), after.partition("\n")[0].rstrip()
        if one.startswith(line_before) and one.endswith(line_after) and len(one) > len(line_before) + len(line_after):
            one = one[len(line_before) : len(one) - len(line_after)]
        if one and _is_constant(one, value, language):
            return f"{row['code']}\n{before}{one}{after}", one
    return f"{row['code']}\n{half}", ""


def _true_value(before: str, after: str, other: str) -> str:
    """What the other half of a test has where this one is blank."""
    blank = _BLANK.search(other)
    assert blank is not None
    if blank.start() > len(before) and other.startswith(before):  # the value, what is between them, the other blank
        value = other[len(before) : blank.start()]
        return value[: len(value) - next(n for n in range(len(value), -1, -1) if value.endswith(after[:n]))]
    value = other[blank.end() : len(other) - len(after)] if other.endswith(after) else ""
    return value[next(n for n in range(len(value), -1, -1) if before.endswith(value[:n])) :]


def _is_constant(said: str, value: str, language: str) -> bool:
    """Whether it is one expression whose names are constants or in the true value; in its texts those that are keys
    here, or in Bash: where it is `["f"]`, a call of `f` says nothing."""
    bare, known = (_STRING.sub("0", one) for one in (said, value))
    commas = _commas(bare)
    if commas is None or commas > (_commas(known) or 0):
        return False
    runs = {*_RUNS.findall(said), *_COMMENT.findall(bare)} - {*_RUNS.findall(value), *_COMMENT.findall(known)}
    if language in _PATTERNS:
        runs |= {*_PATTERNS[language].findall(bare)} - {*_PATTERNS[language].findall(known)}
    texts = {*_NAMES.findall(value)}
    names = {*_NAMES.findall(known)} | (texts if language in _WORDS else set())
    bare = _KEYS.sub(lambda key: "" if key[0] in texts else key[0], bare)
    operators = {*_OPERATORS.findall(bare)} - {*_OPERATORS.findall(known)}
    return not runs | operators and {*_NAMES.findall(bare)} <= _CONSTANTS | names


def _commas(bare: str) -> int | None:
    """How many parts beside the first one there are; None where a bracket has no other."""
    depth = found = 0
    for one in bare:
        depth += (one in "([{") - (one in ")]}")
        found += depth == 0 and one == ","
        if depth < 0:
            return None
    return found if depth == 0 else None


def _told(completion: str) -> list[str]:
    """Where a completion may say what it predicts, the likeliest first."""
    said = completion.rpartition("</think>")[2][-MAX_READ:]
    found = _ANSWER.findall(said) or _FENCED.findall(said) or [said]
    return [one.strip() for one in (_FENCED.sub(r"\1", found[-1]), *_QUOTED.findall(found[-1])[-1:])]


def question(row: Mapping[str, object], mode: object) -> str:
    """What such a row asks; nothing of any other."""
    if not is_asked(row):
        return ""
    code, given, output = (row[name] for name in _PARTS)
    if is_blank(row):
        return f"{code}\n{output if mode == 'output' else given}"
    asked = f"f({given}) == ??" if mode == "output" else f"f(??) == {output}"
    return f"{code}\n\nassert {asked}"


def tested(row: Mapping[str, object], completion: str, mode: Literal["input", "output"]) -> tuple[str, list[str]]:
    """(the row's function, the assertion with what the completion predicts); no function without a prediction."""
    found = (_predicted(one.removeprefix("assert ").strip(), mode) for one in _told(completion))
    predicted = next(filter(None, found), "")
    given = f"f({row['input']})" if mode == "output" else predicted
    value = predicted if mode == "output" else row["output"]
    return str(row["code"]) if predicted else "", [f"assert {given or 'f()'} == {value or None}"]


def _predicted(said: str, mode: Literal["input", "output"]) -> str:
    """The value or the call, spelled anew; empty where it is neither."""
    found = _expression(said)
    if isinstance(found, ast.Compare) and len(found.ops) == 1 and isinstance(found.ops[0], ast.Eq):
        found = found.comparators[0] if mode == "output" else found.left
    if mode == "input" and not (isinstance(found, ast.Call) and ast.unparse(found.func) == "f"):
        found = _expression(f"f({said})")
    if mode == "output":
        return ast.unparse(found) if found is not None and _is_value(found) else ""
    inside = [*found.args, *(one.value for one in found.keywords)] if isinstance(found, ast.Call) else [None]
    return ast.unparse(found) if found is not None and all(map(_is_value, inside)) else ""


def _expression(source: str) -> ast.expr | None:
    try:
        return ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _is_value(node: ast.expr | None) -> bool:
    try:
        ast.literal_eval(node) if node is not None else None
    except (ValueError, TypeError, RecursionError, MemoryError):
        return isinstance(node, ast.Call) and ast.unparse(node) == "set()"
    return node is not None
