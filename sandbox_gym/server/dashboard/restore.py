"""What a dashboard shows of the time before its server's start, from the journal: lists, the last minutes, the radar.

Runs once, beside the first verifies: the database counts, so that little is left to do here.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Final

import structlog

from sandbox_gym.journal import Kind
from sandbox_gym.observe.radar import HOUR_S, HOURS, MINUTE_S, Radar, Verified
from sandbox_gym.server.dashboard.recent import Recent
from sandbox_gym.server.dashboard.stored_verify import listed_verify, unnamed
from sandbox_gym.server.dashboard.tally import WINDOW_S

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from sandbox_gym.journal.journal import Journal
    from sandbox_gym.journal.query import Wanted

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
