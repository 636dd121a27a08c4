"""A repository of one test file, and what its tests came to."""

from __future__ import annotations

from pathlib import Path

from sandbox_gym.verifiers.swe import (
    RunOptions,
    SweTask,
)
from tests.swe.rows import own_task
from tests.swe.running import NONCE

OPTIONS = RunOptions(python="", folder="", nonce=NONCE, autoload=False)


def made(repo: Path, text: str, *names: str, **more: object) -> SweTask:
    """A repository of one test file, and a task that asks for these of its tests."""
    (repo / "tests" / "test_a.py").write_text(text)
    return own_task(repo, [f"tests/test_a.py::{name}" for name in names], [], **more)


def short(statuses: object) -> dict[str, str]:
    assert isinstance(statuses, dict)
    return {test.partition("::")[2]: str(status) for test, status in statuses.items()}
