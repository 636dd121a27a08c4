"""What each provider that holds sessions promises: state between calls, snapshots, forks, and nothing left behind."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox_gym.errors import BoxLost
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.api import SessionFolder
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.local import provider as local
from sandbox_gym.sandbox.local.sessions import trees
from sandbox_gym.sandbox.session.session import Session
from sandbox_gym.sandbox.snapshots import NoSuchSnapshot, SnapshotFailed
from tests.conftest import REAL_PROVIDERS, make_real
from tests.e2b.servers import PoolServer
from tests.keeper import Keeper

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]
LIMITS = Limits(cpu_time_s=300, wall_time_s=600, memory_bytes=256 * MIB, processes=64)


@pytest.fixture(params=[name if name != "local-rlimits" else "local-copy" for name in REAL_PROVIDERS])
async def keeper(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    pools: Callable[[str], PoolServer],
) -> AsyncIterator[Keeper]:
    """Each way to hold sessions; `local-copy` is what those get who may not mount."""
    folder = SessionFolder(tmp_path / "state", LIMITS)
    if request.param == "local-copy":
        monkeypatch.setattr(local, "make_trees", lambda live, *, store, limits: trees.CopyTrees(live))
    provider = make_real(request.param.removesuffix("-copy"), pools, sessions=folder)
    keeper = Keeper(provider)
    yield keeper
    for snapshot in await keeper.snapshots():
        await keeper.delete(snapshot.snapshot_id)
    await keeper.collect(budget_bytes=0, pinned=set())
    assert provider.doctor.costs().get("running", 0) == 0
    await keeper.aclose()
    if isinstance(provider, LocalProvider):
        assert str(provider.slots) not in Path("/proc/self/mountinfo").read_text()


@dataclass(frozen=True)
class Said:
    text: str
    exit_code: object
    reply: dict[str, object]


async def bash(box: Session, command: str, timeout_s: float = 20) -> Said:
    request = {"op": "bash", "timeout_s": timeout_s, "output_bytes": 4000}
    reply, body = await box.call(request, command.encode(), within_s=timeout_s + 15)
    assert reply["ok"] is True, reply
    return Said(body.decode(), reply.get("exit_code"), dict(reply))


async def python(box: Session, cell: str, timeout_s: float = 20) -> Said:
    request = {"op": "python", "timeout_s": timeout_s, "output_bytes": 4000}
    reply, body = await box.call(request, cell.encode(), within_s=timeout_s + 15)
    assert reply["ok"] is True, reply
    return Said(body.decode(), reply["status"], dict(reply))


async def test_a_command_that_ends_all_pythons_keeps_the_session(keeper: Keeper) -> None:
    """By their names, as pkill does, and by their arguments."""
    box = await keeper.open_session(LIMITS)
    await python(box, "kept = 7")
    ended = "for p in /proc/[0-9]*; do grep -qs python $p/comm $p/cmdline && kill -9 ${p#/proc/}; done; echo ended"
    assert (await bash(box, f"python3 -c 'import time; time.sleep(60)' & {ended}")).text.endswith("ended\n")
    assert (await python(box, "print(kept)")).text == "7\n"
    await box.aclose()


async def test_a_shell_keeps_folder_variables_functions_and_jobs(keeper: Keeper) -> None:
    box = await keeper.open_session(LIMITS)
    await bash(box, "mkdir -p a/b; cd a/b; export X=1; y=2; f() { echo f$1; }; (sleep 0.3; echo late > ../job) &")
    assert (await bash(box, "pwd; echo $X$y; f 3")).text == "/workspace/a/b\n12\nf3\n"
    assert (await bash(box, "until [ -s ../job ]; do sleep 0.1; done; cat ../job; false")).text == "late\n"
    assert (await bash(box, "sh -c 'exit 7'")).exit_code == 7
    assert (await bash(box, "read line && echo got $line; echo end")).text == "end\n"
    assert (await bash(box, 'printf \'%s\' "it\'s \\"q\\" $((1+1))"')).text == 'it\'s "q" 2'
    assert "syntax error" in (await bash(box, "if")).text
    await box.aclose()
    await box.aclose()


async def test_a_call_that_takes_too_long_is_interrupted_then_killed(keeper: Keeper) -> None:
    box = await keeper.open_session(LIMITS)
    await bash(box, "x=kept")
    for command in ("sleep 60", "while true; do :; done"):
        said = await bash(box, command, 0.5)
        assert (said.reply["timed_out"], said.reply["ended"]) == (True, False)
    assert (await bash(box, "echo $x")).text.endswith("kept\n")
    said = await bash(box, "(trap '' INT; exec sleep 60)", 0.5)
    assert (said.reply["timed_out"], said.reply["ended"]) == (True, False)
    said = await bash(box, "trap '' INT; while true; do :; done", 0.5)
    assert (said.reply["timed_out"], said.reply["ended"]) == (True, True)
    said = await bash(box, "echo [$x]")
    assert (said.text, said.reply["reset"]) == ("[]\n", True)
    assert (await python(box, "x = 5\nwhile True: pass", 0.5)).exit_code == "interrupted"
    assert (await python(box, "x")).text == "5\n"
    await box.aclose()


async def test_a_python_keeps_its_namespace_and_echoes_the_last_value_once(keeper: Keeper) -> None:
    box = await keeper.open_session(LIMITS)
    assert (
        await python(box, "def f(n): return g(n) + 1\ndef g(n): return n\nn = f(1)\nprint('a')\nn")
    ).text == "a\n2\n"
    said = await python(box, "print('before')\n1 / 0")
    assert said.text.startswith("before\nTraceback")
    assert said.text.endswith("ZeroDivisionError: division by zero\n")
    assert (await python(box, "n += 1\nn;")).text == "3\n"
    assert (await python(box, "None")).text == ""
    assert (await python(box, "import sys; sys.exit(3)")).exit_code == "error"
    assert (await python(box, "n")).text == "3\n"
    await box.aclose()


async def test_a_fork_of_a_cell_or_a_command_answers_nothing(keeper: Keeper) -> None:
    box = await keeper.open_session(LIMITS)
    await python(box, "import multiprocessing, os, subprocess, time\nn = 0")
    forks = [
        "p = os.fork()",
        "p = os.fork()\nif not p: raise ValueError('of a fork')",
        "p = os.fork()\nif not p: print('own')",
        "p, fd = os.forkpty()",
        "w = multiprocessing.Process(target=len, args=('',)); w.start(); w.join(); p = 0",
        "subprocess.run('true', preexec_fn=lambda: None); p = 0",
    ]
    for number in range(1, 61):
        waited = "if p: _s = os.waitpid(p, 0)"
        said = await python(box, f"{forks[number % len(forks)]}\n{waited}\nn += 1\nn")
        assert str(number) in said.text.splitlines()
        assert str(number) in (await bash(box, f"(sleep 0.01; echo) > /dev/null & echo {number}")).text.splitlines()
    died = await python(box, "p = os.fork()\nn = 0\nif p:\n    os.waitpid(p, 0)\n    os._exit(1)")
    assert (died.exit_code, (await python(box, "n")).text) == ("died", "60\n")
    assert (await bash(box, "exec 9>lock; flock -n 9 && echo locked")).text == "locked\n"
    await box.aclose()


async def test_output_is_cut_in_the_middle_and_counted(keeper: Keeper) -> None:
    box = await keeper.open_session(LIMITS)
    said = await bash(box, "echo first; head -c 300000 /dev/zero | tr '\\0' x; echo; echo last")
    assert said.text.startswith("first\nxxx")
    assert said.text.endswith("xxx\nlast\n")
    assert said.reply["sizes"] == [2000, 2000, 300_012 - 4000]
    await box.aclose()


async def test_files_are_read_and_written_as_bytes(keeper: Keeper) -> None:
    box = await keeper.open_session(LIMITS)
    data = bytes(range(256)) * 40_000
    reply, _ = await box.call({"op": "write", "path": "deep/er/file"}, data, within_s=20)
    assert reply["ok"] is True
    reply, body = await box.call({"op": "read", "path": "deep/er/file", "max_bytes": 1 << 24}, within_s=20)
    assert (reply["ok"], body) == (True, data)
    for path in ("missing", "/dev/zero", ".", "deep"):
        reply, body = await box.call({"op": "read", "path": path, "max_bytes": 100}, within_s=20)
        assert (reply["ok"], body) == (False, b"")
    reply, _ = await box.call({"op": "read", "path": "deep/er/file", "max_bytes": 100}, within_s=20)
    assert str(reply["error"]).startswith("EFBIG")
    await box.aclose()


async def test_a_snapshot_brings_back_files_folder_environment_and_globals(keeper: Keeper) -> None:
    box = await keeper.open_session(LIMITS)
    await bash(box, "mkdir d; cd d; echo 1 > a; ln -s a link; chmod 750 a; printf x > 'odd\nname'; export V='a b'")
    await python(box, "import math\nvalue = [1, 2]\nf = lambda: 1")
    kept = await box.snapshot(keep_globals=True)
    await bash(box, "rm -rf ../d; echo later > /workspace/new")
    await box.aclose()
    assert [one.snapshot_id for one in await keeper.snapshots()] == [kept.snapshot_id]
    assert kept.lost_globals == ["f"]
    assert len(kept.digest) == 64
    again = await keeper.open_session(LIMITS, kept.snapshot_id)
    said = await bash(again, 'pwd; cat link; stat -c %a a; ls | wc -l; echo "$V"; ls /workspace')
    assert said.text == "/workspace/d\n1\n750\n4\na b\nd\n"
    assert (await python(again, "value, math.floor(2.5)")).text == "([1, 2], 2)\n"
    assert (await python(again, "f")).text.endswith("NameError: name 'f' is not defined\n")
    await again.aclose()


async def test_forks_do_not_see_each_other(keeper: Keeper) -> None:
    box = await keeper.open_session(LIMITS)
    await bash(box, "echo base > file; mkdir dir; touch dir/a dir/b")
    forks = await keeper.fork(box, 2, LIMITS)
    for number, one in enumerate([box, *forks]):
        assert (await bash(one, "cat file; ls dir")).text == "base\na\nb\n"
        await bash(one, f"echo {number} > file; rm -r dir; mkdir dir; touch dir/{number}")
    for number, one in enumerate([box, *forks]):
        assert (await bash(one, "cat file; ls dir")).text == f"{number}\n{number}\n"
        await one.aclose()


async def test_a_writer_in_the_background_can_not_change_a_snapshot(keeper: Keeper) -> None:
    box = await keeper.open_session(LIMITS)
    await bash(box, "(exec 5>>log; while sleep 0.01; do echo x >&5; done) & until [ -s log ]; do sleep 0.01; done")
    kept = await box.snapshot(durable=False)
    again = await keeper.open_session(LIMITS, kept.snapshot_id)
    assert (await bash(again, "a=$(wc -c < log); sleep 0.4; [ $a = $(wc -c < log) ] && echo same")).text == "same\n"
    await again.aclose()
    await box.aclose()


async def test_snapshots_that_changed_nothing_or_back_again(keeper: Keeper) -> None:
    box = await keeper.open_session(LIMITS)
    kept = await box.snapshot()
    for command in ("true", "echo 1 > a", "rm a", "echo 1 > a", "rm a; mkdir a; touch a/b", "true"):
        await bash(box, command)
        kept = await box.snapshot()
    [one] = await keeper.fork(box, 1, LIMITS)
    again = await keeper.open_session(LIMITS, kept.snapshot_id)
    for session in (box, one, again):
        assert (await bash(session, "find . -mindepth 1 | sort")).text == "./a\n./a/b\n"
        await session.aclose()


async def test_a_long_chain_of_snapshots(keeper: Keeper) -> None:
    box = await keeper.open_session(LIMITS)
    kept = None
    for number in range(15):
        await bash(box, f"echo {number} > f{number}; rm -f f{number - 2}")
        before, kept = kept, await box.snapshot()
        if before is not None:
            assert kept.parent_id == before.snapshot_id
            await keeper.delete(before.snapshot_id)
    await box.aclose()
    assert kept is not None
    again = await keeper.open_session(LIMITS, kept.snapshot_id)
    assert (await bash(again, "ls | sort")).text == "f13\nf14\n"
    await again.aclose()


async def test_what_a_hostile_program_left_runs_nothing_when_restored(keeper: Keeper) -> None:
    box = await keeper.open_session(LIMITS)
    trap = "echo pwned > /workspace/pwned"
    names = ".bashrc .bash_profile .profile .bash_login .inputrc sitecustomize.py usercustomize.py"
    await bash(
        box, f"for n in {names}; do echo '{trap}' > $n; done; export BASH_ENV=/workspace/.bashrc ENV=/workspace/.bashrc"
    )
    await bash(box, 'echo \'open("/workspace/pwned", "w")\' | tee json.py os.py ast.py sitecustomize.py; ln -s / root')
    await bash(box, "export PYTHONSTARTUP=/workspace/os.py PYTHONPATH=/workspace; mkfifo pipe; mkdir -m 0 closed")
    kept = await box.snapshot(keep_globals=True)
    await box.aclose()
    again = await keeper.open_session(LIMITS, kept.snapshot_id)
    await python(again, "1 + 1")
    assert "pwned" not in (await bash(again, "ls -a; test -p pipe && echo fifo")).text
    await again.aclose()


async def test_unknown_snapshots_are_named(keeper: Keeper) -> None:
    for name in ("0123456789abcdef", "../../etc", "", "a b"):
        with pytest.raises(NoSuchSnapshot):
            await keeper.open_session(LIMITS, name)


async def test_a_dead_driver_is_a_lost_box(keeper: Keeper) -> None:
    box = await keeper.open_session(LIMITS)
    with pytest.raises(BoxLost):
        await bash(box, "kill -9 $PPID; sleep 10")
    await box.aclose()


async def test_a_driver_that_lies_is_bounded(keeper: Keeper) -> None:
    box = await keeper.open_session(LIMITS)
    # whoever holds the driver's descriptor may say what they like; the host refuses what is no frame of bounded size
    flood = """
import os
fds = "/proc/%d/fd" % os.getppid()
for fd in os.listdir(fds):
    try: open(fds + "/" + fd, "wb").write(b"\\xff" * 99999)
    except OSError: pass
"""
    try:
        await python(box, flood, 5)
        await bash(box, "echo still here")
    except BoxLost:
        pass
    await box.aclose()


async def test_nothing_unused_is_kept(keeper: Keeper) -> None:
    box = await keeper.open_session(LIMITS)
    await bash(box, "head -c 300000 /dev/urandom > a")
    old = await box.snapshot()
    await bash(box, "head -c 200000 /dev/urandom > b")
    new = await box.snapshot()
    await box.aclose()
    left = await keeper.collect(budget_bytes=0, pinned={new.snapshot_id})
    assert [one.snapshot_id for one in await keeper.snapshots()] == [new.snapshot_id]
    assert left >= 200_000
    assert old.size_bytes >= 300_000
    whole = getattr(keeper.store, "kind", "") != "overlay"  # a copy, and a commit, hold all since the base
    assert new.size_bytes >= (500_000 if whole else 200_000)
    assert whole or new.size_bytes < 300_000
    await keeper.delete(new.snapshot_id)
    assert await keeper.collect(budget_bytes=0, pinned=set()) == 0


async def test_a_tree_too_deep_to_keep_is_the_programs_fault(tmp_path: Path) -> None:
    keeper = Keeper(LocalProvider(sessions=SessionFolder(tmp_path / "state", LIMITS)))
    box = await keeper.open_session(LIMITS)
    await bash(box, "for i in $(seq 400); do mkdir d && cd d; done; cd", 100)  # a process for each
    with pytest.raises(SnapshotFailed, match="deep"):
        await box.snapshot()
    assert (await bash(box, "echo alive")).text == "alive\n"
    await bash(box, "rm -r d")
    await box.snapshot()
    await box.aclose()
    await keeper.aclose()
