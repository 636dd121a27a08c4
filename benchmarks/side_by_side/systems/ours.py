"""Ours over HTTP: `sandbox-gym serve`, with the settings that it has when nobody sets any."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Literal

import anyio

from benchmarks.side_by_side import cpu
from benchmarks.side_by_side.boxes import BoxClock, ContainerClock
from benchmarks.side_by_side.systems.base import Failed, System
from benchmarks.side_by_side.systems.serving import Server, free_port, serving
from benchmarks.side_by_side.workloads import ACTIONS, REPOSITORY, Job, Workload, candidate, numbered
from sandbox_gym.sandbox.containers.keepers import KEEPER_LABEL, keeper_of
from sandbox_gym.server.protocol.envelope import response_of

SERVERS = {"stdin": "coding", "check": "coding", "math": "math", "swe": "swe", "trajectory": "coding"}
"""Which resources server does which kind of work."""
COUNT = "wc -l < lines"

Mode = Literal["fork", "exec"]


class Ours(System):
    """One provider. `mode` "exec": the program is started as a command of its own, as other languages' are.
    `checkout`: another tree of sandbox_gym, served from there by the same interpreter."""

    def __init__(
        self, provider: Literal["local", "docker"], mode: Mode, folder: Path, *, checkout: Path | None = None
    ) -> None:
        super().__init__()
        self._provider, self._mode, self._checkout = provider, mode, checkout
        self._folder = folder / f"ours-{provider}-{mode}{'-earlier' if checkout else ''}"
        self._servers: dict[str, Server] = {}
        self._clock = ContainerClock() if provider == "docker" else BoxClock(self.pids)
        self.name = f"ours-{provider}" if mode == "fork" else f"ours-{provider}-exec"
        self.title = f"sandbox_gym, {provider}" + (", exec mode" if mode == "exec" else "")
        if checkout is not None:
            self.name, self.title = "ours-earlier", "sandbox_gym, local, of another checkout"
        self.isolation = {"local": "namespaces, seccomp, cgroup", "docker": "container, user, seccomp"}[provider]

    async def __aexit__(self, *exception: object) -> None:
        await super().__aexit__(*exception)
        if self._provider == "docker" and self._servers:
            await anyio.to_thread.run_sync(_forget_snapshots, self._folder / "state" / "sessions")

    def lacks(self, workload: Workload) -> str:
        if self._mode == "exec" and (workload.kind != "stdin" or workload.job(0).language != "python"):
            return "the same as without exec mode"
        return ""

    async def prepare(self, workload: Workload) -> None:
        if not self._servers:
            self._stack.enter_context(self._clock)
        kind = SERVERS[workload.kind]
        if kind in self._servers:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        port = free_port()
        command = [sys.executable, "-m", "sandbox_gym", "serve", kind, "--port", str(port)]
        command += ["--provider", self._provider]
        environment = {"SANDBOX_GYM_STATE_DIR": str(self._folder / "state"), "NO_COLOR": "1"}
        log = self._folder / f"{kind}.log"
        self._servers[kind] = await self._stack.enter_async_context(
            serving(command, port, log, environment=environment, folder=self._checkout or REPOSITORY)
        )

    async def verify(self, workload: Workload, job: Job, number: int) -> bool:
        server = self._servers[SERVERS[workload.kind]]
        if workload.kind == "trajectory":
            return await _trajectory(server)
        body: dict[str, object] = {"responses_create_params": {"input": "?"}, **job.row}
        if workload.kind == "swe":
            body |= {"model_patch": candidate(job, number), "response": response_of("")}
        else:
            text, source = numbered(job, number)
            body["response"] = response_of(_as_command(source, workload) if self._mode == "exec" else text)
            if self._mode == "exec":
                metadata = body["verifier_metadata"]
                assert isinstance(metadata, dict)
                body["verifier_metadata"] = {**metadata, "language": "bash"}
        answer = await server.post("/verify", body)
        if answer.get("mask_sample"):
            raise Failed(f"no verdict: {answer.get('failure_kind')}")
        return answer.get("reward") == 1.0

    async def cpu_s(self) -> float:
        boxes_s = await anyio.to_thread.run_sync(self._clock.seconds)
        if self._provider == "docker":
            return sum(map(cpu.self_s, self.pids())) + boxes_s + cpu.named_s(("dockerd", "containerd"))
        if boxes_s:
            return sum(map(cpu.self_s, self.pids())) + boxes_s
        return cpu.trees_s([server.holder for server in self._servers.values()])

    def pids(self) -> list[int]:
        """Its server processes."""
        return [server.pid for server in self._servers.values()]

    def server_bytes(self) -> int:
        """Resident memory of its server processes, their sandboxes left out."""
        return sum(cpu.resident_bytes(server.pid) for server in self._servers.values())


def _as_command(source: str, workload: Workload) -> str:
    options = "-I" if workload.packages else "-I -S"
    return f"```bash\nexec /usr/bin/python3 {options} -c {shlex.quote(source)}\n```"


async def _trajectory(server: Server) -> bool:
    """A session of its own: a bash that keeps its folder, one call after the other; whether the last one adds up."""
    server.client.cookies.clear()
    await server.post("/seed_session", {"responses_create_params": {"input": "?"}})
    for number in range(ACTIONS - 1):
        await server.post("/bash", {"command": f"echo {number} >> lines"})
    last = await server.post("/bash", {"command": COUNT})
    return str(last.get("output")).strip() == str(ACTIONS - 1)


def _forget_snapshots(sessions: Path) -> None:
    """A server's images outlive it; the state folder that they belong to is about to go."""
    import docker

    client = docker.from_env()
    try:
        for folder in sessions.rglob("globals"):
            for image in client.images.list(filters={"label": f"{KEEPER_LABEL}={keeper_of(folder)}"}):
                client.images.remove(image.id, force=True)
    finally:
        client.close()
