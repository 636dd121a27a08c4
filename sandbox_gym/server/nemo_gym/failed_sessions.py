"""Sessions that could not begin for a reason of ours: what was asked of the model in them was never possible.

Owns whether a session's verify has a verdict. A failed seed is noted in the session's cookie too, so that a restart or
another worker knows of it; a session none of whose calls came to a sandbox is known while the process lives.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final, TypeVar

import structlog
from fastapi import Request

from sandbox_gym.errors import PoolFull, ProviderDown, SessionFailed, SnapshotGone, Unavailable
from sandbox_gym.observe.metrics import Metrics

MARK: Final = "failed_seed"
"""In the cookie: the kind of failure, its reason, whether a retry may help."""
SEEDED: Final = "seeded"
"""In the cookie of a session that was seeded with a row and has no verdict yet: it outlives the session itself."""
MAX_REASON: Final = 400
MAX_SESSIONS: Final = 10_000
_AT_THE_START: Final = (ProviderDown, PoolFull, SnapshotGone)
"""Failures before anything ran in a session: no program of its own can bring them about."""
T = TypeVar("T")
_log = structlog.get_logger("sandbox_gym.server")


class FailedSessions:
    """By session id, bounded; the oldest are forgotten first."""

    def __init__(self) -> None:
        self._seeds: OrderedDict[str, SessionFailed] = OrderedDict()
        self._starts: OrderedDict[str, SessionFailed | None] = OrderedDict()
        """None: a call was answered, so the session did begin."""

    def seed_failed(self, request: Request, session_id: str, error: Unavailable, metrics: Metrics) -> None:
        """Note and log why a session can't begin."""
        failed = _failed(f"the session could not be seeded: {error}", error)
        metrics.session_failures.labels(error.failure_kind).inc()
        _log.warning("seed_failed", kind=error.failure_kind, why=str(error)[:1000])
        _put(self._seeds, session_id, failed)
        request.session[MARK] = [failed.failure_kind, str(failed)[:MAX_REASON], failed.worth_a_retry]

    def forget(self, request: Request, session_id: str) -> None:
        """A seed begins anew, a verify ends a rollout."""
        self._seeds.pop(session_id, None)
        self._starts.pop(session_id, None)
        request.session.pop(MARK, None)
        request.session.pop(SEEDED, None)

    def seeded(self, request: Request) -> None:
        """A seed with a row succeeded."""
        request.session[SEEDED] = True

    def seed_failure(self, request: Request, session_id: str) -> SessionFailed | None:
        """Why a session's seed failed; None where it did not."""
        return self._seeds.get(session_id) or _marked(request)

    def call_failed(self, session_id: str, error: Exception) -> None:
        """A tool's call raised."""
        if isinstance(error, _AT_THE_START) and self._starts.get(session_id, error) is not None:
            _log.warning("session_not_started", kind=error.failure_kind, why=str(error)[:1000])
            _put(self._starts, session_id, _failed(f"no call of the session came to a sandbox: {error}", error))

    def call_answered(self, session_id: str) -> None:
        """A tool's call was answered."""
        _put(self._starts, session_id, None)

    def failure(self, request: Request, session_id: str) -> SessionFailed | None:
        """Why nothing that the session shows can be judged; None where it can."""
        return self.seed_failure(request, session_id) or self._starts.get(session_id)


def _failed(why: str, error: Unavailable) -> SessionFailed:
    return SessionFailed(why, failure_kind=error.failure_kind, worth_a_retry=error.worth_a_retry)


def _marked(request: Request) -> SessionFailed | None:
    """What the cookie says, which another version may have written."""
    mark = request.scope.get("session", {}).get(MARK)
    if not (isinstance(mark, list) and len(mark) == 3 and isinstance(mark[0], str) and isinstance(mark[1], str)):
        return None
    kind = mark[0] if mark[0].isidentifier() and len(mark[0]) <= 60 else SessionFailed.failure_kind
    return SessionFailed(mark[1][:MAX_REASON], failure_kind=kind, worth_a_retry=mark[2] is not False)


def _put(entries: OrderedDict[str, T], session_id: str, value: T) -> None:
    entries[session_id] = value
    entries.move_to_end(session_id)
    while len(entries) > MAX_SESSIONS:
        entries.popitem(last=False)
