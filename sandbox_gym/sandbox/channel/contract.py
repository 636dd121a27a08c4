"""What a sandbox asks of the channel to its programs; an attached run: bytes down, bytes up, until either end goes.

Contracts, and the frames of an attached run; knows nothing of what is said in them.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from sandbox_gym.contract import Dialogue, DialogueOutcome, Outcome, Run
from sandbox_gym.errors import BoxLost
from sandbox_gym.guest.protocol import frames
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.channel.frame_stream import WRITE_S, Header
from sandbox_gym.sandbox.channel.run_encoder import Wiring

GRACE_S: Final = 20.0
"""Beyond a run's wall limit before a silent guest counts as frozen, where it has a whole CPU to end the run."""


def longest_s(limits: Limits) -> float:
    """Seconds after which a run that has not ended is lost: its guest ends it with the CPUs that it may use itself."""
    return limits.wall_time_s + GRACE_S / min(1.0, limits.cpus)


class RunCarrier(Protocol):
    """See `GuestChannel`. Every method raises BoxLost."""

    async def send_run(self, run: Run, run_id: int, channel: Wiring = "", descriptors: Sequence[int] = ()) -> None: ...

    @property
    def passes_descriptors(self) -> bool: ...

    async def send(self, header: Header, body: bytes = b"", within_s: float = WRITE_S) -> None: ...

    async def receive_live(self, within_s: float) -> tuple[Header, bytes]: ...

    def outcome(self, header: Header, body: bytes, run_id: int, limits: Limits) -> Outcome: ...


FOREVER_S: Final = 365 * 24 * 3600.0
_RUN_ID: Final = 1
_SHOWN: Final = 600


class RunEnded(BoxLost):
    """The run is over. `stderr`: the last of its standard error, which the program wrote."""

    def __init__(self, message: str, stderr: str) -> None:
        super().__init__(message)
        self.stderr = stderr


class AttachedRun:
    """Use from one task each way."""

    def __init__(self, carrier: RunCarrier, run: Run) -> None:
        self._carrier, self._run = carrier, run

    async def start(self) -> None:
        """Raises BoxLost."""
        await self._carrier.send_run(self._run, _RUN_ID, "relay")

    async def send(self, data: bytes) -> None:
        """Raises BoxLost."""
        for start in range(0, len(data), frames.CHUNK):
            chunk = data[start : start + frames.CHUNK]
            await self._carrier.send({"op": "chan", "id": _RUN_ID, "eof": False}, chunk)

    async def receive(self, within_s: float = FOREVER_S) -> bytes:
        """What the program wrote next. Raises RunEnded when it is over, BoxLost when the sandbox is."""
        while True:
            header, body = await self._carrier.receive_live(within_s)
            if header.get("op") == "chan":
                if body:
                    return body
                continue  # its end of the channel; the result follows
            outcome = self._carrier.outcome(header, body, _RUN_ID, self._run.limits)
            stderr = outcome.stderr[-_SHOWN:].decode("utf-8", "replace").strip()
            raise RunEnded(f"a service ended: {outcome.status.value} {outcome.detail}", stderr)


class Channel(Protocol):
    """The way to the programs of one sandbox. Every method raises BoxLost when the sandbox is gone."""

    def run_all(self, runs: Sequence[Run]) -> AbstractAsyncContextManager[AsyncIterator[Outcome]]:
        """See `Sandbox.run_all`."""
        ...

    async def converse(self, dialogue: Dialogue, candidate: Channel) -> DialogueOutcome:
        """See `Sandbox.converse`; `candidate` is the other sandbox's."""
        ...

    async def attach(self, run: Run) -> AttachedRun:
        """See `Sandbox.attach`."""
        ...

    async def reset(self) -> bool:
        """The guest's own proof that nothing of earlier runs is left."""
        ...
