"""A collector in this process: OTLP over HTTP, every span kept as decoded; or one that is ill in a chosen way."""

from __future__ import annotations

import gzip
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Literal

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as OtlpSpan
from opentelemetry.proto.trace.v1.trace_pb2 import Status

Health = Literal["well", "hangs", "refuses"]


@dataclass(frozen=True)
class Seen:
    """One span as it arrived."""

    service: str
    name: str
    trace_id: str
    span_id: str
    parent_id: str
    kind: int
    start_ns: int
    end_ns: int
    attributes: dict[str, object]
    events: list[tuple[str, dict[str, object]]]
    failed: str | None
    """The status' words, where it is an error."""


@dataclass
class Collector:
    """What has arrived, as bytes and as spans."""

    url: str
    health: Health
    asked: threading.Event = field(default_factory=threading.Event)
    bodies: list[bytes] = field(default_factory=list)
    spans: list[Seen] = field(default_factory=list)

    def named(self, name: str) -> list[Seen]:
        return sorted((span for span in self.spans if span.name == name), key=lambda span: span.start_ns)

    def one(self, name: str) -> Seen:
        found = self.named(name)
        assert len(found) == 1, (name, [span.name for span in self.spans])
        return found[0]

    def below(self, parent: Seen) -> list[str]:
        """The names of a span's children, by their start."""
        children = [span for span in self.spans if span.parent_id == parent.span_id]
        return [span.name for span in sorted(children, key=lambda span: span.start_ns)]

    def wait(self, arrived: Callable[[], object]) -> None:
        """Until it is so; half a minute at most."""
        for _ in range(600):
            if arrived():
                return
            time.sleep(0.05)
        raise AssertionError(f"did not arrive; there are {[span.name for span in self.spans]}")


@contextmanager
def collecting(health: Health = "well") -> Iterator[Collector]:
    """A collector on a port of its own."""
    released = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            collector.asked.set()
            if health == "hangs":
                released.wait(60)
                return
            if health == "refuses":
                self.send_error(503)
                return
            assert (self.path, self.headers["Content-Type"]) == ("/v1/traces", "application/x-protobuf")
            raw = gzip.decompress(body) if self.headers.get("Content-Encoding") == "gzip" else body
            collector.bodies.append(raw)
            collector.spans += _spans(raw)
            answer = ExportTraceServiceResponse().SerializeToString()
            self.send_response(200)
            self.send_header("Content-Type", "application/x-protobuf")
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        def log_message(self, format: str, *args: object) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    collector = Collector(f"http://127.0.0.1:{server.server_port}", health)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        released.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _spans(raw: bytes) -> list[Seen]:
    found = []
    for resource_spans in ExportTraceServiceRequest.FromString(raw).resource_spans:
        service = str(_attributes(resource_spans.resource.attributes)["service.name"])
        for scope_spans in resource_spans.scope_spans:
            found += [_seen(service, span) for span in scope_spans.spans]
    return found


def _seen(service: str, span: OtlpSpan) -> Seen:
    return Seen(
        service=service,
        name=span.name,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        kind=span.kind,
        start_ns=span.start_time_unix_nano,
        end_ns=span.end_time_unix_nano,
        attributes=_attributes(span.attributes),
        events=[(event.name, _attributes(event.attributes)) for event in span.events],
        failed=span.status.message if span.status.code == Status.STATUS_CODE_ERROR else None,
    )


def _attributes(pairs: Iterator[KeyValue]) -> dict[str, object]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> object:
    kind = value.WhichOneof("value")
    return [_value(each) for each in value.array_value.values] if kind == "array_value" else getattr(value, str(kind))
