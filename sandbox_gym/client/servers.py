"""Several servers as one: which is asked next, which is lost, and since when. Knows no request."""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import anyio

LOOK_S: Final = 0.1
LONGEST_S: Final = 5.0
"""Of the pauses between looks at a lost server, which double; and between those at one whose answers are awaited."""
SILENT_LOOKS: Final = 2
"""So many without an answer end what waits for a server."""


@dataclass(eq=False)
class Server:
    """One server as this client knows it."""

    url: str
    not_before: float = 0.0
    """It has no room before, for any request."""
    watched: bool = False
    losses: int = 0
    """Of it, in a row; while it is watched, it is not asked again until it answers a look."""
    looked_at: float = 0.0
    open: set[anyio.CancelScope] = field(default_factory=set)
    """Of the requests that wait for it."""

    @property
    def ready_at(self) -> float:
        return anyio.current_time() + LOOK_S if self.losses else self.not_before

    @contextmanager
    def asked(self) -> Iterator[None]:
        """While a request waits for it; the request is cancelled when the server is given up."""
        with anyio.CancelScope() as scope:
            self.open.add(scope)
            try:
                yield
            finally:
                self.open.discard(scope)

    def lost(self) -> None:
        """It gave no answer."""
        if self.watched:
            self.losses = max(1, self.losses)
        else:
            self.pause(1.0)

    def pause(self, seconds: float) -> None:
        """It said that it has no room."""
        self.not_before = max(self.not_before, anyio.current_time() + seconds)

    async def watch(self, answers: Callable[[str], Awaitable[bool]]) -> None:
        """Look whether it is there, where it is lost or answers are awaited; for ever. `answers`: given its URL."""
        self.watched = True
        while True:
            await anyio.sleep(LOOK_S * random.uniform(0.5, 1))
            pause = min(LONGEST_S, LOOK_S * 2**self.losses) if self.losses else LONGEST_S
            if anyio.current_time() < self.looked_at + pause or not (self.losses or self.open):
                continue
            self.losses = 0 if await answers(self.url) else min(self.losses + 1, 10)
            self.looked_at = anyio.current_time()
            if self.losses >= SILENT_LOOKS:
                for scope in list(self.open):
                    scope.cancel()


class Servers:
    """At least one."""

    def __init__(self, urls: Sequence[str]) -> None:
        self.all = [Server(url.rstrip("/")) for url in urls]
        self._turn = 0

    def next(self, not_before: Mapping[Server, float]) -> tuple[Server, float]:
        """The server to ask, and when: the first that may be; of those, with the fewest open requests; of those, in
        turn. `not_before`: what holds for this request alone."""
        now = anyio.current_time()
        self._turn += 1
        start = self._turn % len(self.all)

        def rank(server: Server) -> tuple[float, int]:
            return max(now, server.ready_at, not_before.get(server, 0.0)), len(server.open)

        best = min([*self.all[start:], *self.all[:start]], key=rank)
        return best, rank(best)[0]
