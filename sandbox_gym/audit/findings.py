"""The kinds of weakness, and what reading a row alone shows of them. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from sandbox_gym.verifiers.coding import CodingTask, why_not_isolated
from sandbox_gym.verifiers.coding.functions.shapes import CheckTests, FunctionTests, StdinTests
from sandbox_gym.verifiers.coding.running.checkers import TextChecker

LOOSE: Final = 1e-2
_SHOWN = 60


class Weakness(StrEnum):
    """What can be wrong with a row. The first ones let a wrong answer pass or a right one fail."""

    INVALID = "invalid"
    """The server refuses it."""
    GOLD_FAILS = "gold_fails"
    """Its own solution does not pass."""
    GOLD_FLAKY = "gold_flaky"
    """Its own solution passes at times."""
    CONSTANT_PASSES = "constant_passes"
    """An answer that ignores its input passes every test."""
    ECHO_PASSES = "echo_passes"
    """An answer that gives its input back passes every test."""
    CONTRADICTION = "contradiction"
    """One input is expected to give two outputs."""
    CHECKER_FAILS = "checker_fails"
    """Its checker ends without a verdict."""
    BLANK_EXPECTED = "blank_expected"
    """A silent program passes some of its tests."""
    LOOSE_TOLERANCE = "loose_tolerance"
    """Numbers count as right that are off by a hundredth or more."""
    PUBLIC_IS_HIDDEN = "public_is_hidden"
    """Every hidden test is a public one: what the agent sees is all there is."""
    IN_PROCESS = "in_process"
    """Its test can't be kept apart from the answer."""
    FEW_TESTS = "few_tests"
    """One test."""
    DUPLICATE_TESTS = "duplicate_tests"
    """Some tests say the same."""
    SLOW_GOLD = "slow_gold"
    """Its own solution takes over half the time limit, so that a busy machine may fail it."""
    NO_VERDICT = "no_verdict"
    """Nothing is known: the sandboxes failed."""


SEVERE: Final = frozenset(
    (
        *(Weakness.INVALID, Weakness.GOLD_FAILS, Weakness.GOLD_FLAKY, Weakness.CONSTANT_PASSES),
        *(Weakness.ECHO_PASSES, Weakness.CONTRADICTION, Weakness.CHECKER_FAILS),
    )
)
"""A row with one of these should not be trained on as it is."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One weakness of a row, with what shows it."""

    weakness: Weakness
    evidence: str

    @property
    def severe(self) -> bool:
        return self.weakness in SEVERE


def read(task: CodingTask, public: tuple[tuple[str, str], ...]) -> Iterator[Finding]:
    """What needs no sandbox to be seen. `public`: the row's public tests as (input, output)."""
    tests = task.tests
    if isinstance(tests, CheckTests):
        why = why_not_isolated(tests)
        if why:
            yield Finding(Weakness.IN_PROCESS, why)
        return
    count = len(tests.inputs) if isinstance(tests, StdinTests) else len(tests.calls)
    if count == 1:
        yield Finding(Weakness.FEW_TESTS, "one test")
    if isinstance(tests, StdinTests):
        yield from _read_texts(tests, task, public)
    elif isinstance(tests, FunctionTests):
        pairs = [(repr(call), repr(output)) for call, output in zip(tests.calls, tests.outputs, strict=True)]
        yield from _repetitions(pairs, contradicts=True)


def _read_texts(tests: StdinTests, task: CodingTask, public: tuple[tuple[str, str], ...]) -> Iterator[Finding]:
    pairs = [(given.strip(), expected.strip()) for given, expected in zip(tests.inputs, tests.outputs, strict=True)]
    by_text = isinstance(task.checker, TextChecker)
    yield from _repetitions(pairs, contradicts=by_text)
    blank = [index for index, (_, expected) in enumerate(pairs) if not expected]
    if blank and by_text:
        yield Finding(Weakness.BLANK_EXPECTED, f"tests {blank[:5]} expect no output")
    if isinstance(task.checker, TextChecker) and max(task.checker.absolute or 0, task.checker.relative or 0) >= LOOSE:
        yield Finding(Weakness.LOOSE_TOLERANCE, f"{task.checker.absolute or task.checker.relative:g}")
    seen = {(given.strip(), expected.strip()) for given, expected in public}
    if seen and set(pairs) <= seen:
        yield Finding(Weakness.PUBLIC_IS_HIDDEN, f"all {len(pairs)} hidden tests are public")


def _repetitions(pairs: list[tuple[str, str]], *, contradicts: bool) -> Iterator[Finding]:
    outputs: defaultdict[str, set[str]] = defaultdict(set)
    for given, expected in pairs:
        outputs[given].add(expected)
    double = next((given for given, found in outputs.items() if len(found) > 1), None)
    if double is not None and contradicts:
        yield Finding(Weakness.CONTRADICTION, f"input {double[:_SHOWN]!r} has {len(outputs[double])} expected outputs")
    repeated = sum(count - 1 for count in Counter(pairs).values())
    if repeated:
        yield Finding(Weakness.DUPLICATE_TESTS, f"{repeated} of {len(pairs)} tests repeat another")
