"""schemathesis over every document: no 500, no status and no reply that the document does not know."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest

from sandbox_gym.e2b_server.access import ENVD_PORT, ID_HEADER, INTERPRETER_PORT, PORT_HEADER, TOKEN_HEADER
from sandbox_gym.server.openapi import examples
from tests.e2b.servers import KEYS, PoolServer
from tests.openapi.servers import Served, fuzz

FEW = 1
MANY = 300
ALICE = {"X-API-KEY": KEYS["alice"]}
KILLS = ("kill_sandbox", "kill_sandbox_v2")
budgets = pytest.mark.parametrize("budget", [FEW, pytest.param(MANY, marks=[pytest.mark.extended])])
pytestmark = pytest.mark.timeout(3600)
ROWS = {"coding": examples.CODING, "math": examples.MATH, "swe": examples.SWE}


@pytest.fixture(scope="module", params=["coding", "math", "swe"])
def served(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Served]]:
    server = Served(request.param, tmp_path_factory.mktemp(request.param), "--boxes", "2")
    try:
        yield request.param, server
    finally:
        server.stop()
    assert "unexpected_error" not in server.log()
    assert "Traceback" not in server.log()


@budgets
def test_a_resources_server(served: tuple[str, Served], budget: int, tmp_path: Path) -> None:
    """All calls are of one session, whose sandbox is there: one for each call would be most of what is measured."""
    kind, server = served
    seeded = httpx.post(f"{server.url}/seed_session", json={}, timeout=60)
    cookies = "; ".join(f"{name}={value}" for name, value in seeded.cookies.items())
    builds = kind == "swe"  # its row builds a repository, as rows of tests/swe do
    fuzz(server.url, "/openapi.json", tmp_path, examples=budget, headers={"Cookie": cookies}, given=not builds)
    for name, body in ROWS[kind].items():
        if not builds:
            answer = httpx.post(f"{server.url}/verify", json=body, timeout=120)
            assert (answer.status_code, answer.json()["reward"]) == (200, float("wrong" not in name)), name


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PoolServer]:
    server = PoolServer("local", tmp_path_factory.mktemp("pool"))
    try:
        yield server
    finally:
        server.stop()
    assert "unexpected_error" not in server.log()
    assert "Traceback" not in server.log()


def made(pool: PoolServer) -> dict[str, str]:
    """A sandbox of alice's, as the pool told of it; those that a fuzzer left of hers are ended."""
    with httpx.Client(base_url=pool.url, headers=ALICE, timeout=60) as client:
        for old in client.get("/v2/sandboxes").json():
            client.delete(f"/sandboxes/{old['sandboxID']}")
        asked = client.post("/sandboxes", json={"timeout": 3600})
    assert asked.status_code == 201, asked.text
    view: dict[str, str] = asked.json()
    return view


@budgets
def test_the_control_plane(pool: PoolServer, budget: int, tmp_path: Path) -> None:
    """About a sandbox that is there; ended are only those that the fuzzer makes up."""
    known = f'[parameters]\n"path.sandboxID" = "{made(pool)["sandboxID"]}"\n'
    fuzz(pool.url, "/openapi.json", tmp_path, examples=budget, headers=ALICE, more=known, leave_out=KILLS)


@budgets
@pytest.mark.parametrize(
    "document, port", [("envd", ENVD_PORT), ("code-interpreter", INTERPRETER_PORT)], ids=["envd", "interpreter"]
)
def test_inside_a_sandbox(pool: PoolServer, document: str, port: int, budget: int, tmp_path: Path) -> None:
    view = made(pool)
    inside = {ID_HEADER: view["sandboxID"], PORT_HEADER: str(port), TOKEN_HEADER: view["envdAccessToken"]}
    if document == "envd":
        inside["connect-timeout-ms"] = "2000"  # a watched folder's events, or a process's, may never end
    fuzz(pool.url, f"/openapi/{document}.json", tmp_path, examples=budget, headers={**ALICE, **inside})
