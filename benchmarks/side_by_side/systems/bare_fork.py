"""The limit: a bare fork-server for each core, asked over a socket; for math one that has imported math-verify."""

from __future__ import annotations

import array
import os
import socket
import subprocess
import sys
from pathlib import Path

import anyio

from benchmarks.side_by_side import cpu
from benchmarks.side_by_side.systems.base import System
from benchmarks.side_by_side.workloads import Job, Workload

_SERVER = str(Path(__file__).with_name("fork_server.py"))
_OUTPUT_MAX = 1 << 16
_MATH = """
from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify
gold = parse({gold!r}, (LatexExtractionConfig(),), parsing_timeout=None)
answer = parse({answer!r}, (ExprExtractionConfig(), LatexExtractionConfig()), parsing_timeout=None)
print(verify(gold, answer, timeout_seconds=None))
"""


class ForkServer:
    """One server process; one run at a time."""

    def __init__(self, command: list[str]) -> None:
        self._sock, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._sock.setblocking(False)
        fd = theirs.fileno()
        self.process = subprocess.Popen([*command[:-1], command[-1], str(fd)], pass_fds=[fd])
        theirs.close()

    async def run(self, source: str, stdin: str) -> tuple[int, str]:
        """Wait status and output, both small."""
        given, feed = os.pipe()
        kept, printed = os.pipe()
        try:
            passed = array.array("i", [given, printed])
            self._sock.sendmsg([source.encode()], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, passed)])
            os.write(feed, stdin.encode())
            for fd in (given, printed, feed):
                os.close(fd)
            await anyio.wait_readable(self._sock)
            return int(self._sock.recv(64)), os.read(kept, _OUTPUT_MAX).decode("utf-8", "replace")
        finally:
            os.close(kept)

    def stop(self) -> None:
        self._sock.close()
        self.process.wait(10)


class BareFork(System):
    """As many fork-servers as cores, taken in turn."""

    name = "bare-fork-server"
    title = "bare fork-server (the limit)"
    isolation = "none"

    def __init__(self) -> None:
        super().__init__()
        self._servers: dict[str, list[ForkServer]] = {}
        self._turns: dict[str, anyio.Semaphore] = {}
        self._free: dict[str, list[ForkServer]] = {}

    def lacks(self, workload: Workload) -> str:
        if workload.packages:
            return "its interpreter has no packages"
        if workload.kind == "stdin" and workload.job(0).language != "python":
            return "Python only"
        return "" if workload.kind in ("stdin", "check", "math") else "not its work"

    async def prepare(self, workload: Workload) -> None:
        kind = "math" if workload.kind == "math" else "python"
        if kind in self._servers:
            return
        count = os.cpu_count() or 1
        interpreter = [sys.executable, "-c", _LOADED] if kind == "math" else ["/usr/bin/python3", "-I", "-S", _SERVER]
        self._servers[kind] = [ForkServer(interpreter) for _ in range(count)]
        self._free[kind], self._turns[kind] = list(self._servers[kind]), anyio.Semaphore(count)
        for server in self._servers[kind]:
            self._stack.callback(server.stop)

    async def verify(self, workload: Workload, job: Job, number: int) -> bool:
        kind = "math" if workload.kind == "math" else "python"
        async with self._turns[kind]:
            server = self._free[kind].pop()
            try:
                return await (_math(server, job) if kind == "math" else _code(server, job))
            finally:
                self._free[kind].append(server)

    async def cpu_s(self) -> float:
        """Its servers and this process, which does what a server would: start runs and compare."""
        pids = [server.process.pid for servers in self._servers.values() for server in servers]
        return cpu.trees_s(pids) + cpu.own_s()


_LOADED = f"""
import sys
sys.argv = [{_SERVER!r}, sys.argv[1], "math_verify", "sympy"]
exec(compile(open({_SERVER!r}).read(), {_SERVER!r}, "exec"), {{"__name__": "__main__"}})
"""


async def _code(server: ForkServer, job: Job) -> bool:
    if not job.tests:
        return (await server.run(job.source, ""))[0] == 0
    for given, expected in job.tests:
        status, printed = await server.run(job.source, given)
        if status != 0 or printed.split() != expected.split():
            return False
    return True


async def _math(server: ForkServer, job: Job) -> bool:
    gold = f"\\boxed{{{job.row['expected_answer']}}}"
    status, printed = await server.run(_MATH.format(gold=gold, answer=job.text), "")
    return status == 0 and printed.strip() == "True"
