"""A killed owner leaves nothing once it was swept; a living owner beside it loses nothing."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox_gym.limits import UID_BASE, UID_COUNT
from sandbox_gym.sandbox.cleanup.owner import this_owner
from sandbox_gym.sandbox.local.jail import OWNER_VARIABLE
from tests.processes import below, state_of

REPOSITORY = Path(__file__).parents[2]
Held = dict[str, Any]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def hold(state: Path) -> Iterator[Callable[[str], tuple[subprocess.Popen[str], Held]]]:
    """Start a process that holds boxes; killed and swept at the end, whatever the test did."""
    started: list[subprocess.Popen[str]] = []

    def start(provider: str) -> tuple[subprocess.Popen[str], Held]:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.engine.holder", provider],
            cwd=REPOSITORY,
            env=environment(state),
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        return process, json.loads(process.stdout.readline())

    yield start
    for process in started:
        kill(process)
    gc(state)


def environment(state: Path) -> dict[str, str]:
    return {**os.environ, "SANDBOX_GYM_STATE_DIR": str(state)}


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait(10)
    if process.stdout is not None:
        process.stdout.close()


def gc(state: Path, *options: str) -> Held:
    command = [sys.executable, "-m", "sandbox_gym", "pool", "gc", "--json", *options]
    done = subprocess.run(command, env=environment(state), capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stdout + done.stderr
    answer: Held = json.loads(done.stdout)
    return answer


def of(answer: Held, owner: str) -> list[tuple[str, bool]]:
    """(kind, removed) of one owner's orphans: other owners may have died on this machine too."""
    return sorted((one["kind"], one["removed"]) for one in answer["orphans"] if one["owner"] == owner)


def docker(*words: str) -> str:
    command = [os.environ.get("DOCKER", "docker"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def is_mounted(held: Held) -> bool:
    return held["scratch"] in Path("/proc/self/mountinfo").read_text()


def lives(pid: int) -> bool:
    return state_of(pid) not in ("", "Z", "X")


def wait_until(condition: Callable[[], bool], within_s: float = 20) -> None:
    deadline = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.02)


def test_jails_die_with_a_killed_owner_and_the_rest_is_swept(hold: Any, state: Path) -> None:
    dead, lost = hold("local")
    living, kept = hold("local")
    kill(dead)
    wait_until(lambda: not any(lives(pid) for pid in lost["pids"]))  # nobody swept yet
    wait_until(lambda: not any(Path(folder, "cgroup.procs").read_text() for folder in lost["groups"]))

    listed = gc(state, "--dry-run")
    expected = ["cgroup", "cgroup", "lock", "mount", "mount", "scratch"]
    assert of(listed, lost["owner"]) == [(kind, False) for kind in expected]
    assert is_mounted(lost)
    assert all(Path(folder).exists() for folder in [*lost["groups"], lost["scratch"]])

    assert of(gc(state), lost["owner"]) == [(kind, True) for kind in expected]
    assert not is_mounted(lost)
    assert not any(Path(folder).exists() for folder in [*lost["groups"], lost["scratch"]])
    assert os.listdir(state / "owners") == [f"{kept['owner']}.lock"]

    assert living.poll() is None
    assert all(lives(pid) for pid in kept["pids"])
    assert is_mounted(kept)
    assert all(Path(folder).exists() for folder in [*kept["groups"], kept["scratch"]])
    assert of(gc(state), kept["owner"]) == []


BUSY = """
import anyio
from sandbox_gym.contract import Program, Run
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.local import LocalProvider
SOURCE = b"import os\\nos.setsid() if os.fork() == 0 else 0\\nwhile True: pass"
async def main():
    box = await LocalProvider(cgroup="never").create(SandboxSpec())
    async with box.run_all([Run("busy", Program("fork", {"main.py": SOURCE}))]) as outcomes:
        print(box.machine.pid, flush=True)
        await anext(outcomes)
anyio.run(main)
"""


@pytest.mark.parametrize("user", ["0", "65534"])
def test_every_process_of_a_busy_jail_dies_with_its_owner(user: str) -> None:
    """Without cgroup and without a sweep, as root and as nobody."""
    command = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", sys.executable, "-c", BUSY]
    owner = subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    jail = int(owner.stdout.readline())
    wait_until(lambda: len(below(jail)) >= 5)  # guest, zygote, init, and the program twice
    all_of_it = [jail, *below(jail)]
    kill(owner)
    wait_until(lambda: not any(lives(pid) for pid in all_of_it))


def test_containers_volumes_and_images_of_a_killed_owner_are_removed(hold: Any, state: Path) -> None:
    dead, lost = hold("docker")
    living, kept = hold("docker")
    kill(dead)
    expected = ["container", "container", "image", "lock", "mount", "mount", "scratch", "volume"]
    assert of(gc(state, "--dry-run"), lost["owner"]) == [(kind, False) for kind in expected]
    present = docker("ps", "-aq", "--no-trunc").split()
    assert set(lost["containers"]) <= set(present)

    assert of(gc(state), lost["owner"]) == [(kind, True) for kind in expected]
    present = docker("ps", "-q", "--no-trunc").split()
    assert not set(lost["containers"]) & set(present)
    assert set(kept["containers"]) <= set(present)
    volumes, images = docker("volume", "ls", "-q").split(), docker("images", "-aq", "--no-trunc").split()
    assert (lost["volume"] in volumes, lost["image"] in images) == (False, False)
    assert (kept["volume"] in volumes, kept["image"] in images) == (True, True)
    assert is_mounted(kept)
    assert living.poll() is None


@pytest.mark.skipif(not Path("/sys/fs/cgroup/freezer").is_dir(), reason="v2 kills what is frozen; no v1 freezer here")
def test_a_frozen_jail_outlives_its_owner_until_it_is_swept(hold: Any, state: Path) -> None:
    """v1's freezer keeps SIGKILL from being acted on; v2 needs no help, and both are thawed."""
    dead, lost = hold("local")
    states = [Path(folder, "freezer.state") for folder in lost["groups"] if "/freezer/" in folder]
    assert states, "the boxes have freezer groups"
    for file in states:
        file.write_text("FROZEN")
        wait_until(lambda file=file: file.read_text().strip() == "FROZEN")  # type: ignore[misc]
    kill(dead)
    time.sleep(0.3)
    frozen = [Path(file.parent, "cgroup.procs").read_text() for file in states]
    assert all(frozen)
    assert ("cgroup", True) in of(gc(state), lost["owner"])
    assert not any(lives(int(pid)) for text in frozen for pid in text.split())
    assert not any(Path(folder).exists() for folder in lost["groups"])


def test_a_jail_outside_any_cgroup_is_found_by_its_mark(hold: Any, state: Path) -> None:
    """What an unprivileged server's jails carry; this one stands for a jail that outlived its owner."""
    dead, lost = hold("local")
    kill(dead)
    _, kept = hold("local")
    user = str(UID_BASE + UID_COUNT - 1)
    command = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", "sleep", "300"]
    jails = [
        subprocess.Popen(command, env={OWNER_VARIABLE: owner, "PATH": os.environ["PATH"]})
        for owner in (lost["owner"], kept["owner"], "..", f"{lost['owner']}/../{kept['owner']}")
    ]
    ordinary = subprocess.Popen(["sleep", "300"], env={OWNER_VARIABLE: lost["owner"], "PATH": os.environ["PATH"]})
    try:
        wait_until(lambda: all(Path(f"/proc/{jail.pid}/comm").read_text() == "sleep\n" for jail in jails))
        assert ("process", True) in of(gc(state), lost["owner"])
        assert jails[0].wait(10) == -signal.SIGKILL
        assert [jail.poll() for jail in jails[1:]] == [None] * 3
        assert ordinary.poll() is None, "not a box's user"
    finally:
        for process in [*jails, ordinary]:
            process.kill()
            process.wait(10)


def test_a_running_engine_sweeps_at_its_start(hold: Any, state: Path) -> None:
    dead, lost = hold("local")
    kill(dead)
    hold("local")
    wait_until(
        lambda: not Path(lost["scratch"]).exists() and not any(Path(folder).exists() for folder in lost["groups"])
    )
    assert not is_mounted(lost)


def test_what_only_looks_like_ours_stays(hold: Any, state: Path, tmp_path: Path) -> None:
    """Forged names: links and dots that lead elsewhere, a living process's, an inherited label."""
    dead, lost = hold("local")
    kill(dead)
    _, kept = hold("local")
    owner = lost["owner"]
    gc(state)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("x")
    mounted = tmp_path / owner / "inner"
    mounted.mkdir(parents=True)
    scratch, groups = state / "scratch", Path(lost["groups"][0]).parent
    (scratch / f"{owner}-link").symlink_to(outside)
    (scratch / f"{owner}-tree").mkdir()
    (scratch / f"{owner}-tree" / "link").symlink_to(outside)
    (scratch / "precious").mkdir()
    (scratch / f"{kept['owner']}-more").mkdir()
    forged = [groups / f"{kept['owner']}-forged", groups / f"0{owner}-0", groups / "1234-0"]
    for folder in forged:
        folder.mkdir(exist_ok=True)
    (state / "owners" / f"{owner}..lock").touch()
    box = ["create", "--label", f"sandbox-gym.owner={owner}", "sandbox-gym/python", "true"]
    containers: list[str] = []
    subprocess.run(["mount", "-t", "tmpfs", "none", str(mounted)], check=True)
    try:
        containers.append(docker(*box).strip())
        containers.append(docker(*box[:1], "--name", f"not-sandbox-gym-{owner}-0", *box[1:]).strip())
        containers.append(docker("create", "--label", "sandbox-gym.owner=../..", *box[3:]).strip())
        answer = gc(state)
        assert of(answer, owner) == [("scratch", True), ("scratch", True)]
        assert of(answer, kept["owner"]) == []
        assert (outside / "precious").read_text() == "x"
        assert sorted(os.listdir(scratch)) == sorted([kept["owner"], f"{kept['owner']}-more", "precious"])
        assert all(folder.exists() for folder in forged)
        assert str(mounted) in Path("/proc/self/mountinfo").read_text(), "a mount outside the state folder"
        assert set(containers) <= set(docker("ps", "-aq", "--no-trunc").split())
    finally:
        subprocess.run(["umount", str(mounted)], check=True)
        if containers:
            docker("rm", "-f", *containers)
        for folder in forged:
            folder.rmdir()


def test_folders_that_deny_themselves_go_too() -> None:
    """As nobody: a program, or overlayfs, leaves folders that their own user may not enter."""
    state = Path(tempfile.mkdtemp())
    this = this_owner()
    locked = state / "scratch" / str(dataclasses.replace(this, started=1)) / "a" / "b"
    locked.mkdir(parents=True)
    (locked / "file").touch()
    for folder in (locked, locked.parent):
        folder.chmod(0)
    for path in [state, *state.rglob("*")]:
        os.chown(path, 65534, 65534)
    command = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all", sys.executable]
    try:
        done = subprocess.run(
            [*command, "-m", "sandbox_gym", "pool", "gc", "--json"],
            cwd=REPOSITORY,
            env=environment(state),
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert os.listdir(state / "scratch") == []
    finally:
        shutil.rmtree(state)
