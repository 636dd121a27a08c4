"""Files that are named as a journal: a journal is closed to others, anything else stays as it is."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from sandbox_gym.errors import ConfigurationError
from sandbox_gym.journal.schema import open_database


def test_an_open_journal_is_closed_to_others(tmp_path: Path) -> None:
    path = tmp_path / "journal.sqlite"
    path.touch(mode=0o644)
    for create in (True, False):
        path.chmod(0o644)
        open_database(str(path), create=create).dispose()
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@pytest.mark.parametrize("create", [True, False])
@pytest.mark.parametrize("what", ["text", "folder", "database", "damaged"])
def test_what_is_no_journal_stays_as_it_is(what: str, create: bool, tmp_path: Path) -> None:
    path = tmp_path / "theirs"
    if what == "folder":
        path.mkdir()
    elif what == "text":
        path.write_text("root:x:0:0\n" * 100)
    else:
        with closing(sqlite3.connect(path)) as database:
            database.execute("CREATE TABLE theirs (x)")
    if what == "damaged":
        path.write_bytes(path.read_bytes()[:150] + b"x" * 2000)
    path.chmod(0o755)
    before = path.stat()
    with pytest.raises(ConfigurationError, match=str(path)):
        open_database(str(path), create=create)
    after = path.stat()
    assert (after.st_mode, after.st_size, after.st_mtime_ns) == (before.st_mode, before.st_size, before.st_mtime_ns)
    assert sorted(tmp_path.iterdir()) == [path]
