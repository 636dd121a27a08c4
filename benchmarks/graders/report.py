"""What each grader made of each payload, and how that is written down: a table, Markdown, JSON."""

from __future__ import annotations

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum

from rich.table import Table

COLUMNS = (
    "grader",
    "payloads run",
    "accepted wrong",
    "crashed the grader",
    "hung to the wall limit",
    "honest controls rejected",
    "not run: dangerous",
    "not run: other form",
)


class Outcome(StrEnum):
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    CRASHED = "crashed"
    """The grader died or raised: no verdict."""
    HUNG = "hung"
    """No verdict within the wall limit."""
    DANGEROUS = "dangerous"
    """Not run, because nothing of the grader's own would protect the machine."""
    OTHER_FORM = "other form"
    """Not run, because the grader has no such tests."""

    @property
    def ran(self) -> bool:
        return self not in (Outcome.DANGEROUS, Outcome.OTHER_FORM)


@dataclass(frozen=True)
class Result:
    grader: str
    attack: str
    payload: Outcome
    control: Outcome
    detail: str = ""
    """Why the payload was not run, or the last line of a grader that crashed on it."""


@dataclass(frozen=True)
class Tally:
    """One grader's results, counted."""

    grader: str
    run: int
    accepted: int
    crashed: int
    hung: int
    controls: int
    controls_rejected: int
    dangerous: int
    other_form: int

    @property
    def cells(self) -> tuple[str, ...]:
        counts = (f"{self.accepted} of {self.run}", self.crashed, self.hung)
        controls = f"{self.controls_rejected} of {self.controls}"
        return tuple(map(str, (self.grader, self.run, *counts, controls, self.dangerous, self.other_form)))


def tally(grader: str, results: Sequence[Result]) -> Tally:
    own = [result for result in results if result.grader == grader]
    payloads = [result.payload for result in own]
    controls = [result.control for result in own if result.control.ran]
    return Tally(
        grader,
        run=sum(outcome.ran for outcome in payloads),
        accepted=payloads.count(Outcome.ACCEPTED),
        crashed=payloads.count(Outcome.CRASHED),
        hung=payloads.count(Outcome.HUNG),
        controls=len(controls),
        controls_rejected=len(controls) - controls.count(Outcome.ACCEPTED),
        dangerous=payloads.count(Outcome.DANGEROUS),
        other_form=payloads.count(Outcome.OTHER_FORM),
    )


def tallies(results: Sequence[Result]) -> list[Tally]:
    """One for each grader, in their order."""
    return [tally(grader, results) for grader in dict.fromkeys(result.grader for result in results)]


def faults(grader: str, results: Sequence[Result]) -> list[str]:
    """What a grader that must be perfect did wrong, by payload; anything but a rejection is a fault, also a crash."""
    own = [result for result in results if result.grader == grader]
    found = [f"{one.attack}: the payload was {one.payload}" for one in own if one.payload is not Outcome.REJECTED]
    return found + [
        f"{one.attack}: the control was {one.control}" for one in own if one.control is not Outcome.ACCEPTED
    ]


def table(counted: Sequence[Tally]) -> Table:
    shown = Table()
    shown.add_column(COLUMNS[0], no_wrap=True)
    for column in COLUMNS[1:]:
        shown.add_column(column)
    for each in counted:
        shown.add_row(*each.cells)
    return shown


def markdown(title: str, results: Sequence[Result]) -> str:
    """The table, then each payload's outcome by grader."""
    counted = tallies(results)
    graders = [each.grader for each in counted]
    attacks = list(dict.fromkeys(result.attack for result in results))
    outcomes = {(result.attack, result.grader): result.payload for result in results}
    detail = [(attack, *(_shown(outcomes.get((attack, grader))) for grader in graders)) for attack in attacks]
    return "\n".join(
        [
            f"# {title}",
            "",
            f"Python {platform.python_version()}. By `python -m benchmarks.integrity`; see docs/design/testing.md.",
            "",
            *_rows([COLUMNS, *(each.cells for each in counted)]),
            "",
            "## Each payload",
            "",
            *_rows([("payload", *graders), *detail]),
            "",
        ]
    )


def _shown(outcome: Outcome | None) -> str:
    return "" if outcome is None else f"**{outcome}**" if outcome is Outcome.ACCEPTED else str(outcome)


def _rows(rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [lines[0], "|" + "---|" * len(rows[0]), *lines[1:]]


def as_json(results: Sequence[Result]) -> str:
    report = {
        "python": platform.python_version(),
        "graders": [asdict(each) for each in tallies(results)],
        "results": [asdict(result) for result in results],
    }
    return json.dumps(report, indent=1) + "\n"
