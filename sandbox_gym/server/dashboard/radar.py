"""The radar's report as the dashboard shows it: bounded, and nothing in it that steers a page or a terminal."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

from sandbox_gym.observe.radar import Hour, Report, Rise, Sighting
from sandbox_gym.observe.sanitize import sanitized
from sandbox_gym.server.protocol.wire import Document

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
