"""`docker exec` for each action, in a container that stays: what an agent's tool costs without a guest inside."""

from __future__ import annotations

import os
import shutil

import anyio

from benchmarks.side_by_side import cpu
from benchmarks.side_by_side.systems.bare_subprocess import run
from benchmarks.side_by_side.systems.base import Failed, System
from benchmarks.side_by_side.workloads import ACTIONS, Job, Workload

IMAGE = "sandbox-gym/python:latest"


class DockerExec(System):
    """The Engine's own command line."""

    name = "docker-exec"
    title = "docker exec per action"
    isolation = "container"

    def __init__(self) -> None:
        super().__init__()
        self._docker = os.environ.get("DOCKER") or shutil.which("docker") or "docker"

    def lacks(self, workload: Workload) -> str:
        return "" if workload.kind == "trajectory" else "not its work"

    async def verify(self, workload: Workload, job: Job, number: int) -> bool:
        start = [self._docker, "run", "-d", "--rm", "--network", "none", "--user", "0", IMAGE, "sleep", "600"]
        code, container = await run(start)
        if code != 0:
            raise Failed(f"docker run ended with {code}")
        container = container.strip()
        try:
            shell = [self._docker, "exec", container, "/bin/sh", "-c"]
            for index in range(ACTIONS - 1):
                await run([*shell, f"echo {index} >> /tmp/lines"])
            return (await run([*shell, "wc -l < /tmp/lines"]))[1].strip() == str(ACTIONS - 1)
        finally:
            with anyio.CancelScope(shield=True):
                await run([self._docker, "rm", "-f", container])

    async def cpu_s(self) -> float:
        """The command line's and the Engine's own; what runs inside is not counted."""
        return cpu.own_s() + cpu.named_s(("dockerd", "containerd"))
