"""The contract between the product and the providers of sandboxes. Contracts only; knows no provider and no verifier.

A provider makes machines. What every sandbox can do is written once over a machine: `sandbox.Sandbox` runs programs,
`session.session.Session` keeps state between calls. A new provider is one folder, one line of the registry, and the
conformance suite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, Protocol

from sandbox_gym.contract import SnapshotRef, Source
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.network import NO_NETWORK, Network
from sandbox_gym.sandbox.caps import CapRow
from sandbox_gym.sandbox.cleanup.reaper import OrphanSource
from sandbox_gym.sandbox.sandbox import Sandbox
from sandbox_gym.sandbox.snapshots import Snapshot

Role = Literal["run", "session", "builder", "computer"]
"""What a sandbox is for. "run": programs of plans. "session": a driver that keeps state between calls. "builder": a
session in which things are installed, with the machine's network. "computer": a session with a disk of its own and a
driver that serves many requests at once, as the E2B server's sandboxes are."""

INTERPRETER_IMAGE: Final = "code-interpreter"
"""What has IPython for the cells of notebooks, and kernels of other languages."""
BUILDER_IMAGE: Final = "swe"
"""What builders begin from where a recipe names no image: git, patch, and Pythons of several versions."""
SNAPSHOT_LIMITS: Final = Limits(scratch_bytes=2048 * MIB, scratch_inodes=400_000)
"""Of a sandbox that runs programs on a snapshot's files: room for what a repository's tests write."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """What becomes a session's of an image that others built, whose files are its root's. Absolute paths of the image.
    Its environment is left in guest/adopt.py's ENVIRONMENT, for a shell to read."""

    owned: Sequence[str]
    """Folders that must be there: their files become the session's, but for those of environments in them."""
    folders: Sequence[str] = ()
    """Environments: the session may add files to them, and replace files."""
    homes: Sequence[str] = ()
    """Of the image's root; the first that is there becomes the session's."""
    moved: Sequence[tuple[str, str]] = ()
    removed: Sequence[str] = ()
    """What no session may see."""


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """How a sandbox is to be made."""

    source: Source = "python"
    role: Role = "run"
    limits: Limits = Limits()
    network: Network = NO_NETWORK
    python: str = ""
    """A version that a builder must have ("3.12"); empty: any."""
    base_image: str = "python"
    """What the session of a snapshot began from: where images are names for parts of the server's own machine, those
    parts are not in the snapshot."""
    adoption: Adoption | None = None
    """For a builder from an image that others built."""
    system_packages: Sequence[str] = ()
    """Debian packages that a builder must have, where the provider installs them."""


@dataclass(frozen=True, slots=True)
class SessionFolder:
    """Where a provider keeps the state of its sessions, and what all of them share."""

    folder: Path
    limits: Limits = Limits()
    """Of a session; where sessions share a disk, each has as much of it."""
    home: str = ""
    """Where a session's files are shown inside, as its user's home; empty: the usual work folder."""


def spec_of_runs(source: Source) -> SandboxSpec:
    """A sandbox for a plan's programs."""
    return SandboxSpec(source, limits=SNAPSHOT_LIMITS if isinstance(source, SnapshotRef) else Limits())


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What a provider can do anywhere, known before it is asked."""

    runs_programs: bool = True
    """False: what programs do is described, not found out."""
    computers: bool = True
    """Whether it has sandboxes of the role "computer"."""
    root: bool = False
    """A "computer" and a "session" have a driver of their root's beside their user's, once it is asked for, and keep
    what root wrote."""
    own_toolchains: bool = False
    """Its images bring their compilers and interpreters, whatever the server's machine has."""
    others_images: bool = False
    """Builders begin from images that others built, as they are."""
    system_packages: bool = False
    """Builders get the Debian packages that they ask for; else they have those of their image, or of the machine."""
    max_sandboxes: int | None = None
    """What an account bounds verifies and sessions together to; None: this machine bounds each."""


@dataclass(frozen=True, slots=True)
class Capability:
    """One line of `doctor`: what was probed, whether it works here, and what to do when it doesn't."""

    name: str
    works: bool
    detail: str
    remedy: str = ""


class SnapshotStore(Protocol):
    """The snapshots of a provider's sessions, in one state folder. They are made by `Session.snapshot`."""

    async def find(self, snapshot_id: str) -> Snapshot:
        """One of them, at the cost of one. Raises NoSuchSnapshot."""
        ...

    async def all(self) -> Sequence[Snapshot]:
        """Oldest first."""
        ...

    async def delete(self, snapshot_id: str) -> None:
        """Forget a snapshot; layers that others build on stay. Idempotent."""
        ...

    async def collect(self, *, budget_bytes: int, pinned: Set[str]) -> int:
        """Delete what nothing refers to, then the oldest snapshots but no pinned one, until the rest fit and none is
        older than FORGOTTEN_S; bytes left."""
        ...

    async def adopt(self, folder: Path, snapshot_id: str) -> None:
        """Take over a snapshot from the folder of another store, whose process is dead. Idempotent. Raises
        NoSuchSnapshot where it can't be read or kept."""
        ...


class Doctor(Protocol):
    """What a provider says of itself."""

    async def check(self) -> None:
        """At a server's start. Raises ConfigurationError for what no retry mends, such as a wrong key, and ProviderDown
        for what may pass."""
        ...

    async def probe(self) -> Sequence[Capability]:
        """What works here: one line each."""
        ...

    async def caps(self) -> Sequence[CapRow]:
        """Who enforces each cap here. Raises ProviderDown where that can't be found out."""
        ...

    def costs(self) -> Mapping[str, int]:
        """What an account is charged for since the start, in whole units, by name; empty where nothing is paid."""
        ...


class Provider(Protocol):
    """Makes sandboxes. Made by the `from_settings` of its package, which raises ConfigurationError when this machine
    can't have it."""

    name: str
    capabilities: Capabilities
    doctor: Doctor
    orphan_sources: Mapping[str, OrphanSource]
    """By name: where its dead owners leave things outside of their process."""

    @property
    def snapshots(self) -> SnapshotStore | None:
        """None where it was made without a state folder for sessions, or can't hold any."""
        ...

    async def create(self, spec: SandboxSpec) -> Sandbox:
        """Raises ProviderDown, ToolchainMissing, and NoSuchSnapshot where the source is a snapshot that is gone."""
        ...

    async def prepare(self) -> None:
        """Have sandboxes ready for sessions to come, as many as are kept. Raises ProviderDown."""
        ...

    async def has_image(self, name: str, python: str = "") -> bool:
        """Whether sandboxes can begin from an image, with a Python of that version. Raises ProviderDown."""
        ...

    async def aclose(self) -> None:
        """Let go of what the provider itself holds. Sandboxes are closed by their holders; snapshots stay.
        Idempotent."""
        ...
