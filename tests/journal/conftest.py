"""A journal's URL on each database. PostgreSQL's absence is a failure, never a skip; `-m 'not postgres'` deselects."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from psycopg import sql
from sqlalchemy.engine import make_url


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Of an empty database that is this test's own."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path}/journal.sqlite"
        return
    server = os.environ.get("SANDBOX_GYM_TEST_POSTGRES", "")
    if not server:
        pytest.fail("SANDBOX_GYM_TEST_POSTGRES is not set: run under tests/with-postgres.sh")
    name = f"journal_{uuid.uuid4().hex}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield make_url(server).set(database=name).render_as_string(hide_password=False)
        connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))
