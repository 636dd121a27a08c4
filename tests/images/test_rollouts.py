"""Rollouts on a real server whose images, builds or sandboxes fail for our reason: each ends, none with a reward."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.conftest import remote_environment
from tests.e2b.servers import PoolServer
from tests.images.published import Published
from tests.images.registry import free_port, front, where
from tests.images.test_commands import row
from tests.load.servers import ServerProcess
from tests.swe.instance import serving_swe

ROWS = {"SANDBOX_GYM_NO_VERDICT": "row"}
SAID = [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "I could not begin."}]}]
RECIPE = {"source": "inflection==0.5.1", "install": ["sh -c 'echo no compiler >&2; exit 3'"]}


def rollout(server: ServerProcess, task: dict[str, object]) -> tuple[dict[str, object], dict[str, object]]:
    """As simple_agent of NeMo Gym does one: seed, a tool, verify; seed and verify must be 200. Both answers."""
    with httpx.Client(base_url=server.url, timeout=300) as client:
        seeded = client.post("/seed_session", json=task)
        assert seeded.status_code == 200, seeded.text
        tool = client.post("/bash", json={"command": "ls"})
        assert tool.status_code in (422, 503), tool.text
        body = {**task, "responses_create_params": {"input": []}, "response": {"output": SAID}}
        verified = client.post("/verify", json=body)
        assert verified.status_code == 200, verified.text
        return seeded.json(), verified.json()


def check(server: ServerProcess, task: dict[str, object], kind: str, why: str) -> None:
    seeded, verified = rollout(server, task)
    for told in (seeded, verified):
        assert (told["mask_sample"], told["failure_kind"]) == (True, f"swe:{kind}"), told
        assert why in str(told["failure_reason"])
    assert verified["_ng_failure_class"] == f"swe:{kind}"
    assert (verified["reward"], verified["instance_id"]) == (0.0, task["instance_id"])
    logged = [line for line in server.log().splitlines() if "seed_failed" in line]
    assert why in logged[-1]


@pytest.fixture(scope="module")
def on_docker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    settings = {**ROWS, "SANDBOX_GYM_DOCKER_PULL_STALL_S": "5"}
    with serving_swe("docker", tmp_path_factory.mktemp("rollouts"), **settings) as server:
        yield server


def test_an_image_that_no_registry_has(on_docker: ServerProcess, at_home: str) -> None:
    image = f"{at_home}/nobody/has:it"
    check(on_docker, row(image), "image_refused", f"image {image} can't be pulled: manifest for {image} not found")


def test_a_registry_that_is_down(on_docker: ServerProcess) -> None:
    check(on_docker, row(f"127.0.0.1:{free_port()}/a/b:1"), "image_not_pulled", "connection refused")


@pytest.mark.extended
def test_an_image_with_neither_a_python_nor_a_repository(
    on_docker: ServerProcess, at_home: str, published: Published
) -> None:
    name = published.name(at_home, "empty")
    published.make(name)
    published.push(name)
    check(on_docker, row(name), "instance_failed", "it has no folder /testbed")


def test_other_requests_go_on_while_an_image_is_pulled(
    on_docker: ServerProcess, at_home: str, published: Published
) -> None:
    with front(at_home) as held, httpx.Client(base_url=on_docker.url, timeout=60) as client:
        name = published.name(where(held), "slow")
        published.make(name)
        published.push(name, published.name(at_home, "slow"))
        held.held.clear()
        with pytest.raises(httpx.ReadTimeout):
            client.post("/seed_session", json=row(name), timeout=3)
        assert held.at_once == 1, "the pull outlives its caller"
        assert client.post("/seed_session", json={}).status_code == 200
        body = {**row(name), "responses_create_params": {"input": []}, "response": {"output": SAID}}
        assert client.post("/verify", json=body).json()["failure_reason"] == "no_patch"
        assert client.get("/health").status_code == 200
        held.held.set()
        published.await_pull(name)


@pytest.mark.extended
def test_a_build_that_fails(tmp_path: Path) -> None:
    with serving_swe("local", tmp_path, **ROWS) as server:
        task = {**row(""), "environment": RECIPE}
        check(server, task, "instance_failed", "no compiler")


@pytest.mark.extended
def test_a_pool_that_went_down(tmp_path: Path) -> None:
    (tmp_path / "pool").mkdir()
    pool = PoolServer("local", tmp_path / "pool", keys="")
    try:
        with serving_swe("e2b", tmp_path, **ROWS, **remote_environment(pool)) as server:
            pool.stop()
            check(server, {**row(""), "environment": RECIPE}, "provider_down", "")
    finally:
        pool.stop()


@pytest.mark.extended
def test_by_default_each_is_an_error_with_its_kind(tmp_path: Path, at_home: str) -> None:
    with serving_swe("docker", tmp_path) as server, httpx.Client(base_url=server.url, timeout=300) as client:
        for image, status, kind in (
            (f"{at_home}/nobody/has:it", 422, "image_refused"),
            (f"127.0.0.1:{free_port()}/a/b:1", 503, "image_not_pulled"),
        ):
            client.cookies.clear()
            body = {**row(image), "responses_create_params": {"input": []}, "response": {"output": []}}
            for route, more in (("seed_session", {}), ("verify", {}), ("verify", {"model_patch": "diff"})):
                told = client.post(f"/{route}", json={**body, **more})
                assert told.status_code == status, told.text
                assert json.loads(told.text)["failure_kind"].endswith(kind)
                assert ("Retry-After" in told.headers) == (status == 503)
