"""`sandbox-gym cluster`: lists servers' pools on a Ray cluster's nodes; drains and undrains a node."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, redirect_stdout
from dataclasses import asdict, dataclass
from typing import Annotated

import anyio
import typer
from rich.console import Console
from rich.table import Table

from sandbox_gym.cli.terminal.options import JsonOption
from sandbox_gym.cli.terminal.screen import visible
from sandbox_gym.cluster.membership import NodeLink
from sandbox_gym.cluster.messages import NodeLost, Nothing, Pong, read_reply
from sandbox_gym.errors import ConfigurationError, SandboxGymError

ASK_S = 10.0
Address = Annotated[str, typer.Option(help="The cluster's address; auto: RAY_ADDRESS, or the one of this machine.")]
NodeName = Annotated[str, typer.Argument(help="A node's name as `cluster nodes` shows it, or its address.")]
cluster = typer.Typer(name="cluster", no_args_is_help=True, help="Nodes of a Ray cluster that servers verify on.")


@dataclass(frozen=True, slots=True)
class Row:
    """One server's pool on one node."""

    node: str
    server: str
    status: str
    slots: int = 0
    leased: int = 0
    sessions: int = 0


@cluster.callback()
def _root() -> None:
    """Nodes of a Ray cluster that servers verify on."""


@cluster.command()
def nodes(address: Address = "auto", as_json: JsonOption = False) -> None:
    """List every server's pool on every node.

    Exit: 0, or 2 where there is no cluster.
    """
    rows = anyio.run(_listed, address)
    if as_json:
        return typer.echo(json.dumps([asdict(row) for row in rows]))
    table = Table("node", "server", "status", "slots", "leased", "sessions awake")
    for row in rows:
        table.add_row(
            visible(row.node), visible(row.server), row.status, str(row.slots), str(row.leased), str(row.sessions)
        )
    Console().print(table)


@cluster.command()
def drain(node: NodeName, address: Address = "auto", as_json: JsonOption = False) -> None:
    """Stop giving a node new work; what it runs continues to its end.

    Exit: 0 done, 1 no server has a pool there, 2 no cluster, or the node does not answer.
    """
    _tell(node, address, "drain", as_json=as_json)


@cluster.command()
def undrain(node: NodeName, address: Address = "auto", as_json: JsonOption = False) -> None:
    """Let a drained node take verifies again.

    Exit: 0 done, 1 no server has a pool there, 2 no cluster, or the node does not answer.
    """
    _tell(node, address, "undrain", as_json=as_json)


def _tell(node: str, address: str, operation: str, *, as_json: bool) -> None:
    pools = anyio.run(_send, node, address, operation)
    if as_json:
        typer.echo(json.dumps({"node": node, "operation": operation, "pools": pools}))
    raise typer.Exit(0 if pools else 1)


@asynccontextmanager
async def _pools(address: str) -> AsyncIterator[list[tuple[str, str, NodeLink]]]:
    """(node, server, connection) of each pool."""
    from sandbox_gym.cluster.ray_fleet import joined, pools

    with redirect_stdout(sys.stderr):  # Ray prints log lines of nodes; stdout is for results
        async with joined(address):
            found = await anyio.to_thread.run_sync(pools)
            named = [(name.rsplit("|", 2), link) for name, link in found.items()]
            yield sorted(
                ((parts[1], parts[0], link) for parts, link in named if len(parts) == 3), key=lambda each: each[:2]
            )


async def _listed(address: str) -> list[Row]:
    async with _pools(address) as found:
        return [await _row(node, server, link) for node, server, link in found]


async def _row(node: str, server: str, link: NodeLink) -> Row:
    try:
        with anyio.fail_after(ASK_S):
            pong = read_reply(Pong, await link.ask("ping", b""))
    except (TimeoutError, SandboxGymError):
        return Row(node, server, "silent")
    status = "draining" if pong.draining else "up"
    return Row(node, server, status, pong.slots, pong.leased, pong.sessions.get("live", 0))


async def _send(node: str, address: str, operation: str) -> int:
    """How many servers' pools took the command. Raises ConfigurationError where one did not answer."""
    async with _pools(address) as found:
        links = [link for name, _, link in found if name == node or name.split("/")[0] == node]
        for link in links:
            try:
                with anyio.fail_after(ASK_S):
                    read_reply(Nothing, await link.ask(operation, b""))
            except (TimeoutError, NodeLost) as error:
                raise ConfigurationError(f"{node} does not answer: {error}") from error
        return len(links)
