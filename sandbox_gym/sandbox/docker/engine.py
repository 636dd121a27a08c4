"""The connection to a Docker Engine: the SDK's blocking calls in worker threads, its errors as ours."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread

from sandbox_gym.errors import ConfigurationError, ProviderDown

BUILD_IMAGES: Final = "build it in a checkout of sandbox_gym: `make images`"
CALL_TIMEOUT_S: Final = 60
R = TypeVar("R")


class Engine:
    """Connects when it is first called. Raises ConfigurationError where the SDK is missing."""

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

    def connect(self) -> Any:
        """The SDK's client. Blocking."""
        if self._client is None:
            self._client = self.sdk.from_env(timeout=CALL_TIMEOUT_S)
        return self._client

    async def raw_call(self, function: Callable[[Any], R]) -> R:
        """`function(client)` in a worker thread. Raises the SDK's errors."""
        return await anyio.to_thread.run_sync(
            lambda: function(self.connect()), limiter=self._limiter, abandon_on_cancel=False
        )

    async def call(self, function: Callable[[Any], R]) -> R:
        """As `raw_call`; raises ProviderDown for whatever the Engine refuses."""
        try:
            return await self.raw_call(function)
        except self.errors as error:
            raise ProviderDown(f"the Docker Engine refused: {str(error)[:500]}") from error

    async def ask(self, function: Callable[[Any], R]) -> R:
        """As `call`, on threads of its own that a caller may leave behind."""
        try:
            return await anyio.to_thread.run_sync(
                lambda: function(self.connect()), limiter=self._abandonable, abandon_on_cancel=True
            )
        except self.errors as error:
            raise ProviderDown(f"the Docker Engine: {str(error)[:500]}") from error

    async def aclose(self) -> None:
        """Idempotent; the next call connects anew."""
        client, self._client = self._client, None
        if client is not None:
            await anyio.to_thread.run_sync(client.close, limiter=self._limiter)
