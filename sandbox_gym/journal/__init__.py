"""The journal of verdicts: records every verify, replays it by key, keeps the state to judge it again. Knows no server
and no verifier.

`journal.journal` and its helpers import the database library; the values here do not.
"""

from __future__ import annotations

from sandbox_gym.journal.entry import Entry, Filter, Key, Kind, Replay, Source, Stored, StoredJudgement, Summary

__all__ = ["Entry", "Filter", "Key", "Kind", "Replay", "Source", "Stored", "StoredJudgement", "Summary"]
