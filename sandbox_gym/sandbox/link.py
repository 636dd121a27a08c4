"""The host's end of a guest's channel: frames out, checked frames in. What comes from a box is distrusted.

Owns the protocol's order and deadlines; knows nothing of how boxes are made. Every failure of the channel is a BoxLost.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from typing import Final, Literal

import anyio
import structlog
from anyio.abc import ByteStream

from sandbox_gym.contract import Outcome, Run, Status
from sandbox_gym.errors import BoxLost
from sandbox_gym.guest import frames
from sandbox_gym.guest.supervisor import MAX_BACKLOG
from sandbox_gym.limits import Limits
from sandbox_gym.observe.traces import span
from sandbox_gym.sandbox.bundle import guest_bundle
from sandbox_gym.sandbox.outcomes import parse_outcome
from sandbox_gym.sandbox.pressure import machine_pressure
from sandbox_gym.sandbox.sending import Sending, check_paths

SILENCE_S: Final = 1.5
"""Without a heartbeat for so long a box is frozen, unless the machine is too busy to tell."""
BUSY_SILENCE_S: Final = 8.0
LAG_S: Final = 0.25
BUSY: Final = 0.5
BEAT_S: Final = 0.4
WINDOW: Final = 8
"""Runs sent ahead of their results: hides the round trip, and few writes carry many runs. The guest starts one at a
time, so that an early stop wastes what it has begun and no more."""
SMALL: Final = 1 << 16
"""Frames up to so many bytes together travel in one write."""
WRITE_S: Final = 60.0
"""For a write that nothing holds up but the box and the machine."""
GRACE_S: Final = 20.0
"""Beyond a run's wall limit before a silent guest counts as frozen."""
HANDSHAKE_S: Final = 30.0
_OUTCOME_MAX: Final = 64 << 20

_log = structlog.get_logger(__name__)

Header = Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class GuestConfig:
    """What each folder and cap is in a box, as its guest is told."""

    tier: str
    """`namespaces`, or `uid` where they are not to be had."""
    cgroup: str
    dirs: Sequence[str]
    """What programs can write to, emptied after each run."""
    uid_base: int
    limit_data: bool
    """Memory is capped for each process, since no cgroup caps it."""
    sessions: bool = False
    """The box will hold one, and needs its driver."""
    shared_uid: bool = False
    """Other boxes run programs as the same users, so that the kernel's count of them says nothing."""
    guests: bool = False
    """What runs in the box already belongs there, and is no run's."""
    beat_s: float = BEAT_S
    """Between heartbeats; 0 for none."""


class GuestLink:
    """One guest. Not for concurrent use, but for the two pumps of a dialogue."""

    def __init__(
        self,
        stream: ByteStream,
        describe: Callable[[], str],
        *,
        silence_s: float = SILENCE_S,
        window: int = WINDOW,
    ) -> None:
        self._stream = stream
        self._describe = describe
        self._silence_s, self._window = silence_s, window
        self._reader = frames.FrameReader(max_header=1 << 16, max_body=_OUTCOME_MAX)
        self._sending = Sending()
        self._turn = anyio.Lock(fast_acquire=True)
        self._writing: anyio.CancelScope | None = None
        self._next_id = 0
        self._beats = False
        self.memory_limits = 0
        """Runs that ended at their memory cap."""
        self.ooms_told = 0
        """Processes that the kernel killed for memory since the box was made, as the last reset told."""
        self._busy = False
        self.broken = False

    # -- frames

    def lost(self, why: object) -> BoxLost:
        """Mark the link as of no more use; the error to raise."""
        self.broken = True
        if self._writing is not None:
            self._writing.shield = False  # half a frame does no harm any more
        return BoxLost(f"{self._describe()}: {why}")

    async def send(self, header: Mapping[str, object], body: bytes = b"") -> None:
        """Send one frame whole: a cancellation waits for the frame's end, so that the stream stays in step."""
        async with self._turn:
            await self._write([frames.pack(header, body)])

    async def _write(self, packed: Sequence[bytes], within_s: float = WRITE_S) -> None:
        """Send frames, small ones together, each write whole as in `send`. `within_s`: for each write. Whoever calls
        has the turn."""
        batch: list[bytes] = []
        size = 0
        for frame in packed:
            if batch and size + len(frame) > SMALL:
                await self._write_bytes(b"".join(batch), within_s)
                batch, size = [], 0
            batch.append(frame)
            size += len(frame)
        if batch:
            await self._write_bytes(b"".join(batch), within_s)

    async def _write_bytes(self, data: bytes, within_s: float) -> None:
        try:
            with anyio.CancelScope(shield=not self.broken) as self._writing, anyio.fail_after(within_s):
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

    async def _next(self) -> tuple[Header, bytes]:
        """The next frame, whenever it comes. Raises BoxLost."""
        try:
            while (frame := self._reader.next()) is None:
                self._reader.feed(await self._stream.receive(1 << 18))
        except (OSError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise self.lost(f"closed its channel ({type(error).__name__})") from error
        except frames.BadFrame as error:
            raise self.lost(error) from error
        header: Header = frame[0]
        if header.get("op") == "broken":
            raise self.lost(f"its guest gave up: {str(header.get('why'))[:300]}")
        return header, frame[1]

    async def handshake(self, config: GuestConfig) -> Header:
        """Send the guest and its configuration; its hello."""
        await self.introduce(config)
        self._beats = True
        return await self.hello()

    async def introduce(self, config: GuestConfig) -> None:
        """Send the guest and its configuration."""
        try:
            with anyio.fail_after(HANDSHAKE_S):
                await self._stream.send(guest_bundle())
        except (OSError, anyio.BrokenResourceError, anyio.ClosedResourceError, TimeoutError) as error:
            raise self.lost(f"did not take its guest ({type(error).__name__})") from error
        await self.send({"op": "config", **asdict(config)})

    async def hello(self) -> Header:
        """The guest's first frame. Raises BoxLost when it is anything else."""
        header, _ = await self.receive(HANDSHAKE_S)
        if header.get("op") != "hello":
            raise self.lost("did not say hello")
        return header

    async def receive_live(self, within_s: float) -> tuple[Header, bytes]:
        """The next frame that is no heartbeat. Raises BoxLost, too, when heartbeats stop: the box froze."""
        deadline = time.monotonic() + within_s
        while True:
            left = deadline - time.monotonic()
            patience = self._silence_s if self._beats else left
            started = time.monotonic()
            with anyio.move_on_after(min(max(left, 0.1), patience)) as silence:
                header, body = await self._next()
                if header.get("op") != "beat":
                    return header, body
                if left > 0:
                    continue
            if not silence.cancelled_caught or time.monotonic() >= deadline:
                raise self.lost(f"was silent for {within_s:.0f} s")
            await self._give_another_chance(time.monotonic() - started - patience)

    async def receive_patiently(self, within_s: float) -> tuple[Header, bytes]:
        """The next frame that is no heartbeat, from a box that has nothing to run and so need not send one."""
        deadline = time.monotonic() + within_s
        while True:
            header, body = await self.receive(max(0.0, deadline - time.monotonic()))
            if header.get("op") != "beat":
                return header, body

    async def _give_another_chance(self, late_s: float) -> None:
        """Silence may be our own: a host that is short of CPU hears late and lets its boxes speak late."""
        busy = late_s > LAG_S or machine_pressure() > BUSY
        try:
            with anyio.fail_after(BUSY_SILENCE_S if busy else LAG_S):
                await self._hear()
        except TimeoutError:
            raise self.lost(f"sent no heartbeat for {self._silence_s:g} s") from None

    async def _hear(self) -> None:
        """Take in what has come, until there is a whole frame; it stays in the reader. Raises BoxLost."""
        try:
            while not self._reader.ready():
                self._reader.feed(await self._stream.receive(1 << 18))
        except (OSError, anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError) as error:
            raise self.lost(f"closed its channel ({type(error).__name__})") from error
        except frames.BadFrame as error:
            raise self.lost(error) from error

    # -- runs

    async def send_run(self, run: Run, run_id: int, channel: Literal["", "relay", "stdio"] = "") -> None:
        """One run and its input. `channel`: its fd 3 ("relay") or its standard input and output ("stdio") are carried
        as `chan` frames instead of being kept."""
        async with self._turn:
            await self._put(self._sending.files_of(run.program))
            await self._write(self._sending.frames_of(run, run_id, channel), run.limits.wall_time_s + WRITE_S)

    async def _put(self, packed: Sequence[bytes]) -> None:
        if packed:
            with span("put", {"bytes": sum(map(len, packed))}):
                await self._write(packed)

    @asynccontextmanager
    async def run_all(self, runs: Sequence[Run]) -> AsyncIterator[AsyncIterator[Outcome]]:
        """See `sandbox.api.Box.run_all`."""
        for run in runs:
            check_paths(run.program)
        try:
            async with self._running(runs) as iterator:
                yield iterator
        except BaseExceptionGroup as group:
            raise _only_cause(group) from None

    @asynccontextmanager
    async def _running(self, runs: Sequence[Run]) -> AsyncIterator[AsyncIterator[Outcome]]:
        first = self._next_id
        self._next_id += len(runs)
        progress = anyio.Event()
        stopping = False
        taken = received = sent = 0

        def may_send() -> bool:
            """Another run, without the guest ceasing to listen: it must hear that it is to stop. Input for which it
            ceases to listen goes out when nobody may stop for an earlier outcome's sake any more."""
            ahead = runs[received:sent]
            waiting = sum(len(run.stdin) for run in ahead) + len(runs[sent].stdin)
            return len(ahead) < self._window if waiting < MAX_BACKLOG else taken == sent

        def note_progress() -> None:
            nonlocal progress
            progress.set()
            progress = anyio.Event()

        async def sender() -> None:
            nonlocal sent
            while sent < len(runs):
                while not may_send():
                    await progress.wait()
                async with self._turn:
                    if stopping:
                        return
                    packed: list[bytes] = []
                    patience_s = WRITE_S
                    while sent < len(runs) and sum(map(len, packed)) < SMALL and may_send():
                        if files := self._sending.files_of(runs[sent].program):
                            await self._write(packed, patience_s)  # runs whose files may have to make room
                            packed = []
                            await self._put(files)
                        packed += self._sending.frames_of(runs[sent], first + sent)
                        patience_s = runs[sent].limits.wall_time_s + WRITE_S  # so long its program may take no input
                        sent += 1
                    await self._write(packed, patience_s)

        async def results() -> AsyncIterator[Outcome]:
            nonlocal received, taken
            for offset, run in enumerate(runs):
                outcome = await self.result(first + offset, run.limits)
                received += 1
                note_progress()
                yield outcome
                taken += 1
                note_progress()

        self._busy = True
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(sender)
            iterator = results()
            try:
                yield iterator
            finally:
                stopping = True
                await iterator.aclose()  # type: ignore[attr-defined]
                if received < len(runs) and not self.broken:
                    with anyio.CancelScope(shield=True):
                        await self._cancel()
                tasks.cancel_scope.cancel()
        self._busy = False

    async def _cancel(self) -> None:
        with anyio.move_on_after(GRACE_S):
            await self.send({"op": "cancel"})
            while True:
                header, _ = await self.receive_live(GRACE_S)
                if header.get("op") == "cancelled":
                    return
        raise self.lost("did not cancel")

    async def result(self, run_id: int, limits: Limits) -> Outcome:
        """The next frame as the outcome of `run_id`. Raises BoxLost when it is not, or does not come in time."""
        header, body = await self.receive_live(limits.wall_time_s + GRACE_S)
        return self.outcome(header, body, run_id, limits)

    def begin(self) -> int:
        """The id of a run that is about to be sent outside `run_all`; `done` says that it is over."""
        self._busy = True
        self._next_id += 1
        return self._next_id - 1

    def done(self) -> None:
        self._busy = False

    def outcome(self, header: Header, body: bytes, run_id: int, limits: Limits) -> Outcome:
        """A frame as the outcome of a run, every field checked. Raises BoxLost."""
        try:
            outcome = parse_outcome(header, body, run_id, limits)
            self.memory_limits += outcome.status is Status.MEMORY_LIMIT
            return outcome
        except (KeyError, TypeError, ValueError) as error:
            raise self.lost(f"sent a malformed result ({error})") from error

    async def reset(self) -> bool:
        """The guest's own proof that nothing of earlier runs is left; False also when the link is no longer in step."""
        if self.broken or self._busy:
            return False
        self._sending.forget()
        try:
            await self.send({"op": "reset"})
            header, _ = await self.receive_patiently(HANDSHAKE_S)
        except BoxLost as error:
            _log.warning("box_lost_at_reset", why=str(error))
            return False
        ooms = header.get("oom_kills")
        self.ooms_told = ooms if type(ooms) is int else 0
        if header.get("op") == "reset" and header.get("ok") is True:
            return True
        _log.warning("box_not_clean", box=self._describe(), why=str(header.get("why"))[:300])
        return False

    async def ping(self, within_s: float) -> None:
        """Raises BoxLost unless the guest answers in time. Only between runs."""
        await self.send({"op": "ping"})
        header, _ = await self.receive_patiently(within_s)
        if header.get("op") != "pong":
            raise self.lost("answered a ping with something else")

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True), anyio.move_on_after(5):
            await anyio.aclose_forcefully(self._stream)


def _only_cause(group: BaseExceptionGroup[BaseException]) -> BaseException:
    """What a caller was promised: the one exception inside, a lost box before anything that followed from it."""
    leaves: list[BaseException] = []
    rest: list[BaseException] = [group]
    while rest:
        error = rest.pop()
        if isinstance(error, BaseExceptionGroup):
            rest.extend(error.exceptions)
        else:
            leaves.append(error)
    return next((leaf for leaf in leaves if isinstance(leaf, BoxLost)), leaves[0])
