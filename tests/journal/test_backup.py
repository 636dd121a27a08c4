"""The commands of docs/guides/operator/backup.md: a backup beside a writer, a journal that is lost, and its return."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import select
from sqlalchemy.engine import make_url

from sandbox_gym.journal.rows import prepare
from sandbox_gym.journal.schema import open_database, verdicts
from sandbox_gym.journal.store import Store
from sandbox_gym.limits import MIB
from tests.documented import blocks, page
from tests.journal.entries import entry

LATER = [f"later-{number}" for number in range(10_000)]
KEPT = [f"request-{number}" for number in range(20)]


def keep(url: str, names: list[str]) -> None:
    store = Store(open_database(url, create=True))
    store.add([prepare(replace(entry(), request_id=name), state_max_bytes=MIB) for name in names])
    store.close()


def found(url: str) -> set[str]:
    database = open_database(url, create=False)
    with database.connect() as connection:
        names = set(connection.execute(select(verdicts.c.request_id)).scalars())
    database.dispose()
    return names


def commands(section: str, swaps: dict[str, str]) -> Iterator[str]:
    """Of a page's section, in order, with a test's own names."""
    text = page("backup.md").read_text().partition(f"## {section}\n")[2].partition("\n## ")[0]
    for block in blocks():
        if block.page.endswith("backup.md") and block.text in text:
            for line in block.commands:
                for old, new in swaps.items():
                    line = line.replace(old, new)
                yield line


def shell(line: str, **settings: str) -> str:
    known = {**os.environ, **settings, "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=120, env=known, check=False)
    assert done.returncode == 0, (line, done.stderr)
    return done.stdout


@contextmanager
def writing_on(url: str) -> Iterator[None]:
    """Another writer meanwhile."""
    stop = threading.Event()

    def write() -> None:
        for name in LATER:
            if stop.is_set():
                return
            keep(url, [name])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        stop.set()
        writer.join(60)


def test_sqlite(tmp_path: Path) -> None:
    state, backup = tmp_path / "state", tmp_path / "backup"
    state.mkdir()
    backup.mkdir()
    journal = f"sqlite:///{state}/journal.sqlite"
    keep(journal, KEPT)
    swaps = {"/var/lib/sandbox-gym": str(state), "/backup": str(backup)}
    copy, check, remove, install, look = commands("SQLite", swaps)
    with writing_on(journal):
        shell(copy)
    assert shell(check).strip() == "ok"
    for path in state.glob("journal.sqlite*"):
        path.write_bytes(b"damaged")
    shell(remove)
    shell(install)
    shell(look.replace("--since 1d", "--since 9000d"), SANDBOX_GYM_STATE_DIR=str(state))
    assert (state / "journal.sqlite").stat().st_mode & 0o777 == 0o600
    assert set(KEPT) <= found(journal) <= {*KEPT, *LATER}


@pytest.mark.postgres
def test_postgresql(tmp_path: Path) -> None:
    server = os.environ.get("SANDBOX_GYM_TEST_POSTGRES", "")
    assert server, "SANDBOX_GYM_TEST_POSTGRES is not set: run under tests/with-postgres.sh"
    journal, restored = f"journal_{uuid.uuid4().hex}", f"restored_{uuid.uuid4().hex}"
    swaps = {f"postgresql://gym@db/{name}": _at(server, to) for name, to in _databases(server, journal, restored)}
    dump, create, restore = commands("PostgreSQL", {**swaps, " restored": f" {restored}", "/backup": str(tmp_path)})
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(journal)))
        try:
            keep(_at(server, journal), KEPT)
            with writing_on(_at(server, journal)):
                shell(dump)
            shell(create)
            shell(restore)
            assert set(KEPT) <= found(_at(server, restored)) <= {*KEPT, *LATER}
        finally:
            for name in (journal, restored):
                connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def _databases(server: str, journal: str, restored: str) -> list[tuple[str, str]]:
    """The page's names, and the test's."""
    return [("postgres", make_url(server).database or ""), ("restored", restored), ("gym", journal)]


def _at(server: str, database: str) -> str:
    return make_url(server).set(database=database).render_as_string(hide_password=False)
