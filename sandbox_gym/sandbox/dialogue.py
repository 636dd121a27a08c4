"""Two programs in two boxes whose fd 3 are joined: messages carried both ways until both have ended.

Owns the order of a dialogue and its bounds; what the messages mean is the guest's affair (guest/calls.py).
"""

from __future__ import annotations

from typing import Final, Literal

import anyio

from sandbox_gym.contract import Dialogue, DialogueOutcome, Outcome, Run, Status
from sandbox_gym.errors import BoxLost
from sandbox_gym.guest import frames
from sandbox_gym.sandbox.link import GRACE_S, GuestLink

RELAY_MAX_BYTES: Final = 64 << 20
ABANDONED_S: Final = 5.0
"""How long a program may go on after the one that it talked to has left."""


class _End:
    """One end of a dialogue: the link, its run, and what became of it."""

    def __init__(self, link: GuestLink, run: Run, run_id: int) -> None:
        self.link, self.run, self.run_id = link, run, run_id
        self.outcome: Outcome | None = None
        self.cancelled = False
        self.left_first = False
        """Its output ended, or it did, before the other's."""
        self.ended = anyio.Event()


async def converse(asker: GuestLink, candidate: GuestLink, dialogue: Dialogue) -> DialogueOutcome:
    """Join the two programs' fd 3 until both have ended. Raises BoxLost for either box."""
    ends = [_End(asker, dialogue.asker, asker.begin()), _End(candidate, dialogue.candidate, candidate.begin())]
    channel: Literal["relay", "stdio"] = "stdio" if dialogue.channel == "stdio" else "relay"
    for end in ends:
        await end.link.send_run(end.run, end.run_id, channel)
    lost: list[BoxLost] = []
    async with anyio.create_task_group() as tasks:

        async def side(end: _End, other: _End) -> None:
            try:
                await _pump(end, other)
            except BoxLost as error:  # kept out of an exception group, so that callers see what they are promised
                lost.append(error)
                tasks.cancel_scope.cancel()

        tasks.start_soon(side, ends[0], ends[1])
        tasks.start_soon(side, ends[1], ends[0])
    if lost:
        raise lost[0]
    for end in ends:
        end.link.done()
    asked, answered = (end.outcome for end in ends)
    if asked is None or answered is None:
        raise BoxLost("a dialogue ended without both outcomes")
    return DialogueOutcome(asked, answered, first="asker" if ends[0].left_first else "candidate")


async def _pump(end: _End, other: _End) -> None:
    """Carry `end`'s messages to `other`; when `end` has ended, tell `other`, and end it if it won't."""
    relayed = 0
    while end.outcome is None:
        header, body = await end.link.receive_live(end.run.limits.wall_time_s + GRACE_S)
        if header.get("op") == "chan":
            relayed += len(body)
            eof = header.get("eof") is True
            end.left_first = end.left_first or (eof and not other.left_first)
            if relayed > RELAY_MAX_BYTES and not end.cancelled:
                end.cancelled = True
                await end.link.send({"op": "cancel"})
            if other.outcome is None and not end.cancelled:
                for start in range(0, len(body) or 1, frames.CHUNK):
                    chunk = body[start : start + frames.CHUNK]
                    last = start + frames.CHUNK >= len(body)
                    await other.link.send({"op": "chan", "id": other.run_id, "eof": eof and last}, chunk)
        elif header.get("op") == "cancelled":
            flood = relayed > RELAY_MAX_BYTES
            end.outcome = Outcome(Status.OUTPUT_LIMIT if flood else Status.OK, detail="ended by the dialogue")
        else:
            end.outcome = end.link.outcome(header, body, end.run_id, end.run.limits)
    end.ended.set()
    end.left_first = end.left_first or not other.left_first
    if other.outcome is None:
        await other.link.send({"op": "chan", "id": other.run_id, "eof": True})
        with anyio.move_on_after(_patience_s(end, other)):
            await other.ended.wait()
        if other.outcome is None and not other.cancelled:
            other.cancelled = True
            await other.link.send({"op": "cancel"})


def _patience_s(ended: _End, other: _End) -> float:
    """How long the other one has to come to its end by itself."""
    if ended.run.program.mode == "ask":
        return 1.0
    return (
        min(ABANDONED_S, other.run.limits.wall_time_s)
        if ended.run.program.mode == "exec"
        else (other.run.limits.wall_time_s)
    )
