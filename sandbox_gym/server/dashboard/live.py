"""The live picture of a server as one bounded document: what the page's stream, `sandbox-gym top` and tests read."""

from __future__ import annotations

import heapq
import time
from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Final

from sandbox_gym import __version__
from sandbox_gym.engine import Engine, HeldSessions
from sandbox_gym.journal import Kind
from sandbox_gym.observe.feed import Feed
from sandbox_gym.observe.radar import Hour, Report, Rise, Sighting
from sandbox_gym.observe.sanitize import sanitized
from sandbox_gym.sandbox.session.held import SessionGlance
from sandbox_gym.sandbox.session.manager import Sessions
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


MAX_RISES: Final = 12
_NAME: Final = 80


def radar_document(report: Report) -> Document:
    """What rose, with words for it and the answers behind it, and each hour's counts."""
    return {
        "at": report.at,
        "rises": [{**_rise(rise), "text": rise_text(rise)} for rise in report.rises[:MAX_RISES]],
        "hours": [_hour(hour) for hour in report.hours],
    }


def rise_text(rise: Rise) -> str:
    """One sentence: which kind rose, by how much, whose, since when, at which tasks, and the first answers."""
    whose = f" of tenant {sanitized(rise.tenant, _NAME)}" if rise.tenant else ""
    since = datetime.fromtimestamp(rise.since, UTC).strftime("%H:%M UTC")
    shares = f"from {_percent(rise.before)} to {_percent(rise.share)}"
    tasks = ", ".join(f"{sanitized(task.task, _NAME)} ({task.count} of {task.of})" for task in rise.tasks)
    first = ", ".join(sighting.request_id for sighting in rise.first)
    said = f"{rise.kind} rose {shares} of the verifies{whose} since {since}"
    return f"{said}; tasks: {tasks}; first answers: {first}"


def _percent(share: float) -> str:
    return f"{100 * share:.2g} %" if share < 0.1 else f"{100 * share:.0f} %"


def _rise(rise: Rise) -> Document:
    return {
        "kind": rise.kind,
        "tenant": sanitized(rise.tenant, _NAME),
        "since": rise.since,
        "before": rise.before,
        "share": rise.share,
        "count": rise.count,
        "of": rise.of,
        "tasks": [{"task": sanitized(task.task, _NAME), "count": task.count, "of": task.of} for task in rise.tasks],
        "first": [_sighting(one) for one in rise.first],
    }


def _sighting(one: Sighting) -> Document:
    return {"id": one.request_id, "at": one.at, "task": sanitized(one.task, _NAME), "evidence": sanitized(one.evidence)}


def _hour(hour: Hour) -> Document:
    return {
        "at": hour.at,
        "verifies": hour.verifies,
        "kinds": dict(hour.kinds),
        "tenants": [{"tenant": sanitized(tenant, _NAME), **counts} for tenant, counts in hour.tenants.items()],
        "tasks": [
            {"tenant": sanitized(one, _NAME), "task": sanitized(task, _NAME), "verifies": count, "kinds": dict(kinds)}
            for one, task, count, kinds in hour.tasks
        ],
    }
