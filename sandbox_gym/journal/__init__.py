"""The verdict ledger: every verify on record, replayed by key, judged again from its state. Knows no server and no
verifier.

`journal.journal` and what is behind it import the database library; the values here do not.
"""

from __future__ import annotations

from sandbox_gym.journal.entry import Entry, Filter, Key, Replay, Source, Stored, StoredJudgement, Summary

__all__ = [
    "Entry",
    "Filter",
    "Key",
    "Replay",
    "Source",
    "Stored",
    "StoredJudgement",
    "Summary",
]
