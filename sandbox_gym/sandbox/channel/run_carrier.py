"""What attached runs and dialogues need of a guest's channel: to send a run, and frames both ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from sandbox_gym.contract import Outcome, Run
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
