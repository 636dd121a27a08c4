"""What each provider that holds sessions promises of commands and files beside the session's shell and Python."""

from __future__ import annotations

from collections.abc import AsyncIterator

import anyio
import pytest

from sandbox_gym.errors import BoxLost, RequestError
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.session.client import Command, FileProblem, SessionClient
from sandbox_gym.sandbox.session.session import Session
from tests.conformance.test_sessions import bash, keeper, python
from tests.keeper import Keeper

__all__ = ["keeper"]
pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]
LIMITS = Limits(cpu_time_s=300, wall_time_s=600, memory_bytes=256 * MIB, processes=64)
LEFT = "setsid sh -c 'while sleep 0.1; do echo more; touch left; done' & (sleep 99 &); exit 5"


@pytest.fixture
async def session(keeper: Keeper) -> AsyncIterator[Session]:
    box = await keeper.open_session(LIMITS)
    yield box
    await box.aclose()


def sh(script: str, timeout_s: float = 20, **options: object) -> Command:
    return Command(("sh", "-c", script), timeout_s, **options)  # type: ignore[arg-type]


async def output(client: SessionClient, script: str) -> str:
    ran = await client.exec(sh(script))
    assert (ran.exit_code, ran.stderr) == (0, b"")
    return ran.stdout.decode()


async def test_a_command_has_streams_input_variables_and_an_end(session: Session) -> None:
    client = SessionClient(session)
    data = bytes(range(256)) * 40_000
    ran = await client.exec(sh('cat; pwd >&2; echo "$V$HOME" >&2; exit 7', cwd="/tmp", env={"V": "a'\n"}, stdin=data,
                               stdout_bytes=15 * MIB))  # fmt: skip
    assert (ran.exit_code, ran.timed_out, ran.stdout) == (7, False, data)
    assert ran.stderr == b"/tmp\na'\n/workspace\n"
    assert await output(client, "id -u; pwd; cat") == (await bash(session, "id -u; pwd")).text
    assert (await client.exec(sh("kill -9 $$"))).exit_code == 137
    assert (await client.exec(Command(("no-such-program",), 5))).exit_code == 127
    ran = await client.exec(sh("true", cwd="/none"))
    assert (ran.exit_code, b"/none" in ran.stderr) == (1, True)


async def test_output_is_bounded(session: Session) -> None:
    client = SessionClient(session)
    flood = "echo first; head -c 40000000 /dev/zero; echo last"
    ran = await client.exec(sh(flood, stdout_bytes=100))
    assert (ran.stdout[:6], ran.stdout[-5:], len(ran.stdout)) == (b"first\n", b"last\n", 100)
    assert ran.stdout_cut_bytes == 40_000_011 - 100
    ran = await client.exec(sh(f"({flood}) >&2", stderr_bytes=1000, head_only=True))
    assert (ran.stderr, ran.stderr_cut_bytes) == (b"first\n".ljust(1000, b"\0"), 40_000_011 - 1000)


async def test_a_command_that_takes_too_long_is_ended_with_all_that_it_started(session: Session) -> None:
    client = SessionClient(session)
    ran = await client.exec(sh("echo begun; trap '' INT; setsid sleep 98 & sleep 97", 2))
    assert (ran.timed_out, ran.stdout) == (True, b"begun\n")
    ran = await client.exec(sh("trap 'echo asked; exit 3' INT; sleep 96", 2))
    assert (ran.timed_out, ran.exit_code, ran.stdout) == (True, 3, b"asked\n")
    assert "sleep 9" not in await output(client, "cat /proc/[0-9]*/cmdline | tr '\\0' ' '")


async def test_what_a_command_leaves_behind_goes_or_stays_as_is_asked(session: Session) -> None:
    client = SessionClient(session)
    assert (await client.exec(sh(LEFT))).exit_code == 5
    await client.exec(sh("rm -f left"))
    await anyio.sleep(0.5)
    assert await output(client, "ls") == ""
    assert (await client.exec(sh(LEFT, keep_background=True))).exit_code == 5
    for _ in range(2):
        assert (await client.exec(sh("until rm left 2>/dev/null; do sleep 0.1; done", 60))).exit_code == 0


async def test_what_is_left_behind_may_end_its_output(session: Session) -> None:
    client = SessionClient(session)
    ran = await client.exec(sh("{ sleep 0.1; echo hi; } &", keep_background=True))
    assert ran.stdout == b"hi\n"
    began = anyio.current_time()
    assert (await client.exec(sh("sleep 93 & echo begun", keep_background=True))).stdout == b"begun\n"
    assert anyio.current_time() - began < 20


async def test_why_a_command_did_not_begin_and_which_signal_ended_it(session: Session) -> None:
    client = SessionClient(session)
    for command, code, why in (
        (Command(["/none"], 20), 127, "ENOENT"),
        (Command(["/"], 20), 126, "EACCES"),
        (Command(["true"], 20, cwd="/none"), 1, "ENOENT"),
        (sh("exit 127"), 127, ""),
    ):
        ran = await client.exec(command)
        assert (ran.exit_code, ran.not_begun, ran.signal) == (code, why, 0)
    ran = await client.exec(sh("kill -9 $$"))
    assert (ran.exit_code, ran.not_begun, ran.signal) == (137, "", 9)


async def test_neither_shell_nor_python_feel_commands(session: Session) -> None:
    client = SessionClient(session)
    await bash(session, "cd /tmp; x=1; export Y=2; f() { echo f; }; alias cat=false; exec 5>&1; sleep 95 &")
    await python(session, "n = 5")
    told = await client.exec(sh("echo [$x$Y]; cd /; export Y=3; umask 0; kill -9 $PPID; sleep 94"))
    assert (told.stdout, told.exit_code, told.timed_out) == (b"[2]\n", 137, False)
    said = await bash(session, "pwd; echo $x$Y; f; umask; jobs | grep -c sleep")
    assert (said.text, said.reply["reset"]) == ("/tmp\n12\nf\n0022\n1\n", False)
    cell = await python(session, "n")
    assert (cell.text, cell.reply["reset"]) == ("5\n", False)


async def test_files_are_read_and_written_whole_and_in_parts(session: Session) -> None:
    client = SessionClient(session)
    data = bytes(range(256)) * 1000
    await client.write_file("/workspace/d/e/f", data)
    await client.write_file("/workspace/d/e/f", b"end", append=True)
    await client.exec(sh("chmod 640 d/e/f; ln -s d/e/f link; ln d/e/f hard"))
    await client.write_file("/workspace/link", data + b"END")
    assert await client.read_file("/workspace/hard") == data + b"END"
    assert await client.read_file("/workspace/link", max_bytes=256_003) == data + b"END"
    assert await client.read_file("/workspace/link", offset=255_998, part_bytes=3) == data[-2:] + b"E"
    assert await client.read_file("/workspace/link", offset=256_002, part_bytes=3) == b"D"
    assert await client.read_file("/workspace/link", offset=1 << 40, part_bytes=3) == b""
    assert await client.read_file("/workspace/link", offset=255_999, max_bytes=4) == data[-1:] + b"END"
    assert await output(client, "stat -c %a d/e/f; readlink link") == "640\nd/e/f\n"


async def test_what_is_no_file_that_can_be_had_is_named(session: Session) -> None:
    client = SessionClient(session)
    await client.exec(sh("mkdir d; mkfifo fifo; ln -s loop loop; : > f; : > closed; chmod 0 closed; echo 12 > two"))
    reads = {"none": "ENOENT", "d": "EISDIR", "fifo": "EINVAL", "/dev/zero": "EINVAL", "loop": "ELOOP",
             "f/x": "ENOTDIR", "x" * 300: "ENAMETOOLONG", "closed": "EACCES", "/proc/1/mem": "EACCES"}  # fmt: skip
    for path, code in reads.items():
        with pytest.raises(FileProblem) as failed:
            await client.read_file(path)
        assert failed.value.code == code, path
    writes = {"d": "EISDIR", "fifo": "ENXIO", "/dev/null": "EINVAL", "loop": "ELOOP", "f/x": "ENOTDIR",
              "closed": "EACCES", "/proc/none": "ENOENT"}  # fmt: skip
    for path, code in writes.items():
        with pytest.raises(FileProblem) as failed:
            await client.write_file(path, b"x")
        assert failed.value.code == code, path
    for offset, most in ((0, 2), (1, 1)):
        with pytest.raises(FileProblem, match="EFBIG"):
            await client.read_file("two", offset=offset, max_bytes=most)
    await client.exec(sh("truncate -s 1T huge || truncate -s 60M huge"))
    with pytest.raises(FileProblem, match="EFBIG"):
        await client.read_file("huge")
    with pytest.raises(RequestError):
        await client.exec(Command(("x\0",), 5))


async def test_a_full_disk_is_named_and_does_not_hinder_commands(session: Session) -> None:
    client = SessionClient(session)
    await client.exec(sh("for i in $(seq 60); do head -c 50000000 /dev/zero > /tmp/full$i || break; done"))
    with pytest.raises(FileProblem) as failed:
        await client.write_file("/tmp/more", bytes(8 * MIB))
    assert failed.value.code in ("ENOSPC", "EDQUOT")
    assert await output(client, "seq 100000 | tail -n 1; rm /tmp/full*") == "100000\n"
    await client.write_file("/tmp/more", bytes(8 * MIB))


async def test_a_dead_driver_is_a_lost_box(session: Session) -> None:
    with pytest.raises(BoxLost):
        await SessionClient(session).exec(sh("kill -9 $(cut -d' ' -f4 /proc/$PPID/stat); sleep 93"))
