"""A guest started by guest/nested_bootstrap.py where root may do all, as in E2B's own sandboxes.

A small root file system with this machine's programs stands in for their virtual machine; its root is this machine's,
without a user namespace. Pools, where root may do less, are what the e2b columns of test_run_walls.py are about.
"""

from __future__ import annotations

import base64
import json
import shlex
from collections.abc import AsyncIterator
from importlib.resources import files

import anyio
import pytest
from anyio.abc import ByteStream, Process
from anyio.streams.buffered import BufferedByteReceiveStream

from sandbox_gym.contract import Outcome, Program, Run, Status
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.channel.guest_config import GuestConfig

pytestmark = pytest.mark.anyio
LIMITS = Limits(cpu_time_s=20, wall_time_s=40, memory_bytes=128 * MIB, processes=16)
MACHINE = [
    "bwrap", "--unshare-pid", "--unshare-ipc", "--die-with-parent", "--cap-add", "ALL", "--tmpfs", "/",
    "--ro-bind", "/usr", "/usr", "--ro-bind", "/etc", "/etc", "--symlink", "usr/bin", "/bin",
    "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64", "--proc", "/proc", "--dev", "/dev",
    "--perms", "1777", "--dir", "/tmp", "--perms", "1777", "--dir", "/var/tmp", "--perms", "1777", "--dir", "/run/lock",
    "--dir", "/home/user", "--clearenv", "--setenv", "PATH", "/usr/bin:/bin",
]  # fmt: skip
FIRST, LINE = 1 << 16, 1 << 20


class Lines(ByteStream):
    """The command's two ends: bytes in, lines of base64 out."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._stdin = process.stdin
        self.stdout = BufferedByteReceiveStream(process.stdout)

    async def receive(self, max_bytes: int = 65536) -> bytes:
        return base64.b64decode(await self.stdout.receive_until(b"\n", LINE))

    async def send(self, item: bytes) -> None:
        await self._stdin.send(item)

    async def send_eof(self) -> None:
        await self._stdin.aclose()

    async def aclose(self) -> None:
        await self._stdin.aclose()


@pytest.fixture
async def link() -> AsyncIterator[GuestChannel]:
    source = files("sandbox_gym.guest").joinpath("nested_bootstrap.py").read_text()
    command = f"exec python3 -I -c {shlex.quote(source)}"
    async with await anyio.open_process([*MACHINE, "bash", "-c", command]) as process:
        stream = Lines(process)
        with anyio.fail_after(60):
            said = json.loads(await stream.stdout.receive_until(b"\n", FIRST))
            assert said["tier"] == "uid", said
            made = GuestChannel(stream, lambda: "inside", silence_s=10)
            await made.handshake(
                GuestConfig(
                    tier="uid", cgroup="/none", dirs=said["dirs"], uid_base=50_000, limit_data=True, guests=True
                )
            )
        yield made
        await stream.aclose()
        with anyio.fail_after(30):
            await process.wait()


async def run(link: GuestChannel, source: str) -> Outcome:
    async with link.run_all([Run("one", Program("fork", {"main.py": source.encode()}), b"in", LIMITS)]) as outcomes:
        return await anext(outcomes)


async def test_programs_run_and_leave_nothing(link: GuestChannel) -> None:
    outcome = await run(link, "print(input()); open('/tmp/x', 'w').write('secret'); open('y', 'w').write('secret')")
    assert (outcome.status, outcome.stdout) == (Status.OK, b"in\n"), outcome
    left = await run(link, "import os; print(os.listdir('/tmp'), os.listdir('.'), sorted(os.listdir('/scratch'))[1:])")
    assert left.stdout == b"[] ['main.py'] []\n", left
    daemon = await run(link, "import os, time\nif os.fork() == 0:\n    os.setsid()\n    while True: time.sleep(0.1)")
    assert "processes_left_behind" in daemon.tamper
    assert await link.reset()


async def test_programs_hold_nothing_of_the_machine(link: GuestChannel) -> None:
    source = """
import os, socket
written = []
for folder, _, _ in os.walk('/'):
    if folder.startswith(('/proc', '/scratch', '/tmp', '/dev/shm', '/sys', '/var/tmp')): continue
    try: open(os.path.join(folder, 'probe'), 'w'); written.append(folder)
    except OSError: pass
status = dict(line.split(':', 1) for line in open('/proc/self/status').read().strip().split('\\n'))
reached = []
for address in (('127.0.0.1', 80), ('172.17.0.1', 53)):
    try: socket.create_connection(address, 0.3); reached.append(address)
    except OSError as error: reached += [address] if error.errno == 111 and address[0] != '127.0.0.1' else []
others = [pid for pid in os.listdir('/proc') if pid.isdigit() and int(pid) != os.getpid()]
for pid in others:
    for name in ('mem', 'environ', 'fd/0'):
        try: open(f'/proc/{pid}/{name}', 'rb').read(1); reached.append((pid, name))
        except OSError: pass
print(written, reached, len(others) <= 4, os.getuid() > 50_000, int(status['CapEff'], 16), status['Seccomp'].strip())
"""
    outcome = await run(link, source)
    assert outcome.stdout == b"[] [] True True 0 2\n", outcome
    await run(link, "import os, signal\nos.kill(-1, signal.SIGSTOP)")
    assert (await run(link, "print(1)")).stdout == b"1\n"
