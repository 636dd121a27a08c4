"""`doctor --json` and `pool gc`: their answers and exit codes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox_gym.sandbox.caps import Cap


def command(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sandbox_gym", *words],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=100,
    )


@pytest.mark.parametrize("provider", ["local", "docker"])
def test_doctor_gives_the_caps_of_this_machine(provider: str) -> None:
    done = command("doctor", "--provider", provider, "--json")
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["default_provider"] == provider
    assert list(answer["providers"]) == [provider]
    caps = answer["providers"][provider]["caps"]
    assert [row["cap"] for row in caps] == [cap.value for cap in Cap]
    assert all(row["enforced"] for row in caps)
    assert [row["name"] for row in answer["providers"][provider]["kinds"]] == ["coding", "math", "swe"]
    assert all(row["works"] for row in answer["providers"][provider]["kinds"])


def test_doctor_shows_what_is_not_enforced() -> None:
    done = command("doctor", "--provider", "local", SANDBOX_GYM_LOCAL_CGROUP="never", COLUMNS="200")
    assert done.returncode == 0, done.stderr
    row = next(line for line in done.stdout.splitlines() if "cpu share" in line)
    assert "not enforced" in row


def test_doctor_has_no_caps_of_what_does_not_work() -> None:
    done = command("doctor", "--provider", "docker", "--json", DOCKER_HOST="unix:///nonexistent")
    assert done.returncode == 1
    found = json.loads(done.stdout)["providers"]["docker"]
    assert found["caps"] == []
    assert not any(row["works"] for row in found["capabilities"])


def test_gc_fails_when_the_default_provider_cannot_be_asked(tmp_path: Path) -> None:
    environment = {"DOCKER_HOST": "unix:///nonexistent", "SANDBOX_GYM_STATE_DIR": str(tmp_path)}
    fine = command("pool", "gc", "--dry-run", SANDBOX_GYM_PROVIDER="local", **environment)
    assert fine.returncode == 0, fine.stderr
    assert "docker" in fine.stdout
    wrong = command("pool", "gc", "--dry-run", "--json", SANDBOX_GYM_PROVIDER="docker", **environment)
    assert wrong.returncode == 1
    sources = {failure["source"].removesuffix(" snapshots") for failure in json.loads(wrong.stdout)["failures"]}
    assert {"docker"} <= sources <= {"docker", "podman"}


def test_wrong_settings_are_exit_2() -> None:
    done = command("pool", "gc", SANDBOX_GYM_BOX_LIFETIME_S="1")
    assert done.returncode == 2
    assert "box_lifetime_s" in done.stderr
