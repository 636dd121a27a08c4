"""Verdicts by id, from memory or from the journal, and judged again from what is recorded. Owns where they are found;
the pages' form is pages.py's."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import anyio
import anyio.to_thread

from sandbox_gym.errors import PoolFull, Unavailable
from sandbox_gym.journal import Stored
from sandbox_gym.observe.sanitize import sanitized
from sandbox_gym.observe.task_labels import label_of
from sandbox_gym.server.dashboard import history
from sandbox_gym.server.dashboard.live import listed
from sandbox_gym.server.dashboard.pages import run_page, verdict_page
from sandbox_gym.server.dashboard.recent import Recent, in_memory
from sandbox_gym.server.dashboard.shapes import FoundQuery, FoundVerdicts, Rejudged, RunShown, VerdictShown
from sandbox_gym.server.dashboard.stored_verify import listed_verify
from sandbox_gym.server.registry import SERVERS
from sandbox_gym.server.rejudge import rejudge_one

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from sandbox_gym.journal.journal import Journal

MAX_FOUND = 100
REJUDGE_S = 60.0
_SHOWN = 1000
Q = TypeVar("Q")
T = TypeVar("T")


class Verdicts:
    """One server's. `journal` is None where none is kept."""

    def __init__(self, recent: Recent, server: str) -> None:
        self._recent, self._server = recent, server
        self._judges = anyio.CapacityLimiter(1)
        self.journal: Journal | None = None

    async def found(self, query: FoundQuery) -> FoundVerdicts:
        """Those that match, the latest first. Raises JournalDown."""
        most, kept = MAX_FOUND, len(self._recent)
        if self.journal is None:
            shown = [listed(one) for one in self._recent.latest(most, in_memory(query))]
            return {"most": most, "kept": kept, "where": "memory", "next": "", "verdicts": shown}
        from sandbox_gym.journal.query import find

        at, _, number = query.before.partition("_")
        before = (float(at), int(number)) if number else None
        wanted = history.wanted_by(query, self._server)
        rows = await self.journal.ask(lambda connection: find(connection, wanted, most=most, before=before))
        following = f"{rows[-1].finished_at:.9f}_{rows[-1].id}" if len(rows) == most else ""
        shown = [{**listed(listed_verify(row)), "task": row.task_digest} for row in rows]
        return {"most": most, "kept": kept, "where": "journal", "next": following, "verdicts": shown}

    async def ask(self, question: Callable[[Connection, Q, str], T], about: Q) -> T | None:
        """One of `history`'s questions, of this server's verdicts; None where no journal is kept. Raises
        JournalDown."""
        if self.journal is None:
            return None
        return await self.journal.ask(lambda connection: question(connection, about, self._server))

    async def page(self, request_id: str, start: int) -> VerdictShown | None:
        """None where it is unknown. Raises JournalDown."""
        found = await self._find(request_id)
        if found is None:
            return None
        stored, where = found
        document = await anyio.to_thread.run_sync(lambda: verdict_page(stored, where=where, start=start))
        kept = self._recent.find(request_id)
        label = kept.label if kept is not None else stored.label or label_of(stored.source.row, {})
        document["label"], document["tenant"] = sanitized(label, 120), sanitized(stored.summary.tenant, 60)
        document["has_task"] = self.journal is not None and bool(stored.source.row)
        return document

    async def run(self, request_id: str, judgement: int, place: str) -> RunShown | None:
        """One run's outputs. Raises JournalDown."""
        found = await self._find(request_id)
        return None if found is None else run_page(found[0], judgement, place)

    async def rejudge(self, request_id: str) -> Rejudged | None:
        """How the verdict fares when it is judged again, one at a time. Raises PoolFull while another is, JournalDown,
        Unavailable when it takes too long."""
        found = await self._find(request_id)
        if found is None:
            return None
        if self._judges.borrowed_tokens:
            raise PoolFull("another verdict is being judged again", retry_after_s=2)
        stored, where = found
        try:
            with anyio.fail_after(REJUDGE_S):
                finding = await anyio.to_thread.run_sync(
                    lambda: anyio.run(rejudge_one, stored, SERVERS), limiter=self._judges, abandon_on_cancel=True
                )
        except TimeoutError:
            raise Unavailable(f"no judgement within {REJUDGE_S:g} s") from None
        return {
            "agreement": finding.agreement.value,
            "what": sanitized(finding.what, _SHOWN),
            "planned_otherwise": finding.planned_otherwise if where == "journal" else None,
        }

    async def _find(self, request_id: str) -> tuple[Stored, str] | None:
        """Memory first, unless it holds the summary only and the journal may hold all."""
        kept = self._recent.find(request_id)
        whole = kept is not None and (kept.judgements is not None or self.journal is None)
        if self.journal is not None and not whole:
            stored = await self.journal.stored(request_id)
            if stored is not None:
                return stored, "journal"
        # digests of a long row take their time
        return None if kept is None else (await anyio.to_thread.run_sync(kept.stored), "memory")
