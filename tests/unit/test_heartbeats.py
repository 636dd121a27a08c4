"""Owners of other machines on a shared state folder, whose clocks differ from ours and are corrected: none of the
living is taken for dead, and each dead one is found."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox_gym.sandbox.cleanup.heartbeats import Heartbeats
from sandbox_gym.sandbox.cleanup.owner import LEASE_S, Owner, Owners, this_owner

MINUTE_S = 60.0
YEAR_S = 365 * 24 * 3600.0
JUMPS_S = (-30 * YEAR_S, -YEAR_S, -3600.0, -LEASE_S, -MINUTE_S, MINUTE_S, LEASE_S + 1, 3600.0, YEAR_S, 30 * YEAR_S)


class Times:
    """What this machine's clocks say: `passed_s` of real time, `wall_s` of corrections."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.passed_s = self.wall_s = 0.0
        wall, steady = time.time(), time.monotonic()
        monkeypatch.setattr(time, "time", lambda: wall + self.passed_s + self.wall_s)
        monkeypatch.setattr(time, "monotonic", lambda: steady + self.passed_s)


@pytest.fixture
def times(monkeypatch: pytest.MonkeyPatch) -> Times:
    return Times(monkeypatch)


class Machine:
    """An owner of another boot on the same folder. Its clock is off by `wall_s`; its lock can't be seen as held."""

    def __init__(self, state: Path, number: int) -> None:
        self.owner = Owner(f"{number:032x}", 1, 7, 7)
        self.wall_s = 0.0
        self._path = state / "owners" / f"{self.owner}.lock"
        self._path.parent.mkdir(exist_ok=True)
        self._path.touch()

    def renew(self, real_s: float) -> None:
        os.utime(self._path, (max(0.0, real_s + self.wall_s),) * 2)


@pytest.mark.parametrize("seed", range(20))
def test_who_renews_lives_and_who_does_not_is_found(tmp_path: Path, times: Times, seed: int) -> None:
    """Two hours, minute by minute; now and then a clock jumps, ours or another machine's."""
    chance, real_s = random.Random(seed), time.time()
    machines = [Machine(tmp_path, number) for number in range(4)]
    owners, died_at = Owners(tmp_path), {machines[number]: chance.uniform(0, 3600) for number in (2, 3)}
    found: dict[Machine, float] = {}
    while times.passed_s < 7200:
        times.passed_s += MINUTE_S
        if chance.random() < 0.1:
            times.wall_s = chance.choice(JUMPS_S)
        for machine in machines:
            if chance.random() < 0.1:
                machine.wall_s = chance.choice(JUMPS_S)
            if times.passed_s < died_at.get(machine, 1e9):
                machine.renew(real_s + times.passed_s)
            if owners.why_dead(machine.owner, expires_at=real_s - YEAR_S):
                found.setdefault(machine, times.passed_s)
        if chance.random() < 0.05:
            owners = Owners(tmp_path)  # a server that starts again goes on from what was seen
    assert set(found) == set(died_at)
    for machine, at in found.items():
        assert LEASE_S - MINUTE_S <= at - died_at[machine] <= LEASE_S + 3 * MINUTE_S


def test_a_command_that_looks_once_goes_on_from_what_others_saw(tmp_path: Path, times: Times) -> None:
    """`pool gc` twice; in between the clock, the folder's disk, and another owner's life go on."""
    dead, alive = Machine(tmp_path, 1), Machine(tmp_path, 2)
    for machine in (dead, alive):
        assert Owners(tmp_path).why_dead(machine.owner) == ""
    times.passed_s += LEASE_S + 1
    alive.renew(times.passed_s)
    assert Owners(tmp_path).why_dead(dead.owner) == "no process holds its lock"
    assert Owners(tmp_path).why_dead(alive.owner) == ""


def spoil_text(file: Path) -> None:
    file.write_text('{"a": 1')


def spoil_kind(file: Path) -> None:
    file.write_text("[1]")


def spoil_entries(file: Path) -> None:
    file.write_text(file.read_text().replace("[", '["x", '))


def spoil_later(file: Path) -> None:
    """As another boot's of the same name: its clock is ahead of ours."""
    (lock,) = file.parent.glob("*.lock")
    file.write_text(json.dumps({lock.name: (lock.stat().st_ino, lock.stat().st_mtime_ns, 1e12)}))


@pytest.mark.parametrize("spoil", [Path.unlink, spoil_text, spoil_kind, spoil_entries, spoil_later])
def test_what_was_written_down_and_is_spoilt_costs_time_alone(
    tmp_path: Path, times: Times, spoil: Callable[[Path], None]
) -> None:
    dead = Machine(tmp_path, 1)
    assert Owners(tmp_path).why_dead(dead.owner) == ""
    (file,) = (tmp_path / "owners").glob("*.seen")
    spoil(file)
    times.passed_s += LEASE_S + 1
    owners = Owners(tmp_path)
    assert owners.why_dead(dead.owner) == ""
    times.passed_s += LEASE_S + 1
    assert owners.why_dead(dead.owner)


def test_where_nothing_can_be_written_down_the_process_remembers(tmp_path: Path, times: Times) -> None:
    dead = Machine(tmp_path, 1)
    (tmp_path / "owners" / f"{this_owner().boot}.new").mkdir()
    owners = Owners(tmp_path)
    assert owners.why_dead(dead.owner) == ""
    times.passed_s += LEASE_S + 1
    assert owners.why_dead(dead.owner)


def test_only_locks_that_are_there_and_boots_of_today_are_written_down(tmp_path: Path, times: Times) -> None:
    seen = Heartbeats(tmp_path, "a" * 32)
    for name in ("one.lock", "two.lock"):
        (tmp_path / name).touch()
        seen.silent_s(tmp_path / name)
    (tmp_path / "one.lock").unlink()
    (tmp_path / "old.seen").touch()
    os.utime(tmp_path / "old.seen", (0, 0))
    (tmp_path / "new.seen").touch()
    (tmp_path / "two.lock").write_text("x")
    os.utime(tmp_path / "two.lock", (5, 5))
    assert seen.silent_s(tmp_path / "two.lock") == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{'a' * 32}.seen", "new.seen", "two.lock"]
    assert "one" not in (tmp_path / f"{'a' * 32}.seen").read_text()
    with pytest.raises(OSError, match="one"):
        seen.silent_s(tmp_path / "one.lock")


def test_without_a_lock_a_clock_that_is_put_forward_makes_nothing_expire(tmp_path: Path, times: Times) -> None:
    stranger = dataclasses.replace(this_owner(), boot="0" * 32)
    owners, until = Owners(tmp_path), time.time() + 3600
    times.wall_s = YEAR_S
    assert owners.why_dead(stranger, until) == ""
    times.passed_s = 3601
    assert owners.why_dead(stranger, until) == "it has expired"
    times.wall_s = -YEAR_S
    assert owners.why_dead(stranger, until) == ""
