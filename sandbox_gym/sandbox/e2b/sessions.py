"""Sessions in sandboxes of E2B or of a pool: a driver that runs as the sandbox's own user, as one command.

All of a session is the candidate's own domain, so that no root and no supervisor is needed: the sandbox holds it.
Snapshots are the service's. Captured: the sandbox's files, /workspace among them; never processes.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Final, Literal

import anyio
import anyio.to_thread
import structlog

from sandbox_gym.contract import Isolation, Run
from sandbox_gym.errors import BoxLost, ConfigurationError, ProviderDown, SandboxGymError
from sandbox_gym.limits import Limits
from sandbox_gym.network import MACHINES_NETWORK, NO_NETWORK, Network
from sandbox_gym.sandbox.channel.bundle import session_bundle
from sandbox_gym.sandbox.channel.driver import WORK, Driver
from sandbox_gym.sandbox.e2b.channel import CALL_S, CommandStream, open_command
from sandbox_gym.sandbox.e2b.errors import watched
from sandbox_gym.sandbox.e2b.lease import Lease
from sandbox_gym.sandbox.e2b.provider import E2bProvider, read_place
from sandbox_gym.sandbox.e2b.snapshots import E2bSnapshots, Record
from sandbox_gym.sandbox.session.snapshots import BUILDER_IMAGE, NoSuchSnapshot, Snapshot, SnapshotBox, SnapshotFailed

IMAGE: Final = "python"
ATTEMPTS: Final = 2
PREPARE: Final = f"mkdir -p -m 755 {WORK} && chown user: {WORK}"
"""As root, in templates that do not bring the folder."""
CLEAR: Final = "kill -9 -1 2>/dev/null; "
"""Before a driver in what was kept with its memory: all that the user ran is still there."""
_log = structlog.get_logger(__name__)


class StreamLink:
    """A driver's own command as what it is reached by: its bytes are the driver's, without a guest's frames."""

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
        """`body` to the driver; a frame's header has nobody to read it."""
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


class E2bSessions:
    """Opens sessions. `folder` keeps the records of their snapshots."""

    def __init__(self, provider: E2bProvider, folder: Path, *, network: Network = NO_NETWORK) -> None:
        """`network`: what `open_session` gives."""
        self.provider, self._network = provider, network
        self.kept = E2bSnapshots(provider.sdk, provider.api, folder)
        self._used = bool(self.kept.records())

    async def open_session(self, limits: Limits, snapshot_id: str | None = None) -> E2bSession:
        """See `sandbox.snapshots.SessionProvider`. `limits` are the sandbox's own: its template's."""
        if snapshot_id is None:
            return await self._open(self.provider.options.user_template(IMAGE), IMAGE, limits, None, self._network)
        record = self.kept.find(snapshot_id)
        return await self._open(record.service_id, "", limits, record, self._network)

    async def open_builder(self, limits: Limits, image: str, python: str = "") -> E2bSession:
        """See `sandbox.snapshots.SupportsBuilding`. The Python of a version is its template's to bring."""
        template = self.provider.options.user_template(image, python if image == BUILDER_IMAGE else "")
        return await self._open(template, image, limits, None, MACHINES_NETWORK)

    async def open_box(self, limits: Limits, snapshot_id: str) -> SnapshotBox:
        """See `sandbox.snapshots.SupportsBuilding`."""
        record = self.kept.find(snapshot_id)
        try:
            box = await self.provider.start_from(record.service_id)
        except NoSuchSnapshot:
            await self._forget(snapshot_id)
            raise
        return SnapshotBox(box, box.aclose)

    async def _open(
        self, template: str, image: str, limits: Limits, record: Record | None, network: Network
    ) -> E2bSession:
        """A call has no attempts of its own, as a verify has: a sandbox that fails is replaced here."""
        for _ in range(ATTEMPTS - 1):
            try:
                return await self._open_one(template, image, limits, record, network)
            except ProviderDown as error:
                _log.warning("e2b_session_not_opened", why=str(error))
        return await self._open_one(template, image, limits, record, network)

    async def _open_one(
        self, template: str, image: str, limits: Limits, record: Record | None, network: Network
    ) -> E2bSession:
        def missing(error: Exception) -> SandboxGymError:
            if record is not None:
                return NoSuchSnapshot(f"no snapshot {record.snapshot.snapshot_id}: {error}")
            remedy = f"name one in SANDBOX_GYM_E2B_TEMPLATES, as {{{image!r}: 'its-template'}}"
            return ProviderDown(f"E2B has no template {template!r} for image {image!r} ({error}); {remedy}")

        self._used = True
        try:
            lease = await self.provider.lease(template, missing, network=network)
        except NoSuchSnapshot:
            assert record is not None
            await self._forget(record.snapshot.snapshot_id)
            raise
        except ConfigurationError as error:  # the key was revoked, or a setting is wrong: no reason to end a server
            raise ProviderDown(str(error)) from error
        session = E2bSession(self, lease, record.snapshot if record is not None else None)
        try:
            await session.start(limits, record)
        except BaseException as error:
            await session.aclose()
            if isinstance(error, BoxLost | ConfigurationError):
                raise ProviderDown(f"a session does not start: {error}") from error
            raise
        return session

    async def _forget(self, snapshot_id: str) -> None:
        """A snapshot that the service has no longer."""
        try:
            await self.kept.delete(snapshot_id)
        except SandboxGymError:
            return  # its record is gone, which is what counts

    # -- snapshots

    async def snapshots(self) -> Sequence[Snapshot]:
        return [one.snapshot for one in self.kept.records()]

    async def delete(self, snapshot_id: str) -> None:
        await self.kept.delete(snapshot_id)

    async def collect(self, *, budget_bytes: int, pinned: Set[str]) -> int:
        """See `sandbox.snapshots.SessionProvider`. Sizes are what the sandboxes said when they were kept."""
        if not self._used:
            return 0  # nobody's tools were called: the account is not asked every half minute
        await self.kept.sweep()
        used = sum(one.snapshot.size_bytes for one in self.kept.records())
        for one in self.kept.records():
            if used <= budget_bytes:
                break
            if one.snapshot.snapshot_id not in pinned:
                await self.delete(one.snapshot.snapshot_id)
                used -= one.snapshot.size_bytes
        return used

    async def aclose(self) -> None:
        """The provider is its owner's; snapshots stay."""


class E2bSession:
    """One session in a sandbox."""

    def __init__(self, owner: E2bSessions, lease: Lease, parent: Snapshot | None) -> None:
        self.box_id = lease.sandbox_id
        self.isolation: Isolation = owner.provider.options.isolation
        self._owner, self._lease, self._parent = owner, lease, parent
        self._stream: CommandStream | None = None
        self._tender: asyncio.Task[None] | None = None

    @property
    def worn(self) -> bool:
        """So old that the account soon ends it: it is to go on in another sandbox."""
        return self._lease.old

    async def start(self, limits: Limits, record: Record | None) -> None:
        """Start the driver; what the shell and Python knew goes back to them."""
        first = CLEAR if record is not None and record.memory else ""
        try:
            await self._begin(first)
        except ConfigurationError:  # no folder to keep files in
            async with watched("preparing a sandbox", CALL_S):
                await self._lease.sandbox.commands.run(PREPARE, user="root", request_timeout=CALL_S)
            await self._begin(first)
        self._tender = asyncio.create_task(self._tend())  # nobody waits for output between calls
        await self.driver.start(limits)
        if record is not None:
            blob = await anyio.to_thread.run_sync(self._owner.kept.read_globals, record.snapshot.snapshot_id)
            await self.driver.restore(record.snapshot, blob)

    async def _begin(self, first: str) -> None:
        lease = self._lease
        if self._stream is not None:
            await self._stream.aclose()
        stream = self._stream = await open_command(
            lease.sandbox, lease.tend, tend_s=lease.tend_s, how="session", first=first
        )
        place = read_place(await stream.first_line(CALL_S))
        self.isolation = place.isolation or self.isolation
        self.driver = Driver(StreamLink(stream, self.box_id), measure=True)

    async def _tend(self) -> None:
        """Have the sandbox live on while the session is held; one that can't is lost at its next call."""
        while True:
            await asyncio.sleep(self._lease.tend_s)
            try:
                await self._lease.tend()
            except BoxLost:
                return

    async def call(
        self, request: Mapping[str, object], body: bytes = b"", *, within_s: float
    ) -> tuple[Mapping[str, object], bytes]:
        return await self.driver.call(request, body, within_s=within_s)

    async def snapshot(self, *, durable: bool = True, keep_globals: bool = False) -> Snapshot:
        """Always durable: the service's. Raises SnapshotFailed, and then the session lives on; BoxLost."""
        snapshot, blob = await self.driver.save(self._parent, keep_globals=keep_globals)
        kept = self._owner.kept
        with kept.making(snapshot.snapshot_id):
            try:
                service_id, memory = await kept.keep(self._lease.sandbox, snapshot.snapshot_id)
            except SandboxGymError as error:
                if self._stream is None or self._stream.ended:
                    raise BoxLost(f"e2b session {self.box_id}: {error}") from error
                raise SnapshotFailed(f"the service keeps no snapshot: {error}") from error
            digest = hashlib.sha256(
                service_id.encode()
            ).hexdigest()  # a name of the content; the service tells no other
            snapshot = replace(snapshot, digest=digest)
            await anyio.to_thread.run_sync(kept.add, Record(snapshot, service_id, memory), blob)
        self._parent = snapshot
        return snapshot

    async def aclose(self) -> None:
        """Kill the sandbox. Idempotent."""
        with anyio.CancelScope(shield=True):
            if self._tender is not None:
                self._tender.cancel()
            if self._stream is not None:
                with anyio.move_on_after(1):
                    await self._stream.aclose()
            await self._lease.end()
