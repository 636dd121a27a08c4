"""What a problem package is, once it was read: frozen values, no files."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sandbox_gym.errors import SandboxGymError

Row = dict[str, object]
"""A row of a dataset, or a part of one, as JSON."""
Expected = Literal["AC", "WA", "TLE", "RTE", "MLE", "OLE", "CE", "partial", "rejected"]


class PackageError(SandboxGymError):
    """The folder is no package that can be judged here; the message names the file and what to change."""


@dataclass(frozen=True, slots=True)
class Case:
    """One test: its name below `data`, input and answer, and its validator's further arguments."""

    name: str
    given: str
    answer: str
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CaseGroup:
    """Cases that are scored together; `points` of the group as a whole."""

    name: str
    cases: tuple[Case, ...]
    points: float = 0.0
    aggregation: Literal["min", "avg"] = "min"


@dataclass(frozen=True, slots=True)
class Validator:
    """The package's own output validator or interactor. Without a source its `files` hold scripts that build and run
    it; `sources` are those of its files that are compiled with the source."""

    source: str
    language: str
    files: Mapping[str, str] = field(default_factory=dict)
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Rule:
    """What `submissions.yaml` asks of a submission: verdicts that its tests may have, and of which one must come.

    `tests`: a pattern of tests or groups below `data`; empty for all. `score`: from and to."""

    permitted: frozenset[str]
    required: frozenset[str]
    tests: str = ""
    score: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Submission:
    """A program of the package, and the verdicts of which one must come."""

    path: str
    language: str
    source: str
    expected: tuple[Expected, ...]
    also: tuple[str, ...] = ()
    """Verdicts that tests before the expected one may have."""
    rules: tuple[Rule, ...] = ()
    """Where there are any, they decide in place of `expected`."""
    main: str = ""
    """The source's name where the program has several files."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The other files."""
    refused: str = ""
    """Why it can't be run here; such a submission has neither language nor source."""


@dataclass(frozen=True, slots=True)
class Package:
    """One problem. `time_limit_s` is None where it follows from the accepted submissions: `time_multiplier` times the
    slowest of them, the next multiple of `time_resolution_s`."""

    name: str
    statement: str
    groups: tuple[CaseGroup, ...]
    submissions: tuple[Submission, ...]
    scoring: bool = False
    time_limit_s: float | None = None
    time_multiplier: float = 5.0
    time_resolution_s: float = 1.0
    memory_limit_mb: int = 2048
    validator: Validator | None = None
    interactive: bool = False
    passes: int = 1
    include: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Files that join every submission, by language; `default` for all."""
    validation_time_s: float | None = None
    validation_memory_mb: float | None = None
    """The validator's own caps, where the package names them."""

    @property
    def cases(self) -> tuple[Case, ...]:
        return tuple(case for group in self.groups for case in group.cases)

    def included(self, language: str) -> Mapping[str, str]:
        """What joins a submission in this language."""
        return {**self.include.get("default", {}), **self.include.get(language, {})}
