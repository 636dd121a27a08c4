"""Boxes as sandboxes of E2B, or of a server that speaks its API, such as `sandbox-gym serve pool`; through its SDK.

One guest for each sandbox, started once; each verify's runs travel as one request. A sandbox is no longer than
`timeout_s` without us: it is told to live on while it is used, and ends by itself when we are gone.
"""

from __future__ import annotations

import json
import os
import secrets
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypedDict, get_args

import anyio
import structlog

from sandbox_gym.contract import Dialogue, DialogueOutcome, Isolation, Outcome, Run
from sandbox_gym.errors import BoxLost, ConfigurationError, LossEvidence, ProviderDown, SandboxGymError
from sandbox_gym.faults import log_failure
from sandbox_gym.network import NO_NETWORK, Network
from sandbox_gym.sandbox.api import Box, Capability
from sandbox_gym.sandbox.caps import Cap, CapRow, guest_caps, in_order
from sandbox_gym.sandbox.channel.attached_run import Relay
from sandbox_gym.sandbox.channel.dialogue import converse
from sandbox_gym.sandbox.channel.guest_channel import GuestConfig, GuestLink
from sandbox_gym.sandbox.cleanup.owner import Owners
from sandbox_gym.sandbox.cleanup.reaper import Orphan
from sandbox_gym.sandbox.e2b.channel import CALL_S, CommandStream, open_command
from sandbox_gym.sandbox.e2b.errors import EXTRA, watched
from sandbox_gym.sandbox.e2b.lease import Lease
from sandbox_gym.sandbox.e2b.limits import E2bOptions, Gate, Meter
from sandbox_gym.sandbox.e2b.orphans import E2bOrphans, marks
from sandbox_gym.sandbox.session.snapshots import NoSuchSnapshot

if TYPE_CHECKING:
    from e2b import AsyncSandbox, SandboxNetworkOpts
    from e2b.connection_config import ApiParams

    class _Access(TypedDict, total=False):
        allow_internet_access: bool
        network: SandboxNetworkOpts


CREATE_S: Final = 120.0
PLACE_S: Final = 60.0
KILL_S: Final = 5.0
"""A verify waits for the end of its sandbox; one that takes longer is tried again later."""
SILENCE_S: Final = 10.0
"""Without a heartbeat for so long a remote guest is lost; a network takes breaks that a pipe does not."""
BEAT_S: Final = 1.0
WINDOW: Final = 64
"""Runs sent ahead of their results: a verify's tests in one request."""
USERS: Final = 20_000
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Place:
    """What guest/nested_bootstrap.py says of where it is."""

    tier: str
    dirs: tuple[str, ...]
    isolation: Isolation | None
    owner: int | None
    """The user whose files a snapshot holds."""


class E2bBox:
    """A sandbox, its guest's link, and until when it lives."""

    def __init__(self, provider: E2bProvider, lease: Lease) -> None:
        self._lease = lease
        self.box_id = lease.sandbox_id
        self.isolation: Isolation = provider.options.isolation
        self._stream: CommandStream | None = None

    async def begin(self, how: Literal["box", "snapshot"] = "box") -> None:
        """Start the guest. Raises BoxLost, ProviderDown, ConfigurationError."""
        lease = self._lease
        stream = self._stream = await open_command(lease.sandbox, lease.tend, tend_s=lease.tend_s, how=how)
        self.link = GuestLink(stream, lambda: f"e2b box {self.box_id}", silence_s=SILENCE_S, window=WINDOW)
        place = read_place(await stream.first_line(CALL_S))
        self.tier = place.tier
        self.isolation = place.isolation or self.isolation
        await self.link.handshake(
            GuestConfig(
                tier=self.tier,
                cgroup="/nonexistent",
                dirs=place.dirs,
                # the first run in what a session kept is its owner's, who is every session's
                uid_base=_own_users() if place.owner is None else place.owner - 1,
                shared_uid=place.owner is not None,
                limit_data=True,
                guests=self.tier == "uid",
                beat_s=BEAT_S,
            )
        )

    @property
    def worn(self) -> bool:
        """Whether it is gone, or soon will be: nobody told it to live on while it was idle, or it is old."""
        return self._stream is None or self._stream.ended or self._lease.old or self._lease.ending

    def run_all(self, runs: Sequence[Run]) -> AbstractAsyncContextManager[AsyncIterator[Outcome]]:
        return self.link.run_all(runs)

    async def converse(self, dialogue: Dialogue, candidate_box: Box) -> DialogueOutcome:
        if not isinstance(candidate_box, E2bBox):
            raise BoxLost(f"{candidate_box.box_id} is no e2b box")
        return await converse(self.link, candidate_box.link, dialogue)

    async def relay(self, run: Run) -> Relay:
        relay = Relay(self.link, run)
        await relay.start()
        return relay

    async def reset(self) -> bool:
        return not self.worn and await self.link.reset()

    async def evidence(self) -> LossEvidence:
        """None: a sandbox that is gone tells nothing, and its provider says only that it is."""
        return LossEvidence(detail="e2b does not say why a sandbox is gone")

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            if self._stream is not None:
                with anyio.move_on_after(1):
                    await self._stream.aclose()
            await self._lease.end()


class E2bProvider:
    """Creates sandboxes within what the account allows."""

    name = "e2b"

    def __init__(self, options: E2bOptions, *, state_dir: Path | None = None) -> None:
        try:
            from e2b import AsyncSandbox
        except ImportError as error:
            raise ConfigurationError(EXTRA) from error
        self.sdk: type[AsyncSandbox] = AsyncSandbox
        self.options = options
        self.api = _api(options)
        self._gate = Gate(options.creates_per_s, options.max_sandboxes)
        self._meter = Meter()
        self._unkilled: set[str] = set()
        self._orphans = E2bOrphans(AsyncSandbox, self.api, Owners(state_dir))

    def costs(self) -> dict[str, int]:
        """What the account is charged for since the start, by name."""
        return self._meter.counts()

    async def check(self) -> None:
        """One sandbox, made and killed. Raises ConfigurationError for a key, template or argument that never will do,
        ProviderDown for what may pass."""
        await (await self._started("python")).aclose()

    async def start(self, image: str) -> E2bBox:
        """A sandbox with its guest saying hello. Raises ProviderDown."""
        try:
            return await self._started(image)
        except ConfigurationError as error:  # the key was revoked, or the template removed, since the start
            raise ProviderDown(str(error)) from error

    async def _started(self, image: str) -> E2bBox:
        template = self.options.template(image)
        lease = await self.lease(template, lambda error: _no_template(template, image, error))
        return await self._begun(lease, "box")

    async def start_from(self, snapshot_id: str) -> E2bBox:
        """A box whose programs begin in what a session kept: a snapshot of the service's. Raises NoSuchSnapshot,
        ProviderDown."""
        template = self.options.snapshot_template(snapshot_id)
        try:
            lease = await self.lease(template, lambda error: NoSuchSnapshot(f"no snapshot {snapshot_id}: {error}"))
            return await self._begun(lease, "snapshot")
        except ConfigurationError as error:
            raise ProviderDown(str(error)) from error

    async def _begun(self, lease: Lease, how: Literal["box", "snapshot"]) -> E2bBox:
        box = E2bBox(self, lease)
        try:
            await box.begin(how)
        except BaseException as error:
            await box.aclose()
            if isinstance(error, BoxLost):
                raise ProviderDown(f"a sandbox did not start its guest: {error}") from error
            raise
        return box

    async def lease(
        self, template: str, missing: Callable[[Exception], SandboxGymError], *, network: Network = NO_NETWORK
    ) -> Lease:
        """A sandbox of a template, within what the account allows. Raises what `missing` makes where there is no such
        template, ProviderDown, ConfigurationError."""
        await self._catch_up()
        async with self._gate.entered(PLACE_S):
            sandbox = await self._create(template, missing, network=network)
            self._meter.started(sandbox.sandbox_id)
        options = self.options
        return Lease(sandbox, timeout_s=options.timeout_s, lifetime_s=options.lifetime_s, destroy=self.destroy)

    async def _create(
        self, template: str, missing: Callable[[Exception], SandboxGymError], *, network: Network
    ) -> AsyncSandbox:
        """Its own end is its timeout, should its id never reach us."""
        from e2b.exceptions import NotFoundException, SandboxException

        access: _Access = {"allow_internet_access": network.machine or bool(network.allow)}
        if network.allow:  # without a list older SDKs do, which know of none
            from e2b import ALL_TRAFFIC

            access["network"] = {"allow_out": list(network.allow), "deny_out": [ALL_TRAFFIC]}
        try:
            async with watched(f"creating a sandbox of template {template!r}", CREATE_S):
                try:
                    return await self.sdk.create(
                        template,
                        timeout=self.options.timeout_s,
                        metadata=marks(self.options.lifetime_s),
                        **access,
                        **self.api,
                    )
                except SandboxException as error:
                    if error.status_code == 404 or isinstance(error, NotFoundException):
                        raise missing(error) from error
                    raise
        except BoxLost as error:
            raise ProviderDown(str(error)) from error

    async def destroy(self, sandbox_id: str) -> None:
        """Kill; one that is gone already is fine. Where the service can't be asked, it is tried later."""
        try:
            async with watched("killing a sandbox", KILL_S):
                await self.sdk.kill(sandbox_id, **self.api)
        except Exception as error:
            log_failure("e2b_not_killed", error, box=sandbox_id)
            self._unkilled.add(sandbox_id)
        if self._meter.ended(sandbox_id):
            self._gate.leave()

    async def _catch_up(self) -> None:
        """Kill what could not be killed when it was to be."""
        unkilled, self._unkilled = self._unkilled, set()
        for sandbox_id in unkilled:
            await self.destroy(sandbox_id)

    async def orphans(self) -> Sequence[Orphan]:
        """None where there is no account: others than its users sweep every provider, too."""
        if not (self.options.api_key or os.environ.get("E2B_API_KEY")):
            return ()
        return await self._orphans.find()

    async def remove(self, orphan: Orphan) -> None:
        await self._orphans.remove(orphan)

    async def caps(self) -> Sequence[CapRow]:
        """What the guest enforces in such sandboxes; what they do themselves is the account's and the template's. Asks
        one for its tier. Raises ProviderDown."""
        box = await self.start("python")
        await box.aclose()
        own_files = box.tier == "namespaces"
        rows = (
            *guest_caps(),
            CapRow(Cap.CPU_TIME, "run", "supervisor, from /proc; RLIMIT_CPU"),
            CapRow(Cap.CPU_SHARE, "none", "the template's CPUs"),
            CapRow(Cap.MEMORY, "process", "RLIMIT_DATA"),
            CapRow(Cap.SWAP, "process", "RLIMIT_DATA counts swapped pages too"),
            CapRow(Cap.PROCESSES, "run", "RLIMIT_NPROC of the run's own user, or of the guest's user namespace"),
            CapRow(Cap.DISK_BYTES, "run" if own_files else "box", "tmpfs size"),
            CapRow(Cap.DISK_INODES, "run" if own_files else "box", "tmpfs nr_inodes"),
            CapRow(Cap.PTYS, "none", "the sandbox's own, of a kernel of its own"),
            CapRow(Cap.NETWORK, "box", "created without internet access; a network namespace where root may make one"),
        )
        return in_order(rows)

    async def doctor(self) -> list[Capability]:
        """Make a sandbox, ask how long it took, kill it."""
        where = self.options.api_url or self.options.domain or "as E2B_* in the environment say, else e2b.app"
        rows = [Capability("e2b address", True, where)]
        started = time.monotonic()
        try:
            await self.check()
        except ConfigurationError as error:
            return [*rows, Capability("e2b account", False, str(error), "docs/guides/operator/e2b.md, Provider e2b")]
        except ProviderDown as error:
            return [*rows, Capability("e2b sandbox", False, str(error), "try again; is the server up?")]
        took = f"template {self.options.template('python')}, made and ended in {time.monotonic() - started:.2f} s"
        limits = f"{self.options.max_sandboxes} sandboxes at once, {self.options.creates_per_s:g} creates per second"
        return [*rows, Capability("e2b sandbox", True, took), Capability("e2b limits", True, limits)]

    async def aclose(self) -> None:
        await self._catch_up()


def _own_users() -> int:
    """The first of as many users as a guest goes through, which no other sandbox of the same kernel is likely to run
    programs as: RLIMIT_NPROC counts a user's processes in all of a pool's containers."""
    return 1_000_000 + USERS * secrets.randbelow(50_000)


def _api(options: E2bOptions) -> ApiParams:
    """The SDK's own settings; what is empty is left to it."""
    given: ApiParams = {"request_timeout": CALL_S}
    if options.api_key:
        given["api_key"] = options.api_key
    if options.domain:
        given["domain"] = options.domain
    if options.api_url:
        given["api_url"] = given["sandbox_url"] = options.api_url
    return given


def _no_template(template: str, image: str, error: Exception) -> ConfigurationError:
    remedy = f"name one in SANDBOX_GYM_E2B_TEMPLATES, as {{{image!r}: 'its-template'}}"
    return ConfigurationError(f"E2B has no template {template!r} for image {image!r} ({error}); {remedy}")


def read_place(line: str) -> Place:
    """A guest's first word. Raises ConfigurationError where it can't hold programs there, BoxLost for nonsense."""
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
    return Place(tier, tuple(dirs), isolation if isolation in get_args(Isolation) else None, owner)
