"""A test whose assertions each tell how they ended, in place of the first that fails ending the test.

A framed test runs to its end whatever its assertions say, and fails there with a line that says of each of them how
often it held and failed. So one run asks of every value that a test expects, changed or not, and an answer that is
right in all but one of them is told from one that is right. `with _each_(3): assert f(1) == 2` is an assertion's frame.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from sandbox_gym.verifiers.inversion.edits import Edit, Variant, edited
from sandbox_gym.verifiers.inversion.expected import names_of, parametrised
from sandbox_gym.verifiers.inversion.forms import Forms
from sandbox_gym.verifiers.inversion.module import Module, kept_module
from sandbox_gym.verifiers.inversion.sites import Found, Function, Site, find, sites_of
from sandbox_gym.verifiers.inversion.text import UNPARSEABLE, SourceText, block_parses

MOST_PLACES: Final = 40
_MOST_SITES: Final = 60
_MOST_ROWS: Final = 24
_MOST_CHARS: Final = 350
"""Of what a framed test says: a runner may keep no more of it than its end. Of many ends that are alike it says 24."""
_SAYS: Final = re.compile(r"assertions ended ([01|]*)\.$", re.M)
_BEGIN: Final = """class _each_:
    seen = {}
    def __init__(self, at):
        self.at = at
    def __enter__(self):
        pass
    def __exit__(self, kind, *rest):
        if kind and ("Skip" in kind.__name__ or not issubclass(kind, Exception) and kind.__name__ != "Failed"):
            return False
        said, ended = self.seen.get(self.at, ""), "10"[kind is not None]
        if len(said) < 400 or ended not in said:
            self.seen[self.at] = said + ended
        return True
    def __str__(self):
        said = self.seen.get(self.at, "")
        return said if "0" in said and "1" in said else said[:24]
"""
_END: Final = 'raise AssertionError("assertions ended " + "|".join([_each_(at).__str__() for at in %s]) + ".")'
_SEARCHES: Final = "given("
"""Hypothesis's: it looks for the simplest example that fails, over and over."""
_VALUES: Final = ("expected_value", "other_operand")
_DEFINITIONS: Final = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True)
class Place:
    """Where a framed test can be changed. `row`: which execution of the assertion it changes, of a loop over a table;
    None: any of them. `ways`: edits, the likeliest first."""

    site: int
    row: int | None
    ways: tuple[Variant, ...]


@dataclass(frozen=True, slots=True)
class Frame:
    """A test's frame, and what can be changed in it. `edits`: the test fails at its end and says how each ended; the
    first and the last are around it, each of the others is before an assertion."""

    edits: tuple[Edit, ...]
    places: tuple[Place, ...]
    line: int


def said_by(detail: str) -> tuple[str, ...] | None:
    """How the assertions of a framed test ended, of its failure's text: for each a text with `1` for every time that it
    held and `0` for every time that it failed. None where it does not say."""
    match = _SAYS.search(detail)
    return tuple(match[1].split("|")) if match and len(match[1]) <= _MOST_CHARS else None


def frame_of(source: str, test: str) -> Frame | None:
    """The frame of the test function `test`, as of variants_of; None for one that has no two assertions to change."""
    try:
        module = kept_module(source)
        found = find(module.text.tree, test)
        return None if found is None or found.shared else _framed(module, found)
    except UNPARSEABLE:
        return None


def _framed(module: Module, found: Found) -> Frame | None:
    function, text = found.function, module.text
    body = function.body[int(ast.get_docstring(function, clean=False) is not None) :]
    marks = " ".join(map(ast.unparse, function.decorator_list))
    if not body or not _stands_alone(text, body[0], body[-1]) or _SEARCHES in marks:
        return None
    if function.name in module.read:
        return None  # the file runs it by itself, maybe as it is imported
    forms = Forms(module, function, names_of(function), _MOST_ROWS)
    edits, places = list[Edit](), list[Place]()
    for site, node in _wrappable(text, function, sites_of(found)):
        taken = [edit for place in places for way in place.ways for edit in way.edits]
        ways = [one for one in forms.at(site) if not _overlap(one.edits, taken)]
        made = _places(forms, len(edits), node, ways)
        if made and len(edits) < _MOST_SITES and len(places) + len(made) <= MOST_PLACES:
            edits.append(_wrapping(text, node, len(edits)))
            places += made
    own = _around(text, body, edits)
    frame = Frame(own, tuple(places), function.lineno)
    return frame if len(edits) > 1 and _parses(text, function, frame) else None


def _wrappable(
    text: SourceText, function: Function, sites: Sequence[Site]
) -> Iterator[tuple[Site, ast.Assert | ast.Expr | ast.With]]:
    """Assertions that are whole lines, and `with raises(...)` of which nothing else is asked."""
    holds: dict[int, ast.Expr | ast.With] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Expr):
            holds[id(node.value.value if isinstance(node.value, ast.Await) else node.value)] = node
        elif isinstance(node, ast.With) and len(node.items) == 1 and node.items[0].optional_vars is None:
            holds[id(node.items[0])] = node
    classes = [one for one in ast.walk(function) if isinstance(one, ast.ClassDef)]
    inner = {id(one) for each in classes for one in ast.walk(each)}  # which see no name of the test's
    for site in sites:
        held = site.node if isinstance(site.node, ast.Assert) else holds.get(id(site.node))
        if held is not None and id(held) not in inner and _stands_alone(text, held, held):
            yield site, held


def _stands_alone(text: SourceText, first: ast.stmt, last: ast.stmt) -> bool:
    """Whether nothing stands before the one and after the other on their lines."""
    before = text.source[text.line_start(first.lineno) : text.start(first)]
    after = text.code_between(text.end(last), text.line_start((last.end_lineno or last.lineno) + 1))
    marked = isinstance(first, _DEFINITIONS) and bool(first.decorator_list)
    return not before.strip() and not after.strip() and not marked


def _wrapping(text: SourceText, node: ast.stmt, number: int) -> Edit:
    start = text.start(node)
    if isinstance(node, ast.With):
        return Edit(start + len("with"), start + len("with"), f" _each_({number}),")
    return Edit(start, start, f"with _each_({number}): ")


def _around(text: SourceText, body: Sequence[ast.stmt], edits: Sequence[Edit]) -> tuple[Edit, ...]:
    start, last = text.line_start(body[0].lineno), text.end(body[-1])
    indent = text.source[start : text.start(body[0])]
    begin = "".join(f"{indent}{line}\n" for line in _BEGIN.splitlines())
    end = _END % list(range(len(edits)))
    closing = Edit(last, last, f"\n{indent}{end}")
    if isinstance(body[-1], ast.Return):
        at = text.start(body[-1])
        closing = Edit(at, at, f"{end}\n{indent}")
    return (Edit(start, start, begin), *edits, closing)


def _places(forms: Forms, site: int, node: ast.stmt, variants: Sequence[Variant]) -> list[Place]:
    """The places of one assertion: each row of a table that a loop goes through, or the assertion itself."""
    text, names = forms.text, forms.names
    for table in names.columns.values():
        found = [[one for one in variants if one.certain and _inside(text, one, [row])][:2] for row in table]
        rows = [Place(site, number, tuple(ways)) for number, ways in enumerate(found) if ways]
        if len(rows) > 1 and len(table) <= _MOST_ROWS:
            return rows
    read = {one.id for one in ast.walk(node) if isinstance(one, ast.Name)}
    once = [name for name in read if names.loads[name] == 1]
    own: list[Sequence[ast.AST]] = [[node], *(cells for name in once for cells in parametrised(forms.function, name))]
    ways = [one for one in variants if one.certain or any(_inside(text, one, nodes) for nodes in own)]
    # what equals everything fails a turned assertion by itself
    ways = [one for one in ways if not one.kind.endswith("_assertion")] or ways
    ways.sort(key=lambda one: (one.kind not in _VALUES, not one.certain, one.kind != "expected_value"))
    second = [one for one in ways[1:] if one.kind == "expected_value"] or ways[1:]
    return [Place(site, None, (*ways[:1], *second[:1]))] if ways else []


def _inside(text: SourceText, variant: Variant, nodes: Sequence[ast.AST]) -> bool:
    """Whether each edit of a variant is in one of the nodes."""
    spans = [(text.start(node), text.end(node)) for node in nodes if isinstance(node, ast.stmt | ast.expr)]
    return all(any(start <= edit.start and edit.end <= end for start, end in spans) for edit in variant.edits)


def _overlap(edits: Iterable[Edit], others: Sequence[Edit]) -> bool:
    return any(one.start <= other.end and other.start <= one.end for one in edits for other in others)


def changing(places: Iterable[Place], way: int) -> Iterator[Edit]:
    """The edits of these places, by the way of that number or the last."""
    for place in places:
        yield from place.ways[min(way, len(place.ways) - 1)].edits


def _parses(text: SourceText, function: Function, frame: Frame) -> bool:
    """Whether the test is Python in its frame, by whichever way its places are changed."""
    first = min([function.lineno, *(mark.lineno for mark in function.decorator_list)])
    start, end = text.line_start(first), text.line_start((function.end_lineno or first) + 1)
    for edits in ((*changing(frame.places, way), *frame.edits) for way in (0, 1)):
        moved = [Edit(edit.start - start, edit.end - start, edit.text) for edit in edits]
        try:
            if not block_parses(edited(text.source[start:end], moved)):
                return False
        except ValueError:
            return False
    return True
