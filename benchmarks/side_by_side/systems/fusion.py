"""SandboxFusion's way of running, over HTTP; see fusion_server.py."""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks.side_by_side import cpu
from benchmarks.side_by_side.systems.base import System
from benchmarks.side_by_side.systems.serving import Server, free_port, serving
from benchmarks.side_by_side.workloads import Job, Workload, numbered

_SERVER = Path(__file__).with_name("fusion_server.py")


class Fusion(System):
    """A subprocess per test in a temporary folder, without isolation."""

    name = "sandboxfusion-shaped"
    title = "SandboxFusion's way"
    isolation = "none"

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self._folder = folder / "fusion"
        self._server: Server | None = None

    def lacks(self, workload: Workload) -> str:
        return "" if workload.kind in ("stdin", "check") else "not its work"

    async def prepare(self, workload: Workload) -> None:
        if self._server is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            port = free_port()
            command = [sys.executable, str(_SERVER), str(port)]
            log = self._folder / "server.log"
            self._server = await self._stack.enter_async_context(serving(command, port, log, environment={}))

    async def verify(self, workload: Workload, job: Job, number: int) -> bool:
        assert self._server is not None, "prepared before"
        inputs, outputs = [one for one, _ in job.tests], [one for _, one in job.tests]
        body = {"language": job.language, "code": numbered(job, number)[1], "inputs": inputs, "outputs": outputs}
        return (await self._server.post("/submit", body)).get("accepted") is True

    async def cpu_s(self) -> float:
        return 0.0 if self._server is None else cpu.trees_s([self._server.holder])
