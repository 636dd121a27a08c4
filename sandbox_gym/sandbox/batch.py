"""One-shot use of a guest: all runs as one input, all outcomes as one output, for sandboxes that only run commands.

The command is `python3 -I -c BOOTSTRAP 0 1 < input > output`. Knows nothing of how it is started or where files lie.
"""

from __future__ import annotations

from collections.abc import Sequence

import anyio
from anyio.abc import ByteStream

from sandbox_gym.contract import Outcome, Run
from sandbox_gym.errors import BoxLost
from sandbox_gym.sandbox.channel.guest_channel import GuestConfig, GuestLink
from sandbox_gym.sandbox.channel.run_encoder import Sending, check_paths


class _Tape(ByteStream):
    """A byte stream whose two ends are byte strings."""

    def __init__(self, read: bytes = b"") -> None:
        self.written = bytearray()
        self._read = read
        self._position = 0

    async def send(self, item: bytes) -> None:
        self.written += item

    async def receive(self, max_bytes: int = 65536) -> bytes:
        piece = self._read[self._position : self._position + max_bytes]
        if not piece:
            raise anyio.EndOfStream
        self._position += len(piece)
        return piece

    async def send_eof(self) -> None:
        """A tape ends where it ends."""

    async def aclose(self) -> None:
        """Nothing to close."""


async def write_batch(runs: Sequence[Run], *, tier: str, cgroup: str, dirs: Sequence[str], uid_base: int) -> bytes:
    """A guest's whole input: its source, its configuration and every run. Raises ValueError for unsafe file names."""
    tape = _Tape()
    link = GuestLink(tape, lambda: "batch")
    await link.introduce(GuestConfig(tier=tier, cgroup=cgroup, dirs=dirs, uid_base=uid_base, limit_data=True, beat_s=0))
    sending = Sending()
    for run_id, run in enumerate(runs):
        check_paths(run.program)
        tape.written += b"".join(sending.files_of(run.program))
        tape.written += b"".join(frame for frame, _size in sending.frames_of(run, run_id))
    return bytes(tape.written)


async def read_batch(output: bytes, runs: Sequence[Run]) -> list[Outcome]:
    """The outcomes in a guest's whole output, one per run. Raises BoxLost for anything cut, malformed or missing."""
    link = GuestLink(_Tape(output), lambda: "batch")
    await link.hello()
    outcomes = [await link.result(run_id, run.limits) for run_id, run in enumerate(runs)]
    try:
        await link.receive(1)
    except BoxLost:
        return outcomes
    raise BoxLost("batch: there is more output than there are runs")
