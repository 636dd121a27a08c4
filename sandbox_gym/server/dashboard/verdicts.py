"""Verdicts by id, from memory or from the journal, and judged again from what is recorded. Owns where they are found;
the pages' form is pages.py's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import anyio.to_thread

from sandbox_gym.errors import PoolFull, Unavailable
from sandbox_gym.journal import Stored
from sandbox_gym.observe.sanitize import sanitized
from sandbox_gym.server.dashboard.live import listed
from sandbox_gym.server.dashboard.pages import run_page, verdict_page
from sandbox_gym.server.dashboard.recent import Recent, wanted_by
from sandbox_gym.server.dashboard.shapes import FoundVerdicts, Rejudged, RunShown, VerdictShown
from sandbox_gym.server.registry import SERVERS
from sandbox_gym.server.rejudge import rejudge_one

if TYPE_CHECKING:
    from sandbox_gym.journal.journal import Journal

MAX_FOUND = 100
REJUDGE_S = 60.0
_SHOWN = 1000


class Verdicts:
    """One server's. `journal` is None where none is kept."""

    def __init__(self, recent: Recent) -> None:
        self._recent = recent
        self._judges = anyio.CapacityLimiter(1)
        self.journal: Journal | None = None

    def found(self, outcome: str, reason: str, sign: str = "") -> FoundVerdicts:
        """Those in memory that match, the latest first."""
        kept = self._recent.latest(MAX_FOUND, wanted_by(outcome, reason, sign))
        return {"most": MAX_FOUND, "kept": len(self._recent), "verdicts": [listed(one) for one in kept]}

    async def page(self, request_id: str, start: int) -> VerdictShown | None:
        """None where it is unknown. Raises JournalDown."""
        found = await self._find(request_id)
        if found is None:
            return None
        stored, where = found
        document = await anyio.to_thread.run_sync(lambda: verdict_page(stored, where=where, start=start))
        kept = self._recent.find(request_id)
        if kept is not None:
            document["label"], document["tenant"] = sanitized(kept.label, 120), sanitized(kept.tenant, 60)
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
