"""docker-compose.yml whole, with traces and MCP on: each service is killed once, all come back, no verdict is lost."""

from __future__ import annotations

import threading
from typing import Any

import httpx2 as httpx
import pytest
import yaml

import sandbox_gym
from sandbox_gym.client import Client
from tests.containers.composed import REPOSITORY, TOKEN, Composed, build_stand_ins, until

BEARER = {"Authorization": f"Bearer {TOKEN}"}
OPTIONAL = {"smoke", "smoke-remote"}


def services() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((REPOSITORY / "docker-compose.yml").read_text())["services"]
    return found


@pytest.mark.parametrize("name", sorted(set(services()) - OPTIONAL))
def test_a_service_is_bounded_and_has_no_more_than_it_needs(name: str) -> None:
    service = services()[name]
    assert service["mem_limit"]
    assert service["cpus"]
    assert service["pids_limit"]
    assert service["logging"]["options"].keys() == {"max-size", "max-file"}
    assert (service["restart"], service["cap_drop"]) == ("unless-stopped", ["ALL"])
    assert service["init"] is not service["image"].startswith("sandbox-gym/"), "ours begins with one"
    assert service["security_opt"] == ["no-new-privileges"]
    assert service["read_only"] is (name != "grafana")
    assert not service["image"].endswith(":latest")
    assert ("healthcheck" in service) is (name != "otel-collector"), "its image has nothing to ask it with"
    assert all("_PORT:-" in port for port in service.get("ports", ()))


def test_the_servers_image_is_this_version() -> None:
    images = {service["image"] for service in services().values() if "sandbox-gym/" in service["image"]}
    assert images == {f"sandbox-gym/server:${{IMAGE_TAG:-{sandbox_gym.__version__}}}"}


class Load:
    """Verifies with keys of their own, some every moment, by a client that asks again, until the block ends."""

    def __init__(self, composed: Composed, names: list[str]) -> None:
        self._urls = {name: composed.url(name) for name in names}
        self.found: dict[tuple[str, str], tuple[float | None, str]] = {}
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._go_on, args=(name,)) for name in names]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join(300)

    def row(self, name: str, number: int) -> tuple[dict[str, object], str]:
        """Every third answer is wrong."""
        wrong = number % 3 == 0
        if name.startswith("MATH"):
            return {"question": "?", "expected_answer": str(number)}, f"\\boxed{{{number + wrong}}}"
        tests = {"inputs": ["7"], "outputs": [str(7 + number)]}
        return {"verifier_metadata": {"unit_tests": tests}}, f"```python\nprint(int(input()) + {number + wrong})\n```"

    def _go_on(self, name: str) -> None:
        with Client(self._urls[name], token=TOKEN, deadline_s=200) as client:
            for number in range(100_000):
                if self._stop.wait(0.2):
                    return
                key = f"{name}-{number}"
                verdict = client.verify(*self.row(name, number), key=key, on_no_verdict="none")
                self.found[name, key] = (None, "") if verdict is None else (verdict.reward, verdict.id)

    def check(self) -> None:
        """Each was answered rightly, and each server still knows each of its verdicts."""
        assert len(self.found) >= 50 * len(self._urls), len(self.found)
        for name, url in self._urls.items():
            with Client(url, token=TOKEN) as client:
                for (where, key), (reward, verdict_id) in self.found.items():
                    number = int(key.rpartition("-")[2])
                    if where == name:
                        assert reward == float(number % 3 != 0), (key, reward)
                        again = client.verify(*self.row(name, number), key=key)
                        assert (again.reward, again.id, again.replayed) == (reward, verdict_id, True)


@pytest.fixture(scope="module")
def stand_ins() -> None:
    build_stand_ins()


@pytest.mark.extended
@pytest.mark.timeout(1500)
def test_every_service_comes_back_and_no_verdict_is_lost(stand_ins: None) -> None:
    with Composed(["observe"]) as composed:
        composed.wait_until_healthy()
        assert set(composed.health()) == {
            name for name, service in services().items() if service.get("profiles", ["observe"]) == ["observe"]
        }
        until(lambda: targets_up(composed) == {"coding:8080", "math:8080", "swe:8080"}, composed.logs)
        has_mcp(composed)
        with Load(composed, ["CODING", "MATH"]) as load:
            for name in sorted(composed.health()):
                composed.kill(name)
                composed.wait_until_healthy()
        load.check()
        batches = httpx.get(f"{composed.url('JAEGER')}/", timeout=10).text
        assert int(batches) > 0, "no spans came through the collector"
        until(lambda: len(targets_up(composed)) == 3, composed.logs)


@pytest.mark.extended
@pytest.mark.timeout(1500)
def test_so_do_those_over_a_pool() -> None:
    names = ["pool", "coding-remote", "math-remote", "swe-remote"]
    with Composed(["remote"], names) as composed:
        composed.wait_until_healthy()
        assert set(composed.health()) == set(names)
        with Load(composed, ["CODING_REMOTE", "MATH_REMOTE"]) as load:
            for name in names:
                composed.kill(name)
                composed.wait_until_healthy()
        load.check()


def targets_up(composed: Composed) -> set[str]:
    """Which servers the real Prometheus, with our configuration, has metrics of."""
    answer = httpx.get(f"{composed.url('PROMETHEUS')}/api/v1/query", params={"query": "up"}, timeout=10)
    series = answer.json()["data"]["result"]
    return {one["metric"]["instance"] for one in series if one["value"][1] == "1"}


def has_mcp(composed: Composed) -> None:
    for name in ("CODING", "MATH", "SWE"):
        answer = httpx.post(f"{composed.url(name)}/mcp", json={}, headers=BEARER, timeout=10)
        assert answer.status_code != 404, answer.text
