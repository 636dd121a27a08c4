"""Two programs in two sandboxes that talk to each other: messages carried both ways until both have ended.

Owns the order of a dialogue and its bounds; the guest knows what the messages mean (guest/python/calls.py).
"""

from __future__ import annotations

import math
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from functools import partial
from typing import Final, Literal

import anyio

from sandbox_gym.contract import DialogueOutcome, Outcome, Run, Status
from sandbox_gym.errors import BoxLost
from sandbox_gym.faults import as_provider_down
from sandbox_gym.guest.protocol import frames
from sandbox_gym.sandbox.channel.contract import RunCarrier, longest_s
from sandbox_gym.sandbox.channel.frame_stream import Header
from sandbox_gym.sandbox.channel.outcomes import seconds, starved

RELAY_MAX_BYTES: Final = 64 << 20
ENDED: Final = "ended by the dialogue"
ABANDONED_S: Final = 8.0
"""How long a program may go on after the other one has ended."""


class End:
    """One end of a dialogue: the sandbox's channel, its run, and what became of it."""

    def __init__(self, carrier: RunCarrier, run: Run, run_id: int) -> None:
        self.carrier, self.run, self.run_id = carrier, run, run_id
        self.outcome: Outcome | None = None
        self.cancelled = False
        self.direct = False
        self.left_first = False
        """Its output ended, or it did, before the other's."""
        self.ended = anyio.Event()
        # Never full: a guest that may not write does not read either, and two such ends would wait for each other. What
        # waits here is bounded by RELAY_MAX_BYTES.
        self._put, self._waiting = anyio.create_memory_object_stream[tuple[bytes, bool]](math.inf)

    def pass_on(self, body: bytes, eof: bool) -> None:
        """Have this end's program get `body` on its channel, whenever it takes it."""
        if self.outcome is None and not self.direct:
            self._put.send_nowait((body, eof))

    def talk_directly(self) -> None:
        """Its program's words go to the other one without this process."""
        self.direct = True
        self.close()

    def close(self) -> None:
        """Nothing is passed on or waited for any more. Idempotent."""
        self._put.close()
        self._waiting.close()

    def no_more(self) -> None:
        """Nothing will be passed on any more."""
        self._put.close()

    async def carry(self) -> None:
        """Send what is passed on, in its order, until there is no more."""
        with self._waiting:
            async for body, eof in self._waiting:
                for start in range(0, len(body) or 1, frames.CHUNK):
                    chunk = body[start : start + frames.CHUNK]
                    last = start + frames.CHUNK >= len(body)
                    if self.outcome is None:
                        header = {"op": "chan", "id": self.run_id, "eof": eof and last}
                        await self.carrier.send(header, chunk, longest_s(self.run.limits))


async def converse(asker: End, candidate: End, channel: Literal["calls", "stdio"]) -> DialogueOutcome:
    """Join the two programs' fd 3, or their standard streams, until both have ended. Raises BoxLost for either
    sandbox."""
    ends = [asker, candidate]
    with closing(asker), closing(candidate):
        await _start(ends, channel)
        await _carry(ends)
    asked, answered = (end.outcome for end in ends)
    if asked is None or answered is None:
        raise BoxLost("a dialogue ended without both outcomes")
    return DialogueOutcome(asked, answered, first="asker" if ends[0].left_first else "candidate")


async def _carry(ends: Sequence[End]) -> None:
    """Until both programs have ended. Raises BoxLost."""
    lost: list[BoxLost] = []
    async with anyio.create_task_group() as tasks:

        async def guarded(work: Callable[[], Awaitable[None]]) -> None:
            try:
                await work()
            except BoxLost as error:  # kept out of an exception group, so that callers see what they are promised
                lost.append(error)
                tasks.cancel_scope.cancel()

        for end, other in (ends, ends[::-1]):
            if not end.direct:
                tasks.start_soon(guarded, end.carry)
            tasks.start_soon(guarded, partial(_pump, end, other))
    if lost:
        raise lost[0]


async def _start(ends: Sequence[End], channel: Literal["calls", "stdio"]) -> None:
    """Start both programs. Where both guests are on this machine their fd 3 are the two ends of one socket, and the
    test's end keeps the bounds (guest/objects/peer.py); else what they say is carried. Raises BoxLost."""
    if channel == "stdio" or not all(end.carrier.passes_descriptors for end in ends):
        for end in ends:
            await end.carrier.send_run(end.run, end.run_id, "stdio" if channel == "stdio" else "relay")
        return
    with as_provider_down("two programs can't be joined"):
        pair = socket.socketpair()
    with pair[0], pair[1]:
        for end, its in zip(ends, pair, strict=True):
            end.talk_directly()
            await end.carrier.send_run(end.run, end.run_id, "direct", [its.fileno()])


async def _pump(end: End, other: End) -> None:
    """Carry `end`'s messages to `other`; when `end` has ended, tell `other`, and end it if it won't."""
    relayed = 0
    while end.outcome is None:
        header, body = await end.carrier.receive_live(longest_s(end.run.limits))
        if header.get("op") == "chan":
            relayed += len(body)
            eof = header.get("eof") is True
            end.left_first = end.left_first or (eof and not other.left_first)
            if relayed > RELAY_MAX_BYTES and not end.cancelled:
                end.cancelled = True
                await end.carrier.send({"op": "cancel"})
            if not end.cancelled:
                other.pass_on(body, eof)
        elif header.get("op") == "cancelled":
            flood = relayed > RELAY_MAX_BYTES
            status = Status.OUTPUT_LIMIT if flood else Status.OK
            end.outcome = ended_early(status, header)
        else:
            end.outcome = end.carrier.outcome(header, body, end.run_id, end.run.limits)
    end.ended.set()
    end.left_first = end.left_first or not other.left_first
    other.pass_on(b"", eof=True)
    other.no_more()
    if other.outcome is None:
        with anyio.move_on_after(_patience_s(end, other)):
            await other.ended.wait()
        if other.outcome is None and not other.cancelled:
            other.cancelled = True
            await other.carrier.send({"op": "cancel"})


def ended_early(status: Status, header: Header) -> Outcome:
    """A run that the dialogue ended: what it cost is known, what it would have said is not."""
    cpu_s, wall_s = (seconds(header.get(name)) for name in ("cpu_s", "wall_s"))
    return Outcome(status, cpu_time_s=cpu_s, wall_time_s=wall_s, starved_s=_starved_s(header, wall_s), detail=ENDED)


def _starved_s(header: Header, wall_s: float) -> float | None:
    try:
        return starved(header.get("starved_s"), wall_s)
    except TypeError:
        return None


def _patience_s(ended: End, other: End) -> float:
    """How long the other one has to come to its end by itself."""
    if ended.run.program.mode == "ask":
        return 1.0
    if ended.run.program.mode == "call":
        return other.run.limits.wall_time_s
    return min(ABANDONED_S, other.run.limits.wall_time_s)
