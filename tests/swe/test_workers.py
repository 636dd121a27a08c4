"""Several workers and one repository: it is built by one of them, whoever was asked first."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2 as httpx
import pytest

from sandbox_gym.server.protocol.envelope import response_of
from sandbox_gym.server.workers.routes import fresh_session_id, worker_of
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
