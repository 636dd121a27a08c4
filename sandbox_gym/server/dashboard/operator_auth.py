"""Who may see the dashboard: an operator with the token, by header or by a cookie that stands for it.

The cookie holds no token: an expiry, a random part, and a MAC of both under a key made of the token. It is HttpOnly,
SameSite=Strict and sent to /dashboard alone; nothing is stored, and another token makes every cookie void.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from sandbox_gym.server.access.request_guard import cross_site

PREFIX: Final = "/dashboard"
LIFE_S: Final = 12 * 3600
ACTION_HEADER: Final = "X-Sandbox-Gym-Dashboard"
"""Sent by our own page with every change: a page of another site can't send it unasked."""


class OperatorAuth:
    """`token` empty: no login; request_guard.py keeps other sites out. `closed`: why every login is refused, whatever
    they show."""

    def __init__(self, token: str, port: int, *, closed: str = "", clock: Callable[[], float] = time.time) -> None:
        self._token = token.encode("utf-8", "surrogatepass")
        self._key = hmac.digest(self._token, b"sandbox_gym dashboard cookie", "sha256")
        self._cookie = f"sandbox_gym_dashboard_{port}"  # cookies don't tell ports apart
        self._clock = clock
        self.closed = closed

    @property
    def asks(self) -> bool:
        """Whether a token is needed."""
        return bool(self._token)

    def admits(self, request: Request) -> bool:
        """Compared in constant time, whatever was sent."""
        if not self.asks:
            return True
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        bearer = scheme.lower() == "bearer" and self.is_token(given.strip())
        return self._is_pass(request.cookies.get(self._cookie, "")) or bearer

    def may_change(self, request: Request) -> bool:
        """Whether a change is asked for by our own page, or by a program, and not by a page of another site."""
        return ACTION_HEADER in request.headers and not cross_site(request.headers)

    def may_log_in(self, request: Request) -> bool:
        """A form has no header of ours; its origin has to be this server."""
        return not cross_site(request.headers)

    def is_token(self, given: str) -> bool:
        """Digests are compared, so that timing does not reveal even the length."""
        one = hashlib.sha256(given.encode("utf-8", "surrogatepass")).digest()
        return hmac.compare_digest(one, hashlib.sha256(self._token).digest())

    def let_in(self, request: Request, response: Response) -> None:
        """Give the browser its cookie."""
        expires = int(self._clock()) + LIFE_S
        head = f"{expires}.{secrets.token_hex(8)}"
        self._set(request, response, f"{head}.{self._mac(head)}", LIFE_S)

    def let_out(self, request: Request, response: Response) -> None:
        """Take the cookie away."""
        self._set(request, response, "", 0)

    def _set(self, request: Request, response: Response, value: str, age_s: int) -> None:
        secure = request.url.scheme == "https"
        response.set_cookie(
            self._cookie, value, max_age=age_s, path=PREFIX, secure=secure, httponly=True, samesite="strict"
        )

    def _mac(self, head: str) -> str:
        return hmac.new(self._key, head.encode("utf-8", "surrogatepass"), "sha256").hexdigest()

    def _is_pass(self, value: str) -> bool:
        head, _, mac = value.rpartition(".")
        genuine = hmac.compare_digest(mac.encode("utf-8", "surrogatepass"), self._mac(head).encode())
        expires = head.partition(".")[0]
        return genuine and expires.isdigit() and int(expires) > self._clock()
