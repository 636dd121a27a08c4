"""Options and helpers that the commands over the journal share."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from sandbox_gym.cli.terminal.options import settings_with
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.journal import Filter, Summary
from sandbox_gym.server.protocol.wire import Document

if TYPE_CHECKING:
    from sandbox_gym.journal.store import Store

JournalOption = Annotated[str | None, typer.Option("--journal", help="Path or URL; the server's own unless given.")]
RewardOption = Annotated[float | None, typer.Option("--reward", help="Only with this reward.")]
ReasonOption = Annotated[
    str, typer.Option("--reason", help="Only with a failure reason or failure kind that begins with this.")
]
TaskOption = Annotated[str, typer.Option("--task", help="Only with a task digest that begins with this.")]
SinceOption = Annotated[str, typer.Option("--since", help="Only since then: 30m, 2h, 7d, or 2026-01-31T12:00.")]
ServerOption = Annotated[str, typer.Option("--server", help="Only of this resources server.")]
RequestOption = Annotated[str, typer.Option("--request-id", help="Only with a request id that begins with this.")]
TamperedOption = Annotated[bool, typer.Option("--tampered", help="Only with signs of tampering; shows the signs.")]
TenantOption = Annotated[str, typer.Option("--tenant", help="Only of this tenant.")]

_UNITS_S = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800}


def filter_of(reward: float | None, reason: str, task: str, since: str, server: str, request_id: str) -> Filter:
    """The options as a filter. Raises ConfigurationError for a value that can match nothing."""
    if not re.fullmatch("[0-9a-f]{0,64}", task):
        raise ConfigurationError(
            f"--task {task!r} is not a digest: give hexadecimal digits, as `verdicts --json` shows"
        )
    return Filter(reward, reason, task, since_time(since, time.time()) if since else None, server, request_id)


def since_time(text: str, now: float) -> float:
    """Unix time of an age or a date; a date without a zone is local time. Raises ConfigurationError."""
    age = re.fullmatch(r"(\d{1,9})([smhdw])", text)
    if age:
        return now - int(age[1]) * _UNITS_S[age[2]]
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError):
        raise ConfigurationError(
            f"--since {text!r}: give an age such as 30m, 2h or 7d, or a date such as 2026-01-31T12:00"
        ) from None


@contextmanager
def opened(journal: str | None) -> Iterator[Store]:
    """The store of an existing journal. Raises ConfigurationError, also for later errors of the database."""
    from sqlalchemy.exc import SQLAlchemyError  # this import takes a quarter of a second, which other commands save

    from sandbox_gym.journal.schema import cause, open_database
    from sandbox_gym.journal.store import Store

    url = settings_with({"journal_url": journal}).journal_url()
    if url is None:
        raise ConfigurationError("the journal is off; name one with --journal")
    store = Store(open_database(url, create=False))
    try:
        yield store
    except SQLAlchemyError as error:
        raise ConfigurationError(f"journal: {cause(error)}") from None
    finally:
        store.close()


def summary_document(summary: Summary) -> Document:
    return {name: value for name, value in asdict(summary).items() if name != "id"}
