"""Rows of CRUXEval: a function with an input and its output, of which a completion predicts one. That is read as a
value and never run."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Final, Literal

_TAG: Final = r"(?:ANSWER|answer|PYTHON)[\]>]"
_ANSWER: Final = re.compile(rf"[\[<]{_TAG}(.*?)(?:[\[<]/{_TAG}|\Z)", re.DOTALL)
_FENCED: Final = re.compile(r"```\w*\n(.*?)```", re.DOTALL)
_QUOTED: Final = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
MAX_READ: Final = 64 << 10
_PARTS: Final = ("code", "input", "output")


def is_asked(row: Mapping[str, object]) -> bool:
    """Whether a row asks for a prediction."""
    return "test" not in row and all(isinstance(row.get(name), str) for name in _PARTS)


def question(row: Mapping[str, object], mode: object) -> str:
    """What such a row asks; nothing of any other."""
    if not is_asked(row):
        return ""
    code, given, output = (row[name] for name in _PARTS)
    asked = f"f({given}) == ??" if mode == "output" else f"f(??) == {output}"
    return f"{code}\n\nassert {asked}"


def tested(row: Mapping[str, object], completion: str, mode: Literal["input", "output"]) -> tuple[str, list[str]]:
    """(the row's function, the assertion with what the completion predicts); no function without a prediction."""
    said = completion.rpartition("</think>")[2][-MAX_READ:]
    found = _ANSWER.findall(said) or _FENCED.findall(said) or [said]
    found = [_FENCED.sub(r"\1", found[-1]), *_QUOTED.findall(found[-1])[-1:]]
    predicted = next(filter(None, (_predicted(one.strip().removeprefix("assert ").strip(), mode) for one in found)), "")
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
