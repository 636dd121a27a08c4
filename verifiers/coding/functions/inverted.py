"""Chooses the variants of a row's test for one process: which ones run over an answer, in which order, under which
keys.

Pure. The choice comes from a seed that no box has: code in a box can't tell a variant from the true test by the order
of the runs, nor by any file.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, zip_longest

from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.coding.functions.shapes import CheckTests
from sandbox_gym.verifiers.coding.functions.split import part
from sandbox_gym.verifiers.coding.functions.strict import strict
from sandbox_gym.verifiers.coding.functions.styles import pytest_test
from sandbox_gym.verifiers.coding.functions.syntax import UNPARSEABLE, parse_trusted
from sandbox_gym.verifiers.inversion import Kind, Variant, doubted, edited, is_lenient, variants_of

CHOSEN = 2
"""Variants that are run over an answer."""
_POOL = 6
_MOST_TESTS = 24


@dataclass(frozen=True, slots=True)
class Inverted:
    """A row's test, changed so that it must fail. `test`: its whole source, as CheckTests.test."""

    test: str
    kind: Kind
    line: int
    certain: bool

    @property
    def evidence(self) -> str:
        if self.kind == "doubted":
            return "the test that doubts objects which equal anything"
        return f"{self.kind.replace('_', ' ')}, line {self.line} of the test"


@lru_cache(maxsize=256)
def pool_of(tests: CheckTests) -> tuple[Inverted, ...]:
    """The variants that a row's runs are chosen from, best first."""
    source = tests.written or tests.test
    found = [variants_of(source, name) for name in _names(tests, source)]
    spread = [one for one in chain.from_iterable(zip_longest(*found)) if one is not None]
    kinds: dict[Kind, list[Variant]] = {}
    for variant in sorted(spread, key=lambda one: not one.certain):
        kinds.setdefault(variant.kind, []).append(variant)
    mixed = [one for one in chain.from_iterable(zip_longest(*kinds.values())) if one is not None]
    mixed.sort(key=lambda one: not one.certain)
    return tuple(_inverted(tests, source, variant) for variant in mixed[:_POOL])


def _inverted(tests: CheckTests, source: str, variant: Variant) -> Inverted:
    if tests.style == "pytest":
        test = pytest_test(edited(source, variant.edits), tests.module, tests.entry_point)
    else:
        test = edited(tests.test, variant.edits)  # which begins with what the row has written
    return Inverted(test, variant.kind, variant.line, variant.certain)


@lru_cache(maxsize=256)
def strict_test(tests: CheckTests) -> str:
    """The row's whole test, as CheckTests.test, where it is run apart from an answer."""
    source = tests.written or tests.test
    changed = strict(source, set(part(tests).names))
    if tests.style == "pytest" and changed != source:
        return pytest_test(changed, tests.module, tests.entry_point)
    return changed + tests.test[len(source) :] if tests.style != "pytest" else tests.test


@lru_cache(maxsize=256)
def doubt_of(tests: CheckTests) -> tuple[Inverted, ...]:
    """The row's test, which must pass as it does, where it fails objects that equal anything; () where it has nothing
    to doubt."""
    source = tests.written or tests.test
    try:
        parting = part(tests)
        named = None if parting.classes else parting.shared
        test = doubted(strict(source, set(parting.names)), named)
        if test and tests.style == "pytest":
            test = pytest_test(test, tests.module, tests.entry_point)
        elif test:
            test += tests.test[len(source) :]
        sure = bool(test) and not is_lenient(source)
    except (*UNPARSEABLE, RequestError):
        return ()
    return (Inverted(test, "doubted", 0, sure),) if test else ()


def _names(tests: CheckTests, source: str) -> list[str]:
    """Qualified names of the functions that decide."""
    if tests.style == "check":
        return ["check"]
    try:
        tree = parse_trusted(source)
    except UNPARSEABLE:
        return []
    names = list(_test_names(tree, functions=tests.style == "pytest"))
    return names if len(names) <= _MOST_TESTS else [names[at * len(names) // _MOST_TESTS] for at in range(_MOST_TESTS)]


def _test_names(tree: ast.Module, functions: bool) -> Iterator[str]:
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            for method in node.body:
                if isinstance(method, ast.FunctionDef | ast.AsyncFunctionDef) and method.name.startswith("test"):
                    yield f"{node.name}.{method.name}"
        elif functions and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test"):
            yield node.name


def seed_of(tests: CheckTests, source: str, secret: str) -> str:
    """The seed of choice, order and keys; of its parts only the answer's source enters a box."""
    parts = "\0".join((secret, tests.test, tests.reference, source))
    return hashlib.sha256(parts.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def key_of(seed: str, index: int) -> str:
    """The key of the seed's run number `index`; 0 is the first true run."""
    return _hashed(seed, f"key {index}")


def order_of(tests: CheckTests, seed: str) -> tuple[Inverted | None, ...]:
    """The runs after the first true one: variants, the doubting test, and None for the true test among them; empty
    where none is made."""
    pool = [one for one in pool_of(tests) if one.certain or tests.reference]
    shuffled = [pool[at] for at in _shuffled(len(pool), seed, "choice")]
    # a certain one first, since what only a run tells may tell nothing; a changed value, since no form gives it away
    chosen = sorted(shuffled, key=lambda one: (not one.certain, one.kind != "expected_value"))
    rest = sorted((one for one in shuffled if one is not chosen[0]), key=lambda one: _rank(one, chosen[0]))
    chosen = [*chosen[:1], *rest]
    runs = [
        *chosen[:CHOSEN],
        *([None] if chosen else []),
        *(one for one in doubt_of(tests) if one.certain or tests.reference),
    ]
    return tuple(runs[at] for at in _shuffled(len(runs), seed, "order"))


def _rank(variant: Inverted, first: Inverted) -> tuple[bool, bool, bool]:
    """How good a second variant is: one of a mock, since an answer is given the test's mocks and may set their
    assertions; else another changed value, at another place, since an object that equals all values passes where an
    assertion is negated."""
    return variant.kind != "mock", variant.kind != "expected_value", variant.line == first.line


def _shuffled(count: int, seed: str, what: str) -> list[int]:
    return sorted(range(count), key=lambda index: _hashed(seed, f"{what} {index}"))


def _hashed(seed: str, what: str) -> str:
    return hashlib.sha256(f"{seed}\0{what}".encode()).hexdigest()


def why_none(tests: CheckTests) -> str:
    """Why a row has no variant to run."""
    if not pool_of(tests):
        return "the test has no assertion that can be turned"
    return "no assertion of the test is certain to be reached, and the row has no solution to try its variants on"
