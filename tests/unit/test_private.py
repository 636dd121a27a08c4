"""The state folder and what is in it: for the server's user alone, whoever made it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sandbox_gym.errors import ConfigurationError
from sandbox_gym.private import make_private, remove_unfinished, state_folder, write_together, write_whole
from sandbox_gym.sandbox.cleanup.owner import held_lease


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_all_that_is_missing_is_made_for_its_owner_alone(tmp_path: Path) -> None:
    make_private(tmp_path / "a" / "b" / "c")
    assert [mode(tmp_path / part) for part in ("a", "a/b", "a/b/c")] == [0o700] * 3
    os.chmod(tmp_path / "a", 0o755)
    make_private(tmp_path / "a" / "b" / "d")
    assert mode(tmp_path / "a") == 0o755, "what was there is left as it is"


def test_a_state_folder_that_others_can_enter_is_closed(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir(mode=0o755)
    for name in ("owners", "sessions", "lost+found"):
        (state / name).mkdir()
    (state / "journal.sqlite-wal").touch()
    with held_lease(state) as lease:
        assert mode(state) == 0o700
        assert mode(lease.scratch()) == 0o700


def test_a_folder_that_is_open_and_holds_other_things_is_refused_and_left_alone(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    (home / "thesis.tex").touch()
    with pytest.raises(ConfigurationError, match=r"state_dir .*mode 755.*'thesis.tex'.*SANDBOX_GYM_STATE_DIR"):
        state_folder(home)
    assert mode(home) == 0o755
    shared = tmp_path / "tmp"
    shared.mkdir()
    shared.chmod(0o1777)
    with pytest.raises(ConfigurationError, match="shared by all"), held_lease(shared):
        pass
    home.chmod(0o700)
    state_folder(home)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_another_users_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    os.chown(tmp_path / "state", 65534, 65534)
    with pytest.raises(ConfigurationError, match="belongs to user 65534"):
        state_folder(tmp_path / "state")


def test_a_file_is_written_whole_and_for_its_owner_alone(tmp_path: Path) -> None:
    write_whole(tmp_path / "record.json", b"1")
    write_whole(tmp_path / "record.json", b"2")
    assert (tmp_path / "record.json").read_bytes() == b"2"
    assert mode(tmp_path / "record.json") == 0o600
    assert os.listdir(tmp_path) == ["record.json"]


@pytest.mark.parametrize("failing", [0, 1, 2])
def test_files_are_written_together_or_none_is(tmp_path: Path, failing: int) -> None:
    files = {tmp_path / f"{number}.json": b"x" for number in range(3)}
    (tmp_path / f"{failing}.new").mkdir()  # in its way, as a full disk would be
    with pytest.raises(OSError, match=f"{failing}.new"):
        write_together(files)
    assert os.listdir(tmp_path) == [f"{failing}.new"]
    (tmp_path / f"{failing}.new").rmdir()
    write_together(files)
    assert sorted(os.listdir(tmp_path)) == ["0.json", "1.json", "2.json"]


def test_what_a_killed_process_did_not_finish_is_removed(tmp_path: Path) -> None:
    write_whole(tmp_path / "a.json", b"1")
    (tmp_path / "b.new").write_bytes(b"")
    remove_unfinished(tmp_path)
    assert os.listdir(tmp_path) == ["a.json"]
