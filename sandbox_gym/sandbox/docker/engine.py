"""The connection to a Docker Engine: the SDK's blocking calls in worker threads, its errors as ours."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread

from sandbox_gym.errors import ConfigurationError, ProviderDown

BUILD_IMAGES: Final = "build it in a checkout of sandbox_gym: `make images`"
CALL_TIMEOUT_S: Final = 60
CONNECT_S: Final = 10.0
"""For the answer to a question that costs an Engine nothing."""
FRESH_S: Final = 2.0
"""How long an answer stands: an Engine that has given none since is asked such a question first."""
SILENT_S: Final = 5.0
"""How long an Engine that gave none is not asked again."""
R = TypeVar("R")


class EngineSilent(OSError):
    """An Engine takes connections and answers nothing."""


class Engine:
    """Connects when it is first called. One that hangs is asked a small question first, so that not every caller waits
    for it as long as for a large one. Raises ConfigurationError where the SDK is missing."""

    def __init__(self) -> None:
        try:
            import docker
        except ImportError as error:
            raise ConfigurationError("the docker SDK is missing; pip install 'sandbox-gym[docker]'") from error
        self.errors: tuple[type[BaseException], ...] = (docker.errors.DockerException, OSError)
        self.not_found: type[BaseException] = docker.errors.NotFound
        self.image_missing: type[BaseException] = docker.errors.ImageNotFound
        self.api_error: type[Exception] = docker.errors.APIError
        self.sdk: Any = docker
        self._limiter = anyio.CapacityLimiter(8)
        self._abandonable = anyio.CapacityLimiter(8)
        self._client: Any = None
        self._connecting = threading.Lock()
        self._answered_at = self._silent_until = float("-inf")

    def connect(self) -> Any:
        """The SDK's client, of an Engine that has answered lately. Blocking. Raises the SDK's errors, EngineSilent."""
        with self._connecting:
            if time.monotonic() - self._answered_at > FRESH_S:
                if time.monotonic() < self._silent_until:
                    raise self._silent()
                try:
                    self._ask()
                except self.errors as error:
                    if not timed_out(error):
                        raise
                    self._silent_until = time.monotonic() + SILENT_S
                    raise self._silent() from error
                self._answered_at = time.monotonic()
            return self._client

    def _ask(self) -> None:
        """Whether it is there. Blocking. Raises the SDK's errors."""
        if self._client is None:
            self._client = self.patient(CALL_TIMEOUT_S)
        else:
            api = self._client.api
            api.get(f"{api.base_url}/_ping", timeout=CONNECT_S).close()

    def patient(self, timeout_s: float) -> Any:
        """A client of its own, whose calls may take so long, once the Engine has told its version. Blocking; the caller
        closes it. Raises the SDK's errors."""
        # of a client without one the SDK asks for it, and leaves its socket where that fails
        known = self.sdk.constants.DEFAULT_DOCKER_API_VERSION
        with contextlib.closing(self._client_of(known, CONNECT_S)) as client:
            version = client.version(api_version=False).get("ApiVersion")
        return self._client_of(version or known, timeout_s)

    def _client_of(self, version: str, timeout_s: float) -> Any:
        from sandbox_gym.sandbox.docker.unix_sockets import closing_sockets

        client = self.sdk.from_env(timeout=timeout_s, version=version)
        closing_sockets(client.api, timeout_s)
        # of itself the SDK waits without an end for what it attaches to
        client.api.request = partial(client.api.request, timeout=timeout_s)
        return client

    def _silent(self) -> EngineSilent:
        where = os.environ.get("DOCKER_HOST", "")[:200] or "its socket"
        return EngineSilent(f"the Docker Engine at {where} takes connections and answers none within {CONNECT_S:.0f} s")

    def _called(self, function: Callable[[Any], R]) -> R:
        """Blocking. After a call that it did not answer in time, the next one sees first whether it answers at all."""
        client = self.connect()
        try:
            given = function(client)
        except self.errors as error:
            if timed_out(error):
                self._answered_at = float("-inf")
            raise
        self._answered_at = time.monotonic()
        return given

    async def raw_call(self, function: Callable[[Any], R]) -> R:
        """`function(client)` in a worker thread. Raises the SDK's errors, EngineSilent."""
        return await anyio.to_thread.run_sync(
            lambda: self._called(function), limiter=self._limiter, abandon_on_cancel=False
        )

    async def call(self, function: Callable[[Any], R]) -> R:
        """As `raw_call`; raises ProviderDown for whatever the Engine refuses."""
        try:
            return await self.raw_call(function)
        except self.errors as error:
            raise _down(error) from error

    async def ask(self, function: Callable[[Any], R]) -> R:
        """As `call`, on threads of its own that a caller may leave behind."""
        try:
            return await anyio.to_thread.run_sync(
                lambda: self._called(function), limiter=self._abandonable, abandon_on_cancel=True
            )
        except self.errors as error:
            raise _down(error) from error

    async def aclose(self) -> None:
        """Idempotent; the next call connects anew."""
        client, self._client, self._answered_at = self._client, None, float("-inf")
        if client is not None:
            await anyio.to_thread.run_sync(client.close, limiter=self._limiter)


def _down(error: BaseException) -> ProviderDown:
    return ProviderDown(
        str(error) if isinstance(error, EngineSilent) else f"the Docker Engine refused: {str(error)[:500]}"
    )


def timed_out(error: BaseException | None) -> bool:
    """Whether the SDK waited in vain, in whatever it has wrapped that."""
    import requests

    while error is not None:
        # a Unix socket's full queue of connections is the last of these
        if isinstance(error, requests.exceptions.Timeout | EngineSilent | TimeoutError | BlockingIOError):
            return True
        error = error.__cause__ or error.__context__
    return False


def remedy(error: BaseException) -> str:
    """What to do about an Engine that can't be asked."""
    if timed_out(error):
        return "it hangs: look at its log (journalctl -u docker) and restart it, or set DOCKER_HOST to another"
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, PermissionError):
            return "run as root or as a user of the group docker, or set DOCKER_HOST"
        if getattr(seen, "status_code", None):
            return "look at its log (journalctl -u docker)"
        seen = seen.__cause__ or seen.__context__
    return "apt-get install docker.io, start dockerd, or set DOCKER_HOST"
