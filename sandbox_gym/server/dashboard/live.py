"""The live picture of a server as one bounded document: what the page's stream, `sandbox-gym top` and tests read."""

from __future__ import annotations

import heapq
import time
from collections.abc import Mapping
from dataclasses import asdict
from typing import Final

from sandbox_gym import __version__
from sandbox_gym.engine import Engine, HeldSessions
from sandbox_gym.journal import Kind
from sandbox_gym.observe.feed import Feed
from sandbox_gym.observe.sanitize import sanitized
from sandbox_gym.sandbox.session.held import SessionGlance
from sandbox_gym.sandbox.session.manager import Sessions
from sandbox_gym.server.dashboard.radar import radar_document
from sandbox_gym.server.dashboard.recent import Recent
from sandbox_gym.server.dashboard.shapes import ListedVerdict, LivePicture, ServerShown
from sandbox_gym.server.dashboard.stored_verify import StoredVerify
from sandbox_gym.server.dashboard.tally import BIN_S, WINDOW_S, Share
from sandbox_gym.server.protocol.wire import Document

MAX_TENANTS: Final = 12
MAX_SESSIONS: Final = 12
MAX_LISTED: Final = 24
MAX_EVENTS: Final = 24
_SHORT_ID: Final = 8


class ServerPicture:
    """A resources server's: its engine's pool and sessions, and what its verdicts came to."""

    def __init__(self, name: str, kind: str, recent: Recent) -> None:
        self.name, self._kind, self.recent = name, kind, recent
        self.started_at = time.time()
        self._engine: Engine | None = None
        self._recording = False

    def attach(self, engine: Engine | None, *, recording: bool = False) -> None:
        """The engine at start, None at the end; whether its verdicts go to a journal."""
        self._engine, self._recording = engine, recording

    def document(self) -> LivePicture:
        """As things are now."""
        engine, recent = self._engine, self.recent
        provider = engine.provider_name if engine is not None else ""
        counts = dict(engine.stats()) if engine is not None else {}
        return {
            "at": time.time(),
            "journal": self._recording,
            "server": server_document(self.name, self._kind, provider, recent.isolation, self.started_at),
            "pool": counts or None,
            "queue": queue_document(engine.runner.queues() if engine is not None else {}),
            "sessions": _sessions(engine.sessions if engine is not None else None),
            "verdicts": _verdicts(recent),
            "phases": [asdict(phase) for phase in recent.tally.phases()],
            "feed": feed_document(engine.metrics.feed) if engine is not None else None,
            "radar": radar_document(engine.metrics.radar.report()) if engine is not None else None,
        }


def server_document(name: str, kind: str, provider: str, isolation: str, started_at: float) -> ServerShown:
    return {
        "name": sanitized(name, 80),
        "kind": sanitized(kind, 40),
        "provider": sanitized(provider, 40),
        "isolation": isolation,
        "version": __version__,
        "started_at": started_at,
    }


def queue_document(waiting: Mapping[str, int]) -> Document:
    """The longest queues; of the other tenants only how many wait."""
    longest = heapq.nlargest(MAX_TENANTS, waiting.items(), key=lambda one: (one[1], one[0]))
    named = sum(count for _, count in longest)
    return {
        "waiting": sum(waiting.values()),
        "tenants": [{"tenant": sanitized(tenant, 60), "waiting": count} for tenant, count in longest],
        "others": {"tenants": len(waiting) - len(longest), "waiting": sum(waiting.values()) - named},
    }


def feed_document(feed: Feed) -> Document:
    events = [
        {**asdict(event), "cause": sanitized(event.cause), "why": sanitized(event.why, 300)}
        for event in feed.latest(MAX_EVENTS)
    ]
    return {"counts": dict(feed.counts), "events": events}


def _sessions(sessions: HeldSessions | None) -> Document | None:
    """A cluster's are on its nodes: their counts are here, each by itself is not."""
    if sessions is None:
        return None
    counts = dict(sessions.stats_dict())
    if not isinstance(sessions, Sessions):
        live, asleep = counts.get("live", 0), counts.get("hibernated_now", 0)
        return {"live": live, "hibernated": asleep, "disk_bytes": 0, "counts": counts, "latest": []}
    return {
        "live": sessions.live,
        "hibernated": sessions.hibernated,
        "disk_bytes": sessions.budget.used_bytes,
        "counts": counts,
        "latest": [_session(one) for one in sessions.glance(MAX_SESSIONS)],
    }


def _session(one: SessionGlance) -> Document:
    """A session's id opens it, so its beginning has to do."""
    return {**asdict(one), "session_id": sanitized(one.session_id[:_SHORT_ID], _SHORT_ID)}


def _verdicts(recent: Recent) -> Document:
    tally = recent.tally
    return {
        "total": tally.total,
        "kept": len(recent),
        "kept_bytes": recent.size_bytes,
        "mix": [_share(share) for share in tally.mix()],
        "window_s": WINDOW_S,
        "bin_s": BIN_S,
        "rates": [[counts[kind] for kind in Kind] for counts in tally.rates()],
        "latest": [listed(kept) for kept in recent.latest(MAX_LISTED)],
    }


def _share(share: Share) -> Document:
    return {**asdict(share), "kind": share.kind.value, "reason": sanitized(share.reason, 80)}


def listed(kept: StoredVerify) -> ListedVerdict:
    """One line of a list of verdicts."""
    return {
        "id": kept.request_id,
        "at": kept.finished_at,
        "label": sanitized(kept.label, 120),
        "tenant": sanitized(kept.tenant, 60),
        "kind": kept.kind,
        "reason": sanitized(kept.reason, 80),
        "reward": kept.reward,
        "passed": kept.passed,
        "tests": kept.tests,
        "seconds": kept.finished_at - kept.started_at,
        "attempts": kept.verdict.attempts,
        "tamper": len(kept.verdict.tamper),
    }
