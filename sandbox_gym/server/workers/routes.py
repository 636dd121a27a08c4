"""Routes a request to one of several workers: by its session, its key or its task; some requests go to all workers.

A digest maps sessions and keys to workers, so every worker decides alike without shared state. A request without a
session or key is answered by the worker that received it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import uuid
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Final

import anyio
from itsdangerous import BadSignature, TimestampSigner
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox_gym.errors import Unavailable
from sandbox_gym.judging import asked, asked_bytes
from sandbox_gym.server.access.accounts import Accounts
from sandbox_gym.server.access.auth import BearerAuth
from sandbox_gym.server.access.session_secret import TOKEN_HEADER, SessionTokens
from sandbox_gym.server.app import COOKIE_LIFETIME_S
from sandbox_gym.server.nemo_gym.batch import ENTRY, LINE
from sandbox_gym.server.nemo_gym.host import SESSION_ID_KEY
from sandbox_gym.server.protocol.exchange import MAX_BODY_BYTES, error_reply
from sandbox_gym.server.protocol.resources import HasAffinity, ResourcesServer
from sandbox_gym.server.protocol.single_flight import KEY_HEADER
from sandbox_gym.server.protocol.wire import Document
from sandbox_gym.server.swe_rex.routes import sandbox_of
from sandbox_gym.server.workers.sockets import BROKEN, Peers, WorkerLost
from sandbox_gym.server.workers.sums import Told, health_of, metrics_of

WORKER_HEADER: Final = "X-Sandbox-Gym-Worker"
"""Header of responses: the worker that received the request and the one that answered it, as in `0 2`."""
LOOK_S: Final = 20.0
"""Seconds that /health and /metrics wait for a worker."""
_ANYWHERE: Final = frozenset(
    {"/", "/reverify_mode", "/aggregate_metrics", "/dataset_size", "/openapi.json", "/docs", "/verify/batch"}
)
_BY_TASK: Final = frozenset({"/seed_session", "/verify"})


def worker_of(name: str, count: int) -> int:
    """The number of the worker that a session or a key belongs to."""
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8]) % count


def fresh_session_id(own: int, count: int) -> str:
    """A new session's id that belongs to this worker."""
    while worker_of(session_id := str(uuid.uuid4()), count) != own:
        pass
    return session_id


class WorkerRoutes:
    """Middleware of one worker's application. Routes by headers; by the body only where a task has an affinity."""

    def __init__(
        self, app: ASGIApp, resources: ResourcesServer, cookie: str, secret: str, own: int, peers: Peers
    ) -> None:
        self._app, self._resources, self._own, self._peers = app, resources, own, peers
        self._cookie, self._signer = cookie, TimestampSigner(secret)
        self._tokens = SessionTokens(secret)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        scope[ENTRY] = (self, self._peers.count)
        try:
            if scope["path"] in ("/health", "/metrics"):
                return await (await self._all_told(scope))(scope, receive, send)
            if scope["path"] == "/close_session":
                return await self._close_everywhere(scope, receive, send)
            await self._route(scope, receive, send)
        except Unavailable as error:
            await error_reply(error)(scope, receive, send)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        number = self._by_headers(scope)
        if number is None and scope["path"] in _BY_TASK and isinstance(self._resources, HasAffinity):
            messages = await _read(receive)
            receive = _again(messages, receive)
            number = self._by_task(await _document(messages), self._resources)
        if number is None and scope["path"] == "/verify":
            key = HTTPConnection(scope).headers.get(KEY_HEADER)
            number = scope.get(LINE) if key is None else worker_of(key, self._peers.count)
            number = None if number is None else number % self._peers.count  # a batch is spread over all
        if number is None or number == self._own:
            return await self._app(scope, receive, self._signed(send, self._own))
        await self._peers.forward(number, scope, receive, self._signed(send, number))

    def _signed(self, send: Send, number: int) -> Send:
        async def signed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message)[WORKER_HEADER] = f"{self._own} {number}"
            await send(message)

        return signed

    def _by_headers(self, scope: Scope) -> int | None:
        """The session's worker; None without a session, or where only this application can tell."""
        if scope["path"] in _ANYWHERE:
            return self._own
        asked = HTTPConnection(scope)
        session_id = sandbox_of(scope["path"])
        if scope["path"] == "/mcp":
            session_id = self._of_token(asked.headers.get(TOKEN_HEADER))
        session_id = session_id or self._of_cookie(asked.cookies.get(self._cookie))
        return None if session_id is None else worker_of(session_id, self._peers.count)

    def _of_cookie(self, cookie: str | None) -> str | None:
        """The cookie as Starlette's SessionMiddleware reads it; None for one that it would drop."""
        if cookie is None:
            return None
        try:
            data = self._signer.unsign(cookie, max_age=COOKIE_LIFETIME_S)
            session = json.loads(base64.b64decode(data))
        except (BadSignature, binascii.Error, ValueError):
            return None
        found = session.get(SESSION_ID_KEY) if isinstance(session, dict) else None
        return str(found) if found else None

    def _of_token(self, token: str | None) -> str | None:
        found = None if token is None else self._tokens.session_of(token)
        return None if found is None else found[0]

    def _by_task(self, body: Document | None, resources: HasAffinity) -> int | None:
        affinity = None if body is None else resources.affinity_of(body)
        return None if affinity is None else worker_of(affinity, self._peers.count)

    async def _close_everywhere(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The id in the body does not tell the cookie's worker, so every worker gets the request and remembers the
        close."""
        messages = await _read(receive)
        answers = await self._each(scope, messages, ANSWERED_S)
        worst = max(answers, key=lambda answer: answer.status)
        await Response(worst.body, worst.status, dict(worst.headers))(scope, receive, send)

    async def _all_told(self, scope: Scope) -> Response:
        answers = await self._each(scope, [_END], LOOK_S)
        return health_of(answers) if scope["path"] == "/health" else metrics_of(answers)

    async def _each(self, scope: Scope, messages: list[Message], within_s: float) -> list[Told]:
        """Every worker's response, in order; 503 for one that sent none."""
        answers = [Told(number, 503) for number in range(self._peers.count)]

        async def ask(number: int) -> None:
            with anyio.move_on_after(within_s):
                try:
                    answers[number] = await self._asked(number, scope, messages)
                except Unavailable as error:
                    answers[number] = Told.unavailable(number, error)
                except BROKEN as error:  # it died while it answered
                    answers[number] = Told.unavailable(number, WorkerLost(f"worker {number}: {type(error).__name__}"))

        async with anyio.create_task_group() as group:
            for number in range(self._peers.count):
                group.start_soon(ask, number)
        return answers

    async def _asked(self, number: int, scope: Scope, messages: list[Message]) -> Told:
        sent: list[Message] = []

        async def send(message: Message) -> None:
            sent.append(message)

        await self._peers.forward(number, scope, _again(messages, anyio.sleep_forever), send)
        body = b"".join(message["body"] for message in sent[1:])
        return Told(number, sent[0]["status"], _kept(sent[0]["headers"]), body)


ANSWERED_S: Final = 120.0
"""Seconds that a close waits for each worker to end a sandbox."""
_END: Final[Message] = {"type": "http.request", "body": b"", "more_body": False}


def _kept(headers: list[tuple[bytes, bytes]]) -> Mapping[str, str]:
    named = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in headers}
    return {name: named[name] for name in ("content-type", "retry-after", "www-authenticate") if name in named}


async def _read(receive: Receive) -> list[Message]:
    """The body's messages; over the limit only its beginning, which the application refuses."""
    messages, size = [], 0
    while size <= MAX_BODY_BYTES:
        message = await receive()
        messages.append(message)
        size += len(message.get("body", b""))
        if message["type"] != "http.request" or not message.get("more_body", False):
            break
    return messages


def _again(messages: list[Message], then: Callable[[], Awaitable[Message | None]]) -> Receive:
    """Replays a body that was read already, then continues with the client's messages."""
    left = iter(messages)

    async def receive() -> Message:
        return next(left, None) or await then() or {"type": "http.disconnect"}

    return receive


async def _document(messages: list[Message]) -> Document | None:
    """The body; None where it is not an object, which the application refuses."""
    raw = b"".join(message.get("body", b"") for message in messages)
    asked_bytes.set(len(raw))
    try:
        body = await asked(partial(json.loads, raw))
    except (ValueError, RecursionError):
        return None
    return body if isinstance(body, dict) else None


def keyed(routes: ASGIApp, accounts: Accounts) -> ASGIApp:
    """The routes, of which those that read bodies themselves ask for a key before; the application asks for all."""
    checked = BearerAuth(routes, accounts)

    async def entrance(scope: Scope, receive: Receive, send: Send) -> None:
        reads = scope["type"] == "http" and scope["path"] in {*_BY_TASK, "/close_session"}
        await (checked if reads else routes)(scope, receive, send)

    return entrance
