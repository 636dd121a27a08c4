"""A task and its repository in a sandbox: what the verifier plans from, and how it is to judge."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from sandbox_gym.contract import Source
from sandbox_gym.verifiers.swe.reference import Inversion, Reference
from sandbox_gym.verifiers.swe.task import CaseStatus, SweTask

Purpose = Literal["verdict", "rerun", "reference", "inverted"]


@dataclass(frozen=True, slots=True)
class Checkout:
    """A task's repository in its sandbox, which begins from `image`: `home` is a folder to work in, beside the
    repository `workdir`, whose one commit is `commit`; `python` runs its tests. `helper` runs what prepares them, where
    that is another one; `env` is what a published image's programs expect."""

    image: Source
    home: str
    workdir: str
    commit: str
    python: str
    helper: str = ""
    env: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SweJob:
    """A task, where its repository is, and how to judge. `first`: how the tests ended before, where `ids` are run
    once more."""

    task: SweTask
    checkout: Checkout
    ids: tuple[str, ...] = ()
    """Which tests to run; empty: all that the verdict asks for."""
    first: Mapping[str, CaseStatus] = field(default_factory=dict)
    purpose: Purpose = "verdict"
    reference: Reference | None = None
    """What the row's own fix did; None where that is not asked for."""
    inversion: Inversion | None = None
    """For purpose `inverted`: which tests are replaced. None where a run on record says it."""
    reads: tuple[str, ...] = ()
    """Test files whose text the run tells, before it runs anything."""
    restore_config: bool = True
    patient: bool = False
    """Its tests have more time, as others take the CPU from them."""
    run_empty: bool = False
    """Run the tests for an empty patch too, which is not resolved without running any."""
    fail_on_tamper: frozenset[str] = frozenset()
    log_parser: str = ""
    """For runner `log`: the name of a log format, or R2E_PARSER."""
    log_parser_sources: Mapping[str, bytes] = field(default_factory=dict)
    """The files that hold it, by path."""


def nonce(job: SweJob, patch: bytes) -> str:
    """Of the fix, which enters no box, the hidden tests, which no candidate has seen, and the patch."""
    secret = hashlib.sha256(job.task.patch.encode("utf-8", "surrogatepass") + b"\0")
    secret.update(job.task.test_patch.encode("utf-8", "surrogatepass"))
    secret.update("\0".join(job.task.ids).encode("utf-8", "surrogatepass"))
    secret.update(patch + job.purpose.encode("ascii"))
    return secret.hexdigest()[:32]


def log_marker(secret: str) -> str:
    """What a log begins with: a command line shows it, and it tells nothing of the nonce."""
    return hashlib.sha256(b"log " + secret.encode("ascii")).hexdigest()[:32]
