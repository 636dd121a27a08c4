"""One long run of a sandbox whose fd 3 is joined with this process: bytes down, bytes up, until either end goes.

Owns the run's frames; knows nothing of what is said in them.
"""

from __future__ import annotations

from typing import Final

from sandbox_gym.contract import Run
from sandbox_gym.errors import BoxLost
from sandbox_gym.guest.protocol import frames
from sandbox_gym.sandbox.channel.run_carrier import RunCarrier

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
