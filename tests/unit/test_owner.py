"""Who is dead, and who only looks so: recycled PIDs, other namespaces, other boots, forged names."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_gym.errors import ConfigurationError
from sandbox_gym.sandbox.cleanup.owner import Owner, Owners, held_lease, owner_of, parse_owner, this_owner

HOLD = """
import sys, time
from pathlib import Path
from sandbox_gym.sandbox.cleanup.owner import held_lease, this_owner
with held_lease(Path(sys.argv[1])):
    print(this_owner(), flush=True)
    time.sleep(300)
"""


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], Owner]]:
    """A lease holder that is PID 1 of its own PID namespace, as in a container, on the same state folder."""
    command = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc", sys.executable, "-c", HOLD, str(tmp_path)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    owner = parse_owner(process.stdout.readline().strip())
    assert owner is not None
    yield process, owner
    process.kill()
    process.wait(10)
    process.stdout.close()


def lock(state: Path, owner: Owner) -> Path:
    path = state / "owners" / f"{owner}.lock"
    path.parent.mkdir(exist_ok=True)
    path.touch()
    return path


def test_this_process_lives(tmp_path: Path) -> None:
    this = this_owner()
    assert parse_owner(str(this)) == this
    assert this.pid == os.getpid()
    for owners in (Owners(), Owners(tmp_path)):
        assert owners.why_dead(this, expires_at=0) == ""


@pytest.mark.parametrize(
    ("pid", "started"), [(os.getpid(), 1), (0, 1), (2**31 - 1, 1), (2**33, 1)], ids=["this", "zero", "last", "wide"]
)
def test_another_start_or_pid_is_another_owner(pid: int, started: int) -> None:
    """A recycled PID: what has this process's number is not this process."""
    assert Owners().why_dead(dataclasses.replace(this_owner(), pid=pid, started=started)) == "its process is gone"


def test_a_zombie_is_dead() -> None:
    child = subprocess.Popen([sys.executable, "-c", "print(__import__('sandbox_gym.sandbox.cleanup.owner',"
                              " fromlist=['x']).this_owner())"], stdout=subprocess.PIPE, text=True)  # fmt: skip
    assert child.stdout is not None
    owner = parse_owner(child.stdout.read().strip())
    child.stdout.close()
    assert owner is not None
    deadline = time.monotonic() + 10
    while Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert Owners().why_dead(owner)
    child.wait()


def test_another_namespace_is_judged_by_its_lock(
    elsewhere: tuple[subprocess.Popen[str], Owner], tmp_path: Path
) -> None:
    process, owner = elsewhere
    owners = Owners(tmp_path)
    assert owner.pid == 1
    assert owner.pid_namespace != this_owner().pid_namespace
    assert owners.why_dead(owner, expires_at=0) == "", "its lock is held, whatever has expired"
    assert Owners().why_dead(owner) == "", "without its lock nobody can tell"
    process.kill()
    process.wait(10)
    deadline = time.monotonic() + 10
    while not owners.why_dead(owner):
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert owners.why_dead(owner) == "no process holds its lock"


def test_another_namespace_without_a_lock_waits_for_its_expiry(tmp_path: Path) -> None:
    stranger = dataclasses.replace(this_owner(), pid_namespace=1)
    owners = Owners(tmp_path)
    assert owners.why_dead(stranger) == ""
    assert owners.why_dead(stranger, expires_at=time.time() + 60) == ""
    assert owners.why_dead(stranger, expires_at=time.time() - 60) == "it has expired"


def test_a_lock_that_is_a_link_proves_nothing(tmp_path: Path) -> None:
    stranger = dataclasses.replace(this_owner(), pid_namespace=1)
    target = lock(tmp_path, this_owner())
    (target.parent / f"{stranger}.lock").symlink_to(target)
    assert Owners(tmp_path).why_dead(stranger, expires_at=0) == ""


def test_holders_in_one_process_share_the_lock(tmp_path: Path) -> None:
    path = tmp_path / "owners" / f"{this_owner()}.lock"
    with held_lease(tmp_path) as outer:
        with held_lease(tmp_path):
            assert path.exists()
        assert path.exists()
        os.utime(path, (0, 0))
        outer.renew()
        assert time.time() - path.stat().st_mtime < 60
        assert outer.scratch().parent == tmp_path / "scratch"
        assert outer.scratch().stat().st_mode & 0o777 == 0o700
    assert not path.exists()
    assert os.listdir(tmp_path / "scratch") == []


def test_a_state_folder_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigurationError, match="SANDBOX_GYM_STATE_DIR"), held_lease(tmp_path / "file"):
        pass
    (tmp_path / "theirs" / "owners").mkdir(parents=True)
    os.chown(tmp_path / "theirs" / "owners", 65534, 65534)
    with pytest.raises(ConfigurationError, match="another user"), held_lease(tmp_path / "theirs"):
        pass


@pytest.mark.parametrize(
    "text", ["", "..", "../..", "host:12", "1234-0", "{}/..", "{}\n", " {}", "0{}", "{}-", "{}-a/b", "{}-\0"]
)
def test_names_that_are_no_owners(text: str) -> None:
    name = text.format(this_owner())
    assert parse_owner(name) is None
    assert owner_of(name) is None


def test_leading_zeros_make_no_second_name() -> None:
    this = this_owner()
    assert parse_owner(f"{this.boot}-{this.pid_namespace}-0{this.pid}-{this.started}") is None
    assert owner_of(f"{this}-7") == this
    assert owner_of(f"{this}7") != this
