"""One verify: the same body under the same key, to one server after the other, until a verdict or the deadline."""

from __future__ import annotations

import json
import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import anyio
import httpx2 as httpx

from sandbox_gym.client.errors import NoVerdict, RequestRefused
from sandbox_gym.client.servers import Server, Servers
from sandbox_gym.client.verdict import Document, Verdict, verdict_of

FIRST_WAIT_S: Final = 0.5
LONGEST_WAIT_S: Final = 20.0
"""Of the random part of a wait, whose bound doubles."""
LOOK_S: Final = 1.0
"""A verify that waits for one server looks so often whether another one is there."""
_TIMEOUT: Final = httpx.Timeout(None, connect=5.0)
"""The deadline is above it, and the watch of a server that is lost."""
_TRY_AGAIN: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_ITS_STATE: Final = frozenset({"pool_full", "provider_down", "journal_down", "sandbox_unavailable"})
"""Failures of a server that any other request meets there, too."""


@dataclass(frozen=True, slots=True)
class _Again:
    """No verdict yet. `wait_s`: what the server asks for; `every`: of every request."""

    kind: str
    reason: str
    wait_s: float = 0.0
    every: bool = False


@dataclass(frozen=True, slots=True)
class Attempts:
    """What every verify of a client shares."""

    http: httpx.AsyncClient
    servers: Servers

    async def verify(self, row: Document, key: str, deadline_s: float) -> Verdict:
        """Raises RequestRefused, NoVerdict."""
        body, not_before = json.dumps(row).encode(), dict[Server, float]()
        last, requests = _Again("deadline_exceeded", "no server could be asked in time"), 0
        ends_at = anyio.current_time() + deadline_s
        with anyio.move_on_after(deadline_s):
            while (found := self.servers.next(not_before))[1] < ends_at:
                server, ready_at = found
                left_s = ends_at - anyio.current_time()
                if ready_at > anyio.current_time():
                    await anyio.sleep(min(LOOK_S, ready_at - anyio.current_time()))
                    continue
                requests += 1
                given = await self._ask(server, body, key, left_s, requests)
                if isinstance(given, Verdict):
                    return given
                last, wait_s = given, given.wait_s
                if given.every:
                    server.pause(wait_s)
                wait_s += random.uniform(0, min(LONGEST_WAIT_S, FIRST_WAIT_S * 2 ** min(requests, 10)))
                not_before[server] = anyio.current_time() + wait_s
        raise NoVerdict(last.kind, last.reason, requests)

    async def _ask(self, server: Server, body: bytes, key: str, left_s: float, requests: int) -> Verdict | _Again:
        headers = {"Idempotency-Key": key, "X-Sandbox-Gym-Deadline-S": f"{min(max(0.001, left_s), 1e6):.3f}"}
        why = "gave no sign of life"
        with server.asked():
            try:
                reply = await self.http.post(f"{server.url}/verify", content=body, headers=headers, timeout=_TIMEOUT)
            except httpx.RequestError as error:  # whether it has run is not known: hence the key
                why = str(error) or type(error).__name__
            else:
                return _outcome(reply, server, requests)
        server.lost()
        return _Again("no_answer", f"{server.url}: {why}")


def _outcome(reply: httpx.Response, server: Server, requests: int) -> Verdict | _Again:
    status, document = reply.status_code, document_of(reply)
    kind = str(document.get("failure_kind") or "").rpartition(":")[2]
    reason = str(document.get("failure_reason") or document.get("detail") or f"{server.url} answers {status}")
    if status in _TRY_AGAIN:
        return _Again(kind or "bad_reply", reason, retry_after_s(reply), status == 429 or kind in _ITS_STATE)
    if kind or document.get("mask_sample") is True:  # the row is broken, or names what is not to be had
        raise NoVerdict(kind or "masked", reason, requests)
    if status != 200:
        raise refusal(reply)
    told = reply.headers
    try:
        return verdict_of(
            document,
            id=told.get("X-Sandbox-Gym-Verdict-Id", ""),
            replayed="X-Sandbox-Gym-Replayed" in told,
            server=server.url,
            requests=requests,
        )
    except (KeyError, TypeError, ValueError):
        return _Again("bad_reply", f"{server.url} answers 200 without a verdict")


def document_of(reply: httpx.Response) -> Document:
    """The JSON object of a reply; empty for anything else."""
    try:
        document: object = reply.json()
    except ValueError:
        document = None
    return document if isinstance(document, dict) else {}


def retry_after_s(reply: httpx.Response) -> float:
    """What the server asks for; a second where that can't be read."""
    try:
        return max(0.0, float(reply.headers.get("Retry-After", 1)))
    except ValueError:  # a date, of a proxy
        return 1.0


def refusal(reply: httpx.Response) -> RequestRefused:
    """A 4xx as an error."""
    document = document_of(reply)
    error = document.get("error")
    named: Mapping[str, object] = error if isinstance(error, dict) else {}
    field, problem, remedy = (str(named.get(name, "")) for name in ("field", "problem", "remedy"))
    detail = str(document.get("detail") or f"{reply.url} answers {reply.status_code}")
    return RequestRefused(reply.status_code, detail, field, problem, remedy)
