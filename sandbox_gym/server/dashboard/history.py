"""Documents made of the journal's answers: verdicts over time and steps, a task, two windows compared.

Each function is one question to the journal: it takes a connection, and is run by `Journal.ask`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from sandbox_gym.journal import Kind
from sandbox_gym.journal.rows import CHANGED, PASSED, SKIPPED
from sandbox_gym.observe.sanitize import sanitized
from sandbox_gym.server.dashboard.shapes import (
    ComparedQuery,
    ComparedShown,
    ComparedTask,
    HistoryQuery,
    HistoryShown,
    SumsShown,
    TaskPage,
    TaskShown,
    WhichQuery,
    WindowQuery,
)
from sandbox_gym.server.dashboard.stored_verify import unnamed
from sandbox_gym.server.protocol.wire import Document

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from sandbox_gym.journal.query import Found, Sums, TaskSums, Wanted

BINS: Final = 100
MAX_TASKS: Final = 50
MAX_REASONS: Final = 12
LOOKED_AT: Final = 500
"""Verdicts of a task whose tests and answers are looked at: the latest."""
MAX_ANSWERS: Final = 50
_NAME: Final = 120
_WIDTHS_S: Final = (1, 5, 10, 30, 60, 300, 600, 1800, 3600, 7200, 21_600, 43_200, 86_400, 604_800, 2_592_000)


def wanted_by(query: WhichQuery, server: str) -> Wanted:
    """What a query asks for, of one server."""
    from sandbox_gym.journal.query import Wanted

    wanted = Wanted(
        text=query.text,
        kind=Kind(query.outcome) if query.outcome not in ("", "tamper") else None,
        reason=query.reason,
        sign=query.sign,
        signed=query.outcome == "tamper",
        task=query.task,
        tenant=query.tenant,
        server=server,
        run=query.run,
    )
    if isinstance(query, WindowQuery):
        begins, ends = query.step_from, query.step_to
        return replace(wanted, since=query.since, until=query.until, step_from=begins, step_to=ends)
    return wanted


def history(connection: Connection, query: HistoryQuery, server: str) -> HistoryShown:
    """Over the query's window, as far as there are verdicts in it."""
    from sandbox_gym.journal.query import added, by_task, extent, reasons, series

    wanted = wanted_by(query, server)
    first, last = extent(connection, wanted, query.axis) or (0.0, 0.0)
    start, width = _scale(first, last, steps=query.axis == "step")
    bins = series(connection, wanted, query.axis, start, width)
    return {
        "axis": query.axis,
        "start": start,
        "width": width,
        "bins": [{"at": start + number * width, "sums": sums_shown(sums)} for number, sums in bins],
        "sums": sums_shown(added(sums for _, sums in bins)),
        "tasks": [_task(one) for one in by_task(connection, wanted, most=MAX_TASKS)],
        "reasons": [
            {"kind": kind, "reason": sanitized(reason, 80), "count": count}
            for kind, reason, count in reasons(connection, wanted, most=MAX_REASONS)
        ],
    }


def task_page(connection: Connection, digest: str, server: str) -> TaskPage | None:
    """One task's; None where it has no verdicts."""
    from sandbox_gym.journal.query import Wanted, find, total

    wanted = Wanted(task=digest, server=server)
    found = find(connection, wanted, most=LOOKED_AT)
    if not found:
        return None
    label = next((one.label for one in found if one.label), unnamed(digest))
    return {
        "digest": digest,
        "label": sanitized(label, _NAME),
        "sums": sums_shown(total(connection, wanted)),
        "looked_at": len(found),
        "tests": _tests(found),
        "answers": _answers(found),
    }


def compared(connection: Connection, query: ComparedQuery, server: str) -> ComparedShown:
    """Two windows: what all came to, and the tasks that moved most for the number of their verdicts."""
    from sandbox_gym.journal import query as journal

    both = wanted_by(query, server)
    a = replace(both, since=query.a_since, until=query.a_until, step_from=query.a_step_from, step_to=query.a_step_to)
    b = replace(both, since=query.b_since, until=query.b_until, step_from=query.b_step_from, step_to=query.b_step_to)
    b = replace(b, run=query.b_run or query.run)
    sums = [journal.total(connection, one) for one in (a, b)]
    before, after = (
        {task.digest: task for task in journal.by_task(connection, one, most=journal.MAX_TASKS)} for one in (a, b)
    )
    tasks = [_moved(task, after[digest]) for digest, task in before.items() if digest in after]
    tasks.sort(key=lambda task: -abs(task["likely"]))
    return {
        "a": sums_shown(sums[0]),
        "b": sums_shown(sums[1]),
        "likely": _likely(*sums),
        "tasks": tasks[:MAX_TASKS],
        "compared": len(tasks),
        "cut": journal.MAX_TASKS in (len(before), len(after)),
    }


def sums_shown(sums: Sums) -> SumsShown:
    judged = sums.verifies - sums.no_verdict
    return {
        "verifies": sums.verifies,
        "passed": sums.passed,
        "failed": judged - sums.passed,
        "no_verdict": sums.no_verdict,
        "signed": sums.signed,
        "in_process": sums.in_process,
        "reward": sums.rewarded / judged if judged and math.isfinite(sums.rewarded) else None,
        "pass_rate": sums.passed / judged if judged else None,
        "seconds": sums.seconds / sums.verifies if sums.verifies else None,
    }


def _task(one: TaskSums) -> TaskShown:
    label = sanitized(one.label or unnamed(one.digest), _NAME)
    return {"digest": one.digest, "label": label, "sums": sums_shown(one.sums)}


def _moved(a: TaskSums, b: TaskSums) -> ComparedTask:
    shown = _task(replace(b, label=b.label or a.label))
    sums = (sums_shown(a.sums), shown["sums"])
    likely = _likely(a.sums, b.sums)
    return {"digest": a.digest, "label": shown["label"], "a": sums[0], "b": sums[1], "likely": likely}


def _likely(a: Sums, b: Sums) -> float:
    """By how many standard errors the second pass rate is above the first: the pooled test of two shares."""
    of_a, of_b = a.verifies - a.no_verdict, b.verifies - b.no_verdict
    if not of_a or not of_b:
        return 0.0
    pooled = (a.passed + b.passed) / (of_a + of_b)
    error = math.sqrt(pooled * (1 - pooled) * (1 / of_a + 1 / of_b))
    return (b.passed / of_b - a.passed / of_a) / error if error else 0.0


def _scale(first: float, last: float, *, steps: bool) -> tuple[float, float]:
    """Where the axis begins and how wide a bin is: a round number, so that there are BINS of them at most."""
    wanted = (last - first) / (BINS - 1)
    if steps:
        power = 10 ** max(0, math.floor(math.log10(wanted))) if wanted > 1 else 1
        width = float(next(power * one for one in (1, 2, 5, 10) if power * one >= wanted))
    else:
        width = float(next((one for one in _WIDTHS_S if one >= wanted), math.ceil(wanted)))
    return math.floor(first / width) * width, width


def _tests(found: Sequence[Found]) -> list[Document]:
    """Each test over the verdicts: how often it ran, passed, passed in spite of signs, and changed for an answer."""
    rows: list[Document] = []
    for index in range(max(len(one.statuses) for one in found)):
        ran = [(one, one.statuses[index]) for one in found if one.statuses[index : index + 1] not in ("", SKIPPED)]
        by_answer: dict[str, set[str]] = {}
        for one, letter in ran:
            by_answer.setdefault(one.answer_digest, set()).add(letter)
        rows.append(
            {
                "index": index,
                "ran": len(ran),
                "passed": sum(letter == PASSED for _, letter in ran),
                "flaky": sum(CHANGED in letters or len(letters) > 1 for letters in by_answer.values()),
                "hacked": sum(letter == PASSED and one.signs != "" for one, letter in ran),
            }
        )
    return rows


def _answers(found: Sequence[Found]) -> list[Document]:
    """The same answers together, the latest first."""
    by_answer: dict[str, list[Found]] = {}
    for one in found:
        by_answer.setdefault(one.answer_digest, []).append(one)
    return [_answer(digest, verdicts) for digest, verdicts in list(by_answer.items())[:MAX_ANSWERS]]


def _answer(digest: str, verdicts: Sequence[Found]) -> Document:
    rewards = [one.reward for one in verdicts if one.reward is not None]
    signs = dict.fromkeys(sign for one in verdicts for sign in one.signs.split())
    latest = verdicts[0]
    return {
        "digest": digest,
        "id": latest.request_id,
        "at": latest.finished_at,
        "kind": latest.kind.value,
        "reason": sanitized(latest.reason, 80),
        "times": len(verdicts),
        "no_verdict": sum(one.kind is Kind.NO_VERDICT for one in verdicts),
        "least": min(rewards, default=None),
        "most": max(rewards, default=None),
        "signs": [sanitized(sign, 60) for sign in list(signs)[:8]],
    }
