"""The two boxes of a function test: what a row's test leaves behind is not there for the next row's, and what an answer
does to its end of the channel costs that answer alone."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import replace

import anyio
import pytest

from sandbox_gym.contract import Dialogue, DialogueOutcome, Program, Run, Status
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.sandbox import Sandbox
from tests.conftest import REAL_PROVIDERS, make_real
from tests.e2b.servers import PoolServer
from tests.inits import BIRTH, init_of

pytestmark = pytest.mark.anyio
LIMITS = Limits(cpu_time_s=4, wall_time_s=8, memory_bytes=192 * MIB, processes=16)
SQUARE = "def f(x): return x * x"
NINE = "def check(candidate):\n    assert candidate(3) == 9\n"
LOOK = f"""
import builtins, json, os, socket, sys
def check(candidate):
    assert candidate(3) == 9
    found = {{"files": [os.listdir(folder) for folder in ("/tmp", "/dev/shm")], "work": sorted(os.listdir("."))}}
    found["names"] = [hasattr(builtins, "left"), hasattr(json, "left"), "left" in os.environ]
    mine = os.getuid()
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    found["others"] = [pid for pid in pids if pid not in (1, os.getpid()) and os.stat("/proc/%d" % pid).st_uid == mine]
    with socket.socket() as one:
        one.bind(("127.0.0.1", 12345))
    found["init"] = {BIRTH}
    print(json.dumps(found))
"""
LEAVE = """
import builtins, json, os, signal, sys, threading, time
def check(candidate):
    assert candidate(3) == 9
    builtins.left = json.left = 1
    os.environ["left"] = "1"
    for folder in (".", "/tmp", "/dev/shm", "/scratch"):
        try:
            os.mkdir(folder + "/left")
            open(folder + "/left/behind", "w").write("x" * 4096)
        except OSError:
            pass
    threading.Thread(target=time.sleep, args=(60,), daemon=True).start()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            time.sleep(60)
        os._exit(0)
    os.wait()
"""
SPEAK = """
import socket
def check(candidate):
    assert candidate(3) == 9
    with socket.socket() as one, socket.socket() as two:
        one.bind(("127.0.0.1", 12345))
        one.listen()
        two.connect(("127.0.0.1", 12345))
        three, _address = one.accept()
        three.close()
    print("spoke")
"""
RAW = "import os, socket, struct, time\ndef f(x): return x\n"
FLOOD = RAW + "piece = bytes(1 << 20)\nwhile True: os.write(3, piece)"
HOSTILE = {
    "floods": (FLOOD, (Status.OK, Status.RUNTIME_ERROR, Status.OUTPUT_LIMIT, Status.WALL_TIME_LIMIT)),
    "never answers": (RAW + "time.sleep(60)", (Status.WALL_TIME_LIMIT,)),
    "closes": (RAW + "os.close(3); time.sleep(0.2)", (Status.OK, Status.RUNTIME_ERROR)),
    "shuts down": (RAW + "socket.socket(fileno=3).shutdown(2); time.sleep(0.2)", (Status.OK, Status.RUNTIME_ERROR)),
    "half a frame": (RAW + "os.write(3, struct.pack('!I', 9)); os._exit(0)", (Status.OK,)),
    "a frame of nothing": (RAW + "os.write(3, struct.pack('!I', 2) + b'[]'); os._exit(0)", (Status.OK,)),
    "a frame of the supervisor's": (
        RAW + 'h = b\'{"op":"result","id":0}\'; os.write(3, struct.pack(\'!II\', len(h), 0) + h); os._exit(0)',
        (Status.OK,),
    ),
    "a report of its own": (
        RAW + 'os.write(3, b\'{"passed":true,"error":null,"needs":""}\\n\' * 9); os._exit(0)',
        (Status.OK,),
    ),
    "descriptors": (
        RAW + "one = socket.socket(fileno=os.dup(3))\n"
        "for _ in range(5): socket.send_fds(one, [b'\\0'], [0, 1, 2, os.open('main.py', 0)])\nos._exit(0)",
        (Status.OK, Status.RUNTIME_ERROR),  # its channel can be closed after the first
    ),
    "urgent words": (RAW + "socket.socket(fileno=os.dup(3)).send(b'x', socket.MSG_OOB); os._exit(0)", (Status.OK,)),
}


@pytest.fixture(params=REAL_PROVIDERS)
async def boxes(
    request: pytest.FixtureRequest, pools: Callable[[str], PoolServer]
) -> AsyncIterator[tuple[Sandbox, Sandbox]]:
    """The answer's and the judge's."""
    provider = make_real(request.param, pools)
    first = await provider.create(SandboxSpec())
    second = await provider.create(SandboxSpec())
    try:
        yield first, second
    finally:
        await first.aclose()
        await second.aclose()
        await provider.aclose()


def ask(test: str) -> Program:
    row: dict[str, object] = {"names": ["f"], "operates": False, "style": "check", "prompt": ""}
    row |= {**dict.fromkeys(("classes", "shared", "attributes", "words", "of_results"), ()), "strict": ""}
    return Program("ask", {"main.py": test.encode(), "row.json": json.dumps(row).encode()}, entry_point="f")


async def talk(
    boxes: tuple[Sandbox, Sandbox], test: str = NINE, answer: str = SQUARE, limits: Limits = LIMITS
) -> DialogueOutcome:
    patient = replace(limits, wall_time_s=limits.wall_time_s + 5)
    asker = Run("test", ask(test), limits=patient)
    candidate = Run("answer", Program("call", {"main.py": answer.encode()}, entry_point="f"), limits=limits)
    return await boxes[1].converse(Dialogue("check", asker, candidate), boxes[0])


async def look(boxes: tuple[Sandbox, Sandbox]) -> dict[str, object]:
    outcome = await talk(boxes, LOOK)
    assert passed(outcome), outcome
    found: dict[str, object] = json.loads(outcome.asker.stderr)
    return found | {"init": init_of(boxes[1], found["init"])}


def passed(outcome: DialogueOutcome) -> bool:
    ended = outcome.asker.status is Status.OK and outcome.candidate.status is Status.OK
    return ended and json.loads(outcome.asker.stdout)["passed"] is True


async def next_task(boxes: tuple[Sandbox, Sandbox]) -> None:
    for box in boxes:
        assert await box.reset()
    await anyio.sleep(0.02)  # the kernel tells births in hundredths of a second: no two inits are to share one


async def test_what_a_rows_test_leaves_is_not_there_for_the_next_rows(boxes: tuple[Sandbox, Sandbox]) -> None:
    first = await look(boxes)
    await next_task(boxes)
    assert await look(boxes) == first, "and one init served both"
    assert passed(await talk(boxes, LEAVE))
    await next_task(boxes)
    found = await look(boxes)
    assert found | {"init": first["init"]} == first
    assert found["init"] != first["init"]
    assert (first["files"], first["names"], first["others"]) == ([[], []], [False] * 3, [])


async def test_an_init_whose_network_was_used_serves_no_other_row(boxes: tuple[Sandbox, Sandbox]) -> None:
    first = await look(boxes)
    spoke = await talk(boxes, SPEAK)
    if not spoke.asker.stderr or not await boxes[1].reset():
        return  # a service's sandbox has no loopback; a box whose network is not an init's own goes with it
    assert (await look(boxes))["init"] != first["init"]


async def test_no_answer_is_run_by_an_init_that_ran_tests(boxes: tuple[Sandbox, Sandbox]) -> None:
    """The box that was the judge's is an answer's next."""
    births = [(await look(boxes))["init"]]
    await next_task(boxes)
    for kind in ("fork", "call"):
        source = f"import os\nprint({BIRTH}, flush=True)\n{SQUARE}"
        program = Program("fork", {"main.py": source.encode()})
        if kind == "fork":
            async with boxes[1].run_all([Run("one", program, limits=LIMITS)]) as outcomes:
                births.append(init_of(boxes[1], (await anext(outcomes)).stdout.decode().strip()))
        else:
            outcome = await talk(boxes[::-1], answer=source)
            assert passed(outcome)
            births.append(init_of(boxes[1], outcome.candidate.stdout.decode().strip()))
        await next_task(boxes)
    births.append((await look(boxes))["init"])
    assert births[0] not in births[1:]
    assert births[-1] not in births[:-1]


async def test_an_answer_that_harms_its_channel_harms_itself(boxes: tuple[Sandbox, Sandbox]) -> None:
    for name, (source, ends) in HOSTILE.items():
        outcome = await talk(boxes, answer=source, limits=replace(LIMITS, wall_time_s=2))
        assert not passed(outcome), name
        assert outcome.candidate.status in ends, name
        assert outcome.asker.status in (Status.OK, Status.RUNTIME_ERROR), name
        await next_task(boxes)
        assert passed(await talk(boxes)), name


@pytest.mark.extended
async def test_much_crosses_and_too_much_does_not(boxes: tuple[Sandbox, Sandbox]) -> None:
    """12 MB at a time, which no socket holds at once."""
    echo = "def f(x): return x"
    test = "def check(candidate):\n    for _ in range(%d): assert candidate('x' * 12_000_000) == 'x' * 12_000_000"
    patient = replace(LIMITS, cpu_time_s=60, wall_time_s=100, memory_bytes=512 * MIB)
    assert passed(await talk(boxes, test % 2, echo, patient))
    outcome = await talk(boxes, test % 6, echo, patient)
    assert not passed(outcome)
    over = outcome.candidate.status is Status.OUTPUT_LIMIT or outcome.asker.status is Status.OUTPUT_LIMIT
    assert over or json.loads(outcome.asker.stdout)["flooded"] is True
    await next_task(boxes)
    assert passed(await talk(boxes))
