"""The judge's end of prepare.py and watch.py: lines read strictly, within bounds, and trusted as far as
they go.

A line is the nonce, a blank and a JSON object whose `n` counts from 0. What is missing, out of order or told twice is a
sign; of two results for one test the worse one counts.
"""

from __future__ import annotations

import base64
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from sandbox_gym.verifiers.bounded import Bounds, loads
from sandbox_gym.verifiers.swe.patches.restore import SIGNS
from sandbox_gym.verifiers.swe.reference import MAX_FILE_BYTES, Inversion, ReferenceRecord
from sandbox_gym.verifiers.swe.task import CaseStatus

MAX_BYTES = 64 << 20
MAX_LINE = 4 << 20
MAX_LINES = 500_000
MAX_SIGNS = 100
MAX_SIGHTINGS = 64
"""Of each sign."""
_SHOWN = 200
_LINE: Final = Bounds(size_bytes=MAX_LINE, depth=20, parts=10_000)

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
    waited_s: float = 0.0
    """Of one that the watcher's clock ended: for how long at most it wanted a CPU in vain."""


@dataclass(frozen=True, slots=True)
class ChannelReport:
    """What came of one run."""

    cases: Mapping[str, CaseReport] = field(default_factory=dict)
    collect_errors: Mapping[str, str] = field(default_factory=dict)
    """What could not be collected, by node id (a file's path), and why."""
    hooks: tuple[str, ...] = ()
    """`hook file` for each conftest.py of the box that has a hook on results."""
    signs: Mapping[str, str] = field(default_factory=dict)
    """Signs of tampering, with the first evidence."""
    sightings: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The same with all evidence, each once, up to a bound."""
    complete: bool = False
    """The last runner came to its end, and the watcher said so. False without `crashes`: the watcher was lost."""
    rounds: int = 0
    crashes: tuple[str, ...] = ()
    waited_s: float = 0.0
    """Where the collection took too long: for how long at most it wanted a CPU in vain."""
    python: str = ""
    ran: bool = False
    """Of a log: it says that tests ran, which it may do without naming one."""
    reference: ReferenceRecord | None = None
    """What the judge had the box say of the reference, before anything of the answer's ran."""
    inversion: Inversion | None = None
    """The same of tests that were changed, without the edits."""
    files: Mapping[str, bytes] = field(default_factory=dict)
    """Test files as they were before anything of the answer's ran."""

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
    signs: dict[str, list[str]] = field(default_factory=dict)
    crashes: list[str] = field(default_factory=list)
    waited_s: float = 0.0
    python: str = ""
    complete: bool = False
    rounds: int = 0
    began: bool = False
    reference: ReferenceRecord | None = None
    inversion: Inversion | None = None
    files: dict[str, bytes] = field(default_factory=dict)

    def sign(self, name: str, what: str) -> None:
        if len(self.signs) < MAX_SIGNS:
            seen = self.signs.setdefault(name, [])
            if len(seen) < MAX_SIGHTINGS and what[:_SHOWN] not in seen:
                seen.append(what[:_SHOWN])

    def take(self, line: Mapping[str, object]) -> None:
        kind = line.get("kind")
        if self.rounds:
            self.sign("channel_after_end", f"{kind}")
        elif kind == "begin":
            self.began, self.python = True, _text(line, "python")
        elif kind in ("reference", "inversion", "file"):
            self._prepared(kind, line)
        elif kind == "done":
            self._done(line)
        elif kind == "collect":
            self.collect_errors.setdefault(_text(line, "id"), _text(line, "detail"))
        elif kind == "hook":
            self.hooks.append(f"{_text(line, 'hook')} {_text(line, 'file')}")
        elif kind == "sign":
            name = f"channel_{_text(line, 'sign')}"  # the runner shares its process with the answer
            self.sign(name if name in SIGNS else "channel_garbled", _text(line, "what"))
        elif kind == "crash":
            self.crashes.append(_text(line, "detail"))
            self.waited_s = _seconds(line, "waited_s")
        elif kind == "end":
            rounds = line.get("rounds")
            self.rounds = rounds if isinstance(rounds, int) and rounds > 0 else 1
            self.complete = line.get("complete") is True

    def _prepared(self, kind: object, line: Mapping[str, object]) -> None:
        """A line of prepare.py's: nothing of the answer's had run, or it is none."""
        if self.began:
            self.sign("channel_garbled", f"{kind} after the tests began")
            return
        if kind == "reference" and self.reference is None:
            ran, runs = line.get("ran") is True, line.get("runs")
            count = runs if isinstance(runs, int) else 0
            fails = line.get("fails")
            failed = tuple(name for name in fails if isinstance(name, str)) if isinstance(fails, list) else ()
            self.reference = ReferenceRecord(
                _statuses(line), _lists(line, "signs"), ran, count, _text(line, "why_none"), failed
            )
        elif kind == "inversion" and self.inversion is None:
            unchanged = line.get("unchanged")
            names = tuple(name for name in unchanged if isinstance(name, str)) if isinstance(unchanged, list) else ()
            says = _lists(line, "says")
            self.inversion = Inversion(
                must_fail=_statuses(line), how=_texts(line, "how"), unchanged=names, must_say=says
            )
        elif kind == "file":
            data = _unpacked(_text(line, "data"))
            if data is not None:
                self.files[_text(line, "path")] = data

    def _done(self, line: Mapping[str, object]) -> None:
        test, status = _text(line, "id"), line.get("status")
        if not isinstance(status, str) or status not in _REPORTED:
            self.sign("channel_garbled", f"status {status!r} of {test}")
            status = CaseStatus.ERROR
        times_s = _seconds(line, "wall_s"), _seconds(line, "waited_s")
        case = CaseReport(CaseStatus(status), times_s[0], _text(line, "detail"), times_s[1])
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
        signs={name: seen[0] for name, seen in reading.signs.items()},
        sightings={name: tuple(seen) for name, seen in reading.signs.items()},
        complete=reading.complete,
        rounds=reading.rounds,
        crashes=tuple(reading.crashes),
        waited_s=reading.waited_s,
        python=reading.python,
        reference=reading.reference,
        inversion=reading.inversion,
        files=reading.files,
    )


def _parsed(raw: bytes) -> Mapping[str, object] | None:
    try:
        value = loads(raw, _LINE)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _text(line: Mapping[str, object], name: str) -> str:
    value = line.get(name)
    return value if isinstance(value, str) else ""


def _seconds(line: Mapping[str, object], name: str) -> float:
    value = line.get(name)
    return float(value) if isinstance(value, int | float) and 0 <= value < 1e9 else 0.0


def _statuses(line: Mapping[str, object]) -> dict[str, CaseStatus]:
    return {test: CaseStatus(word) for test, word in _texts(line, "statuses").items() if word in CaseStatus.__members__}


def _texts(line: Mapping[str, object], name: str) -> dict[str, str]:
    value = line.get(name)
    found = value.items() if isinstance(value, dict) else ()
    return {key: item for key, item in found if isinstance(item, str)}


def _lists(line: Mapping[str, object], name: str) -> dict[str, tuple[str, ...]]:
    value = line.get(name)
    found = value.items() if isinstance(value, dict) else ()
    return {str(key): tuple(str(one) for one in items) for key, items in found if isinstance(items, list)}


def _unpacked(data: str) -> bytes | None:
    """A file's bytes; None for one that was not there or is too long."""
    reader = zlib.decompressobj()
    try:
        found = reader.decompress(base64.b64decode(data, validate=True), MAX_FILE_BYTES)
    except (ValueError, zlib.error):
        return None
    return found if data and reader.eof else None
