"""Instances: each recipe or image is built once, kept as a snapshot, and begun from as often as it is asked for.

Owns which snapshot an instance is, on which layer, and when they go. Knows neither HTTP nor rewards.
"""

from __future__ import annotations

import json
import time
import weakref
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import anyio
import structlog

from sandbox_gym.errors import InstanceFailed, ProviderDown, SandboxGymError, Unavailable
from sandbox_gym.private import make_private, write_whole
from sandbox_gym.sandbox.images.name import is_foreign
from sandbox_gym.sandbox.images.store import PullsImages
from sandbox_gym.sandbox.session.manager import Sessions
from sandbox_gym.sandbox.snapshots import NoSuchSnapshot
from sandbox_gym.single_flight import SingleFlight
from sandbox_gym.swe.build_log import BuildLog
from sandbox_gym.swe.building import Builder, Instance, image_of, instance_key, layer_key
from sandbox_gym.swe.store_lock import take
from sandbox_gym.verifiers.swe import SweTask

BUILDS_AT_ONCE: Final = 2
FOLDER: Final = "instances"
"""Beside a store's sessions."""
_log = structlog.get_logger(__name__)


class BuildsInstances(Protocol):
    """Builds instances and knows those that are built: `Instances` here, or a cluster's nodes."""

    async def ensure(self, task: SweTask) -> Instance: ...

    def of_snapshot(self, snapshot_id: str) -> Instance | None: ...


class Instances:
    """Builds and remembers. The index is kept beside the sessions, whose provider keeps the snapshots."""

    def __init__(self, sessions: Sessions, *, disk_bytes: int) -> None:
        """Raises ProviderDown where another process has them."""
        folder = sessions.folder.parent / FOLDER
        self._sessions, self._index, self._disk_bytes = sessions, folder / "instances.json", disk_bytes
        weakref.finalize(self, take(folder).close)  # the store is this process's as long as this object is
        self._known = _load(self._index)
        self.logs = folder / "logs"
        """What each build printed, by instance."""
        self._flights = SingleFlight[Instance](sessions.background, outlives=True)
        self._slots = anyio.CapacityLimiter(BUILDS_AT_ONCE)
        self._in_use = Counter[str]()
        self._builder = Builder(sessions.provider)
        self.built = self.reused = self.evicted = 0
        sessions.budget.pinned.update(snapshot for one in self._known.values() for snapshot in one.snapshots)
        if isinstance(sessions.provider, PullsImages):
            sessions.provider.images.holders.add(self)

    def allow(self, builds_at_once: int) -> None:
        """More builds at once than a server has, each of which may take BUILD_LIMITS."""
        self._slots.total_tokens = max(BUILDS_AT_ONCE, builds_at_once)

    def stats_dict(self) -> dict[str, int]:
        """Counters and gauges by name."""
        kept = {"kept": len(self.kept()), "disk_bytes": self._used_bytes()}
        return {"built": self.built, "reused": self.reused, "evicted": self.evicted, **kept}

    def of_snapshot(self, snapshot_id: str) -> Instance | None:
        """The instance that a snapshot is."""
        return next((one for one in self._known.values() if snapshot_id in one.snapshots), None)

    def kept(self) -> list[Instance]:
        """Every instance that is built; no layer."""
        return [one for one in self._known.values() if one.commit]

    def _used_bytes(self) -> int:
        return sum(one.size_bytes for one in self._known.values())

    def is_built(self, task: SweTask) -> bool:
        """Whether it was built before, by this process or an earlier one."""
        return instance_key(task) in self._known

    async def ensure(self, task: SweTask) -> Instance:
        """The task's instance, built unless it is kept; for many callers at once it is built once, and goes on being
        built when they have left.

        Raises InstanceFailed, ProviderDown, BoxLost, ToolchainMissing, ImageNotPulled.
        """
        instance = await self._ensured(instance_key(task), partial(self._build, task))
        if task.runner != "log" and not instance.python:  # which rows without need of it may have had built
            raise InstanceFailed(f"image {task.image} has no python on its PATH, which the row's tests are run with")
        return instance

    async def _ensured(self, key: str, build: Callable[[], Awaitable[Instance]]) -> Instance:
        known = self._known.get(key) if key not in self._flights else None
        if known is not None and await self._is_there(known):
            self.reused += bool(known.commit)
            return self._touch(known)
        return (await self._flights.run(key, build))[0]

    async def _build(self, task: SweTask) -> Instance:
        log = BuildLog(self.logs / f"{task.instance_id}.log")
        _log.info("instance_build", instance=task.instance_id, image=image_of(task))
        try:
            built = await self._built(task, log)
        except SandboxGymError as error:
            await log.note(f"== failed: {error}")
            _log.warning("instance_build_failed", instance=task.instance_id, log=str(log.path), why=str(error)[:500])
            if isinstance(error, Unavailable):
                error.log = str(log.path)
            raise
        self.built += 1
        await self._keep(built)
        _log.info("instance_built", instance=task.instance_id, seconds=round(built.build_s, 1), bytes=built.size_bytes)
        return built

    async def _built(self, task: SweTask, log: BuildLog) -> Instance:
        if task.recipe is None:
            async with self._with_image(task.image), self._slots:
                return await self._builder.from_image(task, log)
        key = layer_key(task.recipe)
        with self._using(key):
            layer = await self._ensured(key, partial(self._build_layer, task, log))
            await log.note(f"== environment: {key}")
            async with self._slots:
                try:
                    return await self._builder.from_recipe(task, layer, log)
                except NoSuchSnapshot as error:
                    raise ProviderDown(f"the layer of {task.instance_id} went meanwhile: {error}") from error

    async def _build_layer(self, task: SweTask, log: BuildLog) -> Instance:
        async with self._with_image(image_of(task)), self._slots:
            layer = await self._builder.layer(task, log)
        await self._keep(layer)
        return layer

    @contextmanager
    def _using(self, key: str) -> Iterator[None]:
        """What a build begins from is not evicted meanwhile."""
        self._in_use[key] += 1
        try:
            yield
        finally:
            self._in_use[key] -= 1

    @asynccontextmanager
    async def _with_image(self, image: str) -> AsyncIterator[None]:
        """Pulled before the build takes its turn, which pulls would keep from others. Raises as `ImageStore.ensure`."""
        provider = self._sessions.provider
        if isinstance(provider, PullsImages) and is_foreign(image):
            async with provider.images.holding(image):
                yield
        else:
            yield

    async def _is_there(self, instance: Instance) -> bool:
        try:
            for snapshot_id in instance.snapshots:
                await self._sessions.store.find(snapshot_id)
        except NoSuchSnapshot:
            return False
        return True

    def _touch(self, instance: Instance) -> Instance:
        """Used now, and with it what it was built on."""
        now = time.time()
        for one in (instance, self._known.get(instance.layer)):
            if one is not None:
                self._known[one.key] = replace(one, last_used=now)
        self._write_index()
        return self._known[instance.key]

    async def _keep(self, built: Instance) -> None:
        self._sessions.budget.pinned.update(built.snapshots)
        self._touch(built)
        with self._using(built.key):
            await self._evict()

    def _write_index(self) -> None:
        """What can't be written now is written with the next use; a server that starts without it builds again."""
        try:
            make_private(self._index.parent)
            write_whole(self._index, json.dumps([asdict(one) for one in self._known.values()]).encode())
        except OSError as error:
            _log.warning("instances_unwritable", path=str(self._index), why=str(error))

    async def _evict(self) -> None:
        """Beyond the disk budget the longest unused go, layers after what stands on them."""
        for one in sorted(self._known.values(), key=lambda one: (one.last_used, not one.commit)):
            if self._used_bytes() <= self._disk_bytes:
                return
            if not self._in_use[one.key] and not self._above(one):
                await self._drop(one)

    def _above(self, layer: Instance) -> list[Instance]:
        """What stands on a layer, which its end would save no disk of."""
        return [one for one in self._known.values() if one.layer == layer.key]

    async def _drop(self, one: Instance) -> None:
        del self._known[one.key]
        self._sessions.budget.pinned.difference_update(one.snapshots)
        for snapshot_id in one.snapshots:
            await self._sessions.store.delete(snapshot_id)
        self.evicted += 1
        _log.info("instance_evicted", instance=one.key[:16])

    # -- for the image store, whose images instances are made on

    def last_used(self, snapshot_id: str) -> float | None:
        """Epoch seconds; None for a snapshot that is no instance."""
        one = self.of_snapshot(snapshot_id)
        return one.last_used if one is not None else None

    async def release(self, snapshot_id: str) -> bool:
        """Forget an instance so that its image can go, unless a session or a build is at it; it is built again when it
        is asked for."""
        one = self.of_snapshot(snapshot_id)
        if one is None or one.key in self._flights or self._in_use[one.key]:
            return False
        going = [*self._above(one), one]
        if not {snapshot for each in going for snapshot in each.snapshots}.isdisjoint(self._sessions.bases().values()):
            return False
        for each in going:
            await self._drop(each)
        self._write_index()
        return True


def _load(path: Path) -> dict[str, Instance]:
    try:
        return {one["key"]: Instance(**one) for one in json.loads(path.read_text())}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, KeyError) as error:
        _log.warning("instances_unreadable", path=str(path), why=str(error))
        return {}
