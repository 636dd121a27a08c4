"""A command of an E2B sandbox as a byte stream: input as bytes, output as lines of base64, for the SDK makes it text.

What is sent at once travels as one request: all the frames of a verify.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import contextlib
import shlex
import time
from collections.abc import Awaitable, Callable
from importlib.resources import files
from typing import TYPE_CHECKING, Final, Literal

import anyio
import structlog
from anyio.abc import ByteStream

from sandbox_gym.errors import BoxLost, ProviderDown, SandboxGymError
from sandbox_gym.limits import MIB
from sandbox_gym.sandbox.e2b.errors import failures, translated, watched

if TYPE_CHECKING:
    from e2b import AsyncCommandHandle, AsyncSandbox, CommandResult

CALL_S: Final = 60.0
PIECE: Final = 1 * MIB
MAX_LINE: Final = 1 * MIB
MAX_UNREAD: Final = 8 * MIB
"""Unread output beyond which the SDK is kept from reading more."""
MAX_UNSENT: Final = 4 * MIB
ROOT: Final = "root"
PAUSES_S: Final = (0.2, 0.5, 1.0)
"""Between tries of input that the service refuses for now."""
_WORDS: Final = 2000
_LET_GO_S: Final = 1.0
"""For the tasks that were cancelled to be over, so that nothing of them is heard after the event loop is."""
_log = structlog.get_logger(__name__)


_PYTHON: Final = "$(command -v /opt/sandbox-gym/guest/bin/python3 || echo python3)"
"""In a template of a dataset's image, which may have another Python, or none."""


class CommandStream(ByteStream):
    """Use `open_command` to make one. `keep_alive` is called every `every_s` while output is waited for."""

    def __init__(self, keep_alive: Callable[[], Awaitable[None]], every_s: float) -> None:
        self._keep_alive, self._every_s = keep_alive, every_s
        self._kept_alive_at = time.monotonic()
        self._line = ""
        self._lines: list[str] = []
        """Whole lines before the first `receive`."""
        self._raw = True
        self._unread = bytearray()
        self._outgoing = bytearray()
        self._sender: asyncio.Task[None] | None = None
        self._news, self._room, self._sent = anyio.Event(), anyio.Event(), anyio.Event()
        self._handle: AsyncCommandHandle[None] | None = None
        self._ended: asyncio.Task[CommandResult[None]] | None = None
        self._gone: BoxLost | None = None
        self.stderr = ""

    def attach(self, handle: AsyncCommandHandle[None]) -> None:
        """The command has started. The SDK lives on asyncio, and only this await tells that its stream has ended."""
        self._handle = handle
        task = self._ended = asyncio.create_task(handle.wait())
        task.add_done_callback(self._on_end)

    def _on_end(self, ended: asyncio.Task[CommandResult[None]]) -> None:
        if ended.cancelled():
            return
        error = ended.exception()
        if isinstance(error, Exception) and isinstance(error, failures()):
            self._fail(str(translated(error, "its stream")))
        else:
            self._fail(f"its command ended ({error or 'exit code 0'}) {self.stderr[-300:]}".strip())

    @property
    def ended(self) -> bool:
        """Whether nothing more can be said or heard."""
        return self._gone is not None

    def _fail(self, why: str) -> None:
        self._gone = self._gone or BoxLost(why)
        for event in (self._news, self._room, self._sent):
            event.set()

    # -- what comes

    async def on_stdout(self, text: str) -> None:
        """What the SDK calls with each piece; it reads no more while this waits."""
        *whole, self._line = (self._line + text).split("\n")
        if len(self._line) > MAX_LINE:
            self._fail("it sent a line without an end")
        for line in whole:
            self._take(line)
        self._news.set()
        while len(self._unread) > MAX_UNREAD and self._gone is None:
            self._room = anyio.Event()
            await self._room.wait()

    def on_stderr(self, text: str) -> None:
        self.stderr = (self.stderr + text)[-_WORDS:]

    def _take(self, line: str) -> None:
        if self._raw:
            self._lines.append(line)
            self._raw = False
            return
        try:
            self._unread += base64.b64decode(line, validate=True)
        except (binascii.Error, ValueError):
            self._fail("it sent a line that is no base64")

    async def first_line(self, within_s: float) -> str:
        """What the command says before it carries bytes. Raises BoxLost."""
        deadline = time.monotonic() + within_s
        while not self._lines:
            self._check()
            if time.monotonic() > deadline:
                raise BoxLost(f"its command said nothing within {within_s:g} s {self.stderr[-300:]}".strip())
            await self._wait(min(1.0, within_s))
        return self._lines.pop()

    def _check(self) -> None:
        if self._gone is not None:
            raise BoxLost(str(self._gone))

    async def _wait(self, within_s: float) -> None:
        """Until there is news, or the time is over."""
        self._news = anyio.Event()
        with anyio.move_on_after(within_s):
            await self._news.wait()

    async def receive(self, max_bytes: int = 65536) -> bytes:
        """Raises BoxLost."""
        while True:
            if time.monotonic() - self._kept_alive_at > self._every_s:
                self._kept_alive_at = time.monotonic()
                await self._keep_alive()
            if self._unread:
                piece = bytes(self._unread[:max_bytes])
                del self._unread[:max_bytes]
                self._room.set()
                return piece
            self._check()
            await self._wait(self._every_s)

    # -- what goes

    async def send(self, item: bytes) -> None:
        """Whether it arrives is seen when output is waited for. Raises BoxLost."""
        self._check()
        self._outgoing += item
        if self._sender is None or self._sender.done():
            # a task of its own: a cancelled caller must not leave half a frame behind
            self._sender = asyncio.create_task(self._send_all())
        while len(self._outgoing) > MAX_UNSENT:
            self._check()
            self._sent = anyio.Event()
            await self._sent.wait()

    async def _send_all(self) -> None:
        await asyncio.sleep(0)  # what else is sent in this turn of the loop goes along
        while self._outgoing and self._handle is not None and self._gone is None:
            piece = bytes(self._outgoing[:PIECE])
            del self._outgoing[:PIECE]
            try:
                await self._send_piece(self._handle, piece)
            except SandboxGymError as error:
                self._fail(str(error))
                return
            self._sent.set()

    async def _send_piece(self, handle: AsyncCommandHandle[None], piece: bytes) -> None:
        """Sent again only where the service refused it for now: bytes must not arrive twice."""
        for pause_s in PAUSES_S:
            try:
                async with watched("sending input", CALL_S):
                    await handle.send_stdin(piece, request_timeout=CALL_S)
                return
            except ProviderDown as error:
                _log.warning("e2b_input_refused", why=str(error))
                await asyncio.sleep(pause_s)
        async with watched("sending input", CALL_S):
            await handle.send_stdin(piece, request_timeout=CALL_S)

    async def send_eof(self) -> None:
        """The command ends with its stream."""

    async def aclose(self) -> None:
        """Let go of the command, which its sandbox's end ends. Idempotent."""
        self._fail("it was closed")
        for task in (self._ended, self._sender):
            if task is not None:
                task.cancel()
        handle, self._handle = self._handle, None
        if handle is not None:
            with contextlib.suppress(*failures()):  # the caller ends the sandbox next
                await handle.disconnect()
        if ended := [task for task in (self._ended, self._sender) if task is not None]:
            await asyncio.wait(ended, timeout=_LET_GO_S)


async def open_command(
    sandbox: AsyncSandbox,
    keep_alive: Callable[[], Awaitable[None]],
    *,
    every_s: float,
    how: Literal["box", "snapshot", "session"] = "box",
    first: str = "",
) -> CommandStream:
    """The program that starts a guest (guest/nested_bootstrap.py), running: as root, but for a session. `first`: a
    command of the same shell before it. Raises BoxLost, ProviderDown, ConfigurationError."""
    stream = CommandStream(keep_alive, every_s)
    source = files("sandbox_gym.guest").joinpath("nested_bootstrap.py").read_text(encoding="utf-8")
    async with watched("starting the guest", CALL_S):
        handle = await sandbox.commands.run(
            # a thread of any program gets a stack of this size
            f"{first}ulimit -Ss 8192; exec {_PYTHON} -I -c {shlex.quote(source)} {how}",
            background=True,
            stdin=True,
            timeout=0,
            user=None if how == "session" else ROOT,
            # a login shell reads what an earlier program left in its home, which a snapshot may hold
            envs={"HOME": "/"},
            cwd="/",
            request_timeout=0,  # ours is around it; the SDK's own leaves a task behind when it is cancelled
            on_stdout=stream.on_stdout,
            on_stderr=stream.on_stderr,
            retain_output=False,
        )
    stream.attach(handle)
    return stream
