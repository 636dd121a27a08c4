"""A verdict as its reader has it: the fields of a verify response, typed. What later servers add is in `reply`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

Document = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class VerdictTest:
    """One test."""

    index: int = 0
    status: str = ""
    """`passed`, `skipped`, or why it failed: `wrong_answer`, `time_limit` and so on."""
    reason: str = ""
    score: float = 0.0
    cpu_time_s: float = 0.0
    wall_time_s: float = 0.0
    peak_memory_bytes: int = 0
    contest: str = ""


@dataclass(frozen=True, slots=True)
class VerdictGroup:
    """A group of tests: its points, and the most that it could give."""

    name: str = ""
    points: float = 0.0
    of: float = 0.0


@dataclass(frozen=True, slots=True)
class VerdictInverted:
    """Tests that must fail: how many were run, and how many failed."""

    variants: int = 0
    failed: int = 0
    unchanged: int = 0
    why_none: str = ""
    seed: str = ""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an answer is worth, and why."""

    reward: float
    failure_reason: str = ""
    """Empty for a whole reward."""
    integrity: str = ""
    integrity_reason: str = ""
    isolation: str = ""
    provider: str = ""
    contest: str = ""
    decided_by: str = ""
    groups: tuple[VerdictGroup, ...] = ()
    tamper: tuple[str, ...] = ()
    """What the answer tried; `evidence` says how it shows."""
    evidence: Mapping[str, str] = field(default_factory=dict)
    inverted: VerdictInverted | None = None
    processes: str = ""
    checked: int = 0
    attempts: int = 1
    timings_s: Mapping[str, float] = field(default_factory=dict)
    tests: tuple[VerdictTest, ...] = ()
    id: str = ""
    """The server's name for it, in its journal."""
    replayed: bool = False
    """It was not run for this request."""
    server: str = ""
    requests: int = 1
    """How many it took."""
    reply: Document = field(default_factory=dict, repr=False)
    """The whole reply, with the fields of its kind of server: `extracted_model_code`, `instance_id` and so on."""

    @property
    def status(self) -> str:
        """`passed`, or why not."""
        return self.failure_reason or "passed"

    @property
    def tests_passed(self) -> int:
        """How many of `tests`."""
        return sum(test.status == "passed" for test in self.tests)


def verdict_of(reply: Document, *, id: str, replayed: bool, server: str, requests: int) -> Verdict:
    """A reply's verdict. Raises KeyError, TypeError, ValueError where it is none."""
    told = reply.get("verdict")
    document: Document = told if isinstance(told, Mapping) else {}
    inverted = document.get("inverted")
    parts: dict[str, Any] = {
        **_known(Verdict, document),
        "reward": float(str(reply["reward"])),
        "failure_reason": str(reply.get("failure_reason") or ""),
        "groups": tuple(VerdictGroup(**_known(VerdictGroup, one)) for one in _listed(document.get("groups"))),
        "tests": tuple(VerdictTest(**_known(VerdictTest, one)) for one in _listed(document.get("tests"))),
        "tamper": tuple(_listed(document.get("tamper"))),
        "inverted": VerdictInverted(**_known(VerdictInverted, inverted)) if inverted else None,
    }
    return Verdict(**parts | {"id": id, "replayed": replayed, "server": server, "requests": requests, "reply": reply})


def _known(kind: type, document: Any) -> dict[str, Any]:
    """The fields of an object that this version knows."""
    return {one.name: document[one.name] for one in fields(kind) if document.get(one.name) is not None}


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []
