"""Problems of several passes: each pass's program knows its own input alone, whatever it tries."""

from __future__ import annotations

import textwrap

import pytest

from sandbox_gym.contract import Verdict
from tests.coding.conftest import Judge

pytestmark = pytest.mark.anyio

RELAY = """
    import os, sys
    feedback = sys.argv[3]
    given = open(sys.argv[1]).read().split()
    output = sys.stdin.read()
    passed = len(os.listdir(feedback))
    open(f"{feedback}pass{passed}", "w").write(output)
    open(feedback + "judgemessage.txt", "a").write(f"{given[0]}: {output.split()[:1]} ")
    if len(output.split()) != 1:
        sys.exit(43)
    if given[0] == "encode":
        open(feedback + "nextpass.in", "w").write("decode " + output)
        sys.exit(42)
    sys.exit(42 if output.split() == open(sys.argv[2]).read().split() else 43)
"""
"""First `encode N`, then `decode` and what was printed; N must come back."""
HONEST = "order, what = input().split()\nprint(int(what) * 3 if order == 'encode' else int(what) // 3)"


def relay(source: str = RELAY, passes: int = 2, **more: object) -> dict[str, object]:
    checker = {"type": "program", "source": textwrap.dedent(source), "passes": passes, **more}
    tests = {"inputs": ["encode 7\n", "encode 12\n"], "outputs": ["7\n", "12\n"]}
    return {"unit_tests": tests, "checker": checker, "time_limit_s": 1, "memory_limit_mb": 256}


def statuses(verdict: Verdict) -> list[str]:
    return [test.status.value for test in verdict.tests]


async def test_an_answer_runs_again_on_what_its_validator_wrote(judge: Judge) -> None:
    verdict = await judge(HONEST, relay())
    assert (verdict.reward, statuses(verdict)) == (1.0, ["passed", "passed"])


@pytest.mark.parametrize(
    ("code", "status", "reason"),
    [
        ("order, what = input().split()\nprint(1)", "wrong_answer", "pass 2: encode: ['1'] decode: ['1']"),
        ("order, what = input().split()\nif order == 'encode': print(5)", "wrong_answer", "pass 2"),
        ("pass", "wrong_answer", "encode: []"),
        ("order, what = input().split()\nwhile order == 'decode': pass\nprint(1)", "time_limit", "pass 2: "),
        ("order, what = input().split()\nprint(1 if order == 'encode' else 1 / 0)", "runtime_error", "pass 2: exit"),
        ("order, what = input().split()\nprint('1' * (7 << 20))", "output_limit", "output limit of 6291456"),
    ],
)
async def test_a_pass_that_fails_is_the_last(judge: Judge, code: str, status: str, reason: str) -> None:
    verdict = await judge(code, relay())
    assert verdict.reward == 0.0
    assert statuses(verdict) == [status, "skipped"]
    assert verdict.tests[0].reason.startswith(reason), verdict.tests[0].reason


async def test_each_pass_has_the_time_limit_for_itself(judge: Judge) -> None:
    busy = "import time\norder, what = input().split()\nwhile time.process_time() < 1.2: pass\n"
    verdict = await judge(busy + "print(what)", relay() | {"time_limit_s": 2})
    assert verdict.reward == 1.0, verdict.tests
    assert 1.0 < verdict.tests[0].cpu_time_s < 2.0


MEMORY = """
    import ctypes, glob, os, socket, subprocess, sys
    order, what = input().split()
    places = [".", "..", "/", "/tmp", "/var/tmp", "/dev", "/dev/shm", "/dev/mqueue", "/run", "/scratch", "/workspace"]
    places += [os.path.expanduser("~"), os.environ.get("TMPDIR", "/tmp"), os.path.dirname(os.path.abspath(__file__))]
    libc = ctypes.CDLL(None)
    libc.shmat.restype = ctypes.c_void_p
    shared = libc.shmat(libc.shmget(4711, 4096, 0o1666), None, 0)
    if order == "encode":
        for place in places:
            try:
                open(place + "/note", "w").write(what)
                os.chmod(place + "/note", 0o666)
                open(place + "/feedback_note", "w").write(what)
            except OSError:
                pass
        if shared not in (None, 2**64 - 1):
            ctypes.memmove(shared, what.encode() + b"\\0", len(what) + 1)
        if os.fork() == 0:
            os.setsid()
            for fd in range(3):
                os.close(fd)
            keeper = socket.socket(socket.AF_UNIX)
            keeper.bind("\\0keeper")
            keeper.listen()
            keeper.settimeout(20)
            keeper.accept()[0].sendall(what.encode())
            os._exit(0)
        print(0)
    else:
        notes = [open(path).read() for place in places for path in glob.glob(place + "/*note")]
        if shared not in (None, 2**64 - 1):
            notes.append(ctypes.string_at(shared).decode())
        try:
            asked = socket.socket(socket.AF_UNIX)
            asked.settimeout(0.5)
            asked.connect("\\0keeper")
            notes.append(asked.recv(99).decode())
        except OSError:
            pass
        print(next((note for note in notes if note), 0))
"""


async def test_a_pass_can_not_leave_the_next_one_a_note(judge: Judge) -> None:
    """Files, shared memory, and a process that stays and listens."""
    verdict = await judge(textwrap.dedent(MEMORY), relay())
    assert (verdict.reward, statuses(verdict)) == (0.0, ["wrong_answer", "skipped"])
    assert verdict.tests[0].reason.startswith("pass 2: encode: ['0'] decode: ['0']")


FORGE = """
    import os
    order, what = input().split()
    for folder in (".", "feedback", "../feedback", "/tmp/feedback", "/scratch/work/feedback"):
        try:
            os.makedirs(folder, exist_ok=True)
            for name in ("nextpass.in", "score.txt", "kept"):
                open(os.path.join(folder, name), "w").write("decode 7")
        except OSError:
            pass
    try:
        os.write(3, b"8\\ndecode 7")
    except OSError:
        pass
    print(1)
"""


async def test_an_answer_can_not_ask_for_a_pass(judge: Judge) -> None:
    once = "import sys\nsys.exit(43 if open(sys.argv[1]).read().split()[0] == 'encode' else 42)"
    verdict = await judge(textwrap.dedent(FORGE), relay(once))
    assert (verdict.reward, statuses(verdict)) == (0.0, ["wrong_answer", "skipped"])
    assert "pass" not in verdict.tests[0].reason


async def test_an_answer_does_not_see_what_its_validator_keeps(judge: Judge) -> None:
    look = """
        import os
        order, what = input().split()
        seen = [name for folder, _, names in os.walk("/scratch") for name in names]
        seen += [name for folder, _, names in os.walk(".") for name in names]
        print("1" if not {"kept", "answer", "input", "pass0"} & set(seen) else "2 files")
    """
    source = RELAY.replace("sys.exit(42 if output.split() == open(sys.argv[2]).read().split() else 43)", "sys.exit(42)")
    assert (await judge(textwrap.dedent(look), relay(source))).reward == 1.0


@pytest.mark.parametrize("passes", [2, 5])
async def test_an_answer_that_wants_more_passes_than_there_are_is_wrong(judge: Judge, passes: int) -> None:
    """Not the judge's failure, or an answer could have its own masked."""
    endless = "import sys\nopen(sys.argv[3] + 'nextpass.in', 'w').write('decode 1')\nsys.exit(42)"
    verdict = await judge("print(input())", relay(endless, passes))
    assert (verdict.reward, statuses(verdict)) == (0.0, ["wrong_answer", "skipped"])
    assert verdict.tests[0].reason == f"pass {passes}: the checker wants a pass after the last of {passes}"


async def test_a_denied_answer_has_no_further_pass(judge: Judge) -> None:
    both = "import sys\nopen(sys.argv[3] + 'nextpass.in', 'w').write('decode 1')\nsys.exit(43)"
    verdict = await judge("print(input())", relay(both))
    assert (verdict.reward, statuses(verdict)) == (0.0, ["wrong_answer", "skipped"])


async def test_the_last_passs_score_counts(judge: Judge) -> None:
    source = RELAY.replace("sys.exit(42)", "open(feedback + 'score.txt', 'w').write('0.25'); sys.exit(42)", 1)
    verdict = await judge(HONEST, relay(source) | {"scoring": "fraction"})
    assert verdict.reward == 0.25


TALK = """
    import os, sys
    feedback = sys.argv[3]
    given = open(sys.argv[1]).read().split()
    print(*given, flush=True)
    said = sys.stdin.readline().split()
    if len(said) != 1:
        sys.exit(43)
    if given[0] == "encode":
        open(feedback + "nextpass.in", "w").write("decode " + said[0])
        sys.exit(42)
    sys.exit(42 if said == open(sys.argv[2]).read().split() else 43)
"""


@pytest.mark.parametrize(
    ("code", "reward", "status"),
    [
        (HONEST, 1.0, "passed"),
        ("print(1)", 0.0, "wrong_answer"),
        ("input()", 0.0, "wrong_answer"),
        ("order, what = input().split()\nwhile order == 'decode': pass\nprint(1)", 0.0, "time_limit"),
    ],
)
async def test_interactive_passes(judge: Judge, code: str, reward: float, status: str) -> None:
    verdict = await judge(code, relay(TALK, interactive=True))
    assert (verdict.reward, statuses(verdict)[0]) == (reward, status)
