"""Neither direction of a guest's channel waits for the other: long inputs and outputs, early ends, and guests that do
not keep their word."""

from __future__ import annotations

import random
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

import anyio
import pytest

from sandbox_gym.contract import Dialogue, Outcome, Program, Run, Status
from sandbox_gym.errors import BoxLost
from sandbox_gym.guest.protocol import frames
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.channel import guest_channel as links
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.channel.socket_stream import RawSocketStream
from tests.unit.bare_guest import bare_guest
from tests.unit.test_link import RESULT

pytestmark = pytest.mark.anyio
MEGABYTE = 1 << 20
DEADLINE_S = 60
LIMITS = Limits(wall_time_s=20)


def shell(script: str, stdin: bytes = b"", wall_time_s: float = 20) -> Run:
    return Run("one", Program("exec", {}, argv=("/bin/sh", "-c", script)), stdin, Limits(wall_time_s=wall_time_s))


Guest = Callable[[socket.socket], None]


@asynccontextmanager
async def linked(guest: Guest) -> AsyncIterator[GuestChannel]:
    """A link to `guest`, which has the other end of a socket in a thread of its own."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)

    def body() -> None:
        with theirs, suppress(OSError):
            guest(theirs)

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    link = GuestChannel(RawSocketStream(ours), lambda: "a fake guest", silence_s=1)
    link._beats = True
    try:
        yield link
    finally:
        await link.aclose()
        thread.join(10)
        assert not thread.is_alive()


def one_at_a_time(sock: socket.socket) -> None:
    """Does one thing at a time: while it says a megabyte it does not listen."""
    reader = frames.FrameReader()
    left = 0
    while True:
        frame = reader.next()
        if frame is None:
            data = sock.recv(1 << 16)
            if not data:
                return
            reader.feed(data)
            continue
        header, body = frame
        if header["op"] == "run":
            run_id, left = header["id"], header["stdin_size"]
        if header["op"] in ("run", "data"):
            left -= len(body)
            if left == 0:
                sock.sendall(frames.pack({**RESULT, "id": run_id, "sizes": [MEGABYTE, 0, 0]}, bytes(MEGABYTE)))
        if header["op"] == "cancel":
            sock.sendall(frames.pack({"op": "cancelled"}))
        if header["op"] == "ping":
            sock.sendall(frames.pack({"op": "pong"}))


def never_listens(sock: socket.socket) -> None:
    result = 0
    while True:
        sock.sendall(frames.pack({**RESULT, "id": result, "sizes": [MEGABYTE, 0, 0]}, bytes(MEGABYTE)))
        result += 1


def never_speaks(sock: socket.socket) -> None:
    while sock.recv(1 << 16):
        continue


async def _take(link: GuestChannel, runs: list[Run], taken: int, pause_s: float) -> None:
    """The first outcomes, then no more."""
    async with link.run_all(runs) as outcomes:
        for _ in range(taken):
            assert len((await anext(outcomes)).stdout) == MEGABYTE
        await anyio.sleep(pause_s)


async def test_a_guest_that_speaks_before_it_listens_is_heard() -> None:
    """The cancel's turn comes when the input before it is through, which needs the guest to be heard."""
    runs = [shell("", bytes(MEGABYTE)) for _ in range(8)]
    with anyio.fail_after(DEADLINE_S):
        async with linked(one_at_a_time) as link:
            for taken in range(4):
                await _take(link, runs, taken, pause_s=0.3)  # meanwhile both ends are in the middle of a write
                await link.ping(5)


@pytest.mark.parametrize("guest", [never_listens, never_speaks])
@pytest.mark.parametrize("taken", [0, 1])
async def test_a_guest_that_does_half_of_it_is_lost(guest: Guest, taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "GRACE_S", 1)
    runs = [shell("", bytes(2 * MEGABYTE)) for _ in range(8)]
    with anyio.fail_after(DEADLINE_S):
        async with linked(guest) as link:
            with pytest.raises(BoxLost):
                await _take(link, runs, taken, pause_s=0.3)
            assert link.broken
            assert not await link.reset()


@pytest.mark.parametrize("script", ["sleep 60", "exec <&-; sleep 60"], ids=["ignored", "closed"])
async def test_a_program_that_takes_no_input_does_not_make_its_guest_deaf(script: str) -> None:
    """20 MB wait for it, and it is ended at once."""
    with anyio.fail_after(20):
        async with bare_guest() as link:
            async with link.run_all([shell(script, bytes(20 * MEGABYTE))] * 2):
                await anyio.sleep(0.5)
            await link.ping(5)


async def test_a_program_that_takes_its_time_gets_all_of_its_input() -> None:
    whole = random.Random(1).randbytes(12 * MEGABYTE)
    with anyio.fail_after(DEADLINE_S):
        async with bare_guest() as link, link.run_all([shell("sleep 0.5; cat", whole)] * 3) as outcomes:
            async for outcome in outcomes:
                assert outcome.stdout == whole


@pytest.mark.parametrize("seconds", [0, 1])
async def test_who_talks_to_a_program_that_does_not_listen_is_ended(seconds: int) -> None:
    """The one says 8 MB, the other neither takes them nor ends: its time limit does."""
    asker = shell(f"head -c {8 * MEGABYTE} /dev/zero; exec sleep {seconds}")
    with anyio.fail_after(DEADLINE_S):
        async with bare_guest() as first, bare_guest() as second:
            dialogue = Dialogue("one", asker, shell("sleep 60", wall_time_s=2), channel="stdio")
            outcome = await first.converse(dialogue, second)
            assert outcome.asker.status is Status.OK
            assert outcome.candidate.status is Status.WALL_TIME_LIMIT
            await first.ping(5)
            await second.ping(5)


async def test_what_two_programs_say_to_each_other_arrives() -> None:
    size = 9 * MEGABYTE
    asker = shell(f"head -c {size} /dev/zero & exec >&-; wc -c >&2; wait")
    with anyio.fail_after(DEADLINE_S):
        async with bare_guest() as first, bare_guest() as second:
            outcome = await first.converse(Dialogue("one", asker, shell("cat"), channel="stdio"), second)
            assert outcome.asker.status is Status.OK, outcome
            assert outcome.asker.stderr.strip() == b"%d" % size


SIZES = [0, 10, 100_000, MEGABYTE, 3 * MEGABYTE, 6 * MEGABYTE]


async def _some_runs(link: GuestChannel, rng: random.Random) -> None:
    """Runs of all kinds, of which the first few are taken: each is whole, and the link is in step afterwards."""
    kinds = {
        "cat": lambda given: given,
        "true": lambda _given: b"",
        "wc -c": lambda given: b"%d\n" % len(given),
        f"head -c {2 * MEGABYTE} /dev/zero": lambda _given: bytes(2 * MEGABYTE),
    }
    runs = [shell(rng.choice(list(kinds)), rng.randbytes(rng.choice(SIZES))) for _ in range(rng.randint(1, 6))]
    patience_s = rng.choice([0.0, 0.01, 0.1, DEADLINE_S, DEADLINE_S])
    taken = rng.randint(0, len(runs))
    got: list[Outcome] = []
    with anyio.move_on_after(patience_s):
        async with link.run_all(runs) as outcomes:
            while len(got) < taken:
                got.append(await anext(outcomes))
                await anyio.sleep(rng.choice([0, 0, 0.02]))
    if patience_s == DEADLINE_S:
        assert len(got) == taken
    for run, outcome in zip(runs, got, strict=False):
        assert outcome.stdout == kinds[run.program.argv[2]](run.stdin)


async def _a_dialogue(first: GuestChannel, second: GuestChannel, rng: random.Random) -> None:
    size = rng.choice(SIZES)
    candidate = rng.choice(["cat", "true", "cat >/dev/null", "exec <&-; sleep 0.1"])
    asker = shell(f"head -c {size} /dev/zero & exec >&-; wc -c >&2; wait", wall_time_s=10)
    outcome = await first.converse(Dialogue("one", asker, shell(candidate, wall_time_s=10), channel="stdio"), second)
    if candidate == "cat":
        assert outcome.asker.stderr.strip() == b"%d" % size


@pytest.mark.parametrize("seed", range(6))
async def test_no_order_of_sends_cancels_and_closes_hangs_or_loses(seed: int) -> None:
    rng = random.Random(seed)
    with anyio.fail_after(2 * DEADLINE_S):
        async with bare_guest() as first, bare_guest() as second:
            for _ in range(12):
                if rng.random() < 0.7:
                    await _some_runs(first, rng)
                else:
                    await _a_dialogue(first, second, rng)
                await first.ping(10)
                await second.ping(10)
