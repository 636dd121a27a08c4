"""Figures beside their limits: whether each holds, as rows of a table. Knows neither what is counted nor how."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tools.limits import Known

Standing = Literal["ok", "known", "over"]


@dataclass(frozen=True, slots=True)
class Held:
    """A figure, held to its limit."""

    name: str
    now: float
    limit: int | None = None
    """None: it is only reported."""
    known: Known | None = None
    excesses: tuple[str, ...] = ()
    """What is over the limit, or what was counted where the limit is for its number."""
    sized: bool = False
    """`now` is the size of the largest, and `excesses` are those above the limit."""

    @property
    def standing(self) -> Standing:
        """`over` fails; `known` is over its limit, and no worse than what KNOWN allows."""
        if self.limit is None or self.now <= self.limit:
            return "ok"
        if self.known is None or self.now > self.known.worst:
            return "over"
        allowed = self.known.excesses
        return "known" if not self.sized or allowed is None or len(self.excesses) <= allowed else "over"

    @property
    def slack(self) -> bool:
        """Whether KNOWN allows more than there is, so that its entry should be lowered or go."""
        if self.known is None:
            return False
        fewer = self.sized and self.known.excesses is not None and len(self.excesses) < self.known.excesses
        return fewer or self.now < self.known.worst

    @property
    def row(self) -> tuple[str, str, str, str, str]:
        """Name, limit, figure, how many are over the limit, standing."""
        limit = "" if self.limit is None else f"{self.limit:,}"
        over = str(len(self.excesses)) if self.sized else ""
        standing = self.standing if self.limit is not None else ""
        return self.name, limit, f"{self.now:,g}" if self.now < 1000 else f"{self.now:,.0f}", over, standing


def lines_of(figures: Sequence[Held], *, shown: int = 20) -> list[str]:
    """The table, then for each figure over its limit what is, and what KNOWN should no longer allow."""
    rows = [("figure", "limit", "now", "over", "standing"), *(figure.row for figure in figures)]
    widths = [max(len(row[column]) for row in rows) for column in range(5)]
    lines = [
        f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {row[2]:>{widths[2]}}  {row[3]:>{widths[3]}}  {row[4]}".rstrip()
        for row in rows
    ]
    for figure in figures:
        if figure.standing != "ok" and figure.excesses:
            lines += ["", f"{figure.name}: {_why(figure)}", *(f"  {one}" for one in figure.excesses[:shown])]
            lines += [f"  and {len(figure.excesses) - shown} more"] * (len(figure.excesses) > shown)
    slack = [figure.name for figure in figures if figure.slack]
    return [
        *lines,
        *(["", f"better than KNOWN in tools/limits.py allows, which can be lowered: {', '.join(slack)}"] * bool(slack)),
    ]


def _why(figure: Held) -> str:
    if figure.standing == "known" and figure.known is not None:
        return f"over its limit for now, since {figure.known.reason}"
    return "over its limit" if figure.known is None else "worse than KNOWN in tools/limits.py allows"
