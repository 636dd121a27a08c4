"""The variants of one test, found in its source text."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from sandbox_gym.verifiers.inversion.edits import Edit, Kind, Variant, edited
from sandbox_gym.verifiers.inversion.expected import names_of
from sandbox_gym.verifiers.inversion.forms import Forms
from sandbox_gym.verifiers.inversion.module import Module, kept_module
from sandbox_gym.verifiers.inversion.sites import Found, Function, Site, find, runs, sites_of
from sandbox_gym.verifiers.inversion.text import UNPARSEABLE, SourceText, block_parses

__all__ = ["Edit", "Kind", "Variant", "edited", "variants_of"]

MOST_VARIANTS = 12
_MOST_SITES = 40
_MOST_CHECKED = 40
"""Of each kind."""
_KINDS: tuple[Kind, ...] = (
    "expected_value",
    "other_exception",
    "other_operand",
    "mock",
    "opposite_assertion",
    "negated_assertion",
)
_Placed = tuple[Found, Variant]
_QUOTA = {
    "expected_value": 5,
    "other_exception": 3,
    "other_operand": 2,
    "mock": 2,
    "opposite_assertion": 2,
    "negated_assertion": 3,
}


def definition(source: str, test: str) -> str:
    """The name of a test by the class that defines it, which may be a base class of its own in the same file; empty
    where the source has no such test, or expects it to fail."""
    try:
        found = find(kept_module(source).text.tree, test)
    except UNPARSEABLE:
        return ""
    return found.defined_as if found is not None else ""


def variants_of(source: str, test: str) -> tuple[Variant, ...]:
    """The variants of the test function `test` (`test_a`, `TestA.test_b`, `check`), best first; none for a source that
    does not parse or a test without an assertion that can be turned."""
    try:
        module = kept_module(source)
        found = find(module.text.tree, test)
        return () if found is None else _best(module, found)
    except UNPARSEABLE:
        return ()


def _best(module: Module, found: Found) -> tuple[Variant, ...]:
    sites = sites_of(found)
    functions = [found, *_helpers(module.text.tree, found.function, sites)]
    groups: list[list[_Placed]] = []
    for target in functions:
        forms = Forms(module, target.function, names_of(target.function))
        its_sites = sites if target is found else sites_of(target)
        groups += [[(target, one) for one in forms.at(site)] for site in _spread(its_sites)]
    by_kind = {kind: _sound(module.text, placed) for kind, placed in _by_kind(groups).items()}
    chosen: list[Variant] = []
    for kind in _KINDS:
        chosen += islice(by_kind.get(kind, ()), _QUOTA[kind])
    for kind in _KINDS:
        chosen += islice(by_kind.get(kind, ()), max(0, MOST_VARIANTS - len(chosen)))
    return tuple(sorted(chosen[:MOST_VARIANTS], key=lambda one: (_KINDS.index(one.kind), not one.certain)))


def _sound(text: SourceText, placed: Sequence[_Placed]) -> Iterator[Variant]:
    return (
        replace(variant, shared=target.shared)
        for target, variant in placed[:_MOST_CHECKED]
        if _is_sound(text, target.function, variant)
    )


def _spread(sites: Sequence[Site]) -> list[Site]:
    """At most _MOST_SITES of them, from all over the test; those that are certain first."""
    ranked = sorted(sites, key=lambda site: not site.certain)
    certain = sum(site.certain for site in ranked)
    first, rest = ranked[:certain], ranked[certain:]
    kept = _even(first, _MOST_SITES)
    return kept + _even(rest, _MOST_SITES - len(kept))


def _even(sites: list[Site], most: int) -> list[Site]:
    if len(sites) <= most:
        return sites
    return [sites[index * len(sites) // most] for index in range(most)]


def _by_kind(groups: list[list[_Placed]]) -> dict[Kind, list[_Placed]]:
    """By kind: the first of each site, then the second, so that they differ in where they stand; certain ones first."""
    found: dict[Kind, list[tuple[int, _Placed]]] = defaultdict(list)
    for group in groups:
        seen: dict[Kind, int] = defaultdict(int)
        for placed in group:
            kind = placed[1].kind
            found[kind].append((seen[kind], placed))
            seen[kind] += 1
    ranked = {kind: sorted(pairs, key=lambda pair: (not pair[1][1].certain, pair[0])) for kind, pairs in found.items()}
    return {kind: [placed for _, placed in pairs] for kind, pairs in ranked.items()}


def _is_sound(text: SourceText, function: Function, variant: Variant) -> bool:
    """Whether the lines that the edits touch still are Python, and other Python than before."""
    start, end = _block(text, function, variant)
    block = text.source[start:end]
    moved = [Edit(edit.start - start, edit.end - start, edit.text) for edit in variant.edits]
    try:
        other = edited(block, moved)
    except ValueError:
        return False
    return other != block and block_parses(other)


def _block(text: SourceText, function: Function, variant: Variant) -> tuple[int, int]:
    """The whole lines of a statement of the function that hold the edits, or of the function; else the whole file."""
    for each in (*function.body, function):
        marks = each.decorator_list if isinstance(each, Function | ast.ClassDef) else []
        first = min([each.lineno, *(mark.lineno for mark in marks)])
        start, end = text.line_start(first), text.line_start((each.end_lineno or each.lineno) + 1)
        if all(start <= edit.start and edit.end <= end for edit in variant.edits):
            return start, end
    return 0, len(text.source)


def _helpers(tree: ast.Module, function: Function, sites: Iterable[Site]) -> Iterator[Found]:
    """Functions of the same file that the test calls to assert: uncertain, since their arguments are unknown, but for
    those to which it passes what it was given (`test_a(candidate)`)."""
    calls = [(site.node, site.certain) for site in sites if isinstance(site.node, ast.Call)]
    called = {_called(call) for call, _ in calls}
    given = {one.arg for one in function.args.args}
    sure = {
        _called(call)
        for call, certain in calls
        if certain and not call.keywords and given.issuperset(map(ast.unparse, call.args))
    }
    for node in tree.body:
        inside = node.body if isinstance(node, ast.ClassDef) else [node]
        for each in inside:
            if isinstance(each, Function) and each is not function and each.name in called:
                plain = each is node and not each.decorator_list and runs(each)
                yield Found(each, plain and each.name in sure, True)


def _called(call: ast.Call) -> str:
    return call.func.id if isinstance(call.func, ast.Name) else getattr(call.func, "attr", "")
