"""Rows by rule: kinds of values times ways to use them, with a right answer and a wrong one.

`generated/ways.txt` holds the ways as rows with places for values: `<A>`, `<B>` and `<C>` are different values of one
kind, `<PROBE>` is what there is to know of `x`, `<CHANGE>` changes `x`, `<probe y>` is what there is to know of y, and
`<same y | z>` compares two values.
"""

from __future__ import annotations

import ast
import functools
import itertools
import random
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.honest.kinds import Kind, kinds
from tests.honest.row import Block, Row, read_blocks, statements

_FILE: Final = Path(__file__).parent / "generated" / "ways.txt"
_PART: Final = r"((?:<[A-Z]+>|[^<>|\n])+)"
_SAME: Final = re.compile(rf"<same {_PART} \| {_PART}>")
_KNOW: Final = re.compile(rf"<probe {_PART}>")
_FORMS: Final = ("completion", "whole", "repeat", "apart")
"""The answer continues the prompt, defines its function anew, repeats all of the prompt, or there is no prompt."""


@dataclass(frozen=True, slots=True)
class Way:
    """One use of values; `needs`: what a kind must have for it."""

    block: Block
    needs: frozenset[str]

    @property
    def style(self) -> str:
        return "mbpp" if self.block.part("test_list") else self.block.options.get("style", "check")


def generated_rows(count: int, seed: int = 0) -> list[Row]:
    """`count` rows, the same for the same seed: each pair of a kind and a way once, then again with other values."""
    rng = random.Random(seed)
    pairs = [(way, kind) for way, kind in itertools.product(_ways(), kinds()) if way.needs <= kind.has]
    rng.shuffle(pairs)
    return [_row(*pairs[number % len(pairs)], number // len(pairs), rng) for number in range(count)]


def _ways() -> list[Way]:
    blocks = read_blocks(_FILE)
    return [Way(block, frozenset(filter(None, block.options.get("needs", "").split(",")))) for block in blocks]


def _row(way: Way, kind: Kind, turn: int, rng: random.Random) -> Row:
    values = dict(zip("ABC", rng.sample(kind.values, 3), strict=True))
    prompt, right, wrong = way.block.part("prompt"), way.block.part("right"), way.block.part("wrong")
    form = rng.choice(_FORMS)
    if form == "apart" and not (kind.imports_only and "class " not in prompt):
        form = "repeat"

    def filled(text: str) -> str:
        return _filled(text, kind, values)

    build = {"mbpp": _mbpp, "pytest": _pytest}.get(way.style, _check)
    fields = build(way, kind, form, filled)
    fields["entry_point"] = way.block.options.get("entry", "f")
    if way.style == "unittest":
        fields["style"] = "unittest"
    name = f"generated/{way.block.name}:{kind.name}:{form}" + (f":{turn}" if turn else "")
    answers = [_answer(way, kind, form, filled, answer) for answer in (right, wrong)]
    return Row(name, fields, (answers[0],), (answers[1],))


def _check(way: Way, kind: Kind, form: str, filled: Callable[[str], str]) -> dict[str, object]:
    test = filled(way.block.part("test"))
    if form == "apart":
        return {"test": _joined(kind.setup, test)}
    return {"prompt": _joined(kind.setup, filled(way.block.part("prompt"))), "test": test}


def _pytest(way: Way, kind: Kind, form: str, filled: Callable[[str], str]) -> dict[str, object]:
    """The test file imports what it needs: a library's names from there, the classes from the answer's module."""
    test = filled(way.block.part("test"))
    if kind.imports_only:
        test = _joined(kind.setup, test)
    else:
        line = next(line for line in test.splitlines() if line.startswith("from solution import "))
        test = test.replace(line, f"{line}, {', '.join(_defined(kind.setup))}", 1)
    prompt = kind.setup + "\n" if form in ("completion", "whole") else ""
    return {"test": test, "prompt": prompt, "style": "pytest"}


def _mbpp(way: Way, kind: Kind, form: str, filled: Callable[[str], str]) -> dict[str, object]:
    fields: dict[str, object] = {"test_list": statements(filled(way.block.part("test_list")))}
    fields["test_setup_code"] = filled(way.block.part("test_setup_code"))
    if kind.imports_only:
        fields["test_imports"] = kind.setup.splitlines()
    else:
        fields["prompt_code"] = kind.setup + "\n"
    return fields


def _answer(way: Way, kind: Kind, form: str, filled: Callable[[str], str], answer: str) -> str:
    """A completion as it stands, or what makes it a whole module."""
    prompt, text = filled(way.block.part("prompt")), filled(answer)
    if way.style in ("mbpp", "pytest"):
        return text if form in ("completion", "whole") and not _bare(way, kind) else _joined(kind.setup, text)
    if form == "completion":
        return text
    whole = prompt + text if text.startswith(" ") else text
    return whole if form == "whole" else _joined(kind.setup, whole)


def _bare(way: Way, kind: Kind) -> bool:
    """Whether no prompt gives the answer what it needs."""
    return way.style == "mbpp" and kind.imports_only


def _filled(text: str, kind: Kind, values: dict[str, str]) -> str:
    text = _SAME.sub(r"\1 == \2" if "equal" in kind.traits else r"probe(\1) == probe(\2)", text)
    text = _KNOW.sub(r"probe(\1)", text)
    for place, value in (*values.items(), ("PROBE", kind.probe), ("CHANGE", kind.change)):
        text = text.replace(f"<{place}>", _enclosed(value) if len(place) == 1 else value)
    if "probe(" in text:
        text = f"{text.rstrip()}\n\n\ndef probe(x):\n    return {kind.probe}\n"
    return text


@functools.cache
def _enclosed(value: str) -> str:
    """A value that may stand anywhere."""
    simple = isinstance(ast.parse(value, mode="eval").body, ast.Call | ast.Constant | ast.Name | ast.List | ast.Tuple)
    return value if simple else f"({value})"


def _joined(setup: str, text: str) -> str:
    return f"{setup}\n\n\n{text}" if setup else text


def _defined(setup: str) -> list[str]:
    """The names that a setup defines, imports aside."""
    names: list[str] = []
    for node in ast.parse(setup).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.append(node.name)
        elif isinstance(node, ast.Assign):
            names += [target.id for target in node.targets if isinstance(target, ast.Name)]
    return names
