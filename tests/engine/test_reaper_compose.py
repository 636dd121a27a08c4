"""A server in a container: PIDs there mean nothing here, so its lock in the state volume says whether it lives."""

from __future__ import annotations

import json
import subprocess
import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from tests.in_compose import DOCKER, in_compose

STATE = "/var/lib/sandbox-gym"


def docker(*words: str) -> str:
    return subprocess.run([DOCKER, *words], capture_output=True, text=True, check=True).stdout


@pytest.fixture
def volumes() -> Iterator[list[str]]:
    """Two state volumes."""
    names = [f"sandbox-gym-test-{uuid.uuid4().hex}" for _ in range(2)]
    yield names
    docker("volume", "rm", "--force", *names)


def gc(volume: str) -> list[dict[str, Any]]:
    """What `pool gc` found in a container that keeps its state in `volume`, which has no Podman."""
    command = in_compose("-m", "sandbox_gym", "pool", "gc", "--json", options=["--volume", f"{volume}:{STATE}"])
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    answer = json.loads(done.stdout)
    assert [failure["source"] for failure in answer["failures"]] == ["podman"], done
    found: list[dict[str, Any]] = answer["orphans"]
    return found


def judge(shared: str, other: str, held: dict[str, Any]) -> None:
    """Of the killed server's things: with its lock they are known to be nobody's; without it nobody can tell."""
    assert [one for one in gc(other) if one["owner"] == held["owner"]] == []
    assert set(held["containers"]) <= set(docker("ps", "-aq", "--no-trunc").split())
    gone = [one for one in gc(shared) if one["owner"] == held["owner"]]
    assert {one["why"] for one in gone} == {"no process holds its lock"}
    kinds = sorted(one["kind"] for one in gone if one["removed"])
    assert kinds == ["container", "container", "image", "scratch", "volume"]
    assert not set(held["containers"]) & set(docker("ps", "-aq", "--no-trunc").split())


def test_a_killed_server_container_is_known_by_its_lock(volumes: list[str]) -> None:
    shared, other = volumes
    name = f"sandbox-gym-test-{uuid.uuid4().hex}"
    options = ["--name", name, "--volume", f"{shared}:{STATE}"]
    command = in_compose("-m", "tests.engine.holder", "docker", "no-mounts", options=options)
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    held = json.loads(server.stdout.readline())
    try:
        kept = {one["name"] for one in gc(shared) if one["owner"] == held["owner"]}
        assert kept == set(), "it lives, and both are PID 1 of something"
        init = docker("inspect", "--format", "{{.State.Pid}}", name).strip()
        with open(f"/proc/{init}/ns/pid"):  # the kernel gives a freed namespace's number to the next one, maybe gc's
            docker("kill", name)
            server.wait(30)
            judge(shared, other, held)
    finally:
        server.kill()
        server.wait(30)
        server.stdout.close()
        subprocess.run([DOCKER, "rm", "--force", "--volumes", name, *held["containers"]], capture_output=True)
        subprocess.run([DOCKER, "volume", "rm", "--force", held["volume"]], capture_output=True)
        subprocess.run([DOCKER, "rmi", "--force", held["image"]], capture_output=True)
