"""The host's end of a guest's channel: frames out, checked frames in. What comes from a sandbox is not trusted.

Owns the protocol's order and deadlines; knows nothing of how boxes are made. Every failure of the channel is a BoxLost.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import asdict
from typing import Final

import anyio
import structlog
from anyio.abc import ByteStream

from sandbox_gym.contract import Dialogue, DialogueOutcome, Outcome, Run, Status
from sandbox_gym.errors import BoxLost, LossEvidence
from sandbox_gym.guest.protocol.frames import CHUNK
from sandbox_gym.limits import Limits
from sandbox_gym.observe.traces import span
from sandbox_gym.sandbox.blame import NotTheProgram
from sandbox_gym.sandbox.channel.bundle import guest_bundle
from sandbox_gym.sandbox.channel.contract import GRACE_S, AttachedRun, Channel, longest_s
from sandbox_gym.sandbox.channel.dialogue import End, converse
from sandbox_gym.sandbox.channel.frame_stream import SMALL, FrameStream, Header
from sandbox_gym.sandbox.channel.guest_config import GuestConfig
from sandbox_gym.sandbox.channel.outcomes import parse_outcome
from sandbox_gym.sandbox.channel.run_encoder import Sending, Wiring, check_paths
from sandbox_gym.sandbox.channel.strain import Strain, keeps_its_guest_waiting, starved_itself
from sandbox_gym.sandbox.pressure import machine_pressure

SILENCE_S: Final = 1.5
"""Without a heartbeat for so long a box is frozen, unless the machine is too busy to tell."""
BUSY_SILENCE_S: Final = 8.0
LAG_S: Final = 0.25
BUSY: Final = 0.5
WINDOW: Final = 8
"""Runs sent ahead of their results: hides the round trip, and few writes carry many runs. The guest starts one at a
time, so that an early stop wastes what it has begun and no more."""
SHARED_WINDOW: Final = 32
"""The same where one process is run through them: each is soon over, and results come several at once."""
HANDSHAKE_S: Final = 30.0

_log = structlog.get_logger(__name__)


async def _unknown() -> Strain:
    return Strain()


class GuestChannel(FrameStream):
    """One guest. Not for concurrent use, but for the two pumps of a dialogue."""

    def __init__(
        self, stream: ByteStream, describe: Callable[[], str], *, silence_s: float = SILENCE_S, window: int = WINDOW
    ) -> None:
        super().__init__(stream, describe)
        self._silence_s, self._window = silence_s, window
        self._sending = Sending()
        self._next_id = 0
        self._beats = False
        self.memory_limits = 0
        """Runs that ended at their memory cap."""
        self.reported_ooms = 0
        """Processes that the kernel killed for memory since the sandbox was made, as its last reset reported."""
        self._busy = False
        self.strain: Callable[[], Awaitable[Strain]] = _unknown
        """What the box's programs do, as far as its machine knows. Never raises."""

    # -- the protocol

    async def handshake(self, config: GuestConfig, bundle: bytes = b"") -> Header:
        """Send the guest and its configuration; its hello. `bundle`: the guest, if any but its source."""
        await self.introduce(config, bundle)
        self._beats = True
        return await self.hello()

    async def introduce(self, config: GuestConfig, bundle: bytes = b"") -> None:
        """Send the guest and its configuration."""
        try:
            with anyio.fail_after(HANDSHAKE_S):
                await self._stream.send(bundle or guest_bundle())
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
        while self.has_frames:  # results of short runs come together: none needs a clock
            header, body = await self._next()
            if header.get("op") != "beat":
                return header, body
        deadline = time.monotonic() + within_s
        silent: Strain | None = None
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
                raise await self._overdue(within_s, silent)
            found = await self._give_another_chance(time.monotonic() - started - patience)
            silent = silent or found

    async def receive_patiently(self, within_s: float) -> tuple[Header, bytes]:
        """The next frame that is no heartbeat, from a box that has nothing to run and so need not send one."""
        deadline = time.monotonic() + within_s
        while True:
            header, body = await self.receive(max(0.0, deadline - time.monotonic()))
            if header.get("op") != "beat":
                return header, body

    async def _overdue(self, within_s: float, silent: Strain | None) -> BoxLost:
        """What to raise of a run that did not end. `silent`: of the box when it was first silent in it, if it was."""
        error = self.lost(f"was silent for {within_s:.0f} s")
        if silent is not None and starved_itself(silent, await self.strain()):
            error.evidence = LossEvidence(
                crowded=True, detail="its own processes, as many as it may have, took its CPU"
            )
        return error

    async def _give_another_chance(self, late_s: float) -> Strain:
        """Silence may be the host's fault: short of CPU it reads late, and its sandboxes send late. Or the program's,
        which takes the box's CPU: such a box is not frozen, and has until its run must be over. The box as it began."""
        busy = late_s > LAG_S or machine_pressure() > BUSY
        before = await self.strain()
        try:
            with anyio.fail_after(BUSY_SILENCE_S if busy else LAG_S):
                await self._hear()
        except TimeoutError:
            if not keeps_its_guest_waiting(before, await self.strain()):
                raise self.lost(f"sent no heartbeat for {self._silence_s:g} s") from None
        return before

    # -- runs

    async def send_run(self, run: Run, run_id: int, channel: Wiring = "", descriptors: Sequence[int] = ()) -> None:
        """One run and its input. `channel`: see `Sending.frames_of`."""
        files = self._sending.files_of(run.program)
        self._flow.begin(run_id)
        for frame, size in self._sending.frames_of(run, run_id, channel):
            await self._room(size, longest_s(run.limits))
            self._flow.sent(run_id, size)
            async with self._turn:
                await self._put(files, frame, descriptors)
            files, descriptors = [], ()

    async def _put(self, files: Sequence[bytes], first: bytes = b"", descriptors: Sequence[int] = ()) -> None:
        """Send files, if any, and the frame that is `first` to need them."""
        with span("put", {"bytes": sum(map(len, files))}) if files else nullcontext():
            await self._write([*files, first] if first else files, descriptors)

    @asynccontextmanager
    async def run_all(self, runs: Sequence[Run]) -> AsyncIterator[AsyncIterator[Outcome]]:
        """See `sandbox.Sandbox.run_all`."""
        for run in runs:
            check_paths(run.program)
        first = self._next_id
        self._next_id += len(runs)
        self._flow.clear()
        stopping = False
        received = 0

        async def results() -> AsyncIterator[Outcome]:
            nonlocal received
            for offset, run in enumerate(runs):
                header, body = await self.receive_live(longest_s(run.limits))
                outcome = self.outcome(header, body, first + offset, run.limits)
                received += 1
                self._flow.changed()
                yield outcome

        self._busy = True
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._send_ahead, runs, first, lambda: received, lambda: stopping)
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
        except BaseExceptionGroup as group:
            raise _only_cause(group) from None
        self._busy = False

    async def _send_ahead(
        self, runs: Sequence[Run], first: int, received: Callable[[], int], stopping: Callable[[], bool]
    ) -> None:
        """Send runs ahead of their results, small ones together; between two writes other senders may write."""
        sent = 0
        rest: deque[tuple[bytes, int]] = deque()  # of the run sent last

        def may_send(together: int = 1) -> bool:
            """Whether a frame may be sent now. `together`: how many runs must have room for the first one to go."""
            if rest:
                return self._flow.fits(rest[0][1])
            ahead = sent - received()
            shared = sent < len(runs) and runs[sent].shared
            window = max(SHARED_WINDOW, self._window) if shared else self._window
            room = window - ahead >= (min(together, len(runs) - sent) if shared else 1)
            return sent < len(runs) and room and self._flow.fits(min(CHUNK, len(runs[sent].stdin)))

        while rest or sent < len(runs):
            while not may_send(SHARED_WINDOW // 2):
                await self._flow.wait()
            async with self._turn:
                packed: list[bytes] = []
                while may_send() and sum(map(len, packed)) < SMALL and not stopping():
                    if not rest:
                        run = runs[sent]
                        if files := self._sending.files_of(run.program):
                            await self._write(packed)  # runs whose files may have to make room
                            packed = []
                            await self._put(files)
                        before = runs[sent - 1] if sent else None
                        after = runs[sent + 1] if sent + 1 < len(runs) else None
                        rest += self._sending.frames_of(run, first + sent, before=before, after=after)
                        self._flow.begin(first + sent)
                        sent += 1
                    frame, size = rest.popleft()
                    packed.append(frame)
                    self._flow.sent(first + sent - 1, size)
                    if not self._flow.live(first + sent - 1):
                        rest.clear()  # it has ended without
                await self._write(packed)
            if stopping():
                return

    async def _cancel(self) -> None:
        """End what was sent. Another sender may hold the turn until the guest is read from: read at once."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self.send, {"op": "cancel"})
            with anyio.move_on_after(GRACE_S):
                while (await self.receive_live(GRACE_S))[0].get("op") != "cancelled":
                    continue
                self._flow.clear()
                return
            raise self.lost("did not cancel")

    async def converse(self, dialogue: Dialogue, candidate: Channel) -> DialogueOutcome:
        """See `sandbox.Sandbox.converse`."""
        if not isinstance(candidate, GuestChannel):
            raise BoxLost(f"{self._describe()} can't be joined with a sandbox without a guest")
        asker_id, candidate_id = self._begin(), candidate._begin()
        ends = End(self, dialogue.asker, asker_id), End(candidate, dialogue.candidate, candidate_id)
        outcome = await converse(*ends, dialogue.channel)
        self._busy = candidate._busy = False
        return outcome

    def _begin(self) -> int:
        """The id of a run that is about to be sent outside `run_all`. One that is cut short leaves the guest busy."""
        self._busy = True
        self._next_id += 1
        return self._next_id - 1

    async def attach(self, run: Run) -> AttachedRun:
        """See `sandbox.Sandbox.attach`."""
        attached = AttachedRun(self, run)
        await attached.start()
        return attached

    def outcome(self, header: Header, body: bytes, run_id: int, limits: Limits) -> Outcome:
        """A frame as the outcome of a run, every field checked. Raises BoxLost."""
        try:
            outcome = parse_outcome(header, body, run_id, limits)
            self.memory_limits += outcome.status is Status.MEMORY_LIMIT
            return outcome
        except NotTheProgram as error:
            lost = self.lost(str(error))
            lost.evidence = error.evidence
            raise lost from None
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
        self.reported_ooms = ooms if type(ooms) is int else 0
        if header.get("op") == "reset" and header.get("ok") is True:
            return True
        _log.warning("box_not_reusable", box=self._describe(), why=str(header.get("why"))[:300])
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
