"""The server on a cluster as its users start it: the documented commands, ng_run's environment, tokens, and its end."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import httpx2 as httpx
import pytest
import yaml

from tests.cluster.machines import Machines, until
from tests.documented import command as documented
from tests.load.servers import ServerProcess, free_port
from tests.server.fakes import verify_body

ROW = {"verifier_metadata": {"unit_tests": {"inputs": ["2", "21"], "outputs": ["4", "42"]}}}
RIGHT, WRONG = "```python\nprint(2 * int(input()))\n```", "```python\nprint(5)\n```"
BIN = Path(sys.executable).parent
REPOSITORY = Path(__file__).parents[2]


def rewards(url: str, count: int = 4) -> list[float]:
    """Of a wrong answer, then of right ones."""
    texts = [WRONG, *[RIGHT] * (count - 1)]
    answers = [httpx.post(f"{url}/verify", json=verify_body(text, **ROW), timeout=120) for text in texts]
    return [answer.json()["reward"] for answer in answers]


def run(arguments: list[str], **environment: str) -> subprocess.CompletedProcess[str]:
    program = [str(BIN / arguments[0]), *arguments[1:]]
    settings = {**os.environ, "NO_COLOR": "1", "COLUMNS": "200", **environment}
    return subprocess.run(program, capture_output=True, text=True, timeout=180, env=settings, check=False)


def nodes_of(url: str) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = httpx.get(f"{url}/health", timeout=60).json()["nodes"]
    return found


def listed(address: str) -> list[dict[str, object]]:
    done = run(["sandbox-gym", "cluster", "nodes", "--json", "--address", address])
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, object]] = json.loads(done.stdout)
    return rows


@contextmanager
def started_by_hand(folder: Path) -> Iterator[str]:
    """Head and a node by the documented commands; ends exactly what they started."""
    port, temp = free_port(), folder / "byhand"
    address = f"127.0.0.1:{port}"
    head = documented("cluster.md", "ray start --head", {"--port=6379": f"--port={port}"})
    more = ["--node-ip-address=127.0.0.1", "--num-cpus=1", "--object-store-memory=100000000"]
    try:
        done = run([*head, *more, f"--temp-dir={temp}", "--include-dashboard=false"])
        assert done.returncode == 0, done.stdout + done.stderr
        told = (temp / "ray_current_cluster").read_text().strip() if (temp / "ray_current_cluster").exists() else ""
        address = told or address
        node = documented("cluster.md", "ray start --address", {"10.0.0.1:6379": address})
        done = run([*node, *more[1:]])
        assert done.returncode == 0, done.stdout + done.stderr
        yield address
    finally:
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                mine = str(temp).encode() in path.read_bytes()
            except OSError:
                continue
            if mine:
                os.kill(int(path.parent.name), signal.SIGKILL)


@contextmanager
def serving(arguments: list[str], folder: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """A server by the documented command, on a port of the test's."""
    log = folder / f"serve-{time.monotonic_ns()}.log"
    port = free_port()
    settings = {**os.environ, "SANDBOX_GYM_STATE_DIR": str(folder / "state"), **environment}
    with log.open("wb") as output:
        command = [str(BIN / arguments[0]), *arguments[1:], "--port", str(port)]
        process = subprocess.Popen(command, stdout=output, stderr=output, env=settings)
    try:

        def answers() -> bool:
            assert process.poll() is None, log.read_text()
            return f"http://127.0.0.1:{port}" in log.read_text()

        until(answers, 240)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.timeout(900)
def test_the_documented_commands(folder: Path) -> None:
    assert shlex.split(documented("cluster.md", "export", {})[1]) == ["RAY_AUTH_MODE=token"]
    with started_by_hand(folder) as address:
        serve = documented("cluster.md", "sandbox-gym serve", {})
        with serving(serve, folder, {"RAY_ADDRESS": address}) as url:
            until(lambda: [one["status"] for one in nodes_of(url).values()] == ["up", "up"], 120)
            assert rewards(url) == [0.0, 1.0, 1.0, 1.0]
            here = {"RAY_ADDRESS": address}
            table = run(documented("cluster.md", "sandbox-gym cluster nodes", {}), **here).stdout
            names = sorted(nodes_of(url))
            assert all(name in table for name in names)
            drain = documented("cluster.md", "sandbox-gym cluster drain", {"10.0.0.2": names[0]})
            assert run(drain, **here).returncode == 0
            until(lambda: nodes_of(url)[names[0]]["status"] == "draining")
            assert rewards(url) == [0.0, 1.0, 1.0, 1.0]
            undrain = documented("cluster.md", "sandbox-gym cluster undrain", {"10.0.0.2": names[0]})
            assert run(undrain, **here).returncode == 0
            until(lambda: nodes_of(url)[names[0]]["status"] == "up")
            assert run(["sandbox-gym", "cluster", "drain", "10.9.9.9"], **here).returncode == 1


@pytest.mark.timeout(600)
def test_a_server_shows_a_killed_node_and_goes_on(machines: Machines, folder: Path) -> None:
    machines.ensure(3)
    with ServerProcess("local", folder, settings={"SANDBOX_GYM_CLUSTER_ADDRESS": machines.address}) as server:
        server.wait_for(lambda health: health["stats"]["nodes_up"] == 3)
        assert rewards(server.url) == [0.0, 1.0, 1.0, 1.0]
        gone = machines.kill(0)
        assert rewards(server.url, 6) == [0.0] + [1.0] * 5
        server.wait_for(lambda health: health["stats"]["losses"] == 1 and health["stats"]["nodes_up"] == 2)
        assert not any(name.endswith(gone) and one["status"] == "up" for name, one in nodes_of(server.url).items())
        metrics = httpx.get(f"{server.url}/metrics", timeout=30).text
        assert "sandbox_gym_cluster_losses 1.0" in metrics
        assert metrics.count("sandbox_gym_node_up{") >= 2


@pytest.mark.timeout(600)
def test_pools_end_with_a_killed_server(machines: Machines, folder: Path) -> None:
    machines.ensure(3)
    with ServerProcess("local", folder, settings={"SANDBOX_GYM_CLUSTER_ADDRESS": machines.address}) as server:
        server.wait_for(lambda health: health["stats"]["nodes_up"] == 3)
        until(lambda: {str(row["status"]) for row in listed(machines.address)} == {"up"})  # an earlier one's are gone
        server.stop(signal.SIGKILL)
        until(lambda: listed(machines.address) == [], 120)


@pytest.mark.timeout(600)
def test_a_child_of_ng_run_joins_its_cluster(machines: Machines, folder: Path) -> None:
    """As NeMo Gym starts it: its own folder, its environment, and Ray workers with this server's interpreter."""
    machines.ensure(3)
    port, log = free_port(), folder / "child.log"
    fields = {"entrypoint": "app.py", "host": "127.0.0.1", "port": port, "cluster_address": "auto", "boxes": 2}
    config = {
        "ray_head_node_address": machines.address,
        "coding": {"resources_servers": {"coding": {**fields, "domain": "coding"}}},
    }
    environment = {
        **os.environ,
        "NEMO_GYM_CONFIG_PATH": "coding",
        "NEMO_GYM_CONFIG_DICT": yaml.safe_dump(config),
        "SANDBOX_GYM_STATE_DIR": str(folder / "state"),
    }
    place = REPOSITORY / "resources_servers" / "coding"
    with log.open("wb") as output:
        process = subprocess.Popen([sys.executable, "app.py"], cwd=place, env=environment, stdout=output, stderr=output)
    try:

        def answers() -> bool:
            assert process.poll() is None, log.read_text()
            return f"http://127.0.0.1:{port}" in log.read_text()

        until(answers, 240)
        assert rewards(f"http://127.0.0.1:{port}") == [0.0, 1.0, 1.0, 1.0]
    finally:
        process.terminate()
        process.wait(60)


@pytest.mark.timeout(300)
def test_a_stranger_is_not_let_in(machines: Machines) -> None:
    arguments = ["sandbox-gym", "cluster", "nodes", "--address", machines.address]
    done = run(arguments, RAY_AUTH_TOKEN="not-the-token-of-this-cluster")
    assert done.returncode == 2
    assert "cluster" in done.stderr
    assert machines.address in done.stderr
