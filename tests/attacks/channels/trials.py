"""Whether a channel of the catalogue carries: a bit is sent many times, and the reader's readings are looked at.

The reader reads before and after the sender, which is more than a candidate has that only comes after another. A
channel carries where a threshold on some readings tells their bits, and then those of other readings: the best of all
thresholds tells noise too, once in a thousand times, which many channels and days make a failure.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import anyio

from sandbox_gym.contract import Outcome, Program, Run, Status
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.api import Provider, SandboxSpec
from sandbox_gym.sandbox.sandbox import Sandbox
from tests.attacks.channels.catalogue import COMMON, Channel

LIMITS = Limits(cpu_time_s=10, wall_time_s=30, memory_bytes=192 * MIB, processes=32, open_files=1024)
BITS = (0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1, 0, 1, 0, 0, 1, 0, 1, 1, 0, 1, 0)
TOLD = 0.85
"""The best threshold tells so many of these bits by chance, after 8 and to the end, once in a thousand times."""
ENOUGH = 14
"""All of so many told are not by chance either, but for once in two thousand times."""
TOLD_AGAIN = 0.75
"""What that threshold tells of the same bits sent anew: by chance once in 150 times."""
LEAD_S, ACT_S, LOOK_S, LEAVE_S = 0.12, 0.03, 0.3, 0.45
"""When side by side the sender acts, the reader looks again and the sender leaves, after both have started."""
TRIES = 12
Readings = Sequence[tuple[int, int]]
"""(bit, reading) pairs."""


def _body(channel: Channel, bit: int) -> str:
    return (channel.send if bit else channel.unsend) or "pass"


def _sender(channel: Channel, bit: int) -> str:
    return COMMON + _body(channel, bit) + "\n"


def _reader(channel: Channel) -> str:
    return COMMON + channel.prepare + "\n" + channel.read + "\nprint(int(found), globals().get('CYCLE', 0))\n"


def _sender_at(channel: Channel, bit: int) -> str:
    """Side by side: acts at the time that it is told, and holds on."""
    return f"start = float(input())\nimport time\ntime.sleep(max(0, start + {ACT_S} - time.time()))\n" + (
        _sender(channel, bit) + f"ready = time.time() - start\ntime.sleep(max(0, start + {LEAVE_S} - time.time()))\n"
        "print(ready)\n"
    )


def _reader_at(channel: Channel) -> str:
    read = f"exec({channel.read!r})\n"
    return (
        f"start = float(input())\n{COMMON}{channel.prepare}\n{read}before = int(found)\nlate = time.time() > start\n"
        f"time.sleep(max(0, start + {LOOK_S} - time.time()))\n{read}looked = time.time() - start\n"
        "cycle = globals().get('CYCLE', 0)\nprint(int(found) - before, cycle, int(late), looked)\n"
    )


async def _run(box: Sandbox, source: str, stdin: str = "") -> Outcome:
    run = Run("one", Program("fork", {"main.py": source.encode()}), stdin.encode(), LIMITS)
    async with box.run_all([run]) as outcomes:
        outcome = await anext(outcomes)
    assert outcome.status is Status.OK, (outcome.status, outcome.detail, outcome.stderr, source[-600:])
    return outcome


@dataclass(frozen=True, slots=True)
class Threshold:
    """Readings of `least` and more are of bit `high`, those below it of the other."""

    least: float
    high: int

    def told(self, readings: Readings) -> float:
        """The share of bits that it tells."""
        return sum((reading >= self.least) == (bit == self.high) for bit, reading in readings) / len(readings)


def best_threshold(readings: Readings) -> Threshold:
    """The one that tells most bits of these readings."""
    seen = sorted({reading for _, reading in readings})
    between = [float("-inf"), *((low + high) / 2 for low, high in pairwise(seen))]
    return max((Threshold(least, high) for least in between for high in (0, 1)), key=lambda one: one.told(readings))


def told(readings: Readings) -> float:
    """The share of bits that the best threshold on the readings tells."""
    return best_threshold(readings).told(readings)


def hopeless(readings: Readings) -> bool:
    """Readings that do not change with the bit, or tell no more than chance."""
    same = len(readings) >= 3 and len({reading for _, reading in readings}) == 1
    return same or (len(readings) >= 8 and told(readings) < TOLD)


async def change_in_one_program(box: Sandbox, channel: Channel, bit: int) -> int:
    """What the reader hears of the sender where both are one program."""
    read = f"exec({channel.read!r})\n"
    source = (
        f"{COMMON}{channel.prepare}\n{read}before = found\n{_body(channel, bit)}\n{read}print(int(found) - int(before))"
    )
    return int((await _run(box, source)).stdout)


@dataclass(slots=True)
class Boxes:
    """A box that is kept as the pool keeps one: another in its place where its reset does not prove it clean."""

    provider: Provider
    box: Sandbox | None = None
    renewed: int = 0

    async def get(self) -> Sandbox:
        if self.box is None:
            self.box = await self.provider.create(SandboxSpec())
        return self.box

    async def next_task(self) -> None:
        box = await self.get()
        if not await box.reset():
            self.renewed += 1
            self.box = None
            await box.aclose()

    async def aclose(self) -> None:
        if self.box is not None:
            await self.box.aclose()


async def _after(boxes: Boxes, channel: Channel, bit: int, *, tasks: bool) -> int:
    found: list[int] = []
    cycle = 0
    for source in (_reader(channel), _sender(channel, bit), _reader(channel)):
        outcome = await _run(await boxes.get(), source)
        if source == _reader(channel):
            reading, cycle = map(int, outcome.stdout.split())
            found.append(reading)
        if tasks:
            await boxes.next_task()
    change = found[1] - found[0]
    return change % cycle if cycle else change


async def _beside(ours: Sandbox, theirs: Sandbox, channel: Channel, bit: int) -> int:
    """One reading while the sender is there; tried again where the machine let one of them come late."""
    for _ in range(TRIES):
        start = str(time.time() + LEAD_S)
        outcomes: dict[str, Outcome] = {}

        async def run(name: str, box: Sandbox, source: str, start: str, kept: dict[str, Outcome]) -> None:
            kept[name] = await _run(box, source, start)

        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run, "reader", ours, _reader_at(channel), start, outcomes)
            tasks.start_soon(run, "sender", theirs, _sender_at(channel, bit), start, outcomes)
        change, cycle, late, looked = outcomes["reader"].stdout.split()
        ready = float(outcomes["sender"].stdout)
        if int(late) == 0 and ready < float(looked) < LEAVE_S:
            return int(change) % int(cycle) if int(cycle) else int(change)
    raise AssertionError("the machine is too busy to have two programs meet")


async def carries_to_the_next_run(boxes: Boxes, channel: Channel) -> bool:
    """Within one task: the box is not reset."""
    return await _all_told([(bit, _Trial(boxes, channel, bit, tasks=False)) for bit in BITS])


async def carries_to_the_next_task(boxes: Boxes, channel: Channel) -> bool:
    """From task to task: reset, or another box where that fails."""
    return await _all_told([(bit, _Trial(boxes, channel, bit, tasks=True)) for bit in BITS])


async def carries_beside(ours: Sandbox, theirs: Sandbox, channel: Channel) -> bool:
    """From one box to another at the same time."""
    return await _all_told([(bit, _Pair(ours, theirs, channel, bit)) for bit in BITS])


@dataclass(frozen=True, slots=True)
class _Trial:
    boxes: Boxes
    channel: Channel
    bit: int
    tasks: bool

    async def reading(self) -> int:
        return await _after(self.boxes, self.channel, self.bit, tasks=self.tasks)


@dataclass(frozen=True, slots=True)
class _Pair:
    ours: Sandbox
    theirs: Sandbox
    channel: Channel
    bit: int

    async def reading(self) -> int:
        return await _beside(self.ours, self.theirs, self.channel, self.bit)


async def _all_told(trials: Sequence[tuple[int, _Trial | _Pair]]) -> bool:
    readings: list[tuple[int, int]] = []
    for bit, trial in trials:
        readings.append((bit, await trial.reading()))
        if hopeless(readings):
            return False
        if len(readings) >= ENOUGH and told(readings) == 1:
            break
    threshold = best_threshold(readings)
    if threshold.told(readings) < TOLD:
        return False
    return threshold.told([(bit, await trial.reading()) for bit, trial in trials]) >= TOLD_AGAIN
