"""What no program reaches from a real box: other runs, the network, the host, the supervisor. One box a test."""

from __future__ import annotations

import dataclasses
import json

import pytest

from sandbox_gym.contract import Status
from sandbox_gym.sandbox.sandbox import Sandbox
from tests.conformance.running import LIMITS, run

pytestmark = pytest.mark.anyio


async def test_runs_share_nothing(box: Sandbox) -> None:
    write = """
import ctypes, os
for path in ('x', '/tmp/x', '/dev/shm/x'):
    open(path, 'w').write('secret')
libc = ctypes.CDLL(None, use_errno=True)
print(libc.shmget(77, 4096, 0o1666))
"""
    outcome = await run(box, write)
    assert outcome.stdout == b"-1\n", "System V shared memory is denied"
    read = "import os\nprint([p for p in ('x', '/tmp/x', '/dev/shm/x') if os.path.exists(p)])"
    assert (await run(box, read)).stdout == b"[]\n"


async def test_no_network(box: Sandbox) -> None:
    source = """
import socket
open_ = []
for address in (('127.0.0.1', 8080), ('169.254.169.254', 80), ('10.0.0.1', 53)):
    try: socket.create_connection(address, 0.3); open_.append(address)
    except OSError: pass
try: socket.getaddrinfo('example.com', 80); open_.append('dns')
except OSError: pass
print(open_, [n for _, n in socket.if_nameindex() if n not in ('lo', 'sit0', 'tunl0', 'ip6tnl0')])
"""
    assert (await run(box, source)).stdout.startswith(b"[] []")


async def test_no_host_environment(box: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    outcome = await run(box, "import os, json; print(json.dumps(dict(os.environ)))")
    seen = json.loads(outcome.stdout)
    assert set(seen) <= {
        "PATH", "HOME", "TMPDIR", "LANG", "USER", "LOGNAME", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
    }  # fmt: skip
    assert seen["USER"] == seen["LOGNAME"] == "user"


async def test_no_privileges(box: Sandbox) -> None:
    source = """
import os
s = dict(l.split(':', 1) for l in open('/proc/self/status').read().strip().split('\\n'))
print(os.getuid() != 0, int(s['CapEff'], 16), int(s['CapBnd'], 16), s['NoNewPrivs'].strip(), s['Seccomp'].strip())
"""
    assert (await run(box, source)).stdout == b"True 0 0 1 2\n"


async def test_denied_system_calls(box: Sandbox) -> None:
    source = """
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
libc.ptrace.argtypes = [ctypes.c_long] * 4
print([f() for f in (
    lambda: libc.ptrace(16, 1, 0, 0), lambda: libc.unshare(0x10000000), lambda: libc.unshare(0x20000),
    lambda: libc.mount(b'x', b'/tmp', b'tmpfs', 0, None), lambda: libc.syscall(250, 0, 0),
    lambda: libc.syscall(321, 0, 0, 0), lambda: libc.syscall(425, 1, 0), lambda: libc.chroot(b'/tmp'))])
import resource
try: resource.prlimit(1, resource.RLIMIT_NOFILE, (1, 1)); print('set')
except OSError: print('denied')
"""
    assert (await run(box, source)).stdout == b"[-1, -1, -1, -1, -1, -1, -1, -1]\ndenied\n"


async def test_the_supervisor_is_out_of_reach(box: Sandbox) -> None:
    source = """
import os, signal
reached = []
for pid in [int(p) for p in os.listdir('/proc') if p.isdigit()]:
    if pid == os.getpid(): continue
    for name in ('environ', 'mem', 'maps'):
        try: open(f'/proc/{pid}/{name}', 'rb').read(1); reached.append((pid, name))
        except OSError: pass
    try: os.listdir(f'/proc/{pid}/fd'); reached.append((pid, 'fd'))
    except OSError: pass
    for number in (signal.SIGKILL, signal.SIGSTOP, signal.SIGSEGV):
        try: os.kill(pid, number)
        except OSError: pass
try: os.kill(-1, signal.SIGSTOP)
except OSError: pass
fds = []
for fd in range(3, 256):
    try: os.fstat(fd); fds.append(fd)
    except OSError: pass
print(reached, fds)
"""
    outcome = await run(box, source)
    assert (outcome.status, outcome.stdout) == (Status.OK, b"[] []\n"), outcome
    assert (await run(box, "print(1)")).stdout == b"1\n"


async def test_the_system_is_read_only(box: Sandbox) -> None:
    source = """
import os
written = []
for folder, _, _ in os.walk('/'):
    if folder.startswith(('/proc', '/scratch', '/tmp', '/dev/shm', '/sys', '/var/tmp')): continue
    try: open(os.path.join(folder, 'probe'), 'w'); written.append(folder)
    except OSError: pass
print(written)
"""
    assert (await run(box, source, limits=dataclasses.replace(LIMITS, cpu_time_s=20, wall_time_s=60))).stdout == b"[]\n"
