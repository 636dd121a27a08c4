"""Instances: each recipe or image is built once, kept as a snapshot, and begun from as often as it is asked for.

Owns which snapshot an instance is and when it goes. Knows neither HTTP nor what a patch is worth.
"""

from __future__ import annotations

import json
import shlex
import time
import weakref
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field, replace
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
from sandbox_gym.sandbox.session.session import Session, open_session
from sandbox_gym.sandbox.snapshots import NoSuchSnapshot
from sandbox_gym.swe.causes import cause_of, last_words
from sandbox_gym.swe.pip_settings import BUNDLE, certificates, pip_settings
from sandbox_gym.swe.published import BUG, PYTHON_STEP, adoption, enter, hide_steps, image_key, image_steps
from sandbox_gym.swe.recipes import ENVIRONMENT, REPOSITORY, BuildStep, recipe_steps, where_sessions_begin
from sandbox_gym.swe.store_lock import take
from sandbox_gym.verifiers.swe import Recipe, SweTask

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
_ENTER_S: Final = 120.0
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
    """The interpreter that the repository is installed for; empty where its image has none."""
    size_bytes: int
    build_s: float
    last_used: float
    tests_snapshot_id: str = ""
    """What verdicts begin from, where agents' sessions lack the tests; empty: the same snapshot."""
    helper: str = ""
    """The interpreter of our own programs; empty: the repository's."""
    env: Mapping[str, str] = field(default_factory=dict)
    """The environment that an image's programs expect."""

    @property
    def snapshots(self) -> tuple[str, ...]:
        """Every one that it consists of."""
        return (self.snapshot_id, *([self.tests_snapshot_id] if self.tests_snapshot_id else []))


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
        sessions.budget.pinned.update(snapshot for one in self._known.values() for snapshot in one.snapshots)
        if isinstance(sessions.provider, PullsImages):
            sessions.provider.images.holders.add(self)

    def stats_dict(self) -> dict[str, int]:
        """Counters and gauges by name."""
        used = sum(one.size_bytes for one in self._known.values())
        kept = {"kept": len(self._known), "disk_bytes": used}
        return {"built": self.built, "reused": self.reused, "evicted": self.evicted, **kept}

    def of_snapshot(self, snapshot_id: str) -> Instance | None:
        """The instance that a snapshot is."""
        return next((one for one in self._known.values() if snapshot_id in one.snapshots), None)

    def kept(self) -> list[Instance]:
        """Every instance that is built."""
        return list(self._known.values())

    def is_built(self, task: SweTask) -> bool:
        """Whether it was built before, by this process or an earlier one."""
        return instance_key(task) in self._known

    async def ensure(self, task: SweTask) -> Instance:
        """The task's instance, built unless it is kept; of many callers at once the first has it built.

        Raises InstanceFailed, ProviderDown, BoxLost, ToolchainMissing, ImageNotPulled.
        """
        instance = await self._ensured(task)
        if task.runner != "log" and not instance.python:  # which rows without need of it may have had built
            raise InstanceFailed(f"image {task.image} has no python on its PATH, which the row's tests are run with")
        return instance

    async def _ensured(self, task: SweTask) -> Instance:
        key = instance_key(task)
        async with self._locks.setdefault(key, anyio.Lock()):
            known = self._known.get(key)
            if known is not None and await self._is_there(known):
                self.reused += 1
                return self._touch(known)
            async with self._with_image(image_of(task)), self._builds:
                built = await self._build(key, task)
            self.built += 1
            self._sessions.budget.pinned.update(built.snapshots)
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
            for snapshot_id in instance.snapshots:
                await self._sessions.store.find(snapshot_id)
        except NoSuchSnapshot:
            return False
        return True

    def _touch(self, instance: Instance) -> Instance:
        fresh = replace(instance, last_used=time.time())
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
        lock = self._locks.get(one.key) if one is not None else None
        busy = lock is not None and lock.statistics().locked
        if one is None or busy or not set(one.snapshots).isdisjoint(self._sessions.bases().values()):
            return False
        await self._drop(one)
        self._write_index()
        return True

    # -- building

    async def _build(self, key: str, task: SweTask) -> Instance:
        started = time.monotonic()
        _log.info("instance_build", instance=task.instance_id, image=image_of(task))
        make = _build_from_image if task.recipe is None else _build_from_recipe
        for last in (False, True):
            box = await open_session(self._sessions.provider, self._spec(task))
            try:
                built = await make(key, task, box)
                break
            except BoxLost as error:
                if last:
                    raise
                _log.warning("instance_build_repeated", instance=task.instance_id, why=str(error))
            finally:
                await box.aclose()
        took = time.monotonic() - started
        _log.info("instance_built", instance=task.instance_id, seconds=round(took, 1), bytes=built.size_bytes)
        return replace(built, build_s=took, last_used=time.time())

    def _spec(self, task: SweTask) -> SandboxSpec:
        """Raises RequestError for an image where there are none."""
        recipe = task.recipe
        if recipe is not None:
            image = recipe.base_image or BUILDER_IMAGE
            return SandboxSpec(image, "builder", BUILD_LIMITS, MACHINES_NETWORK, recipe.python)
        provider = self._sessions.provider
        if not provider.capabilities.others_images:
            problem = f"is the image {task.image[:200]!r}, and provider {provider.name} begins from no images of others"
            raise RequestError("row.image", problem, "serve with provider docker, or give an environment recipe")
        return SandboxSpec(task.image, "builder", BUILD_LIMITS, MACHINES_NETWORK, adoption=adoption(task))


async def _build_from_recipe(key: str, task: SweTask, box: Session) -> Instance:
    recipe, client = task.recipe, SessionClient(box)
    assert recipe is not None
    workdir = REPOSITORY if recipe.source or recipe.files else task.workdir
    pip = await anyio.to_thread.run_sync(pip_settings)
    await _write_files(client, recipe)
    for step in recipe_steps(recipe, pip):
        await _do(client, step, task.instance_id)
    commit = await _commit_of(client, workdir, task.instance_id)
    await _enter(box, where_sessions_begin(workdir, recipe), task.instance_id)
    kept = await box.snapshot()
    return Instance(key, kept.snapshot_id, commit, workdir, f"{ENVIRONMENT}/bin/python", kept.size_bytes, 0.0, 0.0)


async def _build_from_image(key: str, task: SweTask, box: Session) -> Instance:
    client = SessionClient(box)
    await _enter(box, enter(task), task.instance_id)
    if task.patch_is_bug and task.patch:
        await client.write_file(BUG, task.patch.encode("utf-8", "surrogateescape"))
    for step in image_steps(task):
        await _do(client, step, task.instance_id)
    python, helper = (await _do(client, PYTHON_STEP, task.instance_id)).splitlines()[:2] or ("", "")
    commit = await _commit_of(client, task.workdir, task.instance_id)
    kept = agents = await box.snapshot()
    hiding = hide_steps(task)
    for step in hiding:
        await _do(client, step, task.instance_id)
    if hiding:
        agents = await box.snapshot()
    size = kept.size_bytes + (agents.size_bytes if hiding else 0)
    tests = kept.snapshot_id if hiding else ""
    return Instance(
        key, agents.snapshot_id, commit, task.workdir, python, size, 0.0, 0.0, tests, helper, dict(kept.env)
    )


async def _commit_of(client: SessionClient, workdir: str, instance_id: str) -> str:
    asked = BuildStep("commit id", f"git -C {shlex.quote(workdir)} rev-parse HEAD", 60)
    return (await _do(client, asked, instance_id)).strip()


def instance_key(task: SweTask) -> str:
    """Equal recipes are one instance; an image is one too."""
    return task.recipe.key() if task.recipe is not None else image_key(task)


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


async def _write_files(client: SessionClient, recipe: Recipe) -> None:
    files = {f"{REPOSITORY}/{path}": text.encode() for path, text in recipe.files.items()}
    bundle = certificates()
    if bundle is not None:
        files[BUNDLE] = await anyio.to_thread.run_sync(bundle.read_bytes)
    try:
        for path, data in files.items():
            await client.write_file(path, data)
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
