"""Tables that fit a narrow terminal: columns that matter least are left out before a cell loses its words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console, JustifyMethod
from rich.table import Table

from sandbox_gym.cli.terminal.screen import say, visible

_FRAME: Final = 3
"""What a column's border and padding take."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column. `least`: characters below which its folded text can't be read; 0: never folded. `rank`: the higher,
    the sooner it is left out; 0: never."""

    name: str
    least: int = 0
    rank: int = 0
    justify: JustifyMethod = "left"


def print_table(title: str, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Print rows of plain text on stdout; what was left out is named on stderr."""
    console = Console()
    wide = [max(len(column.name), *(len(row[at]) for row in rows), 1) for at, column in enumerate(columns)]
    least = [min(width, column.least) if column.least else width for width, column in zip(wide, columns, strict=True)]
    shown = list(range(len(columns)))
    for at in sorted(shown, key=lambda at: -columns[at].rank):
        if columns[at].rank and sum(least[each] + _FRAME for each in shown) + 1 > console.width:
            shown.remove(at)
    table = Table(title=title, title_justify="left")
    for at in shown:
        column = columns[at]
        folded = column.least > 0
        table.add_column(
            column.name, justify=column.justify, no_wrap=not folded, overflow="fold", min_width=least[at] or None
        )
    for row in rows:
        table.add_row(*(visible(row[at]) for at in shown))
    console.print(table)
    if len(shown) < len(columns):
        left_out = ", ".join(column.name for at, column in enumerate(columns) if at not in shown)
        say(f"Too narrow for {left_out}: --json has them.")
