"""The command that a task becomes: no secret in it, and nothing outside the repository."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.swe import (
    RunOptions,
    run_command,
)
from tests.swe.channel.repository import OPTIONS, made
from tests.swe.rows import own_task
from tests.swe.running import NONCE


def test_the_command_holds_no_secret_and_no_id(repo: Path) -> None:
    task = made(repo, "", "test_a[x y]", "test_b")
    options = RunOptions(python="/py", folder="/host", nonce=NONCE, ini_file="/host/pytest.ini")
    command = run_command(task, task.ids, options)
    assert command.argv == ("/py", "-I", "-S", "/host/watch.py")
    assert NONCE not in json.dumps(dict(command.env))
    job = json.loads(command.stdin)
    assert job["ids"] == list(task.ids)
    assert job["args"].count(f"{repo}/tests/test_a.py") == 1
    assert job["args"][job["args"].index("-c") + 1] == "/host/pytest.ini"
    assert not any("::" in argument for argument in job["args"])


@pytest.mark.parametrize("test", ["../x.py::test_a", "/etc/x.py::test_a", "just a name"])
def test_ids_that_are_not_of_the_repository(tmp_path: Path, test: str) -> None:
    task = own_task(tmp_path, [test], runner="pytest")
    with pytest.raises(RequestError, match="node ids"):
        run_command(task, task.ids, OPTIONS)


def test_a_log_runners_task_has_no_such_command(tmp_path: Path) -> None:
    task = own_task(tmp_path, ["test_x (a.B)"], runner="log")
    with pytest.raises(RequestError, match="log"):
        run_command(task, task.ids, OPTIONS)
