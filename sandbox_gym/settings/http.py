"""Settings of the HTTP server: where it listens, what its clients may hold, how a verify is answered."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from sandbox_gym.settings.group import Group


class HttpSettings(Group):
    """The listener, its connections and NeMo Gym's wire."""

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8080, ge=0, le=65535, description="Port to listen on; 0 for any free one.")
    workers: int = Field(
        1,
        ge=1,
        le=64,
        description="Server processes behind the port, as NeMo Gym's `num_workers`; they divide what the settings allow"
        " among themselves.",
    )
    connections: int = Field(
        4096,
        ge=16,
        description="Connections at once to each process, or fewer where no descriptors would be left for sandboxes;"
        " the connection idle for longest makes room for a new one.",
    )
    head_timeout_s: float = Field(20.0, gt=0, description="Seconds that a client may take for a request's head.")
    body_timeout_s: float = Field(
        60.0,
        gt=0,
        description="Seconds that a client may send no byte of a request's body. `serve pool` has a longer limit of its"
        " own, because people type there.",
    )
    drain_s: float = Field(
        0.0,
        ge=0,
        description="Seconds after SIGTERM during which everything is answered as before but GET / and /health, which"
        " say 503: time for a load balancer to send requests elsewhere. A second signal ends it.",
    )
    shutdown_grace_s: float = Field(
        10.0,
        ge=1,
        description="Seconds that requests may still take when a server stops and listens no more; then they are"
        " answered 503 with Retry-After. `serve pool`, whose streams have no end, gives them 2.",
    )
    no_verdict: Literal["error", "row"] = Field(
        "error",
        description="How a verify without a verdict is answered: 503, or 200 with a masked row that ng_collect_rollouts"
        " of NeMo Gym 0.4.0 sets aside for a later try (a 503 ends its whole run). A trainer that does not read masks"
        " must not get rows.",
    )
    idempotency: Literal["header", "body", "off"] = Field(
        "header",
        description="Which requests are the same request: those with the same Idempotency-Key (`header`), also those"
        " with the same body where they carry no key (`body`), or none (`off`).",
    )
    expose_tools_over_mcp: bool = Field(
        False, description="Serve the tools at /mcp too, as NeMo Gym's setting of that name; needs the extra `mcp`."
    )
    traces: bool = Field(
        False, description="Send OpenTelemetry traces by HTTP to OTEL_EXPORTER_OTLP_ENDPOINT; needs the extra `otel`."
    )
