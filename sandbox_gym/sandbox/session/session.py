"""A session: a sandbox with a driver in it that keeps state between calls, and snapshots of that state.

Owns the order of opening, calls and snapshots; knows neither tools nor how providers keep files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Final, TypeVar

import structlog

from sandbox_gym.contract import Isolation
from sandbox_gym.errors import BoxLost, ProviderDown
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.api import Provider, SandboxSpec
from sandbox_gym.sandbox.channel.driver import NOTHING, Driver, DriverLink
from sandbox_gym.sandbox.egress.inner_listener import NoWayOut
from sandbox_gym.sandbox.sandbox import Sandbox
from sandbox_gym.sandbox.snapshots import Saving, Snapshot, SnapshotFailed

ATTEMPTS: Final = 2
"""A call of a tool has no attempts of its own, as a verify has: a sandbox that does not start is replaced here."""
SETTLE_S: Final = 20.0
D = TypeVar("D", bound=Driver)
_log = structlog.get_logger(__name__)


class Session:
    """Use `open_session` to make one. One call at a time; each raises BoxLost when the sandbox is gone."""

    def __init__(self, sandbox: Sandbox, make_driver: Callable[[DriverLink], Driver] | None = None) -> None:
        """`make_driver`: the host's end of what serves the session's calls. Raises ProviderDown for a sandbox that was
        not made for a session."""
        if sandbox.session is None:
            raise ProviderDown(f"{sandbox.box_id} holds no session")
        self._parts, self.sandbox = sandbox.session, sandbox
        self.box_id = sandbox.box_id
        self.isolation: Isolation = sandbox.isolation
        link, begins_from = self._parts.link, self._parts.begins_from
        self.driver = make_driver(link) if make_driver else Driver(link, measure=not self._parts.measures_files)
        self._parent = begins_from.snapshot if begins_from is not None else None
        self._root: Driver | None = None
        self._rooted = self._parent is not None and self._parent.rooted

    @property
    def expired(self) -> bool:
        """Whether it has to go on in another sandbox."""
        return self.sandbox.expired

    async def start(self, limits: Limits) -> None:
        """Start the driver; what the shell and Python knew goes back to them."""
        egress, begins_from = self.sandbox.egress, self._parts.begins_from
        await self.sandbox.machine.set_limits(limits)
        self._start = limits, egress.environment if egress is not None else NOTHING
        await self.driver.start(*self._start)
        if begins_from is not None:
            await self.driver.restore(begins_from.snapshot, begins_from.globals_blob)

    async def root_driver(self, make_driver: Callable[[DriverLink], D]) -> D:
        """Another driver, of the sandbox's root, started. Raises ProviderDown where the provider has none, BoxLost."""
        if self._parts.root_link is None:
            raise ProviderDown(f"{self.box_id} has no driver of its root's")
        self._rooted = True
        driver = make_driver(await self._parts.root_link())
        await driver.start(*self._start)
        return driver

    async def freeze(self) -> bool:
        """Stop all that runs in the sandbox until `thaw`, the driver too; False where it can't be. Raises
        ProviderDown."""
        return self._parts.standstill is not None and await self._parts.standstill.freeze()

    async def thaw(self) -> None:
        """Raises ProviderDown."""
        if self._parts.standstill is not None:
            await self._parts.standstill.thaw()

    async def call(
        self, request: Mapping[str, object], body: bytes = b"", *, within_s: float
    ) -> tuple[Mapping[str, object], bytes]:
        """One request to the driver (guest/session/driver.py) and its reply, at most 16 MiB; trust neither. One with a
        "user" is for root's driver."""
        driver = self.driver if "user" not in request else await self._driver_of_root()
        return await driver.call(request, body, within_s=within_s)

    async def _driver_of_root(self) -> Driver:
        """Started when it is first asked for. Raises BoxLost."""
        if self._root is None:
            try:
                self._root = await self.root_driver(partial(Driver, root=True))
            except ProviderDown as error:
                raise BoxLost(f"root's driver does not start: {error}") from error
        return self._root

    async def snapshot(
        self, *, durable: bool = True, keep_globals: bool = False, busy: bool = False, rooted: bool = False
    ) -> Snapshot:
        """Keep the state as it is now. Not `durable`: where the provider can, in memory only; see `Saving` for that and
        `busy`. `rooted`: the session may have root, used or not. Raises SnapshotFailed, and then the session lives
        on."""
        snapshot, blob = await self.driver.save(self._parent, keep_globals=keep_globals)
        snapshot = replace(snapshot, rooted=rooted or self._rooted)
        try:
            self._parent = await self._parts.save(Saving(snapshot, blob, durable, busy, self._settle))
        except OSError as error:
            raise SnapshotFailed(f"the work folder can't be kept: {error}") from error
        return self._parent

    async def _settle(self, work: str) -> None:
        await self.driver.call({"op": "settle", "work": work}, within_s=SETTLE_S)

    async def aclose(self) -> None:
        """Destroy the sandbox; its snapshots stay. Idempotent."""
        await self.sandbox.aclose()


async def open_session(
    provider: Provider, spec: SandboxSpec, make_driver: Callable[[DriverLink], Driver] | None = None
) -> Session:
    """A sandbox of the spec with its driver running. Raises NoSuchSnapshot, ProviderDown, ToolchainMissing."""
    for _ in range(ATTEMPTS - 1):
        try:
            return await _open(provider, spec, make_driver)
        except NoWayOut:  # nor had another sandbox
            raise
        except ProviderDown as error:
            _log.warning("session_start_retried", provider=provider.name, why=str(error))
    return await _open(provider, spec, make_driver)


async def _open(provider: Provider, spec: SandboxSpec, make_driver: Callable[[DriverLink], Driver] | None) -> Session:
    sandbox = await provider.create(spec)
    try:
        session = Session(sandbox, make_driver)
        await session.start(spec.limits)
    except BaseException as error:
        await sandbox.aclose()
        if isinstance(error, OSError | BoxLost):
            raise ProviderDown(f"a session does not start: {error}") from error
        raise
    return session
