"""A tool call's way into its session's sandbox, and what a request's texts must be to go there."""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from typing import Final

from sandbox_gym.engine import Engine, HeldSessions
from sandbox_gym.errors import BoxLost, RequestError
from sandbox_gym.sandbox.session.client import SessionClient
from sandbox_gym.sandbox.session.manager import GRACE_S
from sandbox_gym.server.protocol.resources import ToolCall

MAX_PATH: Final = 4096
WAIT_S: Final = 600.0
"""How long a call waits for its session and a sandbox, beyond its own time."""


class ToolClient(SessionClient):
    """Of one tool call. `restored`: the sandbox was lost before it, so that files are as of its last snapshot; `stale`:
    that snapshot is older than the call before.

    A sandbox that is lost during a call is BoxLost: whether the call had an effect is not known, so it is not repeated.
    """

    def __init__(self, engine: Engine, call: ToolCall) -> None:
        self._sessions, self._session_id = held_sessions(engine), call.session_id
        self.restored = self.stale = False
        super().__init__(self)

    async def call(
        self, request: Mapping[str, object], body: bytes = b"", *, within_s: float
    ) -> tuple[Mapping[str, object], bytes]:
        answer = await self._sessions.call(
            self._session_id, request, body, timeout_s=within_s - GRACE_S, deadline_s=within_s + WAIT_S
        )
        self.restored, self.stale = self.restored or answer.restored, self.stale or answer.stale
        if answer.lost:
            raise BoxLost(
                "the sandbox was lost during this call; it may not have run, files are as of the last snapshot"
            )
        return answer.reply, answer.body


def held_sessions(engine: Engine) -> HeldSessions:
    """The engine's sessions. Raises RequestError where it holds none."""
    if engine.sessions is None:
        remedy = "serve with provider local or docker"
        raise RequestError("session", f"is needed, and provider {engine.provider_name} holds none", remedy)
    return engine.sessions


def check_root(engine: Engine) -> None:
    """Raises RequestError where no session may have root."""
    if not held_sessions(engine).may_root:
        remedy = "leave it out, or serve with provider docker and SANDBOX_GYM_SESSION_ROOT=true"
        raise RequestError("root", "is not to be had in sessions of this server", remedy)


def absolute_path(folder: str, path: str, field: str = "path") -> str:
    """An absolute path inside the sandbox. Raises RequestError for what is none."""
    if not path or "\0" in path or len(path) > MAX_PATH:
        problem = "is empty" if not path else "holds NUL" if "\0" in path else f"has {len(path)} characters"
        raise RequestError(field, problem, f"give a path relative to {folder} or an absolute one")
    encoded(path, field)
    return posixpath.normpath(posixpath.join(folder, path))


def encoded(text: str, field: str) -> bytes:
    """UTF-8. Raises RequestError for lone surrogates."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise RequestError(field, f"holds a lone surrogate at {error.start}", "send characters") from None
