"""The verdict ledger: every verify on record, replayed by key, judged again from its state. Knows no server and no
verifier."""

from __future__ import annotations

from sandbox_gym.journal.entry import Entry, Filter, Judgement, Key, Replay, Source, Stored, StoredJudgement, Summary
from sandbox_gym.journal.journal import Journal, location, open_journal

__all__ = [
    "Entry",
    "Filter",
    "Journal",
    "Judgement",
    "Key",
    "Replay",
    "Source",
    "Stored",
    "StoredJudgement",
    "Summary",
    "location",
    "open_journal",
]
