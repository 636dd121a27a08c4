"""A command's progress on stderr: on a terminal a bar with rate and time left, elsewhere a plain line at intervals."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text

EVERY_S: Final = 10.0
"""Seconds between two plain lines."""


@contextmanager
def progress(what: str, total: int, console: Console | None = None) -> Iterator[Callable[[], None]]:
    """Call what is yielded for each finished item of `total`. `what`: plain text. `console`: stderr unless given."""
    chosen = console or Console(stderr=True)
    if _draws(chosen):
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), _Rate(), TimeRemainingColumn())
        # results on a terminal's stdout are printed above the bar; into a file they go unchanged
        with Progress(*columns, console=chosen, redirect_stdout=sys.stdout.isatty()) as bars:
            bar = bars.add_task(escape(what), total=total)
            yield lambda: bars.advance(bar)
        return
    lines = PlainLines(what, total, lambda line: chosen.print(line, markup=False, highlight=False, soft_wrap=True))
    yield lines.advance
    lines.end()


def _draws(console: Console) -> bool:
    """Whether the stream is a terminal that can redraw a line; a file with forced colour is not."""
    file: TextIO = console.file  # type: ignore[assignment]
    return console.is_terminal and not console.is_dumb_terminal and file.isatty()


class PlainLines:
    """`verify: 1200 of 10000, 52.3/s, 2:48 left`, each EVERY_S and at the end."""

    def __init__(
        self, what: str, total: int, write: Callable[[str], None], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._what, self._total, self._write, self._clock = what, total, write, clock
        self._began = self._told = clock()
        self._done = self._told_done = 0

    def advance(self) -> None:
        self._done += 1
        if self._clock() - self._told >= EVERY_S:
            self._tell()

    def end(self) -> None:
        """The last line, unless it was printed already."""
        if self._done != self._told_done:
            self._tell()

    def _tell(self) -> None:
        now = self._clock()
        self._told, self._told_done = now, self._done
        rate = self._done / max(now - self._began, 1e-6)
        left = max(0, self._total - self._done)
        end = f", {_minutes(left / rate)} left" if left and rate else ""
        self._write(f"{self._what}: {self._done} of {self._total}, {rate:.1f}/s{end}")


def _minutes(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


class _Rate(ProgressColumn):
    """The rate per second."""

    def render(self, task: Task) -> Text:
        return Text(f"{task.speed:.1f}/s" if task.speed else "-/s")
