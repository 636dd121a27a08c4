"""Snapshots' images whose state folder is gone: `pool gc` removes them, and nothing that a folder still has."""

from __future__ import annotations

import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_gym.sandbox.containers.keepers import FOLDER_LABEL, KEEPER_LABEL
from tests.engine.test_reaper import docker, environment
from tests.unit.test_keepers import made_by_another

IMAGE = "sandbox-gym/base:latest"
NAME = "sandbox-gym/snapshot"
numbers = itertools.count()


def commit(labels: dict[str, str], *, named: bool = True, of: str = IMAGE) -> str:
    """An image as a snapshot's; the container that it was made of is gone."""
    container = docker("create", of, "true").strip()
    changes = [f"--change=LABEL {name}={value}" for name, value in labels.items()]
    name = [f"{NAME}:{os.getpid():016x}{next(numbers):08x}"] if named else []
    made = docker("commit", *changes, container, *name).strip()
    docker("rm", container)
    return made


def of(labels: dict[str, str]) -> list[str]:
    found = docker("images", "--quiet", "--no-trunc", f"--filter=label={KEEPER_LABEL}={labels[KEEPER_LABEL]}")
    return sorted(set(found.split()))


def gc(state: Path, *options: str) -> tuple[int, dict[str, bool], list[str]]:
    """(exit code, removed by keeper, why not)."""
    command = [sys.executable, "-m", "sandbox_gym", "pool", "gc", "--json", *options]
    done = subprocess.run(command, env=environment(state), capture_output=True, text=True, timeout=200)
    answer = json.loads(done.stdout)
    snapshots = {one["name"]: one["removed"] for one in answer["orphans"] if one["kind"] == "snapshots"}
    return done.returncode, snapshots, [one["why"] for one in answer["failures"] if one["kind"] == "snapshots"]


@pytest.fixture
def made() -> Iterator[list[str]]:
    """Keepers whose images go in the end."""
    keepers: list[str] = []
    yield keepers
    for keeper in keepers:
        left = docker("images", "--quiet", "--no-trunc", f"--filter=label={KEEPER_LABEL}={keeper}").split()
        if left:
            docker("rmi", "--force", *left)


def test_what_went_with_its_folder_is_removed_and_no_other(tmp_path: Path, made: list[str]) -> None:
    state = tmp_path / "state"
    kept, gone, unnamed = (made_by_another(tmp_path / name) for name in ("kept", "gone", "unnamed"))
    made += [one[KEEPER_LABEL] for one in (kept, gone, unnamed)]
    stays, first = commit(kept), commit(gone)
    commit(gone, of=first)  # made of another
    commit(gone, of=first, named=False)
    commit(unnamed, named=False)
    for name in ("gone", "unnamed"):
        shutil.rmtree(tmp_path / name)
    _, listed, _ = gc(state, "--dry-run")
    assert {gone[KEEPER_LABEL]: False, unnamed[KEEPER_LABEL]: False}.items() <= listed.items()
    assert kept[KEEPER_LABEL] not in listed
    assert len(of(gone)) == 3
    code, removed, _ = gc(state)
    assert code == 0
    assert {gone[KEEPER_LABEL]: True, unnamed[KEEPER_LABEL]: True}.items() <= removed.items()
    assert [of(kept), of(gone), of(unnamed)] == [[stays], [], []]


def test_a_folder_that_no_one_here_can_see_is_named_by_the_operator(tmp_path: Path, made: list[str]) -> None:
    state, labels = tmp_path / "state", made_by_another(tmp_path / "gone")
    made.append(labels[KEEPER_LABEL])
    shutil.rmtree(tmp_path / "gone")
    older = {name: value for name, value in labels.items() if name != FOLDER_LABEL}
    commit(older)
    assert labels[KEEPER_LABEL] not in gc(state)[1]
    assert gc(state, "--store", labels[KEEPER_LABEL])[1][labels[KEEPER_LABEL]]
    assert of(labels) == []


def test_a_keeper_that_no_image_has_is_named(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "sandbox_gym", "pool", "gc", "--store", "0123abcd", "--dry-run"]
    done = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, "as when it is asked for again"
    assert "--store 0123abcd: no image has this keeper" in done.stdout


def test_what_something_stands_on_is_refused_with_the_reason(tmp_path: Path, made: list[str]) -> None:
    state, there, used = tmp_path / "state", made_by_another(tmp_path / "there"), made_by_another(tmp_path / "used")
    made += [there[KEEPER_LABEL], used[KEEPER_LABEL]]
    commit(there)
    image = commit(used)
    container = docker("create", image, "true").strip()
    shutil.rmtree(tmp_path / "used")
    try:
        code, removed, why = gc(state, "--store", there[KEEPER_LABEL])
        assert code == 1
        assert {there[KEEPER_LABEL]: False, used[KEEPER_LABEL]: False}.items() <= removed.items()
        assert any(f"their folder {tmp_path / 'there'} is there" in one for one in why)
        assert any("1 containers are made of them" in one for one in why)
        assert [len(of(there)), len(of(used))] == [1, 1]
    finally:
        docker("rm", container)
    assert gc(state)[1][used[KEEPER_LABEL]]
