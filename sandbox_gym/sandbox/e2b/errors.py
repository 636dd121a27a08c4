"""What E2B's SDK raises, as errors of ours: which are ours to retry, and which no retry mends.

The SDK's exceptions have no common root, and "the sandbox is gone" is a subclass of its timeout, so order matters.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Final

import anyio
import anyio.lowlevel

from sandbox_gym.errors import BoxLost, ConfigurationError, ProviderDown, SandboxGymError

_PASSING: Final = (408, 409, 423, 425, 429)
"""Refusals that say "not now"; every other 4xx says "never"."""
_SHOWN: Final = 300
EXTRA: Final = "the e2b SDK is missing; pip install 'sandbox-gym[e2b]'"


@cache
def failures() -> tuple[type[Exception], ...]:
    """All that a call of the SDK raises: its own, its transports', and of answers that are no JSON."""
    import connectrpc.errors
    import e2b.exceptions as sdk
    import httpx
    import pyqwest

    return (
        sdk.SandboxException,
        sdk.AuthenticationException,
        sdk.ServiceBusyException,
        connectrpc.errors.ConnectError,
        httpx.HTTPError,
        pyqwest.ReadError,
        pyqwest.WriteError,
        pyqwest.StreamError,
        OSError,
        ValueError,
    )


def translated(error: Exception, what: str) -> SandboxGymError:
    """ConfigurationError for what no retry mends, ProviderDown for a service that is full or says no for now, BoxLost
    for a sandbox that is gone or can't be reached."""
    import e2b.exceptions as sdk

    message = f"E2B, {what}: {_text(error)}"
    if isinstance(error, sdk.AuthenticationException):
        return ConfigurationError(f"{message}; set SANDBOX_GYM_E2B_API_KEY")
    if isinstance(error, sdk.SandboxNotRunningException | sdk.SandboxUnreachableException):
        return BoxLost(message)
    if isinstance(error, sdk.RateLimitException | sdk.ServiceBusyException):
        return ProviderDown(message)
    if isinstance(error, sdk.TemplateException):
        return ConfigurationError(f"{message}; rebuild it, or name another in SANDBOX_GYM_E2B_TEMPLATES")
    if isinstance(error, sdk.InvalidArgumentException):
        return ConfigurationError(message)
    if isinstance(error, sdk.SandboxNotFoundException | sdk.TimeoutException):
        return BoxLost(message)
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and 400 <= status < 500 and status not in _PASSING:
        return ConfigurationError(message)
    return BoxLost(message)


def _text(error: Exception) -> str:
    return (str(error) or type(error).__name__)[:_SHOWN]


@asynccontextmanager
async def watched(what: str, within_s: float) -> AsyncIterator[None]:
    """Calls of the SDK, within our own deadline: some of its own never end. Raises what `translated` says."""
    try:
        with anyio.fail_after(within_s):
            try:
                yield
            except failures():
                await anyio.lowlevel.checkpoint_if_cancelled()  # the SDK makes errors of cancellations
                raise
    except TimeoutError as error:
        raise BoxLost(f"E2B, {what}: {_text(error)}, within {within_s:g} s") from error
    except failures() as error:
        raise translated(error, what) from error
