"""What every real box owes a run: results, input, encodings, order. One box a test."""

from __future__ import annotations

import dataclasses
import json

import anyio
import pytest

from sandbox_gym.contract import Program, Run, Status
from sandbox_gym.guest.protocol import frames
from sandbox_gym.limits import MIB
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.sandbox import Sandbox
from tests.conformance.running import LIMITS, run

pytestmark = pytest.mark.anyio


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


async def test_the_user_and_this_machine_have_names(box: Sandbox) -> None:
    source = """
import getpass, os, socket
from pathlib import Path
print(getpass.getuser(), Path.home() == Path.cwd(), os.path.expanduser('~') == os.getcwd())
print(socket.gethostbyname('localhost'))
"""
    outcome = await run(box, source)
    assert outcome.stdout == b"user True True\n127.0.0.1\n", outcome.stderr


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


@pytest.mark.parametrize("count", [300, pytest.param(1000, marks=pytest.mark.extended)])
async def test_many_runs_are_answered_in_order(box: Sandbox, count: int) -> None:
    program = Program("exec", {}, argv=("/bin/cat",))
    runs = [Run(str(i), program, str(i).encode(), LIMITS) for i in range(count)]
    async with box.run_all(runs) as outcomes:
        assert [int(o.stdout) async for o in outcomes] == list(range(count))


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
