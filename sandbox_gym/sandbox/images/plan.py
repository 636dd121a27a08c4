"""Which images a data set needs, which are here, and how much would be fetched for the rest: before any is pulled."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import anyio

from sandbox_gym.errors import Unavailable
from sandbox_gym.sandbox.images.store import ImageStore

ASKED_AT_ONCE: Final = 8
UNPACKED: Final = 3.0
"""Layers are compressed in a registry: on disk they take about so many times their size. An estimate."""


@dataclass(frozen=True, slots=True)
class PlannedImage:
    """One image. `here_bytes`: its size at the engine, None where it is missing; `layers`: what would be fetched then;
    `problem`: why that is not known."""

    name: str
    rows: int
    here_bytes: int | None = None
    layers: tuple[tuple[str, int], ...] = ()
    problem: str = ""

    @property
    def download_bytes(self) -> int:
        return sum(size for _, size in self.layers)


@dataclass(frozen=True, slots=True)
class ImagePlan:
    """All of them, against the disk budget. `kept_bytes`: of images that were pulled here before."""

    images: tuple[PlannedImage, ...]
    kept_bytes: int
    budget_bytes: int

    @property
    def missing(self) -> tuple[PlannedImage, ...]:
        return tuple(one for one in self.images if one.here_bytes is None)

    @property
    def unknown(self) -> int:
        """Missing images whose size no registry said."""
        return sum(bool(one.problem) for one in self.images)

    @property
    def download_bytes(self) -> int:
        """Layers that several images share are fetched once."""
        return sum({digest: size for one in self.missing for digest, size in one.layers}.values())

    @property
    def disk_bytes(self) -> int:
        """About what the missing ones will take."""
        return round(self.download_bytes * UNPACKED)

    @property
    def fits(self) -> bool:
        return self.kept_bytes + self.disk_bytes <= self.budget_bytes


async def plan_images(store: ImageStore, rows: Mapping[str, int], advance: Callable[[], None]) -> ImagePlan:
    """`rows`: how many rows name each image; `advance` is called after each. Raises ProviderDown."""
    found: dict[str, PlannedImage] = {}
    slots = anyio.CapacityLimiter(ASKED_AT_ONCE)

    async def look(name: str) -> None:
        async with slots:
            found[name] = await _planned(store, name, rows[name])
        advance()

    async with anyio.create_task_group() as tasks:
        for name in rows:
            tasks.start_soon(look, name)
    return ImagePlan(tuple(found[name] for name in rows), await store.kept_bytes(), store.options.disk_bytes)


async def _planned(store: ImageStore, name: str, rows: int) -> PlannedImage:
    local = await store.find(name)
    if local is not None:
        return PlannedImage(name, rows, here_bytes=local.size_bytes)
    try:
        return PlannedImage(name, rows, layers=tuple(await store.published(name)))
    except Unavailable as error:
        return PlannedImage(name, rows, problem=str(error))
