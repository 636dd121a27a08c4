"""The journal's tables and migrations; opens a database of the right version by URL. Knows no entries.

`journal_meta` holds the version. An older database is migrated in one transaction; a newer one is refused, because its
meaning is unknown here.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    Engine,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PoolProxiedConnection,
    String,
    Table,
    Text,
    create_engine,
    event,
    insert,
    inspect,
    select,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.engine.interfaces import DBAPIConnection, DBAPICursor
from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError

from sandbox_gym.errors import ConfigurationError
from sandbox_gym.private import make_private, own_user

SCHEMA_VERSION = 3


def _add_tenant(connection: Connection) -> None:
    connection.exec_driver_sql("ALTER TABLE journal_verdicts ADD COLUMN tenant VARCHAR(200) DEFAULT '' NOT NULL")


def _add_search(connection: Connection) -> None:
    """The table as it is now: who changes it copies it to here first. Tasks of older verdicts have no name there, and
    their tests no statuses: both are in blobs."""
    search.create(connection)
    connection.exec_driver_sql(_FILL_SEARCH)


_FILL_SEARCH = """
INSERT INTO journal_search (id, request_id, finished_at, seconds, server, provider, tenant, label, task_digest,
  answer_digest, kind, reason, reward, signs, isolation, in_process, attempts, tests, passed, statuses, run, step,
  words)
SELECT id, request_id, finished_at, finished_at - started_at, server, provider, tenant, '', task_digest, answer_digest,
  CASE WHEN reward IS NULL THEN 'no_verdict' WHEN failure_reason <> '' OR reward <= 0 THEN 'failed' ELSE 'passed' END,
  CASE WHEN reward IS NULL THEN replace(failure_kind, server || ':', '') WHEN failure_reason <> '' THEN failure_reason
    WHEN reward <= 0 THEN 'wrong_answer' ELSE 'passed' END,
  reward, substr(replace(replace(replace(replace(tamper, '[]', ''), '["', ' '), '","', ' '), '"]', ' '), 1, 500),
  isolation, CASE WHEN integrity = 'in_process' THEN 1 ELSE 0 END, attempts, 0, 0, '', '', NULL,
  substr(lower(failure_reason || ' ' || failure_kind || ' ' || tamper || ' ' || tenant), 1, 400)
FROM journal_verdicts"""

MIGRATIONS: Mapping[int, Callable[[Connection], None]] = {1: _add_tenant, 2: _add_search}
"""From version n to n + 1. Version 1 is the first."""

BUSY_TIMEOUT_S = 30
_LOCK = 0x5A4D_6A72
"""Key of PostgreSQL's advisory lock, which keeps two servers from creating the tables at once."""

metadata = MetaData()
meta = Table("journal_meta", metadata, Column("schema_version", Integer, primary_key=True))

tasks = Table(
    "journal_tasks",
    metadata,
    Column("digest", String(64), primary_key=True),
    Column("size_bytes", BigInteger, nullable=False),
    Column("row", LargeBinary, nullable=False),
)
"""Rows of datasets by digest; all rollouts of a row share one."""

verdicts = Table(
    "journal_verdicts",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=True),
    Column("request_id", String(64), nullable=False, unique=True),
    Column("server", String(200), nullable=False),
    Column("verifier", String(200), nullable=False),
    Column("idempotency_key", String(400)),
    Column("body_digest", String(64)),
    Column("task_digest", String(64), nullable=False),
    Column("answer_digest", String(64), nullable=False),
    Column("plan_digest", String(64), nullable=False),
    Column("image", String(400), nullable=False),
    Column("limits", Text, nullable=False),
    Column("provider", String(100), nullable=False),
    Column("isolation", String(20), nullable=False),
    Column("integrity", String(20), nullable=False),
    Column("reward", Float(53)),
    Column("failure_reason", String(500), nullable=False),
    Column("failure_kind", String(200), nullable=False),
    Column("tamper", Text, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("timings", Text, nullable=False),
    Column("started_at", Float(53), nullable=False),
    Column("finished_at", Float(53), nullable=False),
    Column("size_bytes", BigInteger, nullable=False),
    Column("tenant", String(200), nullable=False, server_default=""),
    Column("reply", LargeBinary),
    Column("source", LargeBinary, nullable=False),
    Column("judgements", LargeBinary),
    Index("journal_by_key", "server", "idempotency_key", unique=True),
    Index("journal_by_task", "task_digest"),
    Index("journal_by_age", "finished_at", "size_bytes"),
)
"""Blobs are zlib over the codec's JSON. They are the last columns, so that lists don't read them."""

search = Table(
    "journal_search",
    metadata,
    Column("id", BigInteger().with_variant(Integer, "sqlite"), primary_key=True, autoincrement=False),
    Column("request_id", String(64), nullable=False),
    Column("finished_at", Float(53), nullable=False),
    Column("seconds", Float(53), nullable=False),
    Column("server", String(200), nullable=False),
    Column("provider", String(100), nullable=False),
    Column("tenant", String(200), nullable=False),
    Column("label", String(200), nullable=False),
    Column("task_digest", String(64), nullable=False),
    Column("answer_digest", String(64), nullable=False),
    Column("kind", String(10), nullable=False),
    Column("reason", String(500), nullable=False),
    Column("reward", Float(53)),
    Column("signs", String(500), nullable=False),
    Column("isolation", String(20), nullable=False),
    Column("in_process", Integer, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("tests", Integer, nullable=False),
    Column("passed", Integer, nullable=False),
    Column("statuses", String(200), nullable=False),
    Column("run", String(100), nullable=False),
    Column("step", BigInteger),
    Column("words", String(400), nullable=False),
    Index("journal_search_by_time", "finished_at", "id"),
    Index("journal_search_by_task", "task_digest", "finished_at"),
)
"""A narrow row for each verdict: searches and charts read whole ranges of these, and no blob beside them."""


def parse_url(text: str) -> URL:
    """A SQLAlchemy URL, or the path of a SQLite file. Raises ConfigurationError, never showing a password."""
    try:
        url = make_url(text) if "://" in text else URL.create("sqlite", database=str(Path(text).expanduser()))
    except ArgumentError:
        raise ConfigurationError("journal: the URL can't be read; give sqlite:///path or postgresql://...") from None
    if url.drivername in ("postgres", "postgresql"):
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "sqlite+pysqlite", "postgresql+psycopg"):
        raise ConfigurationError(f"journal: {url.drivername} is not supported; give sqlite:///path or postgresql://...")
    if url.get_backend_name() == "sqlite" and url.database in (None, "", ":memory:"):
        raise ConfigurationError("journal: a SQLite URL needs a path, as in sqlite:////var/lib/journal.sqlite")
    return url


def open_database(text: str, *, create: bool) -> Engine:
    """A database with the journal's tables. `create` False: it must exist. Raises ConfigurationError."""
    url = parse_url(text)
    shown = url.render_as_string(hide_password=True)
    try:
        if url.get_backend_name() == "sqlite":
            _prepare_file(Path(str(url.database)), create=create)
        engine = _engine(url)
    except ModuleNotFoundError as error:
        raise ConfigurationError(f"journal {shown}: pip install 'sandbox-gym[postgres]' ({error})") from None
    except NoSuchModuleError as error:
        raise ConfigurationError(f"journal {shown}: {error}") from None
    try:
        with writing(engine) as connection:
            _bring_up(connection, shown, create=create)
    except SQLAlchemyError as error:
        engine.dispose()
        remedy = "mend that, or name another journal (--journal, SANDBOX_GYM_JOURNAL_URL)"
        raise ConfigurationError(f"journal {shown}: {cause(error)}; {remedy}") from None
    except ConfigurationError:
        engine.dispose()
        raise
    return engine


def cause(error: SQLAlchemyError) -> str:
    """The database's message on one line, without the statement and its values."""
    return " ".join(str(getattr(error, "orig", None) or type(error).__name__).split())[:300]


def _prepare_file(path: Path, *, create: bool) -> None:
    if not create and not path.exists():
        raise ConfigurationError(
            f"no journal at {path}: `sandbox-gym serve` creates one, or name another with --journal"
        )
    try:
        make_private(path.parent)
        if not path.exists():
            path.touch(mode=0o600)  # answers and hidden tests are private
            return
        found = path.stat()
        names = _tables(path)  # another process may be about to make them
        if meta.name not in names and (names or not create):
            raise ConfigurationError(f"no journal in {path}: it is empty, or another's; name another with --journal")
        if found.st_mode & 0o077 and found.st_uid == own_user():
            path.chmod(0o600)
    except sqlite3.Error:
        return  # the engine says what is wrong, and the file stays as it is
    except OSError as error:
        remedy = "set SANDBOX_GYM_STATE_DIR to a folder that can be written, or SANDBOX_GYM_JOURNAL_URL=off"
        raise ConfigurationError(f"journal {path}: {error.strerror}; {remedy}") from None


def _tables(path: Path) -> set[str]:
    """Their names, without a change to the file. Raises sqlite3.Error for what is no database."""
    with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=BUSY_TIMEOUT_S)) as database:
        return {str(name) for (name,) in database.execute("SELECT name FROM sqlite_master")}


def _engine(url: URL) -> Engine:
    if url.get_backend_name() == "sqlite":
        engine = create_engine(url, connect_args={"timeout": BUSY_TIMEOUT_S})
        event.listen(engine, "connect", _set_up_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    caps = {"connect_timeout": 10, "options": f"-c statement_timeout={1000 * BUSY_TIMEOUT_S}"}
    given = {name: value for name, value in caps.items() if name not in url.query}
    return create_engine(url, connect_args=given, pool_pre_ping=True, pool_timeout=BUSY_TIMEOUT_S)


def _set_up_sqlite(connection: DBAPIConnection, record: PoolProxiedConnection) -> None:
    """WAL: readers never wait. `synchronous=FULL`: a commit survives a power failure."""
    connection.isolation_level = None  # `_begin` below starts the transactions
    cursor = connection.cursor()
    cursor.execute("PRAGMA auto_vacuum=INCREMENTAL")
    _write_ahead(cursor)
    for pragma in ("synchronous=FULL", "journal_size_limit=16777216"):
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _write_ahead(cursor: DBAPICursor) -> None:
    """Switch the journal to WAL. While another process does so, SQLite reports "locked" at once, despite a busy
    timeout."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.02)


def _begin_sqlite(connection: Connection) -> None:
    """A writer takes its lock at the start: after a read, another's commit would make that impossible."""
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that writes, committed at the end."""
    with engine.connect().execution_options(writes=True) as connection, connection.begin():
        yield connection


def _bring_up(connection: Connection, shown: str, *, create: bool) -> None:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
    if not inspect(connection).has_table(meta.name):
        if not create:
            raise ConfigurationError(f"no journal in {shown}: `sandbox-gym serve` creates one")
        metadata.create_all(connection)
        connection.execute(insert(meta).values(schema_version=SCHEMA_VERSION))
        return
    version = connection.execute(select(meta.c.schema_version)).scalar_one()
    if version > SCHEMA_VERSION:
        raise ConfigurationError(
            f"journal {shown} has version {version}, written by a later sandbox-gym; this one reads up to"
            f" {SCHEMA_VERSION}: upgrade, or give another journal"
        )
    for number in range(version, SCHEMA_VERSION):
        MIGRATIONS[number](connection)
    if version < SCHEMA_VERSION:
        connection.execute(meta.update().values(schema_version=SCHEMA_VERSION))
