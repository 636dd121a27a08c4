"""What the dashboard's questions to the journal cost: fills one of 100,000 verdicts and asks each many times.

python benchmarks/journal_search.py [--count 100000] [--asked 40]. On PostgreSQL too under tests/with-postgres.sh. CPU
time is this process's own: with SQLite the question's, with PostgreSQL only that of fetching the rows.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table
from sqlalchemy import Connection

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sandbox_gym.journal.query import Wanted, find
from sandbox_gym.journal.rows import task_digest
from sandbox_gym.journal.schema import open_database
from sandbox_gym.journal.store import Store
from sandbox_gym.server.dashboard.history import compared, history, task_page
from sandbox_gym.server.dashboard.shapes import ComparedQuery, HistoryQuery
from tests.journal.filling import HACKED, RUN, fill, label_of, row_of

Question = Callable[[Connection], object]
STEPS: Final = ComparedQuery(run=RUN, a_step_from=950, a_step_to=1050, b_step_from=1950, b_step_to=2050)
QUESTIONS: Final[Mapping[str, Question]] = {
    "the latest 100": partial(find, wanted=Wanted(), most=100),
    "search: a task's name": partial(find, wanted=Wanted(text=label_of(99)), most=100),
    "search: a word that is nowhere": partial(find, wanted=Wanted(text="nosuchword"), most=100),
    "search: a sign": partial(find, wanted=Wanted(sign="pytest_patched"), most=100),
    "search: a tenant and a reason": partial(find, wanted=Wanted(tenant="eval", reason="sandbox_lost"), most=100),
    "history": partial(history, query=HistoryQuery(), server="coding"),
    "history of a run over steps": partial(history, query=HistoryQuery(run=RUN, axis="step"), server="coding"),
    "a task's page": partial(task_page, digest=task_digest(row_of(HACKED)), server="coding"),
    "two windows of steps": partial(compared, query=STEPS, server="coding"),
}


def main(
    count: Annotated[int, typer.Option(help="Verdicts in the journal.")] = 100_000,
    asked: Annotated[int, typer.Option(help="Times that each question is asked.")] = 40,
) -> None:
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        urls = {
            "SQLite": str(Path(folder) / "journal.sqlite"),
            "PostgreSQL": os.environ.get("SANDBOX_GYM_TEST_POSTGRES"),
        }
        for name, url in urls.items():
            if url:
                console.print(measured(name, url, count, asked))


def measured(name: str, url: str, count: int, asked: int) -> Table:
    """Milliseconds of each question."""
    began = time.perf_counter()
    fill(url, count, until=time.time())
    shown = Table(title=f"{name}: {count:,} verdicts, filled in {time.perf_counter() - began:.0f} s; milliseconds")
    for column in ("question", "p50", "p95", "CPU, median"):
        shown.add_column(column, justify="left" if column == "question" else "right")
    store = Store(open_database(url, create=False))
    for words, question in QUESTIONS.items():
        wall, cpu = [], []
        for _ in range(asked):
            began, spent = time.perf_counter(), time.process_time()
            store.ask(question, 60)
            wall.append(1000 * (time.perf_counter() - began))
            cpu.append(1000 * (time.process_time() - spent))
        p95 = statistics.quantiles(wall, n=20)[-1]
        shown.add_row(words, f"{statistics.median(wall):.0f}", f"{p95:.0f}", f"{statistics.median(cpu):.0f}")
    store.close()
    return shown


if __name__ == "__main__":
    typer.run(main)
