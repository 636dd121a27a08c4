"""Fills a journal with many verdicts fast: a few are made by the verifier, the rest are those under other names, times,
tenants and steps. A training run whose pass rate rises, and an evaluation beside it; some are masked, some signed."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from sandbox_gym.journal import Entry
from sandbox_gym.journal.rows import Columns, Prepared, prepare
from sandbox_gym.journal.schema import open_database
from sandbox_gym.journal.store import Store
from sandbox_gym.limits import MIB
from tests.journal.entries import ROW, entry, no_verdict

TASKS: Final = 400
STEPS: Final = 2000
RUN: Final = "grpo-7"
FLAKY: Final = 3
"""The task whose second test changes between runs of the same answer."""
HACKED: Final = 5
"""The task that answers with a sign of tampering pass."""
BATCH: Final = 2000


def label_of(task: int) -> str:
    return f"codeforces/{1000 + task // 4}/{'ABCD'[task % 4]}"


def row_of(task: int) -> dict[str, object]:
    return {**ROW, "task_id": label_of(task)}


def signed(one: Entry, sign: str) -> Entry:
    judged = one.judgements[0]
    verdict = replace(judged.verdict, tamper=(sign,), evidence={sign: "pytest's report was written by the answer"})
    return replace(one, judgements=(replace(judged, verdict=verdict),))


class _Task:
    """A task's prepared verdicts by what became of them."""

    def __init__(self, number: int) -> None:
        row = row_of(number)
        made = {
            "passed": entry(row=row, answer=f"print(2 * int(input())) # {number}"),
            "failed": entry(b"no\n", row=row, answer=f"print('no') # {number}"),
            "masked": replace(no_verdict(), source=replace(no_verdict().source, row=row)),
            "signed": signed(entry(row=row, answer="import conftest"), "pytest_patched"),
        }
        self.prepared = {
            name: prepare(replace(one, label=label_of(number)), state_max_bytes=MIB) for name, one in made.items()
        }


def fill(url: str, count: int, *, until: float, days: float = 7.0, seed: int = 1) -> None:
    """Adds `count` verdicts that end at even distances in the `days` before `until`."""
    store = Store(open_database(url, create=True))
    try:
        batch: list[Prepared] = []
        for one in _verdicts(count, until - 86_400 * days, until, random.Random(seed)):
            batch.append(one)
            if len(batch) == BATCH:
                store.add(batch)
                batch.clear()
        if batch:
            store.add(batch)
    finally:
        store.close()


def _verdicts(count: int, start: float, end: float, chance: random.Random) -> Iterator[Prepared]:
    tasks = [_Task(number) for number in range(min(TASKS, max(8, count // 40)))]
    for number in range(count):
        share = number / count
        task = chance.randrange(len(tasks))
        hard = 0.15 + 0.8 * task / len(tasks)
        what = "passed" if chance.random() < hard * (0.4 + 0.6 * share) else "failed"
        if chance.random() < 0.006:
            what = "masked"
        elif task == HACKED and share > 0.5 and chance.random() < 0.5:
            what = "signed"
        finished = start + (end - start) * (number + 1) / count
        training = number % 5 != 4
        changes: Columns = {
            "request_id": uuid.UUID(int=chance.getrandbits(128)).hex,
            "finished_at": finished,
            "tenant": "trainer" if training else "eval",
        }
        named = {
            "run": RUN if training else "",
            "step": int(STEPS * share) if training else None,
            "seconds": 0.1 + chance.random(),
        }
        prepared = tasks[task].prepared[what]
        statuses = prepared.search["statuses"]
        if task == FLAKY and what == "failed" and chance.random() < 0.3:
            statuses = "f~"
        yield replace(
            prepared,
            columns={**prepared.columns, **changes, "started_at": finished - float(str(named["seconds"]))},
            search={**prepared.search, **changes, **named, "statuses": statuses},
        )
