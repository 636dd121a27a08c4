"""What a snapshot is, and what is asked of those who keep them. Contracts only; knows no provider.

A snapshot holds files, the shell's folder and environment, and, on request, Python's picklable globals. It holds no
processes. Whatever a program left in it is data: restoring it runs nothing.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence, Set
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

from sandbox_gym.contract import Isolation, Outcome, Run
from sandbox_gym.errors import LossEvidence, ProviderDown, SandboxGymError
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.api import Box, Capability, Provider


class SnapshotFailed(SandboxGymError):
    """The work folder can't be kept: it nests too deep, or the disk budget is used up. The program's doing."""


class NoSuchSnapshot(SandboxGymError):
    """There is no snapshot of that id, or no longer."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """One kept state. Ids are random; `digest` names the content, so that equal layers are stored once."""

    snapshot_id: str
    parent_id: str | None
    digest: str
    """sha256 over the topmost layer's entries, or the image's id; empty while it is in memory only."""
    size_bytes: int
    """Disk that the topmost layer takes; the parents' layers are not counted again."""
    files: int
    created_at: float
    """Seconds since the epoch."""
    cwd: str = ""
    env: Mapping[str, str] = field(default_factory=dict)
    lost_globals: Sequence[str] = ()
    """Python names that could not be pickled, where globals were asked for."""


class SessionBox(Protocol):
    """A sandbox that keeps its state between calls. One call at a time; each raises BoxLost when it is gone."""

    box_id: str
    isolation: Isolation

    async def call(
        self, request: Mapping[str, object], body: bytes = b"", *, within_s: float
    ) -> tuple[Mapping[str, object], bytes]:
        """One request to the driver (guest/session/driver.py) and its reply, at most 16 MiB; trust neither."""
        ...

    async def snapshot(self, *, durable: bool = True, keep_globals: bool = False) -> Snapshot:
        """Keep the state as it is now. Not `durable`: in memory, in milliseconds, gone with this process."""
        ...

    async def aclose(self) -> None:
        """Destroy the sandbox; its snapshots stay. Idempotent."""
        ...


class SessionProvider(Protocol):
    """Opens sessions and keeps their snapshots."""

    async def open_session(self, limits: Limits, snapshot_id: str | None = None) -> SessionBox:
        """A new session, or one that goes on from a snapshot. Raises NoSuchSnapshot or ProviderDown."""
        ...

    async def snapshots(self) -> Sequence[Snapshot]: ...

    async def delete(self, snapshot_id: str) -> None:
        """Forget a snapshot; layers that others build on stay. Idempotent."""
        ...

    async def collect(self, *, budget_bytes: int, pinned: Set[str]) -> int:
        """Delete what nobody uses, then the oldest snapshots but no pinned one, until the rest fit; bytes left."""
        ...

    async def aclose(self) -> None: ...


class SnapshotBox:
    """A box that begins as a snapshot was, for one plan: never proven clean, never handed to another task."""

    def __init__(self, box: Box, close: Callable[[], Awaitable[None]]) -> None:
        self._box, self._close = box, close
        self.box_id, self.isolation = box.box_id, box.isolation

    def run_all(self, runs: Sequence[Run]) -> AbstractAsyncContextManager[AsyncIterator[Outcome]]:
        return self._box.run_all(runs)

    async def reset(self) -> bool:
        return False

    async def evidence(self) -> LossEvidence:
        return await self._box.evidence()

    async def aclose(self) -> None:
        await self._close()


SNAPSHOT_IMAGE: Final = "snapshot:"
"""A plan's image of this beginning is a snapshot's id."""
BOX_LIMITS: Final = Limits(scratch_bytes=2048 * MIB, scratch_inodes=400_000)


class SnapshotProvider:
    """A provider whose images may be snapshots of a session provider too."""

    def __init__(self, provider: Provider, keeper: SupportsBuilding) -> None:
        self._provider, self._keeper = provider, keeper
        self.name = provider.name

    async def start(self, image: str) -> Box:
        if not image.startswith(SNAPSHOT_IMAGE):
            return await self._provider.start(image)
        try:
            return await self._keeper.open_box(BOX_LIMITS, image.removeprefix(SNAPSHOT_IMAGE))
        except NoSuchSnapshot as error:
            raise ProviderDown(f"a plan begins from a snapshot that is gone: {error}") from error

    async def doctor(self) -> Sequence[Capability]:
        return await self._provider.doctor()

    async def aclose(self) -> None:
        await self._provider.aclose()


BUILDER_IMAGE: Final = "swe"
"""What builders begin from where a recipe names no image: git, patch, and Pythons of several versions."""


@runtime_checkable
class SupportsBuilding(Protocol):
    """A session provider in whose sandboxes things can be installed, and whose snapshots can be run in directly."""

    async def open_builder(self, limits: Limits, image: str, python: str = "") -> SessionBox:
        """A session with the machine's network, from an image; for recipes, not for candidates. `python`: the version
        that it must have. Raises ProviderDown, ToolchainMissing."""
        ...

    async def open_box(self, limits: Limits, snapshot_id: str) -> SnapshotBox:
        """A box with a snapshot's files, without network and without a driver. Raises NoSuchSnapshot, ProviderDown."""
        ...


@runtime_checkable
class SupportsAdopting(Protocol):
    """A session provider that can take over snapshots out of the folder of one like it, whose process is dead."""

    async def adopt(self, folder: Path, snapshot_id: str) -> None:
        """Have a snapshot as one's own. Idempotent. Raises NoSuchSnapshot where it can't be read or kept."""
        ...


@runtime_checkable
class SupportsPreparing(Protocol):
    """A provider that can make sandboxes ready before it is known what they will hold."""

    async def prepare(self) -> None:
        """Have as many ready as are kept. Raises ProviderDown."""
        ...


async def fork(provider: SessionProvider, box: SessionBox, count: int, limits: Limits) -> list[SessionBox]:
    """`count` new sessions that go on from where `box` is now. Either all or none."""
    parent = await box.snapshot(durable=False)
    forks: list[SessionBox] = []
    try:
        for _ in range(count):
            forks.append(await provider.open_session(limits, parent.snapshot_id))
    except BaseException:
        for one in forks:
            await one.aclose()
        raise
    finally:
        await provider.delete(parent.snapshot_id)
    return forks
