"""A bound on the time that a database spends on questions. Knows no table."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, text
from sqlalchemy.exc import OperationalError

_STEPS = 20_000
"""Of SQLite's virtual machine, between two looks at the clock: about a millisecond."""


class TooSlow(Exception):
    """The database was stopped at a question that took too long."""


@contextmanager
def deadline(connection: Connection, within_s: float) -> Iterator[None]:
    """All statements of the body together on SQLite; each of them on PostgreSQL. Raises TooSlow."""
    end = time.monotonic() + within_s
    sqlite = connection.connection.driver_connection if connection.dialect.name == "sqlite" else None
    if sqlite is not None:
        sqlite.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
    else:
        connection.execute(text(f"SET LOCAL statement_timeout = {max(1, int(1000 * within_s))}"))
    try:
        yield
    except OperationalError as error:
        if time.monotonic() < end:
            raise
        raise TooSlow(f"no answer within {within_s:g} s") from error
    finally:
        if sqlite is not None:
            sqlite.set_progress_handler(None, 0)
