"""Kinds of values for generated rows: how a test writes them, and what can be asked of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.honest.row import Block, read_blocks

_FILE: Final = Path(__file__).parent / "generated" / "kinds.txt"


@dataclass(frozen=True, slots=True)
class Kind:
    """`values`: expressions of different values. `probe`: an expression over `x` that gives a plain value, another one
    for each of them. `setup`: the imports and classes that all of these need. `change`: a statement that changes `x` in
    place, empty where that can't be done.

    `traits`: `equal` (== compares by value), `hashable`, `ordered`, `fresh` (an expression makes a new object each
    time), `shown` (repr tells the value), `once` (a probe uses it up).
    """

    name: str
    traits: frozenset[str]
    setup: str
    values: tuple[str, ...]
    probe: str
    change: str

    @property
    def has(self) -> frozenset[str]:
        """The traits, and `changes` (it can be changed in place), `many` (a probe leaves it as it is)."""
        more = {"changes"} if self.change else set()
        return self.traits | more | (set() if "once" in self.traits else {"many"})

    @property
    def imports_only(self) -> bool:
        """Whether the setup defines nothing, so that the test and the answer may each have it."""
        return all(line.startswith(("import ", "from ")) for line in self.setup.splitlines())


def kinds() -> list[Kind]:
    return [_kind(block) for block in read_blocks(_FILE)]


def _kind(block: Block) -> Kind:
    traits = frozenset(filter(None, block.options["traits"].split(",")))
    values = tuple(block.part("values").splitlines())
    return Kind(
        block.name,
        traits,
        block.part("setup").strip(),
        values,
        block.part("probe").strip(),
        block.part("change").strip(),
    )
