"""A fresh interpreter for each test, or the compiled program: no isolation, no caps, no server."""

from __future__ import annotations

import subprocess
import tempfile
from collections.abc import Sequence

import anyio

from benchmarks.side_by_side import cpu
from benchmarks.side_by_side.systems.base import System
from benchmarks.side_by_side.workloads import ACTIONS, Job, Workload, numbered

INTERPRETER = ("/usr/bin/python3", "-I", "-S", "-c")
RUN_S = 60.0


async def run(command: Sequence[str], stdin: str = "", folder: str | None = None) -> tuple[int, str]:
    """Exit code and standard output."""
    with anyio.fail_after(RUN_S):
        done = await anyio.run_process(
            command, input=stdin.encode(), check=False, stderr=subprocess.DEVNULL, cwd=folder
        )
    return done.returncode, done.stdout.decode("utf-8", "replace")


class BareSubprocess(System):
    """The least that starts a program the usual way."""

    name = "bare-subprocess"
    title = "bare subprocess"
    isolation = "none"

    def lacks(self, workload: Workload) -> str:
        if workload.kind in ("stdin", "check"):
            return ""
        return "" if workload.kind == "trajectory" else "not its work"

    async def verify(self, workload: Workload, job: Job, number: int) -> bool:
        with tempfile.TemporaryDirectory() as folder:
            if workload.kind == "trajectory":
                return await self._trajectory(folder)
            source = numbered(job, number)[1]
            interpreter = [word for word in INTERPRETER if word != "-S" or not workload.packages]
            command: Sequence[str] = (*interpreter, source)
            if job.language == "cpp":
                made = f"{folder}/a"
                if (await run(["g++", "-O2", "-std=c++17", "-x", "c++", "-", "-o", made], source))[0] != 0:
                    return False
                command = (made,)
            if not job.tests:
                return (await run(command))[0] == 0
            return await _passes(command, job)

    async def _trajectory(self, folder: str) -> bool:
        """A shell for each action: files are kept, a shell's own state is not."""
        for number in range(ACTIONS - 1):
            await run(["/bin/bash", "-c", f"echo {number} >> lines"], folder=folder)
        _code, printed = await run(["/bin/bash", "-c", "wc -l < lines"], folder=folder)
        return printed.strip() == str(ACTIONS - 1)

    async def cpu_s(self) -> float:
        return cpu.own_s()


async def _passes(command: Sequence[str], job: Job) -> bool:
    for given, expected in job.tests:
        code, printed = await run(command, given)
        if code != 0 or printed.split() != expected.split():
            return False
    return True
