"""`sandbox-gym serve`: one resources server over HTTP."""

from __future__ import annotations

import os
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sandbox_gym.cli.terminal.options import ProviderOption, settings_with
from sandbox_gym.errors import ConfigurationError


class ServerName(StrEnum):
    """The resources servers there are."""

    CODING = "coding"
    MATH = "math"
    SWE = "swe"
    POOL = "pool"


ServerArgument = Annotated[
    ServerName, typer.Argument(help="Which resources server; `pool` serves E2B's API over this machine's sandboxes.")
]
HostOption = Annotated[str | None, typer.Option(help="Address to bind; 127.0.0.1 unless given.")]
PortOption = Annotated[int | None, typer.Option(help="Port to bind; SANDBOX_GYM_PORT, PORT or 8080 unless given.")]
TokenOption = Annotated[
    str | None, typer.Option(help="Bearer token. Prefer SANDBOX_GYM_TOKEN: it is not in the process list.")
]
AllowUnauthenticatedOption = Annotated[
    bool | None, typer.Option("--allow-unauthenticated", help="Permit a bind beyond loopback without a token.")
]
BoxesOption = Annotated[int | None, typer.Option(help="Sandboxes alive at once.")]
WorkersOption = Annotated[
    int | None, typer.Option(help="Server processes behind the port; they share the sandboxes and sessions.")
]
JournalOption = Annotated[
    str | None,
    typer.Option(
        help="Where verdicts are recorded: a path, a URL, or off; a file in the state directory unless given."
    ),
]
ClusterOption = Annotated[str | None, typer.Option(help="Verify on a Ray cluster's nodes: its address, or auto.")]
DatasetOption = Annotated[
    Path | None,
    typer.Option(dir_okay=False, help="Rows that NeMo Evaluator asks for by index; agents' tools are off then."),
]
KeysOption = Annotated[
    Path | None, typer.Option(help="TOML file of tenants and their keys; its quotas hold for `pool`.")
]
AllowedHostOption = Annotated[
    list[str] | None,
    typer.Option(help="Host name besides localhost at which a server without a token answers; repeatable."),
]
DomainOption = Annotated[
    str, typer.Option(help="pool only: the domain whose hosts <port>-<sandbox>.<domain> resolve to this server.")
]
NetworkOption = Annotated[
    bool | None, typer.Option("--network", help="pool only: without --keys, sandboxes may have this machine's network.")
]


def serve(
    server: ServerArgument,
    host: HostOption = None,
    port: PortOption = None,
    provider: ProviderOption = None,
    token: TokenOption = None,
    allow_unauthenticated: AllowUnauthenticatedOption = None,
    boxes: BoxesOption = None,
    workers: WorkersOption = None,
    journal: JournalOption = None,
    cluster: ClusterOption = None,
    dataset: DatasetOption = None,
    keys: KeysOption = None,
    allowed_host: AllowedHostOption = None,
    domain: DomainOption = "",
    network: NetworkOption = None,
) -> None:
    """Serve NeMo Gym's protocol and the agents' tools until Ctrl-C.

    Exit: 0 stopped, 2 wrong settings.
    """
    # importing FastAPI takes half a second, which other commands save
    from sandbox_gym.server.launch import serve_built
    from sandbox_gym.server.registry import SERVERS

    settings = settings_with(
        {
            "host": host,
            "port": port if port is not None else _given_port(),
            "provider": provider,
            "token": token,
            "allow_unauthenticated": allow_unauthenticated,
            "boxes": boxes,
            "workers": workers,
            "journal_url": journal,
            "cluster_address": cluster,
            "keys": keys,
            "allowed_hosts": allowed_host or None,
            "pool_network": network,
        }
    )
    if server is ServerName.POOL:
        from sandbox_gym.e2b_server.launch import serve_pool

        _must_be_unset("coding, math and swe", {"--dataset": dataset, "--cluster": cluster})
        if settings.workers > 1:
            raise ConfigurationError(f"workers is {settings.workers}: a pool is served by one process")
        return serve_pool(settings, domain=domain)
    _must_be_unset("`serve pool`", {"--domain": domain or None, "--network": network})
    serve_built(SERVERS[server.value], server.value, settings, dataset=dataset)


def _must_be_unset(whose: str, options: Mapping[str, object]) -> None:
    """Raises ConfigurationError for an option that this server would pass over."""
    for name, value in options.items():
        if value is not None:
            raise ConfigurationError(f"{name} is for {whose}: leave it out")


def _given_port() -> str | None:
    """PORT, which process managers set, unless SANDBOX_GYM_PORT is set."""
    return None if "SANDBOX_GYM_PORT" in os.environ else os.environ.get("PORT") or None
