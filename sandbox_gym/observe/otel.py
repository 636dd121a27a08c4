"""Traces by OpenTelemetry over OTLP/HTTP, configured by the standard OTEL_* variables. Imported only where traces are
on.

Ended spans go into a bounded queue, which a thread sends; a full queue drops spans instead of blocking.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Final

from opentelemetry import context as otel_context
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from sandbox_gym import __version__
from sandbox_gym.errors import ConfigurationError, Unavailable
from sandbox_gym.observe.traces import NONE, NOTHING, Attributes, Span, Tracer, tracer

PREFIX: Final = "sandbox_gym."
_W3C: Final = TraceContextTextMapPropagator()


class OtelSpan:
    """One span. Attribute names without a dot get the prefix `sandbox_gym.`."""

    def __init__(self, inner: trace.Span) -> None:
        self._inner = inner

    def note(self, attributes: Attributes) -> None:
        self._inner.set_attributes(_named(attributes))

    def event(self, name: str, attributes: Attributes = NONE) -> None:
        self._inner.add_event(name, _named(attributes))

    def rename(self, name: str) -> None:
        self._inner.update_name(name)

    def fail(self, kind: str) -> None:
        self._inner.set_status(trace.Status(trace.StatusCode.ERROR, kind))
        self._inner.set_attribute("error.type", kind)


class OtelTracer:
    """Makes spans below the current one of OpenTelemetry's context, which instrumented libraries share."""

    recording = True

    def __init__(self, inner: trace.Tracer) -> None:
        self._inner = inner

    @contextmanager
    def span(self, name: str, attributes: Attributes, *, calls_out: bool) -> Iterator[Span]:
        kind = trace.SpanKind.CLIENT if calls_out else trace.SpanKind.INTERNAL
        with _ended(self._inner.start_span(name, kind=kind, attributes=_named(attributes))) as made:
            yield made

    def finished(self, name: str, seconds: float, attributes: Attributes) -> None:
        now_ns = time.time_ns()
        started_ns = now_ns - int(seconds * 1e9)
        self._inner.start_span(name, attributes=_named(attributes), start_time=started_ns).end(now_ns)

    def current(self) -> Span:
        return OtelSpan(trace.get_current_span())

    def carried(self) -> dict[str, str]:
        return _carried()


class OtelTracing:
    """The traces of one process."""

    def __init__(self, service: str) -> None:
        """Raises ConfigurationError for OTEL_* variables that are not supported."""
        _check_environment()
        try:
            self._provider = TracerProvider(resource=_resource(service), shutdown_on_exit=False)
            self._provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
        except ValueError as error:
            raise ConfigurationError(f"traces: an OTEL_* variable is wrong: {error}") from error
        self._inner = self._provider.get_tracer("sandbox_gym", __version__)
        self._tracer = OtelTracer(self._inner)

    @contextmanager
    def root(self, name: str, carrier: Mapping[str, str], attributes: Attributes) -> Iterator[Span]:
        """A server's span, below the caller's where `carrier` names one. An exchange that is not sampled makes no
        spans."""
        parent = _W3C.extract(carrier, otel_context.Context())
        inner = self._inner.start_span(name, context=parent, kind=trace.SpanKind.SERVER, attributes=_named(attributes))
        chosen: Tracer = self._tracer if inner.is_recording() else Unsampled()
        token = tracer.set(chosen)
        try:
            with _ended(inner) as made:
                yield made
        finally:
            tracer.reset(token)

    def close(self) -> None:
        self._provider.shutdown()


class Unsampled:
    """Makes no spans; servers that are called get the trace's id and that it is not sampled."""

    recording = False

    def span(self, name: str, attributes: Attributes, *, calls_out: bool) -> AbstractContextManager[Span]:
        return NOTHING

    def finished(self, name: str, seconds: float, attributes: Attributes) -> None:
        return None

    def current(self) -> Span:
        return NOTHING

    def carried(self) -> dict[str, str]:
        return _carried()


@contextmanager
def _ended(inner: trace.Span) -> Iterator[OtelSpan]:
    """Make the span current and end it, with the kind of an error that leaves it, never the error's message."""
    token = otel_context.attach(trace.set_span_in_context(inner))
    made = OtelSpan(inner)
    try:
        yield made
    except BaseException as error:
        made.fail(error.failure_kind if isinstance(error, Unavailable) else type(error).__name__)
        raise
    finally:
        otel_context.detach(token)
        inner.end()


def _carried() -> dict[str, str]:
    headers: dict[str, str] = {}
    _W3C.inject(headers)
    return headers


def _named(attributes: Attributes) -> Mapping[str, str | bool | int | float | list[str]]:
    return {
        name if "." in name else PREFIX + name: value if isinstance(value, str | bool | int | float) else list(value)
        for name, value in attributes.items()
    }


def _resource(service: str) -> Resource:
    """This service's resource; the environment overrides it."""
    given = "OTEL_SERVICE_NAME" in os.environ or "service.name=" in os.environ.get("OTEL_RESOURCE_ATTRIBUTES", "")
    own = {} if given else {"service.name": service}
    return Resource.create({"service.version": __version__, **own})


def _check_environment() -> None:
    exporter = os.environ.get("OTEL_TRACES_EXPORTER", "otlp")
    if exporter != "otlp":
        raise ConfigurationError(
            f"OTEL_TRACES_EXPORTER={exporter}: only otlp is supported; unset SANDBOX_GYM_TRACES for none"
        )
    for name in ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        protocol = os.environ.get(name, "http/protobuf")
        if protocol != "http/protobuf":
            raise ConfigurationError(f"{name}={protocol}: traces are sent by http/protobuf; unset it, or use port 4318")
