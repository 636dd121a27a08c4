"""Opens tracing where the settings ask for it. OpenTelemetry's SDK is imported only then."""

from __future__ import annotations

import threading
from typing import Final

import anyio.to_thread

from sandbox_gym.errors import ConfigurationError
from sandbox_gym.observe.traces import RootTracer

CLOSE_S: Final = 5.0
"""Seconds that a stop waits at most for spans to be sent."""


def open_tracing(wanted: bool, service: str) -> RootTracer | None:
    """None where traces are off. Raises ConfigurationError: the extra is missing, or an OTEL_* variable is wrong."""
    if not wanted:
        return None
    try:
        from sandbox_gym.observe.otel import OtelTracing
    except ImportError as error:
        raise ConfigurationError(f"traces need OpenTelemetry ({error}): pip install 'sandbox-gym[otel]'") from error
    return OtelTracing(service)


async def close_tracing(tracing: RootTracer) -> None:
    """Send the remaining spans for at most CLOSE_S, so that an unreachable collector does not delay a stop."""
    closing = threading.Thread(
        target=tracing.close, name="traces-close", daemon=True
    )  # the thread may outlast the process
    closing.start()
    with anyio.CancelScope(shield=True):
        await anyio.to_thread.run_sync(closing.join, CLOSE_S)
