"""The local provider: sandboxes as bubblewrap jails on this machine. Which role is made of what."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Final, Literal

import anyio
import anyio.to_thread
import structlog

from sandbox_gym.config import Settings
from sandbox_gym.contract import SnapshotRef
from sandbox_gym.errors import ConfigurationError, ProviderDown, ToolchainMissing
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox import pythons
from sandbox_gym.sandbox.api import BUILDER_IMAGE, INTERPRETER_IMAGE, Capabilities, Doctor, SandboxSpec, SessionFolder
from sandbox_gym.sandbox.channel.driver import WORK
from sandbox_gym.sandbox.cleanup.owner import Owners
from sandbox_gym.sandbox.cleanup.reaper import OrphanSource
from sandbox_gym.sandbox.egress.proxy import open_egress_proxy
from sandbox_gym.sandbox.local.cgroups import cgroups_or_reason
from sandbox_gym.sandbox.local.compilers import PreparedCompilers, default_folder
from sandbox_gym.sandbox.local.doctor import LocalDoctor
from sandbox_gym.sandbox.local.jails import Jails
from sandbox_gym.sandbox.local.orphans import LocalOrphans
from sandbox_gym.sandbox.local.sessions.rooms import Room, Rooms
from sandbox_gym.sandbox.local.sessions.slots import SlotOrphans
from sandbox_gym.sandbox.local.sessions.snapshots import LocalSnapshots
from sandbox_gym.sandbox.local.sessions.stacks import StackLayer
from sandbox_gym.sandbox.local.sessions.trees import CopyTrees, OverlayTrees, Space, Trees
from sandbox_gym.sandbox.local.site_packages import PACKAGES, SitePackages
from sandbox_gym.sandbox.sandbox import Sandbox, SessionParts
from sandbox_gym.sandbox.snapshots import SavedState
from sandbox_gym.sandbox.users import Users

CgroupPolicy = Literal["auto", "require", "never"]
CAPABILITIES: Final = Capabilities()
IMAGES: Final = ("python", "polyglot", "polyglot-more", BUILDER_IMAGE)
"""What the machine itself is, whatever compilers it has; beside those that bring packages."""
PREPARED: Final = 2
SHARED_REMEDY: Final = "keep state_dir on ext4, xfs, btrfs or tmpfs, and run Linux 6.3 or later"
_log = structlog.get_logger(__name__)


def capabilities(settings: Settings) -> Capabilities:
    return CAPABILITIES


def from_settings(settings: Settings, sessions: SessionFolder | None = None) -> LocalProvider:
    """Raises ConfigurationError."""
    users = Users(settings.uid.base, settings.uid.count)
    return LocalProvider(
        settings.local.python,
        cgroup=settings.local.cgroup,
        state_dir=settings.state_dir,
        users=users,
        sessions=sessions,
    )


@dataclass(frozen=True, slots=True)
class _Sessions:
    """What is there where the provider holds sessions."""

    rooms: Rooms
    snapshots: LocalSnapshots


class LocalProvider:
    """See `api.Provider`. One process at a time owns the folder of `sessions`."""

    name = "local"
    capabilities = CAPABILITIES

    def __init__(
        self,
        python: Path = Path("/usr/bin/python3"),
        *,
        cgroup: CgroupPolicy = "auto",
        state_dir: Path | None = None,
        users: Users | None = None,
        sessions: SessionFolder | None = None,
        prepared: int = PREPARED,
        compilers: Path | None = None,
    ) -> None:
        """`users`: of which sandboxes have their own, as root. `prepared`: sandboxes that are kept ready for sessions.
        `compilers`: the folder for what compilers read that is made in advance; by default one that all servers share.
        Raises ConfigurationError when bubblewrap or the kernel won't."""
        cgroups, reason = (None, "not wanted") if cgroup == "never" else cgroups_or_reason()
        users = users or Users()
        self._python = python
        self.compilers = PreparedCompilers(compilers or default_folder())
        self.jails = Jails(python, cgroups, SitePackages(python, state_dir), users, self.compilers)
        if cgroup == "require" and cgroups is None:
            raise ConfigurationError(f"no cgroup caps: {reason}; allow rlimits or run as root")
        self.cgroups, self.no_cgroup_reason = cgroups, reason
        self.doctor: Doctor = LocalDoctor(self.jails, cgroups, reason)
        jails_left = LocalOrphans(Owners(state_dir), cgroups, users)
        self.orphan_sources: Mapping[str, OrphanSource] = {self.name: jails_left, "local sessions": SlotOrphans()}
        self._sessions = self._hold(sessions, prepared) if sessions is not None else None

    def _hold(self, sessions: SessionFolder, prepared: int) -> _Sessions:
        trees = partial(make_trees, store=sessions.folder, limits=sessions.limits)
        rooms = Rooms(self.jails, sessions.folder, trees, home=sessions.home, prepared=prepared)
        return _Sessions(rooms, LocalSnapshots(rooms, sessions.folder, sessions.home or WORK))

    @property
    def snapshots(self) -> LocalSnapshots | None:
        return self._sessions.snapshots if self._sessions is not None else None

    @property
    def slots(self) -> Path | None:
        """The folder that the work folders of its sessions are mounted in."""
        return self._sessions.rooms.live if self._sessions is not None else None

    async def create(self, spec: SandboxSpec) -> Sandbox:
        if isinstance(spec.source, SnapshotRef) or spec.role != "run":
            return await self._create_in_room(spec)
        machine = await self.jails.start(spec.source)
        return Sandbox(machine, machine.channel)

    async def _create_in_room(self, spec: SandboxSpec) -> Sandbox:
        """A sandbox with a folder of this machine: a session's, or one that begins with a session's files."""
        held = self._sessions
        if held is None:
            raise ProviderDown("this process holds no local sessions; name a state folder for them")
        state: SavedState | None = None
        layers: tuple[StackLayer, ...] = ()
        if isinstance(spec.source, SnapshotRef):
            state, layers = await held.snapshots.read(spec.source.snapshot_id)
        room = await self._room(held.rooms, spec)
        egress = None
        try:
            stack = await held.snapshots.stacks.mount(room, layers, _space(spec))
            if spec.network.allow is not None:
                egress = await open_egress_proxy(room.machine.pid, spec.network.allow, room.machine.box_id)
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await room.machine.destroy()
            if isinstance(error, OSError):
                raise ProviderDown(f"a sandbox's files can't be mounted: {error}") from error
            raise
        channel = room.machine.channel
        if spec.role == "run":
            return Sandbox(room.machine, channel, egress=egress, reusable=False)
        parts = SessionParts(channel, partial(held.snapshots.save, stack), state, standstill=room.machine)
        return Sandbox(room.machine, channel, session=parts, egress=egress, reusable=False)

    async def _room(self, rooms: Rooms, spec: SandboxSpec) -> Room:
        if spec.python:
            await anyio.to_thread.run_sync(pythons.ready_for_boxes, spec.python)
        if isinstance(spec.source, SnapshotRef):
            return await rooms.take(spec.base_image, network=spec.network.machine)
        if spec.role != "builder":
            return await rooms.take(spec.source, network=spec.network.machine)
        if spec.source != BUILDER_IMAGE:
            raise ProviderDown(f"provider local has no images, and {spec.source[:200]!r} is one; use docker")
        return await rooms.take(network=spec.network.machine)

    async def prepare(self) -> None:
        if self._sessions is not None:
            await self._sessions.rooms.prepare()

    async def has_image(self, name: str, python: str = "") -> bool:
        if python:
            try:
                await anyio.to_thread.run_sync(pythons.ready_for_boxes, python)
            except ToolchainMissing as error:
                _log.warning("python_missing", version=python, why=str(error))
                return False
        if name == INTERPRETER_IMAGE:
            return await anyio.to_thread.run_sync(_has_ipython, self._python)
        return name in (*IMAGES, *PACKAGES)

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            await anyio.to_thread.run_sync(self.compilers.close)
        if self._sessions is not None:
            with anyio.CancelScope(shield=True):
                await self._sessions.rooms.end_prepared()
                await self._sessions.snapshots.forget_in_memory()
                await self._sessions.rooms.aclose()


@cache
def _has_ipython(python: Path) -> bool:
    """Whether boxes' Python imports it: then this machine serves as the interpreter's image. Raises ProviderDown."""
    code = "import importlib.util, sys; sys.exit(importlib.util.find_spec('IPython') is None)"
    try:
        return subprocess.run([python, "-I", "-c", code], check=False, timeout=60).returncode == 0
    except (OSError, subprocess.SubprocessError) as error:  # not kept: another try may find it
        raise ProviderDown(f"{python} can't be asked for IPython: {error}") from error


def _space(spec: SandboxSpec) -> Space | None:
    """The disk of its own that a sandbox has; sessions share that of their folder, which caps each alike."""
    if spec.role == "session":
        return None
    return Space(spec.limits.scratch_bytes, spec.limits.scratch_inodes)


def make_trees(live: Path, *, store: Path, limits: Limits) -> Trees:
    """How work folders are mounted: as overlays, or where this process may not mount, as copies."""
    if os.geteuid() == 0:
        try:
            trees = OverlayTrees(live, store, limits=limits)
            if trees.why_shared:
                _log.warning("sessions_share_a_user", why=trees.why_shared, remedy=SHARED_REMEDY)
            return trees
        except OSError as error:
            _log.warning("overlay_not_available", why=str(error))
    return CopyTrees(live)
