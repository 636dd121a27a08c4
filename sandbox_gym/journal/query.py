"""Questions over many verdicts: which match, what they came to over time, by task, in two windows. Reads the narrow
table of searches alone; every answer is bounded. Run them by `Journal.ask`, which bounds their time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, Float, Integer, case, cast, desc, func, or_, select

from sandbox_gym.journal.entry import Kind
from sandbox_gym.journal.schema import search

MAX_WORDS = 6
MAX_BINS = 400
MAX_TASKS = 20_000
"""Tasks that two windows are compared over: those with most verdicts."""
_c = search.c
Axis = Literal["time", "step"]


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which verdicts: those that match every field that is set."""

    text: str = ""
    """Words; each is in the task's name, the reason, the tenant, the run or a sign, or begins the verdict's id or the
    task's digest. Letters' case does not count."""
    kind: Kind | None = None
    reason: str = ""
    """The reason, whole."""
    sign: str = ""
    signed: bool = False
    task: str = ""
    """The task's digest, whole."""
    tenant: str = ""
    server: str = ""
    run: str = ""
    since: float | None = None
    until: float | None = None
    """Before this Unix time."""
    step_from: int | None = None
    step_to: int | None = None
    """This step too."""


@dataclass(frozen=True, slots=True)
class Found:
    """A verdict as in lists. `signs` are names with a space around each; `statuses` as in `journal.rows`."""

    id: int
    request_id: str
    finished_at: float
    seconds: float
    server: str
    provider: str
    tenant: str
    label: str
    task_digest: str
    answer_digest: str
    kind: Kind
    reason: str
    reward: float | None
    signs: str
    isolation: str
    in_process: int
    attempts: int
    tests: int
    passed: int
    statuses: str
    run: str
    step: int | None


@dataclass(frozen=True, slots=True)
class Sums:
    """What verdicts came to. `rewarded` is the sum of the rewards of those that are passed or failed."""

    verifies: int
    passed: int
    no_verdict: int
    rewarded: float
    signed: int
    in_process: int
    seconds: float


@dataclass(frozen=True, slots=True)
class TaskSums:
    """One task's."""

    digest: str
    label: str
    sums: Sums


def find(connection: Connection, wanted: Wanted, *, most: int, before: tuple[float, int] | None = None) -> list[Found]:
    """The latest first; `before`: the time and id of the last one of the page before."""
    statement = select(*(_c[field.name] for field in fields(Found))).where(*_conditions(wanted))
    if before is not None:
        at, number = before
        statement = statement.where((_c.finished_at < at) | ((_c.finished_at == at) & (_c.id < number)))
    ordered = statement.order_by(_c.finished_at.desc(), _c.id.desc()).limit(most)
    return [_found(row) for row in connection.execute(ordered).mappings()]


def total(connection: Connection, wanted: Wanted) -> Sums:
    """Of all that match."""
    row = connection.execute(select(*_sums()).where(*_conditions(wanted))).mappings().one()
    return _as_sums(row)


def extent(connection: Connection, wanted: Wanted, axis: Axis) -> tuple[float, float] | None:
    """The first and the last time, or step, of those that match."""
    if axis == "step":
        first, last = connection.execute(select(func.min(_c.step), func.max(_c.step)).where(*_conditions(wanted))).one()
    else:  # two statements, each of which ends at the first match in the index
        ordered = (_c.finished_at, _c.finished_at.desc())
        one = select(_c.finished_at).where(*_conditions(wanted)).limit(1)
        first, last = (connection.execute(one.order_by(order)).scalar() for order in ordered)
    return None if first is None or last is None else (float(first), float(last))


def series(connection: Connection, wanted: Wanted, axis: Axis, start: float, width: float) -> list[tuple[int, Sums]]:
    """Sums by the number of the bin, of `width` from `start` on; bins without verdicts are left out."""
    column = _c.finished_at if axis == "time" else _c.step
    place = (cast(column, Float(53)) - start) / width
    number = func.floor(place) if connection.dialect.name == "postgresql" else cast(place, Integer)
    where = (*_conditions(wanted), column >= start, column < start + MAX_BINS * width)
    statement = select(number.label("number"), *_sums()).where(*where).group_by("number").order_by("number")
    return [(int(row["number"]), _as_sums(row)) for row in connection.execute(statement).mappings()]


def added(many: Iterable[Sums]) -> Sums:
    """All of them together."""
    names = [field.name for field in fields(Sums)]
    values = [[getattr(one, name) for name in names] for one in many]
    return Sums(*(sum(column) for column in zip(*values, strict=True))) if values else Sums(0, 0, 0, 0.0, 0, 0, 0.0)


def by_task(connection: Connection, wanted: Wanted, *, most: int) -> list[TaskSums]:
    """The tasks with most verdicts."""
    digest = _c.task_digest.concat("")  # in the index's order SQLite would look up every row by itself
    columns = (digest.label("digest"), func.max(_c.label).label("label"), *_sums())
    statement = select(*columns).where(*_conditions(wanted)).group_by("digest")
    ordered = statement.order_by(func.count().desc(), "digest").limit(most)
    return [
        TaskSums(str(row["digest"]), str(row["label"]), _as_sums(row)) for row in connection.execute(ordered).mappings()
    ]


def reasons(connection: Connection, wanted: Wanted, *, most: int) -> list[tuple[str, str, int]]:
    """(kind, reason, how many), the most frequent first."""
    count = func.count()
    statement = select(_c.kind, _c.reason, count).where(*_conditions(wanted)).group_by(_c.kind, _c.reason)
    return [
        (kind, reason, int(n)) for kind, reason, n in connection.execute(statement.order_by(count.desc()).limit(most))
    ]


@dataclass(frozen=True, slots=True)
class Alike:
    """How many verdicts of one period are alike in all that is counted of them, and the last one's id."""

    at: float
    tenant: str
    task_digest: str
    label: str
    kind: Kind
    reason: str
    signs: str
    in_process: int
    count: int
    request_id: str


_ALIKE = tuple(field.name for field in fields(Alike) if field.name != "at")


def alike(connection: Connection, wanted: Wanted, *, period_s: int, most: int) -> list[Alike]:
    """Verdicts by periods, the latest periods first."""
    place = _c.finished_at / period_s
    number = func.floor(place) if connection.dialect.name == "postgresql" else cast(place, Integer)
    columns = (_c.tenant, _c.task_digest, _c.label, _c.kind, _c.reason, _c.signs, _c.in_process)
    others = (func.count().label("count"), func.max(_c.request_id).label("request_id"))
    statement = select(number.label("number"), *columns, *others).where(*_conditions(wanted))
    rows = connection.execute(statement.group_by("number", *columns).order_by(desc("number")).limit(most)).mappings()
    return [_as_alike(row, period_s) for row in rows]


def _as_alike(row: Mapping[Any, Any], period_s: int) -> Alike:
    values: dict[str, Any] = {name: row[name] for name in _ALIKE}
    return Alike(**{**values, "at": float(row["number"]) * period_s, "kind": Kind(row["kind"])})


def _sums() -> Sequence[ColumnElement[Any]]:
    def having(condition: ColumnElement[bool]) -> ColumnElement[int]:
        return func.coalesce(func.sum(case((condition, 1), else_=0)), 0)

    return (
        func.count().label("verifies"),
        having(_c.kind == Kind.PASSED.value).label("passed"),
        having(_c.kind == Kind.NO_VERDICT.value).label("no_verdict"),
        func.coalesce(func.sum(_c.reward), 0.0).label("rewarded"),
        having(_c.signs != "").label("signed"),
        func.coalesce(func.sum(_c.in_process), 0).label("in_process"),
        func.coalesce(func.sum(_c.seconds), 0.0).label("seconds"),
    )


def _as_sums(row: Mapping[Any, Any]) -> Sums:
    values: dict[str, Any] = {field.name: int(row[field.name]) for field in fields(Sums) if field.type == "int"}
    return Sums(**values, rewarded=float(row["rewarded"]), seconds=float(row["seconds"]))


def _found(row: Mapping[Any, Any]) -> Found:
    return Found(**{**row, "kind": Kind(row["kind"])})


def _conditions(wanted: Wanted) -> list[ColumnElement[bool]]:
    equal = {
        _c.kind: wanted.kind.value if wanted.kind else "",
        _c.reason: wanted.reason,
        _c.task_digest: wanted.task,
        _c.tenant: wanted.tenant,
        _c.server: wanted.server,
        _c.run: wanted.run,
    }
    conditions: list[ColumnElement[bool]] = [column == value for column, value in equal.items() if value]
    bounds = (
        (wanted.since, _c.finished_at.__ge__),
        (wanted.until, _c.finished_at.__lt__),
        (wanted.step_from, _c.step.__ge__),
        (wanted.step_to, _c.step.__le__),
    )
    conditions += [compared(bound) for bound, compared in bounds if bound is not None]
    if wanted.signed:
        conditions.append(_c.signs != "")
    if wanted.sign:
        conditions.append(_c.signs.contains(f" {wanted.sign} ", autoescape=True))
    return conditions + [_has(word) for word in wanted.text.lower().split()[:MAX_WORDS]]


def _has(word: str) -> ColumnElement[bool]:
    begins = (column.startswith(word, autoescape=True) for column in (_c.request_id, _c.task_digest))
    return or_(_c.words.contains(word, autoescape=True), *begins)
