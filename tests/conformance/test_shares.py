"""What the kernel keeps per user or per machine, short: one sandbox takes all it can get, and another of the same
server, one of another server, and the runs of a verdict have theirs. tests/load/test_shares.py is the whole."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Program, Run
from sandbox_gym.engine import open_engine
from sandbox_gym.limits import MIB, SESSION_PTYS, Limits
from sandbox_gym.sandbox.api import Provider, SandboxSpec, SessionFolder
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.session.manager import Sessions
from sandbox_gym.sandbox.session.session import Session
from sandbox_gym.sandbox.users import RUN
from tests.conformance.shares import HOG, PROBE
from tests.conftest import make_real
from tests.keeper import Keeper

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(180)]
LIMITS = Limits(cpu_time_s=300, wall_time_s=600, memory_bytes=512 * MIB, processes=48, scratch_inodes=2000)
Server = tuple[Provider, Keeper]


@pytest.fixture(params=["local", "docker", "podman"])
async def servers(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[list[Server]]:
    """Two, each with a state of its own; they know nothing of each other."""
    async with AsyncExitStack() as stack:
        made: list[Server] = []
        for number in range(2):
            folder = SessionFolder(tmp_path / str(number), LIMITS)
            if request.param == "local":
                provider: Provider = LocalProvider(sessions=folder, prepared=0)
            else:
                provider = make_real(request.param, sessions=folder)
            stack.push_async_callback(provider.aclose)
            made.append((provider, Keeper(provider)))
        yield made


async def bash(box: Session, command: str) -> str:
    request = {"op": "bash", "timeout_s": 60, "output_bytes": 4000}
    reply, body = await box.call(request, command.encode(), within_s=80)
    assert reply["ok"] is True, reply
    return body.decode()


async def probe(box: Session) -> dict[str, int]:
    await box.call({"op": "write", "path": "/tmp/probe.py"}, PROBE.encode(), within_s=30)
    found: dict[str, int] = json.loads(await bash(box, "python3 /tmp/probe.py"))
    return found


async def take_all(box: Session) -> None:
    await box.call({"op": "write", "path": "/tmp/hog.py"}, HOG.encode(), within_s=30)
    await bash(box, "python3 /tmp/hog.py > /tmp/out 2>&1 &")
    with anyio.fail_after(60):
        said = b""
        while said != b"taken\n":
            assert said == b"", said
            await anyio.sleep(0.05)
            _, said = await box.call({"op": "read", "path": "/tmp/out", "max_bytes": 4000}, within_s=30)


async def test_who_takes_all_leaves_others_theirs(servers: list[Server]) -> None:
    (provider, keeper), (other_provider, other_keeper) = servers
    async with AsyncExitStack() as stack:
        boxes = []
        for each in (keeper, keeper, other_keeper):
            boxes.append(await each.open_session(LIMITS))
            stack.push_async_callback(boxes[-1].aclose)
        hog, same_server, other_server = boxes
        alone = await probe(same_server)
        assert (alone["pty"], alone["aio"]) == (SESSION_PTYS, 0)
        await take_all(hog)
        assert [await probe(same_server), await probe(other_server)] == [alone, alone]
        expected = {**alone, "pty": 0}
        for each_provider in (provider, other_provider):
            assert json.loads(await answered(each_provider, PROBE)) == expected


async def answered(provider: Provider, source: str) -> str:
    """What a program of a verdict prints."""
    box = await provider.create(SandboxSpec())
    try:
        program = Program("fork", {"main.py": source.encode()})
        async with box.run_all([Run("probe", program, b"", LIMITS)]) as outcomes:
            outcome = await anext(outcomes)
    finally:
        await box.aclose()
    return outcome.stdout.decode() or outcome.stderr.decode()


async def test_a_verdicts_programs_have_no_terminals(servers: list[Server]) -> None:
    source = f"""
import errno, os, pty
try:
    os.open("/dev/ptmx", os.O_RDWR)
except OSError as error:
    print(error.errno == {errno.ENOENT}, os.listdir("/dev/pts"))
try:
    pty.openpty()
except OSError:
    print("none")
"""
    assert await answered(servers[0][0], source) == "True []\nnone\n"


async def test_a_session_goes_on_under_another_user_and_its_files_are_its_own(servers: list[Server]) -> None:
    """Two at once from one snapshot, with a file of each kind, of closed modes, written by both."""
    keeper = servers[0][1]
    first = await keeper.open_session(LIMITS)
    await bash(first, "mkdir -m 700 d; echo a > d/f; chmod 600 d/f; ln -s f d/l; mkfifo d/p; touch s; chmod 4711 s")
    snapshot = await first.snapshot()
    try:
        one, two = [await keeper.open_session(LIMITS, snapshot.snapshot_id) for _ in range(2)]
        for box in (one, two):
            await bash(box, "cd /workspace")
            assert await bash(box, "cat d/l; stat -c %a d d/f s") == "a\n700\n600\n4711\n"
            assert await bash(box, "find . -mindepth 1 ! -user $(id -u)") == "", "all is this session's user's"
            assert await bash(box, "id -u >> d/f; chmod 640 d/f; rm s; ls") == "d\n"
        again = await one.snapshot()
        three = await keeper.open_session(LIMITS, again.snapshot_id)
        assert (await bash(three, "cd /workspace; wc -l < d/f; ls; id -u > d/f")).split() == ["2", "d"]
        for box in (one, two, three):
            await box.aclose()
        await keeper.delete(again.snapshot_id)
    finally:
        await first.aclose()
        await keeper.delete(snapshot.snapshot_id)


async def test_no_descriptor_of_the_guests_reaches_a_program_whatever_its_number() -> None:
    """A host with more descriptors than 1,024 hands on high ones."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    kept = [os.open("/dev/null", os.O_RDONLY | os.O_CLOEXEC) for _ in range(1100)]
    try:
        source = "import os\nprint([fd for fd in range(3, 4096) if os.path.lexists('/proc/self/fd/%d' % fd)])"
        assert await answered(LocalProvider(), source) == "[]\n"
    finally:
        for fd in kept:
            os.close(fd)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
_TRIES = """
import os, sys
for path in sys.stdin.buffer.read().split(b"\\0"):
    for what in (os.listdir, lambda one: os.read(os.open(one, os.O_RDONLY | os.O_NONBLOCK), 1)):
        try:
            what(path)
        except OSError:
            continue
        print(os.fsdecode(path))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="others' eyes need another user")
async def test_nobody_else_can_read_or_list_what_a_server_keeps() -> None:
    """Even if a session opens its own folder to all, and whoever made the folders first."""
    base = Path(tempfile.mkdtemp(dir="/var/tmp"))
    base.chmod(0o755)
    try:
        settings = Settings.from_flat({"state_dir": base / "state", "boxes": 2, "session_checkpoint_s": 0.1})
        async with open_engine(settings, sessions="coding") as engine:
            held = engine.sessions
            assert isinstance(held, Sessions)
            call = {"op": "bash", "timeout_s": 20, "output_bytes": 4000}
            await held.call("s1", call, b"echo secret > f; chmod -R 777 /workspace", timeout_s=20)
            with anyio.fail_after(30):
                while not list((base / "state").glob("sessions/coding/held/*.json")):  # its checkpoint is kept
                    await anyio.sleep(0.1)
            assert isinstance(held.provider, LocalProvider)
            live = held.provider.slots
            assert live is not None
            folders = [base / "state", live]
            assert list(live.glob("*/w/f")), "the session's file is there"
            found = [(top, name) for root in folders for top, subs, files in os.walk(root) for name in [*subs, *files]]
            paths = [Path(top, name) for top, name in found]
            command = [*NOBODY, sys.executable, "-c", _TRIES]
            everything = b"\0".join(os.fsencode(path) for path in [RUN, *folders, *paths])
            done = subprocess.run(command, input=everything, capture_output=True, timeout=60, check=True)
            assert done.stdout.decode() == ""
            wide = [str(path) for path in paths if path.is_relative_to(base) and path.lstat().st_mode & 0o077]
            assert [path for path in wide if "/layers/" not in path] == []
    finally:
        shutil.rmtree(base)
