"""Counts signs of reward hacking by kind, tenant and task, and finds which kind rose when. Metrics, the dashboard and
alerts read it. Bounded in memory; knows neither HTTP nor any verifier.

A kind is the name of a sign of tampering, or one of `IN_PROCESS` and `MASKED`. Names of signs may come from a box.
"""

from __future__ import annotations

import re
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice
from typing import Final, Literal, TypeVar

from sandbox_gym.observe.change import LEAST, Change, rise_of

IN_PROCESS: Final = "in_process"
MASKED: Final = "masked"
OTHER: Final = "other"
MINUTE_S: Final = 60
HOUR_S: Final = 3600
HOURS: Final = 6
MAX_KINDS: Final = 48
MAX_TENANTS: Final = 32
MAX_TASKS: Final = 1000
"""Tasks that are counted in an hour; verifies of further ones count under OTHER."""
MAX_TASKS_A_MINUTE: Final = 50
MAX_CHARS: Final = 200
FIRST: Final = 3
"""Answers that are listed for each minute and for each rise."""
TASKS: Final = 5
"""Tasks that are listed for each rise."""
MAX_SERIES: Final = 200
"""Series of (tenant, kind) that are checked for a rise: the most frequent."""
FRESH_S: Final = 5.0
_KIND: Final = re.compile(r"[a-z][a-z0-9_]{0,59}")

Inverted = Literal["", "held", "failed", "none"]
"""Result of a run of inverted tests: all failed as they must, one did not, none could be made; empty without a run."""
INVERTED_SIGN: Final = "inverted_test"


@dataclass(frozen=True, slots=True)
class Verified:
    """One finished verify. `signs`: evidence by the name of the sign."""

    request_id: str
    tenant: str
    task: str
    signs: Mapping[str, str]
    in_process: bool = False
    masked: bool = False
    inverted: Inverted = ""


@dataclass(frozen=True, slots=True)
class Sighting:
    """An answer behind a count."""

    at: float
    kind: str
    tenant: str
    task: str
    request_id: str
    evidence: str


@dataclass(frozen=True, slots=True)
class TaskShare:
    """How many of a task's verifies in an hour had one or several kinds."""

    task: str
    count: int
    of: int


@dataclass(frozen=True, slots=True)
class Rise:
    """A kind that became more frequent in a tenant's verifies. Shares are from 0 to 1."""

    kind: str
    tenant: str
    since: float
    before: float
    share: float
    count: int
    of: int
    tasks: tuple[TaskShare, ...]
    first: tuple[Sighting, ...]


@dataclass(frozen=True, slots=True)
class Hour:
    """One hour that began at `at`: verifies, kinds, and the tasks with the most signs."""

    at: float
    verifies: int
    kinds: Mapping[str, int]
    tenants: Mapping[str, Mapping[str, int]]
    """Kinds by tenant; `verifies` among them."""
    tasks: tuple[tuple[str, str, int, Mapping[str, int]], ...]
    """(tenant, task, verifies, kinds)"""


@dataclass(frozen=True, slots=True)
class Report:
    """The state at one time."""

    at: float
    rises: tuple[Rise, ...]
    hours: tuple[Hour, ...]
    """The latest first."""


_Pair = tuple[str, str]


@dataclass(slots=True)
class _Minute:
    at: int
    verifies: Counter[str] = field(default_factory=Counter)
    kinds: Counter[_Pair] = field(default_factory=Counter)
    tasks: dict[_Pair, Counter[str]] = field(default_factory=dict)
    first: dict[_Pair, list[Sighting]] = field(default_factory=dict)

    def follow(self, earlier: _Minute) -> None:
        """Add what an earlier process counted of the same minute."""
        self.verifies += earlier.verifies
        self.kinds += earlier.kinds
        for key, tasks in earlier.tasks.items():
            self.tasks.setdefault(key, Counter()).update(tasks)
        for key, first in earlier.first.items():
            self.first[key] = (first + self.first.get(key, []))[:FIRST]


@dataclass(slots=True)
class _Hour:
    at: int
    verifies: Counter[_Pair] = field(default_factory=Counter)
    """By tenant and task."""
    kinds: dict[_Pair, Counter[str]] = field(default_factory=dict)

    def follow(self, earlier: _Hour) -> None:
        """Add what an earlier process counted of the same hour."""
        self.verifies += earlier.verifies
        for key, kinds in earlier.kinds.items():
            self.kinds.setdefault(key, Counter()).update(kinds)


@dataclass(slots=True)
class Totals:
    """Since the start of the process, by tenant and, where a pair is counted, by sign or result."""

    verifies: Counter[str] = field(default_factory=Counter)
    tampered: Counter[str] = field(default_factory=Counter)
    in_process: Counter[str] = field(default_factory=Counter)
    masked: Counter[str] = field(default_factory=Counter)
    signs: Counter[_Pair] = field(default_factory=Counter)
    inverted: Counter[_Pair] = field(default_factory=Counter)


_Period = TypeVar("_Period", _Minute, _Hour)


class Radar:
    """Counts of one engine's verifies."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self.totals = Totals()
        self._minutes: deque[_Minute] = deque(maxlen=HOURS * HOUR_S // MINUTE_S)
        self._hours: deque[_Hour] = deque(maxlen=HOURS)
        self._kinds: set[str] = {IN_PROCESS, MASKED}
        self._tenants: set[str] = set()
        self._report: Report | None = None

    def add(self, one: Verified, *, at: float | None = None, count: int = 1) -> None:
        """Count a finished verify, or `count` that are alike; of another time than now only on a radar that is to be
        another's past. Costs a few dictionary entries."""
        now = self._clock() if at is None else at
        tenant, task = self._tenant(one.tenant), one.task[:MAX_CHARS]
        signs = {self._kind(name): evidence for name, evidence in islice(one.signs.items(), MAX_KINDS)}
        self._total(one, tenant, signs)
        kinds = {**signs, **({IN_PROCESS: ""} if one.in_process else {}), **({MASKED: ""} if one.masked else {})}
        minute, hour = self._minute(now), self._hour(now)
        minute.verifies[tenant] += count
        counted = (tenant, task)
        if counted not in hour.verifies and len(hour.verifies) >= MAX_TASKS:
            counted = (tenant, OTHER)
        hour.verifies[counted] += count
        for kind, evidence in kinds.items():
            hour.kinds.setdefault(counted, Counter())[kind] += count
            self._sight(minute, Sighting(now, kind, tenant, task, one.request_id, evidence[:MAX_CHARS]), count)

    def follow(self, earlier: Radar) -> None:
        """Put another's minutes and hours before the own ones. Totals stay those of this process."""
        self._tenants |= earlier._tenants
        self._kinds |= earlier._kinds
        self._minutes = _joined(earlier._minutes, self._minutes)
        self._hours = _joined(earlier._hours, self._hours)
        self._report = None

    def report(self) -> Report:
        """Rises and hours; computed at most once in FRESH_S seconds."""
        now = self._clock()
        if self._report is None or not 0 <= now - self._report.at < FRESH_S:
            self._report = Report(now, tuple(self._rises(now)), tuple(map(_shown, reversed(self._hours))))
        return self._report

    # -- counting

    def _tenant(self, name: str) -> str:
        return _bounded(name[:MAX_CHARS], self._tenants, MAX_TENANTS)

    def _kind(self, name: str) -> str:
        return _bounded(name, self._kinds, MAX_KINDS) if _KIND.fullmatch(name) else OTHER

    def _total(self, one: Verified, tenant: str, signs: Mapping[str, str]) -> None:
        totals = self.totals
        totals.verifies[tenant] += 1
        totals.tampered[tenant] += bool(signs)
        totals.in_process[tenant] += one.in_process
        totals.masked[tenant] += one.masked
        totals.signs[OTHER, tenant] += 0  # a rate needs a series that existed before
        totals.inverted["failed", tenant] += 0
        totals.signs.update((sign, tenant) for sign in signs)
        if one.inverted:
            totals.inverted[one.inverted, tenant] += 1

    def _sight(self, minute: _Minute, one: Sighting, count: int) -> None:
        key = (one.kind, one.tenant)
        minute.kinds[key] += count
        tasks = minute.tasks.setdefault(key, Counter())
        tasks[one.task if one.task in tasks or len(tasks) < MAX_TASKS_A_MINUTE else OTHER] += count
        first = minute.first.setdefault(key, [])
        if len(first) < FIRST:
            first.append(one)

    def _minute(self, now: float) -> _Minute:
        at = int(now // MINUTE_S) * MINUTE_S
        if not self._minutes or self._minutes[-1].at < at:
            self._minutes.append(_Minute(at))
        return self._minutes[-1]

    def _hour(self, now: float) -> _Hour:
        at = int(now // HOUR_S) * HOUR_S
        if not self._hours or self._hours[-1].at < at:
            self._hours.append(_Hour(at))
        return self._hours[-1]

    # -- rises

    def _rises(self, now: float) -> Iterator[Rise]:
        """The most suspicious first: signs before shares that may rise for a harmless reason."""
        minutes = [minute for minute in self._minutes if minute.at > now - HOURS * HOUR_S]
        totals = Counter[_Pair]()
        for minute in minutes:
            totals.update(minute.kinds)
        keys = [key for key, count in totals.most_common(MAX_SERIES) if count >= LEAST]
        for kind, tenant in sorted(keys, key=lambda key: (key[0] in _MILD, key)):
            series = [(minute.kinds[kind, tenant], minute.verifies[tenant]) for minute in minutes]
            change = rise_of(series)
            if change is not None:
                yield self._rise(kind, tenant, minutes[change.index :], change)

    def _rise(self, kind: str, tenant: str, minutes: Sequence[_Minute], change: Change) -> Rise:
        key, seen, first = (kind, tenant), Counter[str](), list[Sighting]()
        for minute in minutes:
            seen.update(minute.tasks.get(key, {}))
            first += minute.first.get(key, ())
        began = first[0].at if first else float(minutes[0].at)
        tasks = tuple(
            TaskShare(task, count, self._verifies_of(tenant, task, began)) for task, count in seen.most_common(TASKS)
        )
        return Rise(
            kind, tenant, began, change.before, change.share, change.count, change.of, tasks, tuple(first[:FIRST])
        )

    def _verifies_of(self, tenant: str, task: str, since: float) -> int:
        """Verifies of the whole hours since then."""
        return sum(hour.verifies[tenant, task] for hour in self._hours if hour.at + HOUR_S > since)


def _joined(earlier: deque[_Period], own: deque[_Period]) -> deque[_Period]:
    if earlier and own and earlier[-1].at == own[0].at:
        own[0].follow(earlier.pop())
    return deque(chain(earlier, own), maxlen=own.maxlen)


_MILD: Final = frozenset({IN_PROCESS, MASKED})


def _bounded(name: str, known: set[str], most: int) -> str:
    if name not in known and len(known) >= most:
        return OTHER
    known.add(name)
    return name


def _shown(hour: _Hour) -> Hour:
    kinds, tenants = Counter[str](), dict[str, Counter[str]]()
    for (tenant, _), count in hour.verifies.items():
        tenants.setdefault(tenant, Counter())["verifies"] += count
    for (tenant, _), counts in hour.kinds.items():
        kinds.update(counts)
        tenants[tenant].update(counts)
    signed = ((task, counts) for task, counts in hour.kinds.items() if counts.keys() - _MILD or counts[MASKED])
    worst = sorted(signed, key=lambda one: -sum(n for kind, n in one[1].items() if kind != IN_PROCESS))[:20]
    tasks = tuple((tenant, task, hour.verifies[tenant, task], dict(counts)) for (tenant, task), counts in worst)
    return Hour(hour.at, hour.verifies.total(), dict(kinds), {name: dict(of) for name, of in tenants.items()}, tasks)


def inverted_of(variants: int, signs: Mapping[str, str]) -> Inverted:
    """The result of a run of inverted tests with this number of variants and these signs."""
    if any(name.startswith(INVERTED_SIGN) for name in signs):
        return "failed"
    return "held" if variants else "none"
