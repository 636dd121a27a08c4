"""The pool's dashboard: sandboxes by tenant, for the operator and for no tenant."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx2 as httpx
import pytest
from e2b import Sandbox

from tests.e2b.servers import KEYS, PoolServer

pytestmark = pytest.mark.timeout(120)
TOKEN = "operators-token-0123456789"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PoolServer]:
    made = PoolServer("local", tmp_path_factory.mktemp("dashboard"), "--token", TOKEN)
    yield made
    made.stop()


def live(server: PoolServer) -> Any:
    answer = httpx.get(f"{server.url}/dashboard/api/live", headers=BEARER, timeout=30)
    assert answer.status_code == 200
    return answer.json()


def test_sandboxes_are_shown_by_tenant(server: PoolServer) -> None:
    sandbox = Sandbox.create(**server.where("alice"), timeout=120)
    paused = Sandbox.create(**server.where("bob"), timeout=120)
    try:
        paused.pause()
        for _ in range(50):
            picture = live(server)
            if picture["sandboxes"]["paused"]:
                break
            time.sleep(0.2)
        held = picture["sandboxes"]
        assert (held["running"], held["paused"]) == (1, 1)
        assert held["most"] >= 2
        tenants = {one["tenant"]: (one["running"], one["paused"]) for one in held["tenants"]}
        assert tenants == {"alice": (1, 0), "bob": (0, 1)}
        latest = {one["id"]: one for one in held["latest"]}
        assert latest[sandbox.sandbox_id]["running"] is True
        assert "token" not in str(latest)
        assert picture["server"]["kind"] == "pool"
        assert picture.get("verdicts") is None
    finally:
        sandbox.kill()
        paused.kill()


def test_it_is_the_operators(server: PoolServer) -> None:
    for headers in ({}, {"X-API-KEY": KEYS["alice"]}, {"Authorization": f"Bearer {KEYS['alice']}"}):
        assert httpx.get(f"{server.url}/dashboard/api/live", headers=headers, timeout=30).status_code == 401
    assert httpx.get(f"{server.url}/dashboard", headers=BEARER, timeout=30).status_code == 200
    assert httpx.get(f"{server.url}/dashboard/api/verdicts", headers=BEARER, timeout=30).status_code == 404


def test_a_sandboxs_own_host_is_the_sandboxs(server: PoolServer) -> None:
    sandbox = Sandbox.create(**server.where("alice"), timeout=120)
    try:
        host = {**BEARER, "Host": f"8000-{sandbox.sandbox_id}.pool.example"}
        answer = httpx.get(f"{server.url}/dashboard", headers=host, timeout=30)
        assert answer.status_code != 200  # nothing listens there
        assert "content-security-policy" not in answer.headers
    finally:
        sandbox.kill()


def test_with_tenants_keys_alone_it_is_shut(tmp_path_factory: pytest.TempPathFactory) -> None:
    server = PoolServer("local", tmp_path_factory.mktemp("keys"))
    try:
        answer = httpx.get(f"{server.url}/dashboard", headers={"X-API-KEY": KEYS["alice"]}, timeout=30)
        assert answer.status_code == 403
        assert "SANDBOX_GYM_DASHBOARD_TOKEN" in answer.json()["detail"]
    finally:
        server.stop()
