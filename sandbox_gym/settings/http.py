"""Settings of the HTTP server: its listener, its wire, who may call it, and what programs in sessions may reach."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, field_validator

from sandbox_gym.network import AllowList, normal
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


_HOST: Final = re.compile(r"[0-9A-Za-z_.-]{1,253}|\[?[0-9A-Fa-f.:]{2,45}\]?", re.ASCII)


def must_be_sendable(secret: str) -> str:
    """A secret that clients send in a header. Raises ValueError, without it."""
    if secret != secret.strip() or not secret.isprintable():
        raise ValueError("has a blank or a line end around it, or a control character: no client could send it")
    return secret


class AccessSettings(Group):
    """Keys, host names and the network of sessions."""

    token: str = Field(
        "",
        repr=False,
        description="The operator's bearer token, which every request but GET / and /health must carry. A bind beyond"
        " loopback needs it, or `keys`.",
    )
    keys: Path | None = Field(
        None, description="TOML file of tenants, each with keys of its own, checked as `token` is."
    )
    allow_unauthenticated: bool = Field(False, description="Permit a bind beyond loopback without a token.")
    allowed_hosts: list[str] = Field(
        default_factory=list,
        description="Host names besides `localhost` at which a server without a token answers, such as"
        ' ["gpu-7", "coding.internal"].',
    )
    allow_out: list[str] = Field(
        default_factory=list,
        description="What programs of sessions (agents' tools) may reach, by a proxy: addresses, CIDR blocks, host"
        " names, *.names; for `serve pool` without a file of keys, what sandboxes may reach. Verifies never have a"
        " network.",
    )

    @field_validator("token")
    @classmethod
    def _can_be_sent(cls, token: str) -> str:
        return must_be_sendable(token)

    @field_validator("allowed_hosts")
    @classmethod
    def _are_hosts(cls, names: list[str]) -> list[str]:
        for name in names:
            if not _HOST.fullmatch(name):
                raise ValueError(f"{name[:80]!r} is no host name or address; names stand without scheme and port")
        return names

    @field_validator("allow_out")
    @classmethod
    def _is_allow_list(cls, entries: list[str]) -> list[str]:
        AllowList(entries)
        return [normal(entry) for entry in entries]


class PoolSettings(Group):
    """Of `serve pool`, the server that speaks E2B's API."""

    network: bool = Field(
        False, description="Without a file of keys: sandboxes of `serve pool` may have this machine's network."
    )


class DashboardSettings(Group):
    """Of the operators' dashboard."""

    enabled: bool = Field(
        True, description="Serve /dashboard, for operators: it shows answers, hidden tests and expected outputs."
    )
    token: str = Field(
        "", repr=False, description="What the dashboard asks for, where it is to be another secret than `token`."
    )
    memory_mb: float = Field(
        32,
        ge=0,
        description="MiB of memory for the latest verdicts, whole, so that the dashboard can show them and judge them"
        " again.",
    )

    @field_validator("token")
    @classmethod
    def _can_be_sent(cls, token: str) -> str:
        return must_be_sendable(token)
