"""A SWE row as values: which repository at which commit, which tests, where they run, by which rule.

Owns the nouns of software-engineering tasks; knows nothing of datasets (rows.py) or of what runs them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Literal

from sandbox_gym.limits import MIB

Family = Literal[
    "swebench", "swe_bench_pro", "multi_swe_bench", "swe_gym", "swe_smith", "r2e_gym", "swe_rebench", "own"
]
Runner = Literal["pytest", "unittest", "log"]
"""`pytest` and `unittest` report over a channel; `log`: the test command's output goes through a log parser."""
Rule = Literal["full", "fail_only", "expected_map"]
"""`full`: SWE-bench's. `fail_only`: an absent test passes (its JavaScript rows, whose logs name failures alone).
`expected_map`: R2E-Gym's, the tests that ran and how they ended are exactly the row's."""


class CaseStatus(StrEnum):
    """How one test of the repository ended, in SWE-bench's words and three it has none for."""

    PASSED = "PASSED"
    FAILED = "FAILED"
    SKIPPED = "SKIPPED"
    ERROR = "ERROR"
    """Its setup or teardown raised, its module did not import, or its process died with it."""
    XFAIL = "XFAIL"
    XPASS = "XPASS"
    """Passed though marked as failing. SWE-bench's log parsers drop it, so it counts as missing there and fails."""
    TIMEOUT = "TIMEOUT"
    MISSING = "MISSING"
    """It did not run."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """From what an instance's image is built when there is none to pull."""

    base_image: str = ""
    """The image to begin from; empty: the project's Python image of version `python`."""
    python: str = ""
    """Such as `3.12`; empty: what the base image has."""
    source: str = ""
    """The requirement whose source distribution is the repository, such as `mako==1.2.1`; empty: the base image holds
    the repository, or it is `files`."""
    sdist: str = ""
    """The file name of that source distribution, where the row knows it."""
    packages: tuple[str, ...] = ()
    """Requirements installed before `install`, one per item, as pip reads them."""
    system_packages: tuple[str, ...] = ()
    install: tuple[str, ...] = ()
    """Shell commands run in the repository, in order."""
    env: Mapping[str, str] = field(default_factory=dict)
    """The environment of building and of testing."""
    files: Mapping[str, str] = field(default_factory=dict)
    """The repository itself: texts by their paths. With neither `packages` nor `install` nothing is installed."""

    def key(self) -> str:
        """What the built image is kept under: equal recipes have equal keys. 64 hexadecimal digits."""
        text = json.dumps(asdict(self), sort_keys=True, ensure_ascii=True)
        return hashlib.sha256(text.encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class PathPair:
    """Absolute paths: where something is, and where it is to be."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class ImageLayout:
    """Where a published image has what, beside the repository. Absolute paths of the image; all of its files are its
    root's, and its environment (`ENV`) holds in every session."""

    conda_env: str = ""
    """What the dataset's harness activates; with `activate_if`, where that script is there."""
    activate_if: str = ""
    programs: str = ""
    """A folder that comes first on PATH."""
    environments: tuple[str, ...] = ()
    """Folders outside of the repository in which packages are installed."""
    homes: tuple[str, ...] = ("/root",)
    """Of the user that the dataset's harness runs as: settings and caches of its tools."""
    hidden: tuple[PathPair, ...] = ()
    """Tests: where the image has them, and where its test command looks for them. No agent's session has them."""
    links: tuple[PathPair, ...] = ()
    """Links to `source` that are made at `target` for the tests."""
    removed: tuple[str, ...] = ()
    """What shows the fix, and no test needs."""


@dataclass(frozen=True, slots=True)
class SweLimits:
    """The caps of one verdict's tests. Times are wall seconds."""

    test_time_s: float = 60.0
    """Of each test; one that crosses it is TIMEOUT and the rest go on."""
    run_time_s: float = 1800.0
    """Of all tests together."""
    memory_bytes: int = 4096 * MIB

    def __post_init__(self) -> None:
        for name in ("test_time_s", "run_time_s", "memory_bytes"):
            if not getattr(self, name) > 0:
                raise ValueError(f"SweLimits.{name} is {getattr(self, name)!r}; it must be greater than zero")

    def tightened(
        self, *, test_time_s: float | None = None, run_time_s: float | None = None, memory_bytes: int | None = None
    ) -> SweLimits:
        """These limits, each lowered to what a row asks for; a row never loosens one."""
        run = min(self.run_time_s, run_time_s or self.run_time_s)
        return SweLimits(
            test_time_s=min(self.test_time_s, test_time_s or self.test_time_s, run),
            run_time_s=run,
            memory_bytes=min(self.memory_bytes, memory_bytes or self.memory_bytes),
        )


@dataclass(frozen=True, slots=True)
class SweTask:
    """One row, ready to be planned. `patch` and `test_patch` never enter a box that an agent works in."""

    instance_id: str
    repo: str
    family: Family
    fail_to_pass: tuple[str, ...]
    """Exact ids, each once, in the row's order."""
    pass_to_pass: tuple[str, ...]
    """The same; an id that is in `fail_to_pass` too is only there."""
    base_commit: str = ""
    version: str = ""
    problem_statement: str = ""
    patch: str = ""
    """The gold patch, or empty. Where `patch_is_bug`, its reverse is the fix and it makes the state to begin from."""
    patch_is_bug: bool = False
    test_patch: str = ""
    test_files: tuple[str, ...] = ()
    """Files of the hidden tests: what `test_patch` touches and what the row lists besides."""
    hidden_files: tuple[str, ...] = ()
    """Those that a published image has outside the commit, by a link."""
    image: str = ""
    """The image to pull; empty where there is a recipe."""
    layout: ImageLayout = ImageLayout()
    """Of the image."""
    recipe: Recipe | None = None
    workdir: str = "/testbed"
    test_command: str = ""
    """The row's own shell command; empty where the runner's command is built from the ids."""
    log_parser: str = ""
    """The name of a log format (logs/formats.py), for runner `log`; empty: swebench's for the repository."""
    runner: Runner = "pytest"
    rule: Rule = "full"
    expected: Mapping[str, CaseStatus] = field(default_factory=dict)
    """For rule `expected_map`."""
    ids_may_be_cut: bool = False
    """The dataset's ids come from logs and may end before a parameter does; see grading.py."""
    fails_with_gold: tuple[str, ...] = ()
    """Tests the row's owner knows to fail under the gold patch; they are in neither list, and are reported."""
    limits: SweLimits = SweLimits()

    @property
    def ids(self) -> tuple[str, ...]:
        """Every test that the verdict asks for."""
        return (*self.fail_to_pass, *self.pass_to_pass)

    @property
    def names(self) -> tuple[str, ...]:
        """The same, where the row has a map of them too."""
        return self.ids or tuple(self.expected)
