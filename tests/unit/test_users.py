"""Users of the machine for sandboxes: never the same twice among all processes, back when the last holder is dead."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox_gym.errors import ConfigurationError, ProviderDown
from sandbox_gym.limits import UID_BASE
from sandbox_gym.sandbox.users import Users

_OTHER = """
import sys, time
from pathlib import Path
from sandbox_gym.sandbox.users import Users
users = Users({base}, {count}, run=Path(sys.argv[1]))
kept = [users.claim() for _ in range({claims})]
print(*[user.uid for user in kept], flush=True)
{then}
time.sleep(300)
"""
_CHILD = "import subprocess; print(subprocess.Popen(['sleep', '300'], pass_fds=[kept[0].fd]).pid, flush=True)"


def other(run: Path, count: int, claims: int, then: str = "") -> tuple[subprocess.Popen[str], list[int]]:
    """Another process that holds some, and which; it ends by being killed."""
    source = _OTHER.format(base=UID_BASE, count=count, claims=claims, then=then)
    process = subprocess.Popen([sys.executable, "-c", source, str(run)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, [int(word) for word in process.stdout.readline().split()]


def kill(process: subprocess.Popen[str]) -> None:
    process.kill()
    process.wait(10)
    if process.stdout is not None:
        process.stdout.close()


def test_no_two_processes_have_a_user_in_common_and_the_dead_have_none(tmp_path: Path) -> None:
    users = Users(UID_BASE, 10, run=tmp_path / "run")
    mine = [users.claim() for _ in range(5)]
    process, theirs = other(tmp_path / "run", 10, 5)
    try:
        assert sorted([*theirs, *(user.uid for user in mine)]) == list(range(UID_BASE, UID_BASE + 10))
        with pytest.raises(ProviderDown, match="uid_count is 10"):
            users.claim()
        freed = mine[2].uid
        mine[2].close()
        mine[2].close()
        mine[2] = users.claim()
        assert mine[2].uid == freed
        kill(process)
        mine += [users.claim() for _ in range(5)]
        assert sorted(user.uid for user in mine) == list(range(UID_BASE, UID_BASE + 10))
    finally:
        kill(process)
        for user in mine:
            user.close()


def test_a_user_does_not_come_back_while_a_killed_servers_sandbox_lives(tmp_path: Path) -> None:
    users = Users(UID_BASE, 1, run=tmp_path / "run")
    process, (uid,) = other(tmp_path / "run", 1, 1, _CHILD)
    assert process.stdout is not None
    left = int(process.stdout.readline())
    kill(process)
    pidfd = os.pidfd_open(left)
    try:
        with pytest.raises(ProviderDown):
            users.claim()
    finally:
        signal.pidfd_send_signal(pidfd, signal.SIGKILL)
        assert select.select([pidfd], [], [], 10)[0]
        os.close(pidfd)
    user = users.claim()
    assert user.uid == uid
    user.close()


def test_ranges_of_many_keep_clear_of_single_ones(tmp_path: Path) -> None:
    users = Users(UID_BASE, 64, run=tmp_path / "run")
    single = users.claim_at(UID_BASE + 20)
    assert single is not None
    assert users.claim_at(UID_BASE + 20) is None
    assert users.claim_at(UID_BASE + 10, 20) is None
    for _ in range(20):
        many = users.claim(40)
        assert UID_BASE + 21 <= many.uid <= UID_BASE + 24
        many.close()
    single.close()


def test_ranges_of_servers_may_overlap(tmp_path: Path) -> None:
    one, other_one = (Users(base, 10, run=tmp_path / "run") for base in (UID_BASE, UID_BASE + 5))
    held = [one.claim() for _ in range(10)] + [other_one.claim() for _ in range(5)]
    assert len({user.uid for user in held}) == 15
    with pytest.raises(ProviderDown):
        other_one.claim()
    for user in held:
        user.close()


def test_others_can_pass_through_the_folder_and_list_nothing(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir(mode=0o755)
    Users(run=tmp_path / "run").claim().close()
    assert (tmp_path / "run").stat().st_mode & 0o777 == 0o711
    assert (tmp_path / "run" / "uids").stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    os.chown(tmp_path / "run", 65534, 65534)
    with pytest.raises(ProviderDown, match="belongs to user 65534"):
        Users(run=tmp_path / "run").claim()


@pytest.mark.parametrize(
    ("name", "line"),
    [("passwd", "alice:x:5005:100::/:/bin/sh"), ("group", "staff:x:5009:"), ("subuid", "bob:4000:1001")],
)
def test_a_range_of_another_use_is_refused(tmp_path: Path, name: str, line: str) -> None:
    (tmp_path / name).write_text(f"root:x:0:0::/:/bin/sh\n# a comment\nbroken:line\n{line}\n")
    with pytest.raises(ConfigurationError, match=r"5000-5009 overlaps .*uid_base|uid_base.* 5000-5009 overlaps"):
        Users(5000, 10, etc=tmp_path)
    Users(5010, 10, etc=tmp_path)
    with pytest.raises(ConfigurationError, match="at most 2147483648"):
        Users(2**31 - 5, 10, etc=tmp_path)
