"""What became of each request under a fault, counted, and the table of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["right", "explicit", "unsent", "wrong"]
"""right: the verdict that was earned, for its own reason. explicit: no verdict, and it says so. unsent: the connection
was refused or lost, so it is asked again. wrong: all else."""


@dataclass(frozen=True)
class Outcome:
    """One request's: `why` names what was explicit or wrong about it."""

    kind: Kind
    why: str = ""
    attempts: int = 1


@dataclass
class Count:
    """One cell of the table."""

    right: int = 0
    explicit: int = 0
    wrong: list[str] = field(default_factory=list)
    kinds: Counter[str] = field(default_factory=Counter)
    """Explicit ones, by what they said."""
    tried_again: int = 0
    deeds: int = 0
    """How often the fault was done."""
    serves_after_s: float | None = None
    """From the last deed's end to the next right answer; None where there was none in time."""

    def add(self, outcome: Outcome) -> None:
        self.tried_again += outcome.attempts > 1
        if outcome.kind == "right":
            self.right += 1
        elif outcome.kind in ("explicit", "unsent"):
            self.explicit += 1
            self.kinds[outcome.why] += 1
        else:
            self.wrong.append(outcome.why)

    usual_s: float = 0.0
    """What a right answer took before the first deed; it is not in `serves_after_s`."""

    @property
    def total(self) -> int:
        return self.right + self.explicit + len(self.wrong)


@dataclass(frozen=True)
class Row:
    """A line of the table: a cell's name and what came of it."""

    fault: str
    workload: str
    provider: str
    count: Count
    inherent: bool = False

    def text(self) -> str:
        count = self.count
        after = "never" if count.serves_after_s is None else f"{count.serves_after_s:.1f}"
        said = ", ".join(f"{number} {kind}" for kind, number in count.kinds.most_common(3))
        inherent = "  (inherent)" if self.inherent else ""
        numbers = f"{count.right:>6} {count.explicit:>9} {len(count.wrong):>6} {count.tried_again:>6} {count.deeds:>6}"
        return f"{self.fault:<22} {self.workload:<8} {self.provider:<7} {numbers} {after:>7}  {said}{inherent}"


HEAD = (
    f"{'fault':<22} {'workload':<8} {'on':<7} {'right':>6} {'explicit':>9} {'wrong':>6} {'again':>6} {'deeds':>6} "
    f"{'serves':>7}  what the explicit ones said"
)
"""`again`: more than one attempt. `serves`: seconds from the last deed to the next right answer."""


def table(rows: Iterable[Row]) -> str:
    return "\n".join([HEAD, *(row.text() for row in rows)])
