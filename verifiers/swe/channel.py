"""The judge's end of channel_watch.py: its lines read strictly, within bounds, and trusted as far as they go.

A line is the nonce, a blank and a JSON object whose `n` counts from 0. What is missing, out of order or told twice is a
sign; of two results for one test the worse one counts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from sandbox_gym.verifiers.swe.task import CaseStatus

MAX_BYTES = 64 << 20
MAX_LINE = 4 << 20
MAX_LINES = 500_000
MAX_SIGNS = 100
_SHOWN = 200

_REPORTED = {
    CaseStatus.PASSED: 0,
    CaseStatus.SKIPPED: 2,
    CaseStatus.XFAIL: 1,
    CaseStatus.XPASS: 3,
    CaseStatus.ERROR: 4,
    CaseStatus.FAILED: 5,
    CaseStatus.TIMEOUT: 6,
}
"""What a runner may say, from best to worst."""


@dataclass(frozen=True, slots=True)
class CaseReport:
    """How one test ended. `detail` is what a hostile box says of a failure: show it, believe nothing of it."""

    status: CaseStatus
    wall_time_s: float = 0.0
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ChannelReport:
    """What came of one run."""

    cases: Mapping[str, CaseReport] = field(default_factory=dict)
    collect_errors: Mapping[str, str] = field(default_factory=dict)
    """What could not be collected, by node id (a file's path), and why."""
    hooks: tuple[str, ...] = ()
    """`hook file` for each conftest.py of the box that has a hook on results."""
    signs: Mapping[str, str] = field(default_factory=dict)
    """Signs of tampering, with evidence."""
    complete: bool = False
    """The last runner came to its end, and the watcher said so. False without `crashes`: the watcher was lost."""
    rounds: int = 0
    crashes: tuple[str, ...] = ()
    python: str = ""

    @property
    def lost(self) -> bool:
        """The watcher never said its last word: it was killed, as at the run's wall time, or the box is gone."""
        return self.rounds == 0

    def statuses(self) -> dict[str, CaseStatus]:
        return {test: case.status for test, case in self.cases.items()}


@dataclass(slots=True)
class _Reading:
    cases: dict[str, CaseReport] = field(default_factory=dict)
    collect_errors: dict[str, str] = field(default_factory=dict)
    hooks: list[str] = field(default_factory=list)
    signs: dict[str, str] = field(default_factory=dict)
    crashes: list[str] = field(default_factory=list)
    python: str = ""
    complete: bool = False
    rounds: int = 0

    def sign(self, name: str, what: str) -> None:
        if len(self.signs) < MAX_SIGNS:
            self.signs.setdefault(name, what[:_SHOWN])

    def take(self, line: Mapping[str, object]) -> None:
        kind = line.get("kind")
        if self.rounds:
            self.sign("channel_after_end", f"{kind}")
        elif kind == "begin":
            self.python = _text(line, "python")
        elif kind == "done":
            self._done(line)
        elif kind == "collect":
            self.collect_errors.setdefault(_text(line, "id"), _text(line, "detail"))
        elif kind == "hook":
            self.hooks.append(f"{_text(line, 'hook')} {_text(line, 'file')}")
        elif kind == "sign":
            self.sign(f"channel_{_text(line, 'sign')}", _text(line, "what"))
        elif kind == "crash":
            self.crashes.append(_text(line, "detail"))
        elif kind == "end":
            rounds = line.get("rounds")
            self.rounds = rounds if isinstance(rounds, int) and rounds > 0 else 1
            self.complete = line.get("complete") is True

    def _done(self, line: Mapping[str, object]) -> None:
        test, status, wall_s = _text(line, "id"), line.get("status"), line.get("wall_s")
        if not isinstance(status, str) or status not in _REPORTED:
            self.sign("channel_garbled", f"status {status!r} of {test}")
            status = CaseStatus.ERROR
        seconds = float(wall_s) if isinstance(wall_s, int | float) and 0 <= wall_s < 1e9 else 0.0
        case = CaseReport(CaseStatus(status), seconds, _text(line, "detail"))
        earlier = self.cases.get(test)
        if earlier is not None:
            self.sign("channel_result_twice", test)
            case = max(earlier, case, key=lambda report: _REPORTED[report.status])
        self.cases[test] = case


def read_channel(data: bytes, nonce: str) -> ChannelReport:
    """What the watcher said. Lines of another nonce are signs; beyond the bounds nothing is read, which is one too.

    Raises ValueError for a nonce without a character, which anybody could say.
    """
    if not nonce.strip():
        raise ValueError("the nonce is blank; give at least 16 random characters")
    reading = _Reading()
    if len(data) > MAX_BYTES or data.count(b"\n") > MAX_LINES:
        reading.sign("channel_flooded", f"{len(data)} bytes")
    prefix = nonce.encode("utf-8") + b" "
    expected = 0
    for raw in data[:MAX_BYTES].split(b"\n", MAX_LINES)[:-1]:  # the last piece is empty, or cut by a kill
        line = _parsed(raw[len(prefix) :]) if raw.startswith(prefix) and len(raw) <= MAX_LINE else None
        if line is None or line.get("n") != expected:
            reading.sign("channel_forged", repr(raw[: _SHOWN // 2]) if line is None else f"line {line.get('n')!r}")
            continue
        expected += 1
        reading.take(line)
    return ChannelReport(
        cases=reading.cases,
        collect_errors=reading.collect_errors,
        hooks=tuple(dict.fromkeys(reading.hooks)),
        signs=reading.signs,
        complete=reading.complete,
        rounds=reading.rounds,
        crashes=tuple(reading.crashes),
        python=reading.python,
    )


def _parsed(raw: bytes) -> Mapping[str, object] | None:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def _text(line: Mapping[str, object], name: str) -> str:
    value = line.get(name)
    return value if isinstance(value, str) else ""
