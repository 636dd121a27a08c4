"""What an image store asks of a container engine, what it tells callers, and how a pull fails. Contracts only."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from sandbox_gym.limits import MIB
from sandbox_gym.sandbox.images.name import ImageName


@dataclass(frozen=True, slots=True)
class ImageOptions:
    """How images are pulled. `mirror`: `host[:port][/folder]` in Docker Hub's place, or empty. Times in seconds."""

    pull: bool = True
    at_once: int = 3
    timeout_s: float = 3600.0
    stall_s: float = 120.0
    """Without a byte for so long, a pull is begun again."""
    attempts: int = 4
    pause_s: float = 2.0
    """Before the second attempt; doubled before each one after it."""
    disk_bytes: int = 100_000 * MIB
    mirror: str = ""


@dataclass(frozen=True, slots=True)
class LocalImage:
    """An image that the engine has. `layers`: (key, bytes) of each; layers with equal keys are stored once."""

    image_id: str
    names: tuple[str, ...]
    """Its tags, with their repositories."""
    size_bytes: int
    layers: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True)
class ImageUses:
    """What keeps an image from being removed. `snapshots`: ids of the snapshots that were made on top of it; empty
    texts for images that are no snapshots."""

    containers: int = 0
    snapshots: tuple[str, ...] = ()


class PullProblem(StrEnum):
    """Why a pull failed. REFUSED is the row's fault or the credentials', the others pass."""

    REFUSED = "refused"
    NETWORK = "network"
    RATE = "rate"
    DISK = "disk"
    STOPPED = "stopped"


class PullFailed(Exception):
    """One attempt failed."""

    def __init__(self, problem: PullProblem, message: str) -> None:
        super().__init__(message)
        self.problem = problem


@dataclass(slots=True)
class PullProgress:
    """What an attempt has done so far, by layer: bytes fetched, bytes in all, and what is done to it."""

    layers: dict[str, tuple[int, int]] = field(default_factory=dict)
    done: set[str] = field(default_factory=set)

    def shown(self) -> Mapping[str, object]:
        """For the log."""
        fetched = sum(now for now, _ in self.layers.values())
        known = sum(total for _, total in self.layers.values())
        return {
            "layers": f"{len(self.done)}/{len(self.layers)}",
            "mib": round(fetched / MIB, 1),
            "of_mib": round(known / MIB, 1),
        }


class ImageEngine(Protocol):
    """A container engine's images. All calls block and may come from any thread; they raise OSError, and what `errors`
    names, where the engine does not answer."""

    def inspect(self, reference: str) -> LocalImage | None:
        """An image by name or id, with its layers; None where there is none."""
        ...

    def pull(self, name: ImageName, progress: PullProgress, stall_s: float, go_on: Callable[[], bool]) -> None:
        """One attempt. Ends soon after `go_on` is false. Raises PullFailed."""
        ...

    def rename(self, old: str, new: str) -> None:
        """Give an image a name in another one's place."""
        ...

    def uses(self, image_id: str) -> ImageUses: ...

    def remove(self, reference: str) -> bool:
        """Remove an image by its one name, unless a container needs it; whether it is gone."""
        ...


class HoldsSnapshots(Protocol):
    """Keeps snapshots that were made on top of images, and may let go of them."""

    def last_used(self, snapshot_id: str) -> float | None:
        """Epoch seconds; None for a snapshot that is not its own."""
        ...

    async def release(self, snapshot_id: str) -> bool:
        """Delete a snapshot unless it is needed; whether it is gone."""
        ...


class ReadsRegistry(Protocol):
    """Asks registries about images without pulling them. Blocking."""

    def layers(self, name: ImageName) -> Sequence[tuple[str, int]]:
        """(digest, compressed bytes) of each layer. Raises PullFailed."""
        ...
