"""Several workers and one repository: it is built by one of them, whoever was asked first."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2 as httpx
import pytest
from starlette.types import Message, Receive, Scope, Send

from sandbox_gym import judging
from sandbox_gym.server.access.accounts import Accounts, Tenant
from sandbox_gym.server.protocol.envelope import response_of
from sandbox_gym.server.workers import routes
from sandbox_gym.server.workers.routes import fresh_session_id, keyed, worker_of
from tests.swe.instance import row, serving_swe

WORKERS = 3


@pytest.mark.timeout(600)
def test_an_instance_is_built_once(data_folder: Path, tmp_path: Path) -> None:
    task = row(data_folder)
    patch = {"responses_create_params": {"input": []}, "response": response_of("done"), "model_patch": task["patch"]}

    def seeded(number: int) -> tuple[str, float]:
        """The worker of a session, and what the fix is worth to a client without one."""
        body = task if number % 2 else {"resources_session_id": f"r{number}", "task_data": task}
        answer = httpx.post(f"{server.url}/seed_session", json=body, timeout=300)
        assert answer.status_code == 200, answer.text
        verdict = httpx.post(f"{server.url}/verify", json={**task, **patch}, timeout=300)
        assert verdict.status_code == 200, verdict.text
        worker = {each.headers["X-Sandbox-Gym-Worker"].split()[1] for each in (answer, verdict)}
        assert len(worker) == 1
        return worker.pop(), float(verdict.json()["reward"])

    with serving_swe("local", tmp_path, SANDBOX_GYM_WORKERS=str(WORKERS), SANDBOX_GYM_BOXES="6") as server:
        with ThreadPoolExecutor(4) as pool:
            found = list(pool.map(seeded, range(8)))
        assert set(found) == {(str(worker_of(str(task["instance_id"]), WORKERS)), 1.0)}
        metrics = httpx.get(f"{server.url}/metrics", timeout=60).text
        built = [line for line in metrics.splitlines() if line.startswith("sandbox_gym_instances_built{")]
        assert sum(float(line.split()[-1]) for line in built) == 1.0


def test_fresh_ids_belong_to_their_worker() -> None:
    for own in range(WORKERS):
        assert {worker_of(fresh_session_id(own, WORKERS), WORKERS) for _ in range(20)} == {own}


@pytest.mark.anyio
@pytest.mark.parametrize("path", ["/verify", "/seed_session", "/close_session"])
async def test_a_worker_reads_no_body_without_a_key(path: str) -> None:
    reached: list[str] = []

    async def routes(scope: Scope, receive: Receive, send: Send) -> None:
        reached.append(scope["path"])

    async def receive() -> Message:
        raise AssertionError("the body was read")

    told: list[Message] = []

    async def send(message: Message) -> None:
        told.append(message)

    entrance = keyed(routes, Accounts({"alice-key-0123456789": Tenant("alice")}))
    scope = {"type": "http", "method": "POST", "path": path, "headers": []}
    await entrance(scope, receive, send)
    assert (told[0]["status"], reached) == (401, [])
    await entrance({**scope, "headers": [(b"authorization", b"Bearer alice-key-0123456789")]}, receive, send)
    assert reached == [path]


@pytest.mark.anyio
async def test_a_long_body_is_parsed_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    here, found, real = threading.get_ident(), [], json.loads

    def noted(raw: bytes) -> object:
        found.append(threading.get_ident() != here)
        return real(raw)

    monkeypatch.setattr(routes.json, "loads", noted)  # type: ignore[attr-defined]
    for size in (1, judging.AT_ONCE_BYTES):
        assert await routes._document([{"type": "http.request", "body": json.dumps({"x": "x" * size}).encode()}])
    assert found == [False, True]
