"""The latest verifies in memory, by id, within a budget of bytes: what the dashboard lists and shows."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Final

from sandbox_gym.journal import Entry
from sandbox_gym.server.dashboard.shapes import FoundQuery
from sandbox_gym.server.dashboard.stored_verify import StoredVerify, stored_verify
from sandbox_gym.server.dashboard.tally import Tally

MAX_VERDICTS: Final = 2000
_LARGEST_SHARE: Final = 4
"""One verify may take this fraction of the budget; of a longer one only the summary is kept."""


class Recent:
    """A ring of verifies, and the tally of all that went through it."""

    def __init__(self, max_bytes: float, tally: Tally | None = None) -> None:
        self._max_bytes = max_bytes
        self._kept: OrderedDict[str, StoredVerify] = OrderedDict()
        self.tally = tally or Tally()
        self.size_bytes = 0
        self.isolation = "unknown"

    def __len__(self) -> int:
        return len(self._kept)

    def finished(self, entry: Entry) -> None:
        """One finished verify. Runs on the way of every one: appends, counts, weighs."""
        kept = stored_verify(entry)
        verdict = kept.verdict
        if verdict.isolation != "none" or self.isolation == "unknown":
            self.isolation = verdict.isolation
        self.tally.add(kept.kind, kept.reason, verdict.timings_s, entry.finished_at - entry.started_at)
        if kept.size_bytes > self._max_bytes / _LARGEST_SHARE:
            kept = kept.without_details()
        self._kept[kept.request_id] = kept
        self.size_bytes += kept.size_bytes
        while len(self._kept) > MAX_VERDICTS or (self.size_bytes > self._max_bytes and len(self._kept) > 1):
            _, oldest = self._kept.popitem(last=False)
            self.size_bytes -= oldest.size_bytes

    def restore(self, earlier: Iterable[StoredVerify]) -> None:
        """Verifies of before the start, the latest first, in lists behind those that are here."""
        for kept in earlier:
            if self.size_bytes + kept.size_bytes > self._max_bytes or len(self._kept) >= MAX_VERDICTS:
                return
            if kept.request_id not in self._kept:
                self._kept[kept.request_id] = kept
                self._kept.move_to_end(kept.request_id, last=False)
                self.size_bytes += kept.size_bytes

    def refused(self, kind: str) -> None:
        """A verify that found the queue full."""
        self.tally.refused(kind)

    def find(self, request_id: str) -> StoredVerify | None:
        """One of those that are still here."""
        return self._kept.get(request_id)

    def latest(self, most: int, wanted: Callable[[StoredVerify], bool] = lambda kept: True) -> list[StoredVerify]:
        """The latest first."""
        found: list[StoredVerify] = []
        for kept in reversed(self._kept.values()):
            if len(found) == most:
                break
            if wanted(kept):
                found.append(kept)
        return found


def in_memory(query: FoundQuery) -> Callable[[StoredVerify], bool]:
    """What a query asks for, where there is no journal to ask; runs, steps and digests are in no memory."""
    outcome, reason, sign, words = query.outcome, query.reason, query.sign, query.text.lower().split()
    since, until = query.since or 0.0, query.until or float("inf")

    def wanted(kept: StoredVerify) -> bool:
        fits = not outcome or outcome == kept.kind or (outcome == "tamper" and bool(kept.verdict.tamper))
        fits = fits and (not reason or kept.reason == reason) and (not sign or sign in kept.verdict.tamper)
        fits = fits and query.tenant in ("", kept.tenant) and since <= kept.finished_at < until
        texts = " ".join((kept.label, kept.reason, kept.tenant, *kept.verdict.tamper)).lower()
        return fits and all(word in texts or kept.request_id.startswith(word) for word in words)

    return wanted
