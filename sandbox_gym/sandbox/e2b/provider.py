"""The e2b provider: sandboxes of E2B, or of a server that speaks its API, such as `sandbox-gym serve pool`.

One guest for each sandbox, started once; each verify's runs travel as one request. A sandbox is no longer than
`timeout_s` without us: it is kept alive while it is used, and ends by itself when we are gone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import anyio
import anyio.to_thread

from sandbox_gym.config import Settings
from sandbox_gym.contract import SnapshotRef
from sandbox_gym.errors import BoxLost, ConfigurationError, ProviderDown, SandboxGymError
from sandbox_gym.network import NO_NETWORK, Network
from sandbox_gym.sandbox.api import BUILDER_IMAGE, Capabilities, Doctor, SandboxSpec, SessionFolder
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.cleanup.owner import Owners
from sandbox_gym.sandbox.cleanup.reaper import OrphanSource
from sandbox_gym.sandbox.e2b.account import Account
from sandbox_gym.sandbox.e2b.doctor import E2bDoctor
from sandbox_gym.sandbox.e2b.limits import E2bOptions
from sandbox_gym.sandbox.e2b.machine import E2bMachine
from sandbox_gym.sandbox.e2b.orphans import E2bOrphans
from sandbox_gym.sandbox.e2b.snapshots import E2bSnapshots, Record
from sandbox_gym.sandbox.sandbox import Sandbox, SessionParts
from sandbox_gym.sandbox.snapshots import NoSuchSnapshot, SavedState

T = TypeVar("T")
CAPABILITIES: Final = Capabilities(computers=False, others_images=True)
"""An image that others built is a template, which was adopted when it was made: `sandbox-gym swe template`."""


def capabilities(settings: Settings) -> Capabilities:
    return replace(CAPABILITIES, max_sandboxes=settings.e2b.max_sandboxes)


def from_settings(settings: Settings, sessions: SessionFolder | None = None) -> E2bProvider:
    """Raises ConfigurationError."""
    options = E2bOptions(**settings.e2b.model_dump())
    options = replace(options, lifetime_s=min(options.lifetime_s, settings.box.lifetime_s))
    return E2bProvider(options, state_dir=settings.state_dir, sessions=sessions)


class E2bProvider:
    """See `api.Provider`. Creates sandboxes within what the account allows."""

    name = "e2b"

    def __init__(
        self, options: E2bOptions, *, state_dir: Path | None = None, sessions: SessionFolder | None = None
    ) -> None:
        """Raises ConfigurationError where the SDK is missing."""
        self.options = options
        self.capabilities = replace(CAPABILITIES, max_sandboxes=options.max_sandboxes)
        self.account = account = Account(options)

        async def tried(image: str) -> E2bMachine:
            return (await self._machine_for_runs(image))[0]

        self.doctor: Doctor = E2bDoctor(account, tried)
        orphans = E2bOrphans(account.sdk, account.api, Owners(state_dir), has_key=bool(options.api_key))
        self.orphan_sources: Mapping[str, OrphanSource] = {self.name: orphans}
        self._snapshots = (
            E2bSnapshots(account.sdk, account.api, sessions.folder / "snapshots") if sessions is not None else None
        )

    @property
    def snapshots(self) -> E2bSnapshots | None:
        return self._snapshots

    async def create(self, spec: SandboxSpec) -> Sandbox:
        try:
            if spec.role == "run":
                return await self._create_for_runs(spec)
            return await self._create_for_session(spec)
        except ConfigurationError as error:  # the key was revoked, or the template removed, since the start
            raise ProviderDown(str(error)) from error

    # -- for runs

    async def _create_for_runs(self, spec: SandboxSpec) -> Sandbox:
        if isinstance(spec.source, SnapshotRef):
            machine, channel = await self._machine_on_snapshot(spec.source)
            return Sandbox(machine, channel, reusable=False)
        machine, channel = await self._machine_for_runs(spec.source)
        return Sandbox(machine, channel)

    async def _machine_for_runs(self, image: str) -> tuple[E2bMachine, GuestChannel]:
        """Raises ConfigurationError, ProviderDown."""
        template = self.options.template(image)
        machine = await self._machine(template, lambda error: _no_template(template, image, error))
        return machine, await self._begun(machine, lambda: machine.start_guest("box"))

    async def _machine_on_snapshot(self, source: SnapshotRef) -> tuple[E2bMachine, GuestChannel]:
        """Programs begin in what a session kept. Raises NoSuchSnapshot, ConfigurationError, ProviderDown."""
        snapshots = self._held()
        record = snapshots.record(source.snapshot_id)
        template = self.options.snapshot_template(record.service_id)
        machine = await self._of_snapshot(template, record, NO_NETWORK)
        return machine, await self._begun(machine, lambda: machine.start_guest("snapshot"))

    # -- for sessions

    async def _create_for_session(self, spec: SandboxSpec) -> Sandbox:
        """Its limits are its template's."""
        if spec.role == "computer":
            raise ProviderDown("provider e2b holds no sandboxes of others; use local or docker")
        snapshots, record = self._held(), None
        snapshots.used = True
        if isinstance(spec.source, SnapshotRef):
            record = snapshots.record(spec.source.snapshot_id)
            machine = await self._of_snapshot(record.service_id, record, spec.network)
        else:
            # the Python of a version is its template's to bring
            template = self.options.user_template(spec.source, spec.python if spec.source == BUILDER_IMAGE else "")
            image = spec.source
            machine = await self._machine(template, lambda error: _no_template(template, image, error), spec.network)
        with_memory = record is not None and record.memory
        link = await self._begun(machine, lambda: machine.start_session_command(with_memory=with_memory))
        state = None
        if record is not None:
            blob = await anyio.to_thread.run_sync(snapshots.read_globals, record.snapshot.snapshot_id)
            state = SavedState(record.snapshot, blob)
        parts = SessionParts(link, partial(snapshots.save, machine), state, measures_files=False)
        return Sandbox(machine, None, session=parts, reusable=False)

    def _held(self) -> E2bSnapshots:
        if self._snapshots is None:
            raise ProviderDown("this process holds no sessions of e2b; name a state folder for them")
        return self._snapshots

    # -- machines

    async def _of_snapshot(self, template: str, record: Record, network: Network) -> E2bMachine:
        """Raises NoSuchSnapshot where the service has it no longer, and then its record is gone too."""
        snapshot_id = record.snapshot.snapshot_id
        try:
            return await self._machine(
                template, lambda error: NoSuchSnapshot(f"no snapshot {snapshot_id}: {error}"), network
            )
        except NoSuchSnapshot:
            await self._held().forget(snapshot_id)
            raise

    async def _machine(
        self, template: str, missing: Callable[[Exception], SandboxGymError], network: Network = NO_NETWORK
    ) -> E2bMachine:
        remote = await self.account.create(template, missing, network=network)
        return E2bMachine(remote, self.options.isolation)

    @staticmethod
    async def _begun(machine: E2bMachine, begin: Callable[[], Awaitable[T]]) -> T:
        try:
            return await begin()
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await machine.destroy()
            if isinstance(error, BoxLost):
                raise ProviderDown(f"a sandbox did not start its guest: {error}") from error
            raise

    async def prepare(self) -> None:
        """No sandbox is paid for before it is needed."""

    async def has_image(self, name: str, python: str = "") -> bool:
        """Whether a template is there is found out when a sandbox of it is made."""
        return True

    async def aclose(self) -> None:
        await self.account.retry_kills()


def _no_template(template: str, image: str, error: Exception) -> ConfigurationError:
    remedy = f"name one in SANDBOX_GYM_E2B_TEMPLATES, as {{{image!r}: 'its-template'}}"
    return ConfigurationError(f"E2B has no template {template!r} for image {image!r} ({error}); {remedy}")
