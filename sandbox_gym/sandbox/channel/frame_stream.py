"""Frames to and from a guest over a byte stream. Owns order and bounds of both directions, of which neither waits for
the other: a guest always listens, whatever its programs do, because it is never sent more input than it can keep, and
a sender that waits for room reads what the guest sends meanwhile.

Knows neither runs nor what frames mean, but for those that speak of the stream itself. Every failure is a BoxLost.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final

import anyio
from anyio.abc import ByteStream

from sandbox_gym.errors import BoxLost
from sandbox_gym.guest.protocol import frames
from sandbox_gym.sandbox.channel.socket_stream import RawSocketStream

SMALL: Final = 1 << 16
"""Frames up to so many bytes together travel in one write."""
WRITE_S: Final = 60.0
"""For a write: a guest always listens, so that nothing holds it up but the box and the machine."""
_BODY_MAX: Final = 64 << 20
_UNREAD_MAX: Final = 2 * _BODY_MAX
"""What a guest may send before it is read."""
_COST: Final = 4096
"""Of a frame's header, in memory."""

Header = Mapping[str, object]


class InputFlow:
    """How much input a guest holds that its programs have not read yet. A run's input counts from when it is sent until
    the guest says that it was taken, or that the run is over."""

    def __init__(self) -> None:
        self._held: dict[int, int] = {}
        self._change: anyio.Event | None = None
        """There is one while a sender waits: making one costs more than counting a short run's input."""

    def fits(self, size: int) -> bool:
        """Whether so many bytes may be sent now."""
        held = sum(self._held.values())
        return not held or held + size <= frames.MAX_BACKLOG

    def begin(self, run_id: int) -> None:
        """A run is about to be sent."""
        self._held[run_id] = 0

    def live(self, run_id: int) -> bool:
        """Whether a run that was sent goes on, as far as is known."""
        return run_id in self._held

    def sent(self, run_id: object, size: int) -> None:
        if isinstance(run_id, int) and run_id in self._held:
            self._held[run_id] += size

    def took(self, run_id: object, size: object) -> None:
        """What the guest says of a run; of one that is over it may come late. Raises ValueError for nonsense."""
        if type(run_id) is not int or type(size) is not int or size < 0:
            raise ValueError("a took frame without a run and a size")
        if run_id in self._held:
            self._held[run_id] = max(0, self._held[run_id] - size)
        self.changed()

    def ended(self, run_id: object) -> None:
        """A run is over: what it did not take is gone."""
        if isinstance(run_id, int):
            self._held.pop(run_id, None)
        self.changed()

    def clear(self) -> None:
        """No run is left."""
        self._held.clear()
        self.changed()

    def changed(self) -> None:
        change, self._change = self._change, None
        if change is not None:
            change.set()

    async def wait(self) -> None:
        """Until something changes."""
        if self._change is None:
            self._change = anyio.Event()
        await self._change.wait()


class FrameStream:
    """One guest's. Any number of senders; receivers get each frame once."""

    def __init__(self, stream: ByteStream, describe: Callable[[], str]) -> None:
        self._stream = stream
        self._describe = describe
        self._reader = frames.FrameReader(max_header=1 << 16, max_body=_BODY_MAX)
        self._inbox: deque[tuple[Header, bytes]] = deque()
        self._unread = 0
        self._reading = anyio.Lock(fast_acquire=True)
        self._flow = InputFlow()
        self._turn = anyio.Lock(fast_acquire=True)
        self._writing: anyio.CancelScope | None = None
        self.broken = self.ended = False
        """Of no more use; closed by the guest, which has ended."""

    def lost(self, why: object) -> BoxLost:
        """Mark the link as of no more use; the error to raise."""
        self.broken = True
        if self._writing is not None:
            self._writing.shield = False  # half a frame does no harm any more
        return BoxLost(f"{self._describe()}: {why}")

    async def send(self, header: Header, body: bytes = b"", within_s: float = WRITE_S) -> None:
        """Send one frame whole: a cancellation waits for the frame's end, so that the stream stays in step. A
        program's input (`chan`) waits first, `within_s`, until the guest has room for it."""
        if header.get("op") == "chan" and body:
            await self._room(len(body), within_s)
            self._flow.sent(header.get("id"), len(body))
        async with self._turn:
            await self._write([frames.pack(header, body)])

    async def _room(self, size: int, within_s: float) -> None:
        """Take in what the guest says until it has room for so much more input. Raises BoxLost."""
        try:
            with anyio.fail_after(within_s):
                while not self._flow.fits(size):
                    async with self._reading:
                        if not self._flow.fits(size):
                            await self._take_in()
        except TimeoutError as error:
            raise self.lost(f"took no input for {within_s:.0f} s") from error

    @property
    def passes_descriptors(self) -> bool:
        """Whether the guest is on this machine, at the other end of a socket that carries descriptors."""
        return isinstance(self._stream, RawSocketStream)

    async def _write(self, packed: Sequence[bytes], descriptors: Sequence[int] = ()) -> None:
        """Send frames, small ones together, each write whole as in `send`. The caller has the turn. `descriptors`:
        copies of them arrive before the last frame is whole, where they can be passed."""
        batch: list[bytes] = []
        size = 0
        for frame in packed:
            if batch and size + len(frame) > SMALL:
                await self._write_bytes(b"".join(batch))
                batch, size = [], 0
            batch.append(frame)
            size += len(frame)
        if batch:
            await self._write_bytes(b"".join(batch), descriptors)

    async def _write_bytes(self, data: bytes, descriptors: Sequence[int] = ()) -> None:
        try:
            with anyio.CancelScope(shield=not self.broken) as self._writing, anyio.fail_after(WRITE_S):
                if isinstance(self._stream, RawSocketStream):
                    await self._stream.send(data, descriptors)
                else:
                    await self._stream.send(data)
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, TimeoutError) as error:
            raise self.lost(f"can't be written to ({type(error).__name__})") from error
        finally:
            self._writing = None

    async def receive(self, within_s: float) -> tuple[Header, bytes]:
        """The next frame. Raises BoxLost at the stream's end, on a malformed frame, or after `within_s`."""
        try:
            with anyio.fail_after(within_s):
                return await self._next()
        except TimeoutError as error:
            raise self.lost(f"was silent for {within_s:.0f} s") from error

    @property
    def has_frames(self) -> bool:
        """Whether a frame has come that no receiver has taken."""
        return bool(self._inbox)

    async def _next(self) -> tuple[Header, bytes]:
        """The next frame, whenever it comes. Raises BoxLost."""
        await self._hear()
        header, body = self._inbox.popleft()
        self._unread -= len(body) + _COST
        if header.get("op") == "broken":
            raise self.lost(f"its guest gave up: {str(header.get('why'))[:300]}")
        return header, body

    async def _hear(self) -> None:
        """Take in what comes until there is a whole frame, which stays in the inbox. Raises BoxLost."""
        while not self._inbox:
            async with self._reading:
                if not self._inbox:
                    await self._take_in()

    async def _take_in(self) -> None:
        """Read once, into the inbox; the caller is the only reader. What the guest reports of its programs' input is
        applied at once. Raises BoxLost."""
        try:
            self._reader.feed(await self._stream.receive(1 << 18))
            while (frame := self._reader.next()) is not None:
                self._sort(*frame)
        except (OSError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            self.ended = True
            raise self.lost(f"closed its channel ({type(error).__name__})") from error
        except (frames.BadFrame, ValueError) as error:
            raise self.lost(error) from error
        if self._unread > _UNREAD_MAX:
            raise self.lost("sends more than it may before it is read")

    def _sort(self, header: Header, body: bytes) -> None:
        """Raises ValueError for a malformed frame."""
        op = header.get("op")
        if op == "took":
            self._flow.took(header.get("id"), header.get("bytes"))
            return
        if op == "result":
            self._flow.ended(header.get("id"))
        if op == "beat" and self._inbox and self._inbox[-1][0].get("op") == "beat":
            return
        self._inbox.append((header, body))
        self._unread += len(body) + _COST
