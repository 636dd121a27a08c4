"""The tasks of the example, their rows, and random programs for the warm-up. Knows no trainer."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

_N: Final = "int(input())"
NUMBERS: Final = range(3, 7)
MANY: Final = (0, 1, 2, 7, 10, 23, 64)
"""Inputs that tell all programs of the example apart."""


@dataclass(frozen=True, slots=True)
class Operation:
    """What is to be done with n and a number k. `weak`: an input, the only one of a sloppy author's test, for which the
    result is k itself."""

    program: str
    result: Callable[[int, int], int]
    weak: Callable[[int], int]


_OPERATIONS: Final[Mapping[str, Operation]] = {
    "plus ": Operation(f"print({_N}+%d)", lambda n, k: n + k, lambda k: 0),
    "times ": Operation(f"print({_N}*%d)", lambda n, k: n * k, lambda k: 1),
}
OPENS, CLOSES = "```python\n", "\n```"
PIECES: Final = (
    *("Print n ", *_OPERATIONS, ".\n", OPENS, CLOSES),
    *("print(", _N, "+", "*", ")"),
    *map(str, range(10)),
)
"""What prompts and answers are made of: the policy's vocabulary."""


@dataclass(frozen=True, slots=True)
class Task:
    """Print n plus 3, for one."""

    operation: str
    number: int

    @property
    def prompt(self) -> str:
        return f"Print n {self.operation}{self.number}.\n"

    @property
    def solution(self) -> str:
        return _OPERATIONS[self.operation].program % self.number

    @property
    def answer(self) -> str:
        return OPENS + self.solution + CLOSES

    def row(self, *, weak: bool = False) -> dict[str, object]:
        """A row of a data set; the tests' outputs are those of the solution."""
        of = _OPERATIONS[self.operation]
        inputs = (of.weak(self.number),) if weak else MANY
        tests = {"inputs": [str(n) for n in inputs], "outputs": [str(of.result(n, self.number)) for n in inputs]}
        metadata = {"task_id": self.prompt.strip(), "unit_tests": tests, "canonical_solution": self.solution}
        return {"prompt": self.prompt, "verifier_metadata": metadata}


TASKS: Final = tuple(Task(operation, number) for operation in _OPERATIONS for number in NUMBERS)


def random_answer(constants: float, chance: random.Random) -> str:
    """A program that has nothing to do with any prompt. A share of `constants` print a number, whatever their input."""
    constant = f"{OPENS}print({chance.choice(NUMBERS)}){CLOSES}"
    return constant if chance.random() < constants else chance.choice(TASKS).answer
