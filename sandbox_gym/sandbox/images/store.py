"""The images that rows name, on one engine: pulled when they are missing, once for many callers, within a disk budget.

Owns which images were pulled here and which go. Knows neither what is done with them nor the engine's API.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from functools import partial
from typing import Final, Protocol, TypeVar, runtime_checkable
from weakref import WeakSet

import anyio
import anyio.to_thread
import structlog

from sandbox_gym.errors import ImageNotPulled, ImageRefused, ProviderDown, Unavailable
from sandbox_gym.limits import MIB
from sandbox_gym.sandbox.images.contract import (
    HoldsSnapshots,
    ImageEngine,
    ImageOptions,
    LocalImage,
    PullFailed,
    PullProblem,
    ReadsRegistry,
)
from sandbox_gym.sandbox.images.name import HUB, parse_name
from sandbox_gym.sandbox.images.pull import Pull
from sandbox_gym.sandbox.images.record import ImageRecord, PulledImage, disk_bytes

POLL_S: Final = 0.1
CLOSE_S: Final = 3.0
"""How long a closing store waits for its pulls; the process's end ends them at last."""
DISK_ATTEMPTS: Final = 3
"""Pulls of an image for which room was made after the disk was full."""
T = TypeVar("T")
_log = structlog.get_logger(__name__)


class ImageStore:
    """Use from one event loop."""

    def __init__(
        self,
        engine: ImageEngine,
        registries: ReadsRegistry,
        record: ImageRecord,
        options: ImageOptions,
        errors: tuple[type[BaseException], ...],
    ) -> None:
        """`errors`: what the engine's calls raise when it does not answer."""
        self.engine, self.registries, self.record, self.options = engine, registries, record, options
        self._errors = errors
        self._pulls: dict[str, Pull] = {}
        self._held: Counter[str] = Counter()
        self._collecting = anyio.Lock()
        self._limiter = anyio.CapacityLimiter(8)
        self.holders: WeakSet[HoldsSnapshots] = WeakSet()
        """Who made snapshots on top of images."""
        self.pulled = self.removed = self.failed = 0

    def stats_dict(self) -> dict[str, int]:
        """Counters and gauges by name."""
        pulling = sum(pull.started and not pull.over for pull in self._pulls.values())
        counts = {"pulled": self.pulled, "removed": self.removed, "failed": self.failed}
        return {**counts, "pulling": pulling, "waiting": len(self._pulls) - pulling}

    # -- having an image

    @asynccontextmanager
    async def holding(self, name: str) -> AsyncIterator[str]:
        """As `ensure`; the image stays while the body runs."""
        self._held[name] += 1
        try:
            yield await self._brought(name)
        finally:
            self._held[name] -= 1
            if not self._held[name]:
                del self._held[name]

    async def ensure(self, name: str) -> str:
        """By which reference the engine has the image; it is pulled unless it is there.

        Raises ImageRefused where no registry gives it, ImageNotPulled where that may pass, ProviderDown where the
        engine does not answer.
        """
        async with self.holding(name) as reference:
            return reference

    async def _brought(self, name: str) -> str:
        for attempt in range(1, DISK_ATTEMPTS + 1):
            found = await self._found(name)
            if found is not None:
                return found
            if not self.options.pull:
                raise ImageNotPulled(
                    f"image {name} is not at the engine, and docker_pull is `never`: docker load it, or allow pulls"
                )
            try:
                await self._pull(name)
            except PullFailed as error:
                if error.problem is not PullProblem.DISK or attempt == DISK_ATTEMPTS or not await self.make_room():
                    raise self._failure(name, error) from error
                continue
            await self.collect()
        found = await self._found(name)
        if found is None:
            raise ImageNotPulled(f"image {name} was pulled, and is gone again")
        return found

    async def find(self, name: str) -> LocalImage | None:
        """What the engine has by that name; it does not count as used. Raises ProviderDown."""
        local = await self._call(self.engine.inspect, name)
        if local is None:
            known = (await self._call(self.record.all)).get(name)
            local = await self._call(self.engine.inspect, known.reference) if known is not None else None
        return local

    async def published(self, name: str) -> Sequence[tuple[str, int]]:
        """(digest, compressed bytes) of each layer that a pull would fetch. Raises ImageRefused, ImageNotPulled,
        ProviderDown."""
        try:
            return await self._call(self.registries.layers, parse_name(name).from_mirror(self.options.mirror))
        except PullFailed as error:
            raise self._failure(name, error) from error

    async def kept_bytes(self) -> int:
        """What images that were pulled here take of the disk, together."""
        return disk_bytes(await self._call(self.record.all))

    async def _found(self, name: str) -> str | None:
        """The reference, with its use on record."""
        known = (await self._call(self.record.all)).get(name)
        for reference in dict.fromkeys((name, known.reference if known is not None else name)):
            if await self._call(self.engine.inspect, reference) is not None:
                if known is not None:
                    await self._call(self.record.change, partial(_used, name, time.time()))
                return reference
        return None

    async def _pull(self, name: str) -> None:
        """Have it pulled, with whoever else asks for it. Raises PullFailed."""
        pull = self._pulls.get(name)
        if pull is None or pull.over:
            parsed = parse_name(name).from_mirror(self.options.mirror)
            pull = self._pulls[name] = Pull(self.engine, parsed, self.options, partial(self._keep, name))
        pull.waiters += 1
        try:
            while not pull.over:
                if not pull.started and self._may_start(name):
                    pull.start()
                await anyio.sleep(POLL_S)
        finally:
            pull.waiters -= 1
            if self._pulls.get(name) is pull and (pull.over or not (pull.started or pull.waiters)):
                del self._pulls[name]
                self.failed += pull.failed is not None
        if pull.failed is not None:
            raise pull.failed

    def _may_start(self, name: str) -> bool:
        """Whether it is this one's turn: in the order in which they were asked for."""
        for done in [each for each, pull in self._pulls.items() if pull.over and not pull.waiters]:
            del self._pulls[done]
        going_on = sum(pull.started for pull in self._pulls.values())
        waiting = [each for each, pull in self._pulls.items() if not pull.started]
        return name in waiting[: max(0, self.options.at_once - going_on)]

    def _keep(self, name: str) -> None:
        """In the pull's thread: give what came the row's name, and put it on record. Raises PullFailed."""
        wanted, parsed = parse_name(name), parse_name(name).from_mirror(self.options.mirror)
        reference = name
        if parsed != wanted:
            if wanted.digest:  # a name with a digest can't be given
                reference = parsed.full
            else:
                self.engine.rename(parsed.full, name)
        local = self.engine.inspect(reference)
        if local is None:
            raise PullFailed(PullProblem.NETWORK, "the pull ended, and the engine has no such image")
        now = time.time()
        made = PulledImage(name, reference, local.image_id, local.layers, now, now)
        self.record.change(lambda images: images.update({name: made}))
        self.pulled += 1

    def _failure(self, name: str, error: PullFailed) -> Unavailable:
        asked = parse_name(name).from_mirror(self.options.mirror)
        at = f" (pulled as {asked.full})" if asked.registry != parse_name(name).registry else ""
        what = f"image {name}{at} can't be pulled: {str(error)[:500]}"
        if error.problem is PullProblem.REFUSED:
            login = f"docker login{'' if asked.registry == HUB else ' ' + asked.registry}"
            remedy = f"correct the row's image, {login} as the server's user if it is private, or docker load it"
            return ImageRefused(f"{what}; {remedy}")
        passing = ImageNotPulled(what)
        if error.problem is PullProblem.RATE:
            passing.retry_after_s = 300
        if error.problem is PullProblem.DISK:
            passing = ImageNotPulled(f"{what}; free disk at the engine, or lower docker_images_disk_mb")
        return passing

    # -- room

    async def collect(self) -> int:
        """Remove what was unused for longest until the rest is within the budget; bytes that are left. What is in use
        stays, even beyond the budget. Raises ProviderDown."""
        async with self._collecting:
            images = await self._call(self.record.all)
            left = await self._remove_until(images, self.options.disk_bytes)
        if left > self.options.disk_bytes:
            _log.warning("images_over_budget", mib=left // MIB, budget_mib=self.options.disk_bytes // MIB)
        return left

    async def make_room(self) -> bool:
        """Remove the one that was unused for longest, whatever the budget; whether there was one."""
        async with self._collecting:
            images = await self._call(self.record.all)
            before = disk_bytes(images)
            return before > 0 and await self._remove_until(images, before - 1) < before

    async def _remove_until(self, images: dict[str, PulledImage], most: int) -> int:
        used_at = (
            {name: await self._last_used(one) for name, one in images.items()} if disk_bytes(images) > most else {}
        )
        for name in sorted(used_at, key=lambda each: used_at[each]):
            if disk_bytes(images) <= most:
                break
            if await self._remove(images[name]):
                del images[name]
        return disk_bytes(images)

    async def _last_used(self, image: PulledImage) -> float:
        """When it, or what was built on it, was used."""
        uses = await self._call(self.engine.uses, image.image_id)
        times = [holder.last_used(each) or 0.0 for each in uses.snapshots for holder in self.holders]
        return max([image.last_used, *times])

    async def _remove(self, image: PulledImage) -> bool:
        """Whether it is gone from the disk, or from what is this store's to remove."""
        if self._held[image.name] or image.name in self._pulls:
            return False
        local = await self._call(self.engine.inspect, image.reference)
        if local is None or local.image_id != image.image_id or len(local.names) > 1:
            await self._call(self.record.change, partial(_forget, image))  # somebody else's by now
            _log.info("image_disowned", image=image.name)
            return True
        if not await self._release(image.image_id):
            return False
        if self._held[image.name] or not await self._call(self.engine.remove, image.reference):
            return False
        await self._call(self.record.change, partial(_forget, image))
        self.removed += 1
        _log.info("image_removed", image=image.name, mib=sum(size for _, size in image.layers) // MIB)
        return True

    async def _release(self, image_id: str) -> bool:
        """Whether nothing at the engine needs an image any more."""
        uses = await self._call(self.engine.uses, image_id)
        owners = [(each, self._holder_of(each)) for each in uses.snapshots]
        if uses.containers or any(holder is None for _, holder in owners):
            return False
        for snapshot_id, holder in owners:
            if holder is None or not await holder.release(snapshot_id):
                return False
        after = await self._call(self.engine.uses, image_id)
        return not after.containers and not after.snapshots

    def _holder_of(self, snapshot_id: str) -> HoldsSnapshots | None:
        return next((one for one in self.holders if one.last_used(snapshot_id) is not None), None)

    # -- the rest

    async def _call(self, function: Callable[..., T], *args: object) -> T:
        try:
            return await anyio.to_thread.run_sync(partial(function, *args), limiter=self._limiter)
        except self._errors as error:
            raise ProviderDown(f"the engine's images: {str(error)[:500]}") from error

    async def aclose(self) -> None:
        """Stop the pulls; what is not whole is pulled again by the next process. Idempotent."""
        for pull in self._pulls.values():
            pull.stop()
        with anyio.move_on_after(CLOSE_S):
            while any(pull.started and not pull.over for pull in self._pulls.values()):  # noqa: ASYNC110 - threads end
                await anyio.sleep(POLL_S)


def _used(name: str, now: float, images: dict[str, PulledImage]) -> None:
    if name in images:
        images[name] = replace(images[name], last_used=now)


def _forget(image: PulledImage, images: dict[str, PulledImage]) -> None:
    known = images.get(image.name)
    if known is not None and known.image_id == image.image_id:
        del images[image.name]


@runtime_checkable
class PullsImages(Protocol):
    """A provider that pulls the images which rows name."""

    @property
    def images(self) -> ImageStore: ...
