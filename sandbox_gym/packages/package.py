"""What a problem package is, once it was read: frozen values, no files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sandbox_gym.errors import SandboxGymError

Expected = Literal["AC", "WA", "TLE", "RTE", "MLE", "OLE", "CE", "partial", "rejected"]


class PackageError(SandboxGymError):
    """The folder is no package that can be judged here; the message names the file and what to change."""


@dataclass(frozen=True, slots=True)
class Case:
    """One test: its name below `data`, input and answer."""

    name: str
    given: str
    answer: str


@dataclass(frozen=True, slots=True)
class CaseGroup:
    """Cases that are scored together; `points` of the group as a whole."""

    name: str
    cases: tuple[Case, ...]
    points: float = 0.0
    aggregation: Literal["min", "avg"] = "min"


@dataclass(frozen=True, slots=True)
class Validator:
    """The package's own output validator or interactor."""

    source: str
    language: str
    files: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Submission:
    """A program of the package, and the verdicts of which one must come."""

    path: str
    language: str
    source: str
    expected: tuple[Expected, ...]


@dataclass(frozen=True, slots=True)
class Package:
    """One problem. `time_limit_s` is None where it follows from the accepted submissions, `time_multiplier` times the
    slowest of them."""

    name: str
    statement: str
    groups: tuple[CaseGroup, ...]
    submissions: tuple[Submission, ...]
    scoring: bool = False
    time_limit_s: float | None = None
    time_multiplier: float = 5.0
    memory_limit_mb: int = 2048
    validator: Validator | None = None
    validator_flags: tuple[str, ...] = ()
    interactive: bool = False

    @property
    def cases(self) -> tuple[Case, ...]:
        return tuple(case for group in self.groups for case in group.cases)
