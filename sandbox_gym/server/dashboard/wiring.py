"""A server's dashboard from its settings."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sandbox_gym.config import Settings
from sandbox_gym.engine import Engine
from sandbox_gym.limits import MIB
from sandbox_gym.server.dashboard.app import Dashboard, Picture
from sandbox_gym.server.dashboard.live import ServerPicture
from sandbox_gym.server.dashboard.operator_auth import OperatorAuth
from sandbox_gym.server.dashboard.recent import Recent
from sandbox_gym.server.dashboard.verdicts import Verdicts

if TYPE_CHECKING:
    from sandbox_gym.journal.journal import Journal
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog

from sandbox_gym.journal import Kind
from sandbox_gym.observe.radar import HOUR_S, HOURS, MINUTE_S, Radar, Verified
from sandbox_gym.server.dashboard.stored_verify import listed_verify, unnamed
from sandbox_gym.server.dashboard.tally import WINDOW_S

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from sandbox_gym.journal.journal import Journal
    from sandbox_gym.journal.query import Wanted


_REMEDY = "set SANDBOX_GYM_DASHBOARD_TOKEN (or SANDBOX_GYM_TOKEN) and log in with it"


@dataclass(frozen=True, slots=True)
class ServerDashboard:
    """A resources server's. `observer` is shown each verify."""

    dashboard: Dashboard
    observer: Recent
    _picture: ServerPicture
    _verdicts: Verdicts

    @contextmanager
    def attached(self, engine: Engine, journal: Journal | None) -> Iterator[None]:
        """Shows this engine, and finds verdicts in this journal, while the body runs."""
        self._picture.attach(engine, recording=journal is not None)
        self._verdicts.journal = journal
        try:
            yield
        finally:
            self._picture.attach(None)

    async def restore(self, engine: Engine, journal: Journal) -> None:
        """What the journal has of the hours before."""
        until = self._picture.started_at
        await restored(journal, self.observer, engine.metrics.radar, server=self._picture.name, until=until)


def server_dashboard(name: str, kind: str, settings: Settings) -> ServerDashboard | None:
    """Of a resources server; None where the settings want none."""
    if not settings.dashboard.enabled:
        return None
    recent = Recent(settings.dashboard.memory_mb * MIB)
    picture, verdicts = ServerPicture(name, kind, recent), Verdicts(recent, name)
    dashboard = Dashboard(operator_auth_of(settings), picture.document, verdicts)
    return ServerDashboard(dashboard, recent, picture, verdicts)


def pool_dashboard(settings: Settings, picture: Picture) -> Dashboard | None:
    """Of the pool's server."""
    if not settings.dashboard.enabled:
        return None
    return Dashboard(operator_auth_of(settings), picture)


def operator_auth_of(settings: Settings) -> OperatorAuth:
    """Without any token the dashboard is for this machine's own users: a server that others reach keeps it shut, and
    one whose tenants have keys: they are not the operator."""
    token = settings.dashboard.token or settings.token
    shut = not token and (settings.keys is not None or not is_loopback(settings.host))
    closed = f"the dashboard shows hidden tests, and this server has no operator's token: {_REMEDY}" if shut else ""
    return OperatorAuth(token, settings.port, closed=closed)


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches what binds there."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


LISTED: Final = 200
COUNTED: Final = 10_000
"""Groups of like verdicts that are counted of the minutes, and of the hours, before: the latest."""
WITHIN_S: Final = 20.0
_log = structlog.get_logger("sandbox_gym.server")


async def restored(journal: Journal, recent: Recent, radar: Radar, *, server: str, until: float) -> None:
    """Adds what ended before `until`. Where the journal does not answer, a line in the log is all that comes of it."""
    from sandbox_gym.journal.query import Wanted, alike, find

    wanted = Wanted(server=server, until=until)
    minutes = replace(wanted, since=until - WINDOW_S)
    try:
        found = await journal.ask(partial(find, wanted=wanted, most=LISTED), WITHIN_S)
        recent.restore(map(listed_verify, found))
        counts = await journal.ask(partial(alike, wanted=minutes, period_s=1, most=COUNTED), WITHIN_S)
        recent.tally.restore((one.at, one.kind, one.reason, one.count) for one in reversed(counts))
        radar.follow(await journal.ask(partial(_radar, wanted=wanted), WITHIN_S))
    except Exception as error:
        _log.warning("dashboard_not_restored", why=str(error)[:300])


def _radar(connection: Connection, wanted: Wanted) -> Radar:
    """Evidence and inverted tests are in no column: the verdicts' pages have them."""
    from sandbox_gym.journal.query import alike

    radar, since = Radar(), (wanted.until or 0) - HOURS * HOUR_S
    counts = alike(connection, replace(wanted, since=since), period_s=MINUTE_S, most=COUNTED)
    for one in reversed(counts):
        signs = dict.fromkeys(one.signs.split(), "")
        masked = one.kind is Kind.NO_VERDICT
        label = one.label or unnamed(one.task_digest)
        verified = Verified(one.request_id, one.tenant, label, signs, bool(one.in_process), masked)
        radar.add(verified, at=one.at, count=one.count)
    return radar
