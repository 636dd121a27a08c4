"""`AsyncClient`: verifies, many of them, and sessions, on one server or several. Owns their connections and watch."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Final, Literal, Self, overload

import anyio
import httpx2 as httpx
from anyio.abc import TaskGroup

from sandbox_gym.client.attempts import Attempts, document_of
from sandbox_gym.client.errors import NoVerdict
from sandbox_gym.client.many import Item, Many, OnNoVerdict, Progress, Verified
from sandbox_gym.client.servers import Servers
from sandbox_gym.client.session import DEFAULT_URL, Session, SessionTarget, headers_of
from sandbox_gym.client.verdict import Document, Verdict

DEADLINE_S: Final = 600.0
AT_ONCE: Final = 64
LOOK_TIMEOUT_S: Final = 5.0


class AsyncClient:
    """Use as `async with`. Several servers: each verify goes to the one with the fewest open requests of this client,
    and where one is lost to another."""

    def __init__(
        self,
        servers: str | Sequence[str] = (),
        *,
        token: str | None = None,
        tenant: str = "",
        deadline_s: float = DEADLINE_S,
    ) -> None:
        """`servers`: URLs; without any those in SANDBOX_GYM_URL, between spaces. `token`: else SANDBOX_GYM_TOKEN.
        `tenant`: whose share of the sandboxes it uses, where the token does not say. `deadline_s`: of a verify, all of
        its tries and waits."""
        urls = servers or os.environ.get("SANDBOX_GYM_URL") or DEFAULT_URL
        self._urls = urls.split() if isinstance(urls, str) else list(urls)
        if wrong := [url for url in self._urls if not url.startswith(("http://", "https://"))]:
            raise ValueError(f"{wrong[0]!r} is no URL: give http://host:port")
        self._token = os.environ.get("SANDBOX_GYM_TOKEN", "") if token is None else token
        self._tenant, self._deadline_s = tenant, deadline_s
        self._running: tuple[Attempts, TaskGroup, AsyncExitStack] | None = None

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            http = await stack.enter_async_context(_http(self._token, self._tenant))
            servers = Servers(self._urls)
            group = await stack.enter_async_context(anyio.create_task_group())

            async def answers(url: str) -> bool:
                try:
                    return (await http.get(f"{url}/", timeout=LOOK_TIMEOUT_S)).status_code < 500
                except Exception:  # it must look again, whatever it was
                    return False

            for server in servers.all:
                group.start_soon(server.watch, answers)
            self._running = Attempts(http, servers), group, stack.pop_all()
        return self

    async def __aexit__(self, *_: object) -> None:
        group, stack = self._now()[1:]
        self._running = None
        group.cancel_scope.cancel()
        await stack.aclose()  # without the body's error, which the group would wrap

    @overload
    async def verify(
        self, row: Document, answer: str | None = None, *, key: str | None = None, deadline_s: float | None = None,
        on_no_verdict: Literal["raise"] = "raise",
    ) -> Verdict: ...  # fmt: skip

    @overload
    async def verify(
        self, row: Document, answer: str | None = None, *, key: str | None = None, deadline_s: float | None = None,
        on_no_verdict: OnNoVerdict,
    ) -> Verdict | None: ...  # fmt: skip

    async def verify(
        self,
        row: Document,
        answer: str | None = None,
        *,
        key: str | None = None,
        deadline_s: float | None = None,
        on_no_verdict: OnNoVerdict = "raise",
    ) -> Verdict | None:
        """What an answer to a row is worth; without `answer` the row's own `response`, `answer` or `model_patch`.

        `key`: of all tries, and of later calls that are to get the same verdict; one of its own unless given. Raises
        RequestRefused, and NoVerdict unless None is to stand for that.
        """
        attempts, _, _ = self._now()
        body = row if answer is None else with_answer(row, answer)
        limit_s = self._deadline_s if deadline_s is None else deadline_s
        try:
            return await attempts.verify(body, key or uuid.uuid4().hex, limit_s)
        except NoVerdict:
            if on_no_verdict == "raise":
                raise
            return None

    def verify_many(
        self,
        rows: Iterable[Item] | AsyncIterable[Item],
        *,
        at_once: int = AT_ONCE,
        ordered: bool = True,
        key_prefix: str | None = None,
        deadline_s: float | None = None,
        on_no_verdict: OnNoVerdict = "none",
        progress: Callable[[Progress], None] | None = None,
    ) -> AsyncGenerator[Verified]:
        """Each row's verdict, in the rows' order or as they come. Rows are read as there is room for them.

        `key_prefix`: keys are `prefix/index`, so that the same call made again, after a crash of this program too, gets
        the verdicts that were given. `deadline_s`: of each. `raise` ends all at the first row without a verdict.
        """

        async def verify(index: int, item: Item) -> Verdict:
            row, answer = item if isinstance(item, tuple) else (item, None)
            key = None if key_prefix is None else f"{key_prefix}/{index}"
            return await self.verify(row, answer, key=key, deadline_s=deadline_s)

        return Many(verify, at_once, ordered, on_no_verdict, progress).results(rows, self._now()[1])

    def session(self, row: Document | None = None) -> Session:
        """A sandbox that keeps its state between calls, on one of the servers: `async with client.session() as box`.
        `row`: of the data set, for servers that need one."""
        server, _ = self._now()[0].servers.next({})
        return Session(SessionTarget(server.url, self._token, row, self._tenant))

    async def health(self) -> Mapping[str, Document]:
        """Each server's /health by its URL; empty for one that gives none."""
        attempts, _, _ = self._now()
        found: dict[str, Document] = {}

        async def look(url: str) -> None:
            try:
                found[url] = document_of(await attempts.http.get(f"{url}/health", timeout=DEADLINE_S))
            except httpx.RequestError:
                found[url] = {}

        async with anyio.create_task_group() as group:
            for server in attempts.servers.all:
                group.start_soon(look, server.url)
        return found

    def _now(self) -> tuple[Attempts, TaskGroup, AsyncExitStack]:
        if self._running is None:
            raise RuntimeError("the client is not open: use it as `async with`")
        return self._running


def with_answer(row: Document, answer: str) -> Document:
    """The row with this answer in it, and no other."""
    others = ("response", "model_patch")
    return {**{name: value for name, value in row.items() if name not in others}, "answer": answer}


def _http(token: str, tenant: str) -> httpx.AsyncClient:
    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))  # one would make all verifies of one session
    return httpx.AsyncClient(
        headers=headers_of(token, tenant),
        cookies=no_cookies,
        limits=httpx.Limits(keepalive_expiry=20),  # the server's is 30
    )
