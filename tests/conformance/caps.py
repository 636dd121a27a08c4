"""Every cell of caps.md as a program that runs into one cap. A cell that a provider calls unenforced must be so.

`python -m tests.conformance.caps PROVIDER` runs one column and prints it as JSON: it needs no pytest, so that it also
runs as another user and in a container. PROVIDER: local, local-rlimits, local-auto, docker, podman, or a pool's URL for
e2b.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Awaitable, Callable
from dataclasses import replace

import anyio

from sandbox_gym.config import Settings
from sandbox_gym.contract import Outcome, Program, Run, Status
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.api import Provider, SandboxSpec
from sandbox_gym.sandbox.caps import Cap, CapRow
from sandbox_gym.sandbox.e2b.limits import E2bOptions
from sandbox_gym.sandbox.e2b.provider import E2bProvider
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.local.machine import GUEST_BYTES, LocalMachine
from sandbox_gym.sandbox.local.provider import CgroupPolicy
from sandbox_gym.sandbox.registry import make_provider
from sandbox_gym.sandbox.sandbox import Sandbox
from sandbox_gym.sandbox.users import Users

LIMITS = Limits(cpu_time_s=5, wall_time_s=15, memory_bytes=128 * MIB, processes=16)
Cell = Callable[[Sandbox, CapRow], Awaitable[None]]


class Wrong(Exception):
    """A cap that does not do what its row says."""


def must(holds: bool, outcome: object) -> None:
    if not holds:
        raise Wrong(str(outcome)[:1000])


async def run(box: Sandbox, source: str, limits: Limits = LIMITS) -> Outcome:
    async with box.run_all([Run("cap", Program("fork", {"main.py": source.encode()}), b"", limits)]) as outcomes:
        return await anext(outcomes)


async def cpu_time(box: Sandbox, row: CapRow) -> None:
    """Of the whole tree: neither of the two processes gets there alone."""
    source = "import os, time\nos.fork()\nwhile time.process_time() < 0.7: pass\nos.wait()"
    outcome = await run(box, source, replace(LIMITS, cpu_time_s=1.0))
    must(outcome.status is Status.CPU_TIME_LIMIT, outcome)


async def cpu_share(box: Sandbox, row: CapRow) -> None:
    source = "import os, time\nend = time.monotonic() + 2\nos.fork()\nwhile time.monotonic() < end: pass\nos.wait()"
    outcome = await run(box, source, replace(LIMITS, cpus=0.1))
    share = outcome.cpu_time_s / outcome.wall_time_s
    must(share < 0.2 if row.enforced else share > 0.2, f"{share:.2f} CPUs of {outcome}")


async def wall_time(box: Sandbox, row: CapRow) -> None:
    outcome = await run(box, "import time; time.sleep(60)", replace(LIMITS, wall_time_s=0.5))
    must(outcome.status is Status.WALL_TIME_LIMIT, outcome)


async def memory(box: Sandbox, row: CapRow) -> None:
    bomb = await run(box, "kept = []\nwhile True: kept.append(bytearray(1 << 20))")
    must(bomb.status is Status.MEMORY_LIMIT, bomb)
    source = f"""
import os, time
for _ in range(2):
    if os.fork() == 0:
        kept = bytearray({LIMITS.memory_bytes * 8 // 10})
        for i in range(0, len(kept), 4096): kept[i] = 1
        time.sleep(1)
        os._exit(0)
print([os.wait()[1] for _ in range(2)])
"""
    outcome = await run(box, source)
    if row.scope == "box":
        must(outcome.status is Status.MEMORY_LIMIT, outcome)
    else:
        must(outcome.stdout == b"[0, 0]\n", f"each process has the cap to itself: {outcome}")


async def swap(box: Sandbox, row: CapRow) -> None:
    """By cgroup: memory and swap together are capped at what memory is. By rlimit: pages count before they exist."""
    if row.scope == "process":
        source = (
            f"import mmap\ntry: mmap.mmap(-1, {2 * LIMITS.memory_bytes}, mmap.MAP_PRIVATE)\nexcept OSError: print(1)"
        )
        outcome = await run(box, source)
        must(outcome.stdout == b"1\n", outcome)
    elif isinstance(box.machine, LocalMachine):
        await run(box, "pass")
        group = box.machine.group
        must(group is not None, "no cgroup")
        assert group is not None
        v1 = group.version == 1
        text = (group.folders["memory"] / ("memory.memsw.limit_in_bytes" if v1 else "memory.swap.max")).read_text()
        must(int(text) == (LIMITS.memory_bytes + GUEST_BYTES if v1 else 0), text)
    else:
        source = """
def read(name):
    try: return open('/sys/fs/cgroup/' + name).read().strip()
    except OSError: return ''
v1 = read('memory/memory.memsw.limit_in_bytes')
print(v1 == read('memory/memory.limit_in_bytes') if v1 else read('memory.swap.max') == '0')
"""
        outcome = await run(box, source)
        must(outcome.stdout == b"True\n", outcome)


async def processes(box: Sandbox, row: CapRow) -> None:
    source = """
import os, time
n = 0
try:
    while n < 100:
        if os.fork() == 0: time.sleep(30); os._exit(0)
        n += 1
except BlockingIOError: pass
print(n)
"""
    outcome = await run(box, source)
    must(outcome.stdout.strip().isdigit() and 8 <= int(outcome.stdout) <= LIMITS.processes + 4, outcome)


async def open_files(box: Sandbox, row: CapRow) -> None:
    source = "import os\nn = 0\ntry:\n    while n < 999: n = os.dup(0)\nexcept OSError: print(n + 1)"
    outcome = await run(box, source, replace(LIMITS, open_files=40))
    must(outcome.stdout == b"40\n", outcome)


async def file_size(box: Sandbox, row: CapRow) -> None:
    source = """
import os
file = os.open('big', os.O_CREAT | os.O_WRONLY)
try:
    while True: os.write(file, b'x' * 100_000)
except OSError as error: print(error.errno, os.path.getsize('big'))
"""
    outcome = await run(box, source, replace(LIMITS, file_bytes=1 * MIB))
    must(outcome.stdout == b"27 %d\n" % MIB, outcome)


async def disk_bytes(box: Sandbox, row: CapRow) -> None:
    """Over many files and both writable folders, each file within its own cap."""
    cap = 4 * MIB if row.scope == "run" else Limits().scratch_bytes + 64 * MIB
    source = """
total = 0
for folder in ('.', '/tmp'):
    for number in range(1000):
        try:
            with open(f'{folder}/{number}', 'wb', buffering=0) as file: wrote = file.write(bytes(1 << 20))
        except OSError: break
        total += wrote
        if wrote < 1 << 20: break
print(total)
"""
    outcome = await run(box, source, replace(LIMITS, scratch_bytes=4 * MIB, memory_bytes=512 * MIB))
    must(outcome.stdout.strip().isdigit() and cap // 2 <= int(outcome.stdout) <= cap, outcome)


async def disk_inodes(box: Sandbox, row: CapRow) -> None:
    cap = 500 if row.scope == "run" else Limits().scratch_inodes
    source = """
n = 0
try:
    while n < 40_000:
        open(str(n), 'w').close()
        n += 1
except OSError: print(n)
"""
    outcome = await run(box, source, replace(LIMITS, scratch_inodes=500))
    must(outcome.stdout.strip().isdigit() and cap // 2 <= int(outcome.stdout) <= cap, outcome)


async def output_bytes(box: Sandbox, row: CapRow) -> None:
    for name in ("stdout", "stderr"):
        limits = replace(LIMITS, stdout_bytes=100_000, stderr_bytes=100_000)
        outcome = await run(box, f"import sys\nwhile True: sys.{name}.write('x' * 1000)", limits)
        must(outcome.status is Status.OUTPUT_LIMIT and len(getattr(outcome, name)) == 100_000, outcome)


async def ptys(box: Sandbox, row: CapRow) -> None:
    source = """
import os
held = []
try:
    while len(held) < 200: held.append(os.open('/dev/ptmx', os.O_RDWR))
except OSError: pass
print(len(held))
"""
    outcome = await run(box, source)
    must(outcome.stdout.strip().isdigit() and (int(outcome.stdout) == 0) == row.enforced, outcome)


async def network(box: Sandbox, row: CapRow) -> None:
    source = """
import socket
reached = []
for address in (('192.0.2.1', 80), ('169.254.169.254', 80), ('172.17.0.1', 53)):
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try: udp.sendto(b'x', address); reached.append(address)
    except OSError: pass
    try: socket.create_connection(address, 0.3); reached.append(address)
    except OSError: pass
print(reached)
"""
    outcome = await run(box, source)
    must(outcome.stdout == b"[]\n", outcome)


CELLS: dict[Cap, Cell] = {
    Cap.CPU_TIME: cpu_time,
    Cap.CPU_SHARE: cpu_share,
    Cap.WALL_TIME: wall_time,
    Cap.MEMORY: memory,
    Cap.SWAP: swap,
    Cap.PROCESSES: processes,
    Cap.OPEN_FILES: open_files,
    Cap.FILE_SIZE: file_size,
    Cap.DISK_BYTES: disk_bytes,
    Cap.DISK_INODES: disk_inodes,
    Cap.OUTPUT_BYTES: output_bytes,
    Cap.PTYS: ptys,
    Cap.NETWORK: network,
}


def provider_named(name: str) -> Provider:
    if name.startswith("http"):
        return E2bProvider(E2bOptions(api_key="any", api_url=name, creates_per_s=100))
    if name in ("docker", "podman"):
        return make_provider(Settings(provider=name))
    ids = Settings().uid
    policies: dict[str, CgroupPolicy] = {"local": "require", "local-rlimits": "never"}
    return LocalProvider(cgroup=policies.get(name, "auto"), users=Users(ids.base, ids.count))


async def column(name: str) -> dict[str, dict[str, str]]:
    """Per cap: its scope, who is said to enforce it, and what was wrong with that, if anything."""
    provider = provider_named(name)
    found = {}
    try:
        for row in await provider.doctor.caps():
            box = await provider.create(SandboxSpec())
            wrong = ""
            try:
                await CELLS[row.cap](box, row)
            except Wrong as error:
                wrong = str(error) or "wrong"
            finally:
                await box.aclose()
            found[row.cap.value] = {"scope": row.scope, "enforced_by": row.enforced_by, "wrong": wrong}
    finally:
        await provider.aclose()
    return found


if __name__ == "__main__":
    sys.stdout.write(json.dumps(anyio.run(column, sys.argv[1])))
