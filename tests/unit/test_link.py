"""A guest that means harm: whatever it says, and however long it goes on, its box is lost and nothing else happens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import anyio
import anyio.lowlevel
import pytest
from anyio.abc import ByteStream

from sandbox_gym.contract import Program, Run
from sandbox_gym.errors import BoxLost
from sandbox_gym.guest.protocol import frames
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.channel import guest_channel as links
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.channel.outcomes import parse_outcome
from sandbox_gym.sandbox.channel.strain import Strain, keeps_its_guest_waiting, starved_itself

RUN = Run("one", Program("fork", {"main.py": b"pass"}), limits=Limits())
ENDING: dict[str, object] = {
    "stopped": "", "reported": True, "exit_code": 0, "signal": None, "unstarted": None, "unprepared": None,
    "peak_bytes": 1, "data_over": False, "oom_kills": 0, "memory_full": False, "forks_denied": 0,
    "processes_full": False,
}  # fmt: skip
RESULT: dict[str, object] = {
    "op": "result", "id": 0, "wall_s": 0.1, "cpu_s": 0.1, "starved_s": 0.0, "sizes": [0, 0, 0], "tamper": [],
    "shared": False, "ending": ENDING,
}  # fmt: skip


class Talker(ByteStream):
    """Takes all that it is sent, and says what `speak` returns, after a pause."""

    def __init__(self, speak: Callable[[], bytes], pause_s: float) -> None:
        self._speak, self._pause_s = speak, pause_s

    async def receive(self, max_bytes: int = 65536) -> bytes:
        await anyio.sleep(self._pause_s)
        return self._speak()

    async def send(self, item: bytes) -> None:
        await anyio.lowlevel.checkpoint()

    async def send_eof(self) -> None:
        """It does not care."""

    async def aclose(self) -> None:
        """Nothing to close."""


def link_to(said: bytes, pause_s: float = 0.0, silence_s: float = 10.0) -> GuestChannel:
    made = GuestChannel(Talker(lambda: said, pause_s), lambda: "a box", silence_s=silence_s)
    made._beats = True
    return made


@pytest.mark.anyio
@pytest.mark.parametrize("pause_s", [0.0, 0.3], ids=["at once", "late"])
@pytest.mark.parametrize(
    "said",
    [
        b"\xff" * 8,
        frames.HEAD.pack(2, 0) + b"[]",
        frames.HEAD.pack(2, 0) + b"{[",
        frames.HEAD.pack(6, 0) + b'{"op":',
        frames.pack({**RESULT, "cpu_s": 10**400}),
        frames.pack({**RESULT, "wall_s": float("nan")}),
        frames.pack({**RESULT, "starved_s": "long"}),
        frames.pack({**RESULT, "ending": {**ENDING, "peak_bytes": float("inf")}}),
        frames.pack({**RESULT, "ending": {**ENDING, "exit_code": 10**400}}),
        frames.pack({**RESULT, "ending": {**ENDING, "signal": True}}),
        frames.pack({**RESULT, "sizes": [10**400, 0, 0]}),
        frames.pack({**RESULT, "id": 7}),
    ],
)
async def test_what_is_no_result_is_a_lost_box(said: bytes, pause_s: float) -> None:
    """`late`: after a silence in which the link wonders whether the machine is busy."""
    link = link_to(said, pause_s, silence_s=0.2)
    with anyio.fail_after(20), pytest.raises(BoxLost):
        async with link.run_all([RUN]) as outcomes:
            await anext(outcomes)


@pytest.mark.anyio
async def test_heartbeats_alone_do_not_hold_anybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(links, "HANDSHAKE_S", 0.5)
    beat = frames.pack({"op": "beat"})
    with anyio.fail_after(20), pytest.raises(BoxLost):
        await link_to(beat, 0.01).receive_live(0.5)
    with anyio.fail_after(20), pytest.raises(BoxLost):
        await link_to(beat, 0.01).receive_patiently(0.5)
    with anyio.fail_after(20):
        assert not await link_to(beat, 0.01).reset()


@pytest.mark.anyio
@pytest.mark.parametrize("throttled", [True, False])
async def test_a_box_that_its_own_quota_holds_back_is_not_frozen(
    monkeypatch: pytest.MonkeyPatch, throttled: bool
) -> None:
    """A program takes all of the box's CPU, and so the guest is late; but it has no longer than until its deadline."""
    monkeypatch.setattr(links, "machine_pressure", lambda: 0.0)
    monkeypatch.setattr(links, "LAG_S", 0.1)
    counted, used, due = iter(range(1000)), iter(range(1000)), 0.0

    class Late(Talker):
        async def receive(self, max_bytes: int = 65536) -> bytes:
            await anyio.sleep_until(due)  # it goes on while nobody waits for it
            return self._speak()

    def silent_link(for_s: float) -> GuestChannel:
        nonlocal due

        async def strain() -> Strain:
            return Strain(throttled=next(counted) if throttled else 5, cpu_s=next(used), tasks=2, tasks_cap=64)

        due = anyio.current_time() + for_s
        link = GuestChannel(Late(lambda: frames.pack(RESULT), 0), lambda: "a box", silence_s=0.1)
        link._beats, link.strain = True, strain
        return link

    with anyio.fail_after(20):
        if throttled:
            assert (await silent_link(1.0).receive_live(10))[0]["op"] == "result"
            with pytest.raises(BoxLost, match="was silent for 1 s"):
                await silent_link(30.0).receive_live(1)
        else:
            with pytest.raises(BoxLost, match="sent no heartbeat"):
                await silent_link(1.0).receive_live(10)


FULL = Strain(cpu_s=10.0, tasks=62, tasks_cap=64)


@pytest.mark.parametrize(
    ("before", "after", "waits", "to_blame"),
    [
        (FULL, replace(FULL, cpu_s=12.0), True, True),
        (FULL, replace(FULL, cpu_s=10.1), True, False),
        (FULL, FULL, False, False),
        (FULL, replace(FULL, cpu_s=12.0, tasks=40), True, False),
        (FULL, replace(FULL, cpu_s=12.0, tasks=3), False, False),
        (replace(FULL, tasks=40), replace(FULL, cpu_s=12.0), True, False),
        (replace(FULL, tasks_cap=0), replace(FULL, cpu_s=12.0, tasks_cap=0), True, False),
        (Strain(), Strain(throttled=1), True, False),
        (Strain(), Strain(), False, False),
    ],
    ids=["bomb", "little CPU", "frozen", "half as many", "ended", "filled", "cap unknown", "quota", "nothing known"],
)
def test_a_box_full_of_processes_keeps_its_guest_waiting(
    before: Strain, after: Strain, waits: bool, to_blame: bool
) -> None:
    assert keeps_its_guest_waiting(before, after) is waits
    assert starved_itself(before, after) is to_blame


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("cap", "per_look_s", "lost", "to_blame"),
    [(64, 2.0, "was silent for 1 s", True), (128, 2.0, "was silent for 1 s", False), (64, 0.0, "no heartbeat", False)],
    ids=["a bomb", "many processes", "frozen"],
)
async def test_whose_fault_an_overdue_run_is(
    monkeypatch: pytest.MonkeyPatch, cap: int, per_look_s: float, lost: str, to_blame: bool
) -> None:
    monkeypatch.setattr(links, "machine_pressure", lambda: 0.0)
    monkeypatch.setattr(links, "LAG_S", 0.1)
    looks = iter(range(1000))

    async def strain() -> Strain:
        return replace(FULL, cpu_s=per_look_s * next(looks), tasks_cap=cap)

    link = link_to(frames.pack(RESULT), 30.0, silence_s=0.1)
    link.strain = strain
    with anyio.fail_after(20), pytest.raises(BoxLost, match=lost) as caught:
        await link.receive_live(1)
    assert caught.value.evidence.points_at_program is to_blame


def test_a_result_is_one() -> None:
    assert parse_outcome(RESULT, b"", 0, Limits()).cpu_time_s == 0.1
