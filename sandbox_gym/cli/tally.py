"""Counts of a `verify`: passed, failed by reason, no verdict, invalid with reasons; and how long verdicts took."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Sequence

from rich.table import Table

from sandbox_gym.cli.terminal.screen import visible
from sandbox_gym.errors import RequestError
from sandbox_gym.server.protocol.wire import Document, VerifyFields

_REASONS = 40
"""Distinct reasons that are counted; the rest is counted together, which bounds the memory."""


_INVALID = 100
"""Invalid rows that are kept with their reasons."""
_SHOWN = 5
"""Of which so many are shown on a screen."""


class Tally:
    """Counts rows as they arrive; stores one float per row."""

    def __init__(self) -> None:
        self.passed = 0
        self.invalid = 0
        self._invalid: list[tuple[int, RequestError]] = []
        self.failed: Counter[str] = Counter()
        self.no_verdict: Counter[str] = Counter()
        self._wall_times_s = array("d")

    def add(self, fields: VerifyFields, wall_time_s: float) -> None:
        if fields.mask_sample:
            self._count(self.no_verdict, fields.failure_kind or "unknown")
            return
        self._wall_times_s.append(wall_time_s)
        if fields.failure_reason is None:
            self.passed += 1
        else:
            self._count(self.failed, _reason(fields))

    def add_invalid(self, row: int, error: RequestError) -> None:
        """`row`: from 0, as everywhere but on screens."""
        self.invalid += 1
        if len(self._invalid) < _INVALID:
            self._invalid.append((row, error))

    @staticmethod
    def _count(counter: Counter[str], reason: str) -> None:
        counter[reason if reason in counter or len(counter) < _REASONS else "other"] += 1

    @property
    def clean(self) -> bool:
        """Whether every row got a verdict."""
        return not self.invalid and not self.no_verdict

    @property
    def rows(self) -> int:
        return self.passed + self.invalid + self.failed.total() + self.no_verdict.total()

    def document(self) -> Document:
        """The counts as JSON; seconds per verify are null where no row got a verdict."""
        times = sorted(self._wall_times_s)
        return {
            "rows": self.rows,
            "passed": self.passed,
            "failed": dict(self.failed),
            "no_verdict": dict(self.no_verdict),
            "invalid": self.invalid,
            "invalid_rows": [{"row": row, "line": row + 1, "reason": str(error)} for row, error in self._firsts()],
            "p50_s": percentile(times, 0.50),
            "p95_s": percentile(times, 0.95),
        }

    def _firsts(self) -> list[tuple[int, RequestError]]:
        """The invalid rows by line: those that were read first may be answered later."""
        return sorted(self._invalid, key=lambda pair: pair[0])

    def reasons(self, out: str) -> list[str]:
        """What is wrong with the first invalid rows, as markup; the rest is in the file `out`."""
        told = [f"[yellow]line {row + 1}:[/] {visible(str(error))}" for row, error in self._firsts()[:_SHOWN]]
        if self.invalid > len(told):
            told.append(f"... and {self.invalid - len(told)} more invalid rows: {visible(out)} says what is wrong")
        if self.invalid == self.rows and any(error.field == "body" for _row, error in self._invalid):
            told.append(
                "The file must be JSON lines, one object a line; `jq -c` makes such lines, `jq -c '.[]'` of an array."
            )
        return told

    def table(self, *, title: str) -> Table:
        shown = Table(title=title, title_justify="left", show_header=False, min_width=36)
        shown.add_column()
        shown.add_column(justify="right")
        shown.add_row("[green]passed[/]", str(self.passed))
        shown.add_row("[red]failed[/]", str(self.failed.total()))
        for reason, count in self.failed.most_common():
            shown.add_row(f"  {visible(reason)}", str(count))
        shown.add_row("[yellow]no verdict[/]", str(self.no_verdict.total()))
        for reason, count in self.no_verdict.most_common():
            shown.add_row(f"  {visible(reason)}", str(count))
        if self.invalid:
            shown.add_row("[yellow]invalid rows[/]", str(self.invalid))
        times = sorted(self._wall_times_s)
        shown.add_row("p50 per verify", _milliseconds(times, 0.50))
        shown.add_row("p95 per verify", _milliseconds(times, 0.95))
        return shown


def _reason(fields: VerifyFields) -> str:
    """The first failing test's status where there is one: few distinct values, whatever programs print."""
    if fields.verdict is not None and fields.failure_reason != "reasoning_format_violation":
        for test in fields.verdict["tests"]:
            if test["status"] not in ("passed", "skipped"):
                return str(test["status"])
    return (fields.failure_reason or "").partition("\n")[0].partition(":")[0][:60] or "unknown"


def percentile(times: Sequence[float], share: float) -> float | None:
    """Percentile by nearest rank."""
    return times[min(len(times) - 1, int(share * len(times)))] if times else None


def _milliseconds(times: Sequence[float], share: float) -> str:
    found = percentile(times, share)
    return "-" if found is None else f"{1000 * found:.0f} ms"
