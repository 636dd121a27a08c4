"""Seeds: the public tests of rows being worked on, bounded in number and bytes, oldest out first.

Knows nothing of HTTP. Ids come from cookies that anyone can forge, so nothing secret is kept here.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from dataclasses import dataclass

from sandbox_gym.errors import RequestError, SessionClosed
from sandbox_gym.server.protocol.wire import Document

MAX_SESSIONS = 10_000
MAX_SESSION_BYTES = 16 * 1024 * 1024
MAX_TOTAL_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class _Seed:
    public_tests: Document | None
    size_bytes: int


class Seeds:
    """What sessions were seeded with, by cookie, and by the id that later NeMo Gym clients choose."""

    def __init__(self) -> None:
        self._by_cookie: OrderedDict[str, _Seed] = OrderedDict()
        self._cookies: OrderedDict[str, str] = OrderedDict()
        self._closed: OrderedDict[str, None] = OrderedDict()
        self._total_bytes = 0

    def __len__(self) -> int:
        return len(self._by_cookie)

    def seed(self, cookie_id: str, public_tests: Document | None, *, session_id: str | None = None) -> None:
        """Start or restart a session. Raises SessionClosed, and RequestError for tests that are too big."""
        if session_id is not None:
            if session_id in self._closed:
                raise SessionClosed(f"resources session {session_id[:80]!r} is closed")
            self._cookies[session_id] = cookie_id
            _trim(self._cookies)
        self._drop(cookie_id)
        if public_tests is None:
            return
        size_bytes = len(json.dumps(public_tests))
        if size_bytes > MAX_SESSION_BYTES:
            remedy = f"keep public tests under {MAX_SESSION_BYTES} bytes"
            raise RequestError("public_tests", f"is {size_bytes} bytes of JSON", remedy)
        self._by_cookie[cookie_id] = _Seed(public_tests, size_bytes)
        self._total_bytes += size_bytes
        while len(self._by_cookie) > MAX_SESSIONS or self._total_bytes > MAX_TOTAL_BYTES:
            self._drop(next(iter(self._by_cookie)))

    def public_tests(self, cookie_id: str) -> Document | None:
        session = self._by_cookie.get(cookie_id)
        return None if session is None else session.public_tests

    def close(self, session_id: str) -> str | None:
        """Forget a session for good; its cookie, where it was seeded. Closing twice, or what never was, is fine."""
        self._closed[session_id] = None
        _trim(self._closed)
        cookie_id = self._cookies.pop(session_id, None)
        if cookie_id is not None:
            self._drop(cookie_id)
        return cookie_id

    def _drop(self, cookie_id: str) -> None:
        session = self._by_cookie.pop(cookie_id, None)
        if session is not None:
            self._total_bytes -= session.size_bytes


def _trim(entries: OrderedDict[str, str] | OrderedDict[str, None]) -> None:
    while len(entries) > 10 * MAX_SESSIONS:
        entries.popitem(last=False)
