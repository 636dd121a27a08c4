"""A driver's own command as what it is reached by: a session's driver runs as the sandbox's own user.

All that is in a session belongs to the candidate, so that no root and no supervisor is needed: the sandbox
is the boundary.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import anyio

from sandbox_gym.contract import Run
from sandbox_gym.errors import BoxLost
from sandbox_gym.sandbox.channel.bundle import session_bundle
from sandbox_gym.sandbox.channel.driver import WORK
from sandbox_gym.sandbox.e2b.channel import CALL_S, CommandStream


class DriverStream:
    """See `driver.DriverLink`. The command's bytes are the driver's, without a guest's frames."""

    def __init__(self, stream: CommandStream, box_id: str) -> None:
        self._stream, self._box_id = stream, box_id
        self.broken = False

    def lost(self, why: object) -> BoxLost:
        self.broken = True
        return BoxLost(f"e2b session {self._box_id}: {why}")

    async def send_run(self, run: Run, run_id: int, channel: Literal["", "relay", "stdio"] = "") -> None:
        """The driver itself, as source: there is no supervisor to start it."""
        await self._stream.send(session_bundle(WORK))

    async def send(self, header: Mapping[str, object], body: bytes = b"") -> None:
        """`body` to the driver; nothing here reads a frame's header."""
        try:
            with anyio.CancelScope(shield=True), anyio.fail_after(CALL_S):
                await self._stream.send(body)
        except TimeoutError:
            raise self.lost("took no input") from None
        except BoxLost as error:
            raise self.lost(error) from error

    async def receive_patiently(self, within_s: float) -> tuple[Mapping[str, object], bytes]:
        try:
            with anyio.fail_after(within_s):
                return {"op": "chan"}, await self._stream.receive(1 << 18)
        except TimeoutError:
            raise self.lost(f"was silent for {within_s:.0f} s") from None
        except BoxLost as error:
            raise self.lost(error) from error
