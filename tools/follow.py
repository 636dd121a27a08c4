"""One request followed through a server of this tree: in this process, on the local provider, without a network.

The server is the one that `sandbox-gym serve` makes, taken at the end of the command line, so that nothing here depends
on which module makes it. Before a request is followed the same one is sent, so that sandboxes, instances and references
are there. trace.py says which functions count.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence, Set
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

import anyio
import httpx2 as httpx
import uvicorn
from fastapi import FastAPI

from sandbox_gym.server.serving import Draining
from tools.source import ROOT, product
from tools.trace import Function, Probe, Recording, recording, watching

PROBES: Final = {
    "row_parses": Probe("sandbox_gym.verifiers", ("parse_task",)),
    "report_parses": Probe("sandbox_gym.verifiers.swe", ("read_channel",)),
    "listings": Probe("sandbox_gym.sandbox", ("snapshots",)),
}
"""What is counted by name; who renames one of these functions names it here."""
REQUEST_S: Final = 900.0
REPEATS: Final = 3
"""Of each request: the one with the shortest path made no detour, as a retry is one."""
Document = dict[str, object]
Scenario = Callable[[httpx.AsyncClient], Awaitable["Followed"]]


@dataclass(frozen=True, slots=True)
class Followed:
    """What one request passed on the host's side."""

    path: tuple[Function, ...]
    """The functions on the path, in order of first call."""
    functions: tuple[Function, ...]
    """All, in order of first call."""
    round_trips: int
    """To sandboxes: each begins with a write that follows no other on the same stream."""
    writes: int
    session_round_trips: int
    """Of the round trips, those to the session's own sandbox."""
    row_parses: int
    report_parses: int
    """Of one run's report; the most."""
    listings: int
    """Of all snapshots."""

    def figures(self) -> dict[str, int]:
        """Every number, by name."""
        return {
            "path_functions": len(self.path),
            "path_modules": len({function.module for function in self.path}),
            "functions": len(self.functions),
            "modules": len({function.module for function in self.functions}),
            "round_trips": self.round_trips,
            "writes": self.writes,
            "session_round_trips": self.session_round_trips,
            "row_parses": self.row_parses,
            "report_parses": self.report_parses,
            "listings": self.listings,
        }


def follow(kind: str) -> Followed:
    """Follow one request: `coding` and `swe` are a /verify each, `bash` is a tool call. Raises RuntimeError."""
    check_probes()
    server, scenario = SCENARIOS[kind]
    found: list[Followed] = []
    with tempfile.TemporaryDirectory(prefix="house-") as state, _environment(state), _served_by(scenario, found):
        from sandbox_gym.cli import main  # what it imports reads the environment

        sys.argv = ["sandbox-gym", "serve", server, "--provider", "local"]
        with suppress(SystemExit):  # as every command ends
            main()
    if not found:
        raise RuntimeError("the server ended before the request was followed; its log is above")
    if not found[0].writes:
        raise RuntimeError(f"{kind}: no write to a sandbox was seen; name the stream that is used in tools/trace.py")
    return found[0]


def check_probes() -> None:
    """Raises RuntimeError for a probe of functions that are not there: it would count none of them for ever."""
    defined = {Function(module.name, one.name, one.first_line) for module in product() for one in module.definitions}
    for name, probe in PROBES.items():
        if not any(probe.covers(function) for function in defined):
            raise RuntimeError(
                f"PROBES[{name!r}]: {probe.package} defines none of {probe.names}; name what replaced it"
            )


@contextmanager
def _environment(state: str) -> Iterator[None]:
    """Settings of this run's own."""
    before = dict(os.environ)
    kept = {name: value for name, value in before.items() if not name.startswith("SANDBOX_GYM_")}
    os.environ.clear()
    os.environ.update({**kept, "SANDBOX_GYM_STATE_DIR": state})
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _served_by(scenario: Scenario, found: list[Followed]) -> Iterator[None]:
    """Where uvicorn would serve an application, run the scenario on it."""
    before = uvicorn.Server.run

    def run(server: uvicorn.Server, sockets: object = None) -> None:
        draining = server.config.app
        assert isinstance(draining, Draining)
        app = draining.app
        assert isinstance(app, FastAPI)
        with watching():
            found.append(anyio.run(_scenario_on, app, scenario))
        server.started = True

    uvicorn.Server.run = run  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        uvicorn.Server.run = before  # type: ignore[method-assign]


async def _scenario_on(app: FastAPI, scenario: Scenario) -> Followed:
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=REQUEST_S) as client,
    ):
        return await scenario(client)


async def _coding(client: httpx.AsyncClient) -> Followed:
    """A right program with four tests on standard input."""
    row = _row("coding")
    await _sent(client, "/verify", row)
    return _shortest([_followed(await _verified(client, row)) for _ in range(REPEATS)])


async def _bash(client: httpx.AsyncClient) -> Followed:
    """A command in a session's shell that is under way."""
    command: Document = {"command": "echo one"}
    await _sent(client, "/bash", command)
    made = [await _recorded(client, "/bash", command) for _ in range(REPEATS)]
    return _shortest([_followed(one, one.streams()) for one in made])


async def _swe(client: httpx.AsyncClient) -> Followed:
    """The work of a session, which resolves the row, so that inverted tests are run too."""
    row = {name: value for name, value in _row("swe").items() if name != "model_patch"}
    row["response"] = {"output": []}
    command = f"cd /workspace/testbed && git apply <<'END'\n{row['patch']}\nEND\n"
    found = []
    for _ in range(REPEATS):  # the first one builds what the others find
        await _sent(client, "/seed_session", row)
        bash = await _recorded(client, "/bash", {"command": command})
        found.append(_followed(await _verified(client, row), bash.streams()))
    return _shortest(found)


SCENARIOS: Final = {"coding": ("coding", _coding), "swe": ("swe", _swe), "bash": ("coding", _bash)}
"""By kind of request: the server, and what is asked of it."""


def _row(server: str) -> Document:
    """The first of the server's example rows: a right answer."""
    path = ROOT / "resources_servers" / server / "data" / "example.jsonl"
    row: Document = json.loads(path.read_text("utf-8").splitlines()[0])
    return row


async def _sent(client: httpx.AsyncClient, path: str, body: Document) -> Document:
    reply = await client.post(path, json=body)
    if reply.status_code != 200:
        raise RuntimeError(f"{path} answered {reply.status_code}: {reply.text[:2000]}")
    document: Document = reply.json()
    return document


async def _recorded(client: httpx.AsyncClient, path: str, body: Document) -> Recording:
    with recording(PROBES) as made:
        await _sent(client, path, body)
    return made


async def _verified(client: httpx.AsyncClient, row: Document) -> Recording:
    with recording(PROBES) as made:
        document = await _sent(client, "/verify", row)
    if document.get("reward") != 1.0 or document.get("mask_sample"):
        raise RuntimeError(f"a right answer has no reward of 1: {json.dumps(document)[:2000]}")
    return made


def _shortest(found: Sequence[Followed]) -> Followed:
    return min(found, key=lambda one: (len(one.path), len(one.functions)))


def _followed(made: Recording, session: Set[int] = frozenset()) -> Followed:
    statements = {(module.name, one.first_line): one.statements for module in product() for one in module.definitions}
    return Followed(
        path=tuple(made.path(lambda function: statements[function.module, function.line] <= 1)),
        functions=tuple(made.functions.values()),
        round_trips=made.round_trips(),
        writes=made.writes,
        session_round_trips=made.round_trips(session),
        row_parses=len(made.calls.get("row_parses", [])),
        report_parses=max(Counter(made.calls.get("report_parses", [])).values(), default=0),
        listings=len(made.calls.get("listings", [])),
    )
