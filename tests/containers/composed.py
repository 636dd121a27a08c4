"""A Compose project of docker-compose.yml, with ports of its own, stand-ins for the images of profile `observe`, and
traces and MCP on."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from tests.load.servers import free_port

REPOSITORY: Final = Path(__file__).parents[2]
STAND_INS: Final = Path(__file__).parent / "observe"
DOCKER: Final = os.environ.get("DOCKER", "docker")
TOKEN, POOL_TOKEN = "a-token-of-the-tests", "a-pool-token-of-the-tests"
PORTS: Final = (
    "CODING",
    "MATH",
    "SWE",
    "CODING_REMOTE",
    "MATH_REMOTE",
    "SWE_REMOTE",
    "PROMETHEUS",
    "GRAFANA",
    "JAEGER",
)


def docker(*words: str) -> str:
    done = subprocess.run([DOCKER, *words], capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.strip()


def build_stand_ins() -> None:
    for name in ("prometheus", "grafana", "otel-collector", "jaeger"):
        tag = f"sandbox-gym-imitation/{name}"
        docker("build", "--quiet", "--network", "host", "--target", name, "--tag", tag, str(STAND_INS))


def until(done: Callable[[], bool], what: Callable[[], object], seconds: float = 120) -> None:
    """Wait for it. Raises AssertionError with `what`."""
    deadline = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < deadline, what()
        time.sleep(0.5)


class Composed:
    """Up while the context is open; then it is down, its volumes removed."""

    def __init__(self, profiles: Sequence[str], services: Sequence[str] = ()) -> None:
        found = shutil.which("docker-compose")
        files = ["-f", str(REPOSITORY / "docker-compose.yml"), "-f", str(STAND_INS / "compose.yml")]
        chosen = [word for profile in profiles for word in ("--profile", profile)]
        name = f"sandbox-gym-test-{uuid.uuid4().hex[:12]}"
        self._command = [*([found] if found else [DOCKER, "compose"]), "-p", name, *files, *chosen]
        self._services = services
        self.ports = {service: free_port() for service in PORTS}
        self._environment = {
            **os.environ,
            "SANDBOX_GYM_TOKEN": TOKEN,
            "SANDBOX_GYM_POOL_TOKEN": POOL_TOKEN,
            "GRAFANA_PASSWORD": "a-password-of-the-tests",
            "SANDBOX_GYM_TRACES": "true",
            "SANDBOX_GYM_EXPOSE_TOOLS_OVER_MCP": "true",
            **{f"{service}_PORT": str(port) for service, port in self.ports.items()},
        }

    def __enter__(self) -> Self:
        try:
            self.run("up", "-d", *self._services)
        except BaseException:
            self._down()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._down()

    def _down(self) -> None:
        self.run("down", "--timeout", "10", "--volumes", "--remove-orphans")

    def run(self, *words: str) -> str:
        command = [*self._command, *words]
        done = subprocess.run(
            command, cwd=REPOSITORY, env=self._environment, capture_output=True, text=True, check=False, timeout=400
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def url(self, service: str) -> str:
        return f"http://127.0.0.1:{self.ports[service]}"

    def states(self) -> Mapping[str, Mapping[str, Any]]:
        """What the Engine says of each container, by its service."""
        containers = json.loads(docker("inspect", *self.run("ps", "-q").split()))
        return {one["Config"]["Labels"]["com.docker.compose.service"]: one for one in containers}

    def health(self) -> dict[str, str]:
        """By service: its health check's word; the container's own state where it has none."""
        states = {name: one["State"] for name, one in self.states().items()}
        return {name: one.get("Health", {"Status": one["Status"]})["Status"] for name, one in states.items()}

    def wait_until_healthy(self) -> None:
        until(lambda: set(self.health().values()) <= {"healthy", "running"}, lambda: (self.health(), self.logs()), 240)

    def logs(self) -> str:
        return self.run("logs", "--no-color", "--tail=40")[-20_000:]

    def kill(self, service: str) -> None:
        """SIGKILL its first process, behind the Engine's back, which would not start again what it is told to kill;
        and wait until it was started anew."""
        before = self.states()[service]
        os.kill(before["State"]["Pid"], signal.SIGKILL)
        until(
            lambda: (
                self.states()[service]["RestartCount"] > before["RestartCount"]
                and self.states()[service]["State"]["Running"]
            ),
            lambda: f"{service} did not come back: {self.logs()}",
        )
