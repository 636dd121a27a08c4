"""An E2B sandbox as a machine: a guest in it, or a session's driver, and how either is started."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, get_args

import anyio

from sandbox_gym.contract import Isolation, Run
from sandbox_gym.errors import BoxLost, ConfigurationError, LossEvidence
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.channel.bundle import session_bundle
from sandbox_gym.sandbox.channel.driver import WORK
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.channel.guest_config import GuestConfig
from sandbox_gym.sandbox.e2b.channel import CALL_S, CommandStream, open_command
from sandbox_gym.sandbox.e2b.errors import watched
from sandbox_gym.sandbox.e2b.remote import RemoteSandbox

SILENCE_S: Final = 10.0
"""Without a heartbeat for so long a remote guest is lost; a network takes breaks that a pipe does not."""
BEAT_S: Final = 1.0
WINDOW: Final = 64
"""Runs sent ahead of their results: a verify's tests in one request."""
USERS: Final = 20_000
PREPARE: Final = f"mkdir -p -m 755 {WORK} && chown user: {WORK}"
"""As root, in templates that do not bring the folder."""
CLEAR: Final = "kill -9 -1 2>/dev/null; "
"""Before a driver in what was kept with its memory: all that the user ran is still there."""
Command = Literal["box", "snapshot", "session"]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What guest/nested_bootstrap.py says of where it is."""

    tier: str
    dirs: tuple[str, ...]
    isolation: Isolation | None
    owner: int | None
    """The user whose files a snapshot holds."""


class E2bMachine:
    """See `machine.Machine`. Use `start_guest` or `start_session_command` once it is made."""

    def __init__(self, remote: RemoteSandbox, isolation: Isolation) -> None:
        """`isolation`: of a sandbox that does not say it itself."""
        self.remote, self.box_id = remote, remote.sandbox_id
        self.isolation: Isolation = isolation
        self.tier = ""
        self._stream: CommandStream | None = None
        self._keeping_alive: asyncio.Task[None] | None = None

    async def start_guest(self, command: Literal["box", "snapshot"]) -> GuestChannel:
        """A supervisor that runs programs. Raises BoxLost, ProviderDown, ConfigurationError."""
        stream, found = await self._start(command)
        channel = GuestChannel(stream, lambda: f"e2b sandbox {self.box_id}", silence_s=SILENCE_S, window=WINDOW)
        await channel.handshake(
            GuestConfig(
                tier=found.tier,
                cgroup="/nonexistent",
                dirs=found.dirs,
                # the first run on a session's files runs as their owner, the same for every session
                uid_base=_own_users() if found.owner is None else found.owner - 1,
                shared_uid=found.owner is not None,
                limit_data=True,
                guests=found.tier == "uid",
                beat_s=BEAT_S,
            )
        )
        return channel

    async def start_session_command(self, *, with_memory: bool) -> DriverStream:
        """What a driver is started with. `with_memory`: the sandbox begins with the processes of an earlier session.
        Raises BoxLost, ProviderDown, ConfigurationError."""
        first = CLEAR if with_memory else ""
        try:
            stream, _ = await self._start("session", first)
        except ConfigurationError:  # no folder to keep files in
            async with watched("preparing a sandbox", CALL_S):
                await self.remote.sandbox.commands.run(PREPARE, user="root", request_timeout=CALL_S)
            stream, _ = await self._start("session", first)
        self._keeping_alive = asyncio.create_task(self._keep_alive())  # nothing waits for output between calls
        return DriverStream(stream, self.box_id)

    async def _start(self, command: Command, first: str = "") -> tuple[CommandStream, Surroundings]:
        remote = self.remote
        if self._stream is not None:
            await self._stream.aclose()
        stream = self._stream = await open_command(
            remote.sandbox, remote.keep_alive, every_s=remote.keep_alive_every_s, how=command, first=first
        )
        found = read_surroundings(await stream.first_line(CALL_S))
        self.tier, self.isolation = found.tier, found.isolation or self.isolation
        return stream, found

    async def _keep_alive(self) -> None:
        """Have the sandbox live on while the session is held; one that can't is lost at its next call."""
        while True:
            await asyncio.sleep(self.remote.keep_alive_every_s)
            try:
                await self.remote.keep_alive()
            except BoxLost:
                return

    @property
    def lost(self) -> bool:
        """Whether nothing in it can be reached any more."""
        return self._stream is None or self._stream.ended

    @property
    def expired(self) -> bool:
        """Whether it is gone, or soon will be: the account ends it, or it was not kept alive while it was idle."""
        if self._keeping_alive is not None:
            return self.remote.old
        return self.lost or self.remote.old or self.remote.ending

    async def set_limits(self, limits: Limits) -> None:
        """They are the template's, for the whole sandbox."""

    def begin_task(self) -> bool:
        return True

    async def evidence(self) -> LossEvidence:
        """None: a sandbox that is gone tells nothing, and its provider says only that it is."""
        return LossEvidence(detail="e2b does not say why a sandbox is gone")

    async def destroy(self) -> None:
        if self._keeping_alive is not None:
            self._keeping_alive.cancel()
        if self._stream is not None:
            with anyio.move_on_after(1):
                await self._stream.aclose()
        await self.remote.end()


def _own_users() -> int:
    """The first of as many users as a guest goes through, which no other sandbox of the same kernel is likely to run
    programs as: RLIMIT_NPROC counts a user's processes in all of a pool's containers."""
    return 1_000_000 + USERS * secrets.randbelow(50_000)


def read_surroundings(line: str) -> Surroundings:
    """What a guest's start said. Raises ConfigurationError where it can't hold programs there, BoxLost for nonsense."""
    try:
        said = json.loads(line)
    except ValueError:
        said = None
    if isinstance(said, dict) and isinstance(said.get("error"), str):
        raise ConfigurationError(f"a guest can't hold programs in this sandbox: {said['error'][:300]}")
    dirs = said.get("dirs") if isinstance(said, dict) else None
    if not isinstance(dirs, list) or not all(isinstance(path, str) for path in dirs):
        raise BoxLost(f"a guest's start said {line[:200]!r}")
    tier, isolation, owner = said.get("tier"), said.get("isolation"), said.get("owner")
    if tier not in ("uid", "namespaces", "session") or not (owner is None or (type(owner) is int and owner > 0)):
        raise BoxLost(f"a guest's start said {line[:200]!r}")
    return Surroundings(tier, tuple(dirs), isolation if isolation in get_args(Isolation) else None, owner)


class DriverStream:
    """See `driver.DriverLink`. The command's bytes are the driver's, without a guest's frames. It runs as the
    sandbox's own user: all that is in a session belongs to the candidate, and the sandbox is the boundary."""

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
