"""Instances: each recipe or image is built once, kept as a snapshot, and begun from as often as it is asked for.

Owns which snapshot an instance is and when it goes. Knows neither HTTP nor what a patch is worth.
"""

from __future__ import annotations

import json
import time
import weakref
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Protocol

import anyio
import anyio.to_thread
import structlog

from sandbox_gym.errors import BoxLost, InstanceFailed, ProviderDown, RequestError
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.network import MACHINES_NETWORK
from sandbox_gym.private import make_private, write_whole
from sandbox_gym.sandbox.api import BUILDER_IMAGE, SandboxSpec
from sandbox_gym.sandbox.images.name import is_foreign
from sandbox_gym.sandbox.images.store import PullsImages
from sandbox_gym.sandbox.session.client import Command, FileProblem, SessionClient, TakesCalls
from sandbox_gym.sandbox.session.manager import GRACE_S, Sessions
from sandbox_gym.sandbox.session.session import open_session
from sandbox_gym.sandbox.snapshots import NoSuchSnapshot
from sandbox_gym.swe.causes import cause_of, last_words
from sandbox_gym.swe.pip_settings import BUNDLE, certificates, pip_settings
from sandbox_gym.swe.recipes import ENVIRONMENT, REPOSITORY, BuildStep, image_steps, recipe_steps, where_sessions_begin
from sandbox_gym.swe.store_lock import take
from sandbox_gym.verifiers.swe import SweTask

BUILD_LIMITS: Final = Limits(
    cpu_time_s=4 * 3600,
    wall_time_s=4 * 3600,
    memory_bytes=4096 * MIB,
    processes=512,
    open_files=4096,
    file_bytes=2048 * MIB,
    scratch_bytes=6144 * MIB,
    scratch_inodes=600_000,
)
BUILDS_AT_ONCE: Final = 2
FOLDER: Final = "instances"
"""Beside a store's sessions."""
_SHOWN: Final = 200
_ENTER_S: Final = 30.0
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Instance:
    """A built instance. Paths are the box's."""

    key: str
    snapshot_id: str
    commit: str
    """The one commit that the repository has."""
    workdir: str
    python: str
    """The interpreter that the repository is installed for; empty where the image decides."""
    size_bytes: int
    build_s: float
    last_used: float


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
        self._locks: dict[str, anyio.Lock] = {}
        self._builds = anyio.Semaphore(BUILDS_AT_ONCE)
        self.built = self.reused = self.evicted = 0
        sessions.budget.pinned.update(one.snapshot_id for one in self._known.values())
        if isinstance(sessions.provider, PullsImages):
            sessions.provider.images.holders.add(self)

    def stats_dict(self) -> dict[str, int]:
        """Counters and gauges by name."""
        used = sum(one.size_bytes for one in self._known.values())
        kept = {"kept": len(self._known), "disk_bytes": used}
        return {"built": self.built, "reused": self.reused, "evicted": self.evicted, **kept}

    def of_snapshot(self, snapshot_id: str) -> Instance | None:
        """The instance that a snapshot is."""
        return next((one for one in self._known.values() if one.snapshot_id == snapshot_id), None)

    def kept(self) -> list[Instance]:
        """Every instance that is built."""
        return list(self._known.values())

    def is_built(self, task: SweTask) -> bool:
        """Whether it was built before, by this process or an earlier one."""
        return instance_key(task) in self._known

    async def ensure(self, task: SweTask) -> Instance:
        """The task's instance, built unless it is kept; of many callers at once the first has it built.

        Raises InstanceFailed, ProviderDown, ToolchainMissing, ImageNotPulled.
        """
        key = instance_key(task)
        async with self._locks.setdefault(key, anyio.Lock()):
            known = self._known.get(key)
            if known is not None and await self._is_there(known):
                self.reused += 1
                return self._touch(known)
            async with self._with_image(image_of(task)), self._builds:
                built = await self._build(key, task)
            self.built += 1
            self._sessions.budget.pinned.add(built.snapshot_id)
            self._touch(built)
            await self._evict(keep=key)
            return built

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
            await self._sessions.store.find(instance.snapshot_id)
        except NoSuchSnapshot:
            return False
        return True

    def _touch(self, instance: Instance) -> Instance:
        fresh = Instance(**{**asdict(instance), "last_used": time.time()})
        self._known[instance.key] = fresh
        self._write_index()
        return fresh

    def _write_index(self) -> None:
        """What can't be written now is written with the next use; a server that starts without it builds again."""
        try:
            make_private(self._index.parent)
            write_whole(self._index, json.dumps([asdict(one) for one in self._known.values()]).encode())
        except OSError as error:
            _log.warning("instances_unwritable", path=str(self._index), why=str(error))

    async def _evict(self, *, keep: str) -> None:
        """Beyond the disk budget the longest unused go."""
        for one in sorted(self._known.values(), key=lambda one: one.last_used):
            if sum(each.size_bytes for each in self._known.values()) <= self._disk_bytes:
                return
            if one.key != keep:
                await self._drop(one)

    async def _drop(self, one: Instance) -> None:
        del self._known[one.key]
        self._sessions.budget.pinned.discard(one.snapshot_id)
        await self._sessions.store.delete(one.snapshot_id)
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
        lock = self._locks.get(one.key) if one is not None else None
        busy = lock is not None and lock.statistics().locked
        if one is None or busy or snapshot_id in self._sessions.bases().values():
            return False
        await self._drop(one)
        self._write_index()
        return True

    # -- building

    async def _build(self, key: str, task: SweTask) -> Instance:
        recipe, started = task.recipe, time.monotonic()
        image = image_of(task)
        pip = await anyio.to_thread.run_sync(pip_settings)
        steps = recipe_steps(recipe, pip) if recipe is not None else image_steps(task.workdir)
        workdir = REPOSITORY if recipe is not None and recipe.source else task.workdir
        _log.info("instance_build", instance=task.instance_id, image=image)
        python = recipe.python if recipe is not None else ""
        spec = SandboxSpec(image, "builder", BUILD_LIMITS, MACHINES_NETWORK, python)
        box = await open_session(self._sessions.provider, spec)
        try:
            client = SessionClient(box)
            await _bring_certificates(client)
            for step in steps:
                await _do(client, step, task.instance_id)
            asked = BuildStep("commit id", f"git -C {workdir} rev-parse HEAD", 60)
            commit = (await _do(client, asked, task.instance_id)).strip()
            await _enter(box, where_sessions_begin(workdir, recipe), task.instance_id)
            snapshot = await box.snapshot()
        except BoxLost as error:
            raise ProviderDown(f"a build of {task.instance_id} lost its sandbox: {error}") from error
        finally:
            await box.aclose()
        interpreter = f"{ENVIRONMENT}/bin/python" if recipe is not None else ""
        took = time.monotonic() - started
        _log.info("instance_built", instance=task.instance_id, seconds=round(took, 1), bytes=snapshot.size_bytes)
        return Instance(key, snapshot.snapshot_id, commit, workdir, interpreter, snapshot.size_bytes, took, time.time())


def instance_key(task: SweTask) -> str:
    """Equal recipes are one instance; an image is one too."""
    return task.recipe.key() if task.recipe is not None else f"image:{task.image}:{task.workdir}"


def image_of(task: SweTask) -> str:
    """What its instance is built on: a dataset's image, or one of our own."""
    return task.image or (task.recipe.base_image if task.recipe is not None else "") or BUILDER_IMAGE


async def _do(client: SessionClient, step: BuildStep, instance_id: str) -> str:
    """What a step printed. Raises InstanceFailed with the cause of it where it failed."""
    what = f"step {step.name}" + (f" ({step.shown[:_SHOWN]})" if step.shown else "")
    argv = ("/bin/bash", "-c", f"exec 2>&1\n{step.command}")
    try:
        ran = await client.exec(Command(argv, step.timeout_s, stdout_bytes=64 << 10, keep_background=True))
    except RequestError as error:
        raise InstanceFailed(f"building {instance_id}: {what} can't be run: {error}") from error
    text = ran.stdout.decode("utf-8", "replace")
    if ran.timed_out:
        how = f"was given up after {step.timeout_s:.0f} s, its time limit; its last words: {last_words(text)}"
        raise InstanceFailed(f"building {instance_id}: {what} {how}")
    if ran.exit_code != 0:
        _log.debug("instance_step_failed", instance=instance_id, step=step.name, output=text)
        raise InstanceFailed(f"building {instance_id}: {what} failed: {cause_of(text)}")
    return text


async def _enter(box: TakesCalls, command: str, instance_id: str) -> None:
    """Have the session's own shell run a command, so that the snapshot has its folder and variables."""
    request = {"op": "bash", "timeout_s": _ENTER_S, "output_bytes": 4096}
    reply, body = await box.call(request, command.encode(), within_s=_ENTER_S + GRACE_S)
    if reply.get("exit_code") != 0:
        said = body.decode("utf-8", "replace")[:_SHOWN]
        raise InstanceFailed(f"building {instance_id}: its repository can't be entered: {said}")


async def _bring_certificates(client: SessionClient) -> None:
    bundle = certificates()
    if bundle is not None:
        data = await anyio.to_thread.run_sync(bundle.read_bytes)
        try:
            await client.write_file(BUNDLE, data)
        except FileProblem as error:
            raise ProviderDown(f"a build's sandbox can't be written to: {error}") from error


def _load(path: Path) -> dict[str, Instance]:
    try:
        return {one["key"]: Instance(**one) for one in json.loads(path.read_text())}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, KeyError) as error:
        _log.warning("instances_unreadable", path=str(path), why=str(error))
        return {}
