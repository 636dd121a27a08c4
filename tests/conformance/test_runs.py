"""What every real box owes: results, caps, kills, encodings. One box a test; `run` is one program in it."""

from __future__ import annotations

import dataclasses
import json

import anyio
import pytest

from sandbox_gym.contract import Outcome, Program, Run, Status
from sandbox_gym.guest.protocol import frames
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.sandbox import Sandbox

pytestmark = pytest.mark.anyio

LIMITS = Limits(
    cpu_time_s=3, wall_time_s=9, memory_bytes=128 * MIB, processes=16, stdout_bytes=1 * MIB, stderr_bytes=64 * 1024
)


async def run(
    box: Sandbox, source: str | bytes, stdin: bytes = b"", limits: Limits = LIMITS, **program: object
) -> Outcome:
    text = source if isinstance(source, bytes) else source.encode()
    made = dataclasses.replace(Program("fork", {"main.py": text}), **program)  # type: ignore[arg-type]
    async with box.run_all([Run("one", made, stdin, limits)]) as outcomes:
        return await anext(outcomes)


async def test_output_and_exit_code(box: Sandbox) -> None:
    outcome = await run(box, "import sys; print('out'); print('err', file=sys.stderr)")
    assert (outcome.status, outcome.exit_code, outcome.stdout, outcome.stderr) == (Status.OK, 0, b"out\n", b"err\n")
    assert outcome.tamper == ()


@pytest.mark.parametrize(
    ("source", "code"),
    [("exit(3)", 3), ("import os; os._exit(7)", 7), ("raise SystemExit", 0), ("raise SystemExit('no')", 1), ("1/0", 1)],
)
async def test_exit_codes_are_exact(box: Sandbox, source: str, code: int) -> None:
    assert (await run(box, source)).exit_code == code


@pytest.mark.parametrize("signal", [6, 9, 11, 15])
async def test_signals_are_exact(box: Sandbox, signal: int) -> None:
    outcome = await run(box, f"import os; os.kill(os.getpid(), {signal}); import time; time.sleep(9)")
    assert (outcome.status, outcome.signal, outcome.exit_code) == (Status.RUNTIME_ERROR, signal, None)


@pytest.mark.parametrize(
    "read",
    [
        "sys.stdin.read()",
        "sys.stdin.buffer.read().decode()",
        "open(0).read()",
        "os.read(0, 99).decode()",
        "open('/dev/stdin').read()",
        "input()+chr(10)+input()+chr(10)",
        "''.join(sys.stdin)",
    ],
)
async def test_every_way_to_read_stdin(box: Sandbox, read: str) -> None:
    outcome = await run(box, f"import sys, os\nprint(repr({read}))", b"a b\nc\n")
    assert outcome.stdout == b"'a b\\nc\\n'\n", outcome.stderr


async def test_main_is_as_in_a_fresh_interpreter(box: Sandbox) -> None:
    source = """
import sys, os, atexit, threading, time
class Late:
    def __del__(self): os.write(1, b'del\\n')
late = Late()
unflushed = open(os.dup(1), 'w'); unflushed.write('unflushed\\n')
atexit.register(lambda: print('atexit'))
threading.Thread(target=lambda: (time.sleep(0.05), print('thread'))).start()
print(__name__, sys.argv, os.path.basename(__file__), sys.modules['__main__'].__dict__ is globals(), os.listdir('.'))
"""
    outcome = await run(box, source)
    lines = outcome.stdout.decode().split("\n")
    assert lines[:3] == ["__main__ ['main.py'] main.py True ['main.py']", "thread", "atexit"], outcome.stderr
    assert sorted(lines[3:]) == ["", "del", "unflushed"]


async def test_a_traceback_shows_the_program_alone(box: Sandbox) -> None:
    outcome = await run(box, "def f():\n    return 1/0\nf()\n")
    text = outcome.stderr.decode()
    assert "ZeroDivisionError" in text
    assert "guest" not in text
    assert text.count("File ") == 2


async def test_exec_mode_runs_any_argv(box: Sandbox) -> None:
    outcome = await run(box, "", b"x\ny\n", mode="exec", argv=("/usr/bin/wc", "-l"))
    assert (outcome.status, outcome.stdout) == (Status.OK, b"2\n")
    outcome = await run(box, "import sys; print(sys.flags.isolated)", mode="exec", argv=("python3", "-I", "main.py"))
    assert outcome.stdout == b"1\n"
    missing = await run(box, "", mode="exec", argv=("/no/such/program",))
    assert missing.status is Status.START_ERROR


@pytest.mark.parametrize("name", ["/no/such/compiler", "no_such_module"])
@pytest.mark.parametrize("mode", ["fork", "exec"])
async def test_what_a_program_requires_is_looked_for_before_it_starts(box: Sandbox, mode: str, name: str) -> None:
    argv = ("python3", "main.py")
    whole = await run(box, "print('ran')", mode=mode, argv=argv, requires=("/bin/sh", "json"))
    assert (whole.status, whole.stdout) == (Status.OK, b"ran\n")
    lacking = await run(box, "print('ran')", mode=mode, argv=argv, requires=("/bin/sh", name))
    assert (lacking.status, lacking.stdout) == (Status.START_ERROR, b"")
    assert name in lacking.detail


@pytest.mark.parametrize("code", [126, 127])
async def test_no_program_says_that_it_was_not_started(box: Sandbox, code: int) -> None:
    words = "sandbox: can't start: no /usr/bin/python3"
    forked = await run(box, f"import os, sys\nsys.stderr.write({words!r})\nsys.stderr.flush()\nos._exit({code})")
    shell = ("/bin/sh", "-c", f'echo "{words}" >&2; exit {code}')
    for outcome in (forked, await run(box, "", mode="exec", argv=shell)):
        assert (outcome.status, outcome.exit_code) == (Status.RUNTIME_ERROR, code)


async def test_bytes_stay_bytes(box: Sandbox) -> None:
    every = bytes(range(256)) * 8
    outcome = await run(box, "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())", every)
    assert outcome.stdout == every
    outcome = await run(box, "print('\\ud800', '\\x00', '\\u2028')")
    assert outcome.status is Status.RUNTIME_ERROR or b"\x00" in outcome.stdout


async def test_large_stdin_streams(box: Sandbox) -> None:
    size = 50 * MIB
    source = (
        "import sys, zlib\nn=c=0\nwhile True:\n b=sys.stdin.buffer.read(1<<20)\n if not b: break\n n+=len(b)\nprint(n)"
    )
    assert (await run(box, source, b"x" * size)).stdout == f"{size}\n".encode()


async def test_unread_stdin_harms_nobody(box: Sandbox) -> None:
    runs = [Run(str(i), Program("fork", {"main.py": b"print(1)"}), b"y" * (3 * MIB), LIMITS) for i in range(4)]
    async with box.run_all(runs) as outcomes:
        assert [o.stdout async for o in outcomes] == [b"1\n"] * 4


async def test_a_flood_costs_no_more_than_its_cap(box: Sandbox) -> None:
    outcome = await run(box, "import sys\nfor _ in range(100): sys.stdout.write('x' * 1000000)")
    assert outcome.status is Status.OUTPUT_LIMIT
    assert len(outcome.stdout) == LIMITS.stdout_bytes
    outcome = await run(box, "import sys\nwhile True: sys.stderr.write('x' * 10000)")
    assert outcome.status is Status.OUTPUT_LIMIT
    assert len(outcome.stderr) == LIMITS.stderr_bytes


async def test_cpu_time_limit(box: Sandbox) -> None:
    limits = dataclasses.replace(LIMITS, cpu_time_s=0.5)
    outcome = await run(box, "import signal; signal.alarm(0)\nwhile True: pass", limits=limits)
    assert outcome.status is Status.CPU_TIME_LIMIT
    assert 0.4 < outcome.cpu_time_s < 3


async def test_cpu_time_counts_the_whole_tree(box: Sandbox) -> None:
    source = "import os\nos.fork()\nwhile True: pass"
    outcome = await run(box, source, limits=dataclasses.replace(LIMITS, cpu_time_s=0.6, wall_time_s=30))
    assert outcome.status is Status.CPU_TIME_LIMIT


async def test_wall_time_limit(box: Sandbox) -> None:
    limits = dataclasses.replace(LIMITS, wall_time_s=0.5)
    assert (await run(box, "import time; time.sleep(60)", limits=limits)).status is Status.WALL_TIME_LIMIT


async def test_memory_bomb(box: Sandbox) -> None:
    source = "kept = []\nwhile True: kept.append(b'x' * 1_000_000 + bytes([len(kept) % 256]))"
    outcome = await run(box, source)
    assert outcome.status is Status.MEMORY_LIMIT, outcome
    assert (await run(box, "print(1)")).stdout == b"1\n", "the box outlives the bomb"


async def test_memory_bomb_of_many_processes_leaves_the_box_alive(box: Sandbox) -> None:
    source = """
import os, time
for _ in range(8):
    if os.fork() == 0:
        kept = []
        try:
            while True: kept.append(b'x' * 1_000_000 + bytes([len(kept) % 256]))
        except MemoryError:
            time.sleep(30)
time.sleep(30)
"""
    await run(box, source, limits=dataclasses.replace(LIMITS, wall_time_s=6))
    assert (await run(box, "print(1)")).stdout == b"1\n"


async def test_fork_bomb(box: Sandbox) -> None:
    source = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass"
    outcome = await run(box, source, limits=dataclasses.replace(LIMITS, cpu_time_s=1, wall_time_s=4))
    assert outcome.status in (Status.CPU_TIME_LIMIT, Status.WALL_TIME_LIMIT, Status.MEMORY_LIMIT)
    assert (await run(box, "print(1)")).stdout == b"1\n"
    assert await box.reset()


async def test_thread_bomb(box: Sandbox) -> None:
    source = """
import threading, time
n = 0
try:
    while True: threading.Thread(target=time.sleep, args=(30,), daemon=True).start(); n += 1
except RuntimeError: print(n < 64)
"""
    assert (await run(box, source)).stdout == b"True\n"


async def test_a_daemon_does_not_survive(box: Sandbox) -> None:
    source = """
import os, time, signal
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for n in range(1, 32):
            try: signal.signal(n, signal.SIG_IGN)
            except (OSError, ValueError): pass
        while True: time.sleep(0.01)
    os._exit(0)
time.sleep(0.2)
print('done')
"""
    outcome = await run(box, source)
    assert (outcome.status, outcome.stdout) == (Status.OK, b"done\n")
    assert "processes_left_behind" in outcome.tamper
    assert await box.reset(), "nothing is left"


async def test_disk_fill(box: Sandbox) -> None:
    limits = dataclasses.replace(LIMITS, memory_bytes=512 * MIB, scratch_bytes=32 * MIB, file_bytes=8 * MIB)
    source = """
import os, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
total = 0
for folder in ('.', '/tmp', '/dev/shm'):
    for i in range(64):
        try:
            with open(f'{folder}/f{i}', 'wb', buffering=0) as f:
                while True: total += f.write(b'x' * 65536)
        except OSError: pass
print(total < 300 * 2**20)
"""
    assert (await run(box, source, limits=limits)).stdout == b"True\n"
    assert (await run(box, "import os; print(os.listdir('.'), os.listdir('/tmp'))")).stdout == b"['main.py'] []\n"


async def test_inodes_are_capped(box: Sandbox) -> None:
    source = """
n = 0
try:
    while n < 100_000: open(f'f{n}', 'w').close(); n += 1
except OSError: print('capped')
"""
    assert (await run(box, source, limits=dataclasses.replace(LIMITS, scratch_inodes=2000))).stdout == b"capped\n"


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
        "PATH", "HOME", "TMPDIR", "LANG", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS",
    }  # fmt: skip


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


@pytest.mark.parametrize("path", ["../escape", "/escape", "a/../../escape", "sub/ok.txt"])
async def test_paths_of_files(box: Sandbox, path: str) -> None:
    files = {"main.py": b"import os; print(sorted(os.listdir('.')))", path: b"x"}
    program = Program("fork", files)
    if path == "sub/ok.txt":
        async with box.run_all([Run("one", program, b"", LIMITS)]) as outcomes:
            assert [o.stdout async for o in outcomes] == [b"['main.py', 'sub']\n"]
    else:
        with pytest.raises(ValueError, match="escape"):
            async with box.run_all([Run("one", program, b"", LIMITS)]) as outcomes:
                [o async for o in outcomes]


async def test_call_mode_answers_deep_values_with_a_reason(box: Sandbox) -> None:
    source = b"def f(n):\n    x = []\n    for _ in range(n): x = [x]\n    return x\n"
    program = Program("call", {"main.py": source}, entry_point="f")
    request = json.dumps({"args": [5000], "kwargs": {}}).encode()
    async with box.run_all([Run("one", program, len(request).to_bytes(4, "big") + request, LIMITS)]) as outcomes:
        outcome = await anext(outcomes)
    assert outcome.status is Status.OK, outcome
    assert b"bad_value" in outcome.channel


async def test_leaving_early_skips_the_rest(box: Sandbox) -> None:
    slow = Program("fork", {"main.py": b"import time; time.sleep(5)"})
    fast = Program("fork", {"main.py": b"print(1)"})
    runs = [Run("fast", fast, b"", LIMITS)] + [Run("slow", slow, b"", LIMITS)] * 50
    async with box.run_all(runs) as outcomes:
        async for outcome in outcomes:
            assert outcome.stdout == b"1\n"
            break
    assert (await run(box, "print(2)")).stdout == b"2\n", "the box is in step again"
    assert await box.reset()


@pytest.mark.parametrize("first", [b"", b"x" * (30 * MIB)], ids=["small", "large"])
async def test_leaving_early_while_a_large_input_is_on_its_way(box: Sandbox, first: bytes) -> None:
    """Neither program takes its input: one is over at once, one would wait for longer than an early stop may take.
    Who looks at an outcome takes time for it."""
    fast = Program("fork", {"main.py": b"print(1)"})
    slow = Program("fork", {"main.py": b"import time; time.sleep(60)"})
    patient = dataclasses.replace(LIMITS, wall_time_s=60)
    runs = [Run("fast", fast, first, LIMITS)] + [Run("slow", slow, b"x" * (30 * MIB), patient)] * 3
    async with box.run_all(runs) as outcomes:
        assert (await anext(outcomes)).stdout == b"1\n"
        await anyio.sleep(0.5)
    assert (await run(box, "print(2)")).stdout == b"2\n", "the box is in step again"
    assert await box.reset()


async def test_a_thousand_runs_are_answered_in_order(box: Sandbox) -> None:
    program = Program("exec", {}, argv=("/bin/cat",))
    runs = [Run(str(i), program, str(i).encode(), LIMITS) for i in range(1000)]
    async with box.run_all(runs) as outcomes:
        assert [int(o.stdout) async for o in outcomes] == list(range(1000))


async def test_messages_that_come_before_their_program_has_started_are_kept(box: Sandbox) -> None:
    """A dialogue's first words may share a packet with the run they are for."""
    link = box._channel
    assert isinstance(link, GuestChannel)
    source = b"import os\nos.write(3, os.read(3, 5)); os.read(3, 1)"
    run_ = Run("one", Program("fork", {"main.py": source}), b"", LIMITS)
    packed = link._sending.files_of(run_.program) + [frame for frame, _ in link._sending.frames_of(run_, 77, "relay")]
    packed.append(frames.pack({"op": "chan", "id": 77, "eof": False}, b"hello"))
    packed.append(frames.pack({"op": "chan", "id": 77, "eof": True}))
    await link._stream.send(b"".join(packed))
    seen = b""
    while True:
        header, body = await link.receive(20)
        if header["op"] == "result":
            break
        seen += body
    ending = header["ending"]
    assert isinstance(ending, dict)
    assert (seen, ending["exit_code"]) == (b"hello", 0)
