"""Builds layers and instances: which sandbox each begins from, which steps run in it, what is kept of it.

Owns one build from its sandbox to its snapshot. Knows neither which are kept nor for how long.
"""

from __future__ import annotations

import hashlib
import shlex
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import anyio.to_thread
import structlog

from sandbox_gym.contract import SnapshotRef
from sandbox_gym.errors import BoxLost, InstanceFailed, ProviderDown, RequestError
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.network import MACHINES_NETWORK
from sandbox_gym.sandbox.api import BUILDER_IMAGE, Provider, SandboxSpec
from sandbox_gym.sandbox.session.client import Command, FileProblem, SessionClient
from sandbox_gym.sandbox.session.manager import GRACE_S
from sandbox_gym.sandbox.session.session import Session, open_session
from sandbox_gym.sandbox.snapshots import SnapshotFailed
from sandbox_gym.swe.build_log import BuildLog, cause_of, last_words
from sandbox_gym.swe.pip_settings import BUNDLE, certificates, pip_settings
from sandbox_gym.swe.published import BUG, PYTHON_STEP, adoption, enter, hide_steps, image_key, image_steps
from sandbox_gym.swe.recipes import (
    ENVIRONMENT,
    REPOSITORY,
    BuildStep,
    environment_of,
    environment_steps,
    repository_steps,
    where_sessions_begin,
)
from sandbox_gym.verifiers.swe import Recipe, SweTask, patch_bytes

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
LAYER_FORM: Final = 1
"""Of an environment's layer; one of another form is built anew."""
STEP_BYTES: Final = MIB
"""Of a step's output that are kept: its beginning and its end."""
_SHOWN: Final = 200
_ENTER_S: Final = 120.0
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Instance:
    """A built instance, or the layer that instances were built on. Paths are the box's."""

    key: str
    snapshot_id: str
    commit: str
    """The one commit that the repository has; empty for a layer, which has none."""
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
    layer: str = ""
    """The key of the layer that it was built on."""

    @property
    def snapshots(self) -> tuple[str, ...]:
        """Every one that it consists of."""
        return (self.snapshot_id, *([self.tests_snapshot_id] if self.tests_snapshot_id else []))


def instance_key(task: SweTask) -> str:
    """Equal recipes are one instance; an image is one too."""
    return task.recipe.key() if task.recipe is not None else image_key(task)


def layer_key(recipe: Recipe) -> str:
    """Recipes with equal environments share one."""
    digest = hashlib.sha256(f"{LAYER_FORM} {environment_of(recipe).key()}".encode()).hexdigest()
    return f"layer:{digest}"


def image_of(task: SweTask) -> str:
    """What its instance is built on: a dataset's image, or one of our own."""
    return task.image or (task.recipe.base_image if task.recipe is not None else "") or BUILDER_IMAGE


class Builder:
    """Builds with one provider's sandboxes. A lost sandbox is tried once more. Every method raises InstanceFailed,
    ProviderDown, BoxLost and what making a sandbox raises."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider

    async def layer(self, task: SweTask, log: BuildLog) -> Instance:
        """The environment of a task's recipe, without its repository."""
        recipe = task.recipe
        assert recipe is not None
        check = not self._provider.capabilities.system_packages
        spec = _spec(recipe.base_image or BUILDER_IMAGE, recipe)

        async def build(box: Session) -> Instance:
            pip = await _with_certificates(box)
            for step in environment_steps(recipe, pip, check_packages=check):
                await run_step(SessionClient(box), step, task.instance_id, log)
            kept = await box.snapshot()
            return Instance(layer_key(recipe), kept.snapshot_id, "", "", "", kept.size_bytes, 0.0, 0.0)

        return await self._built(task, spec, build, log)

    async def from_recipe(self, task: SweTask, layer: Instance, log: BuildLog) -> Instance:
        """The repository in its environment."""
        recipe = task.recipe
        assert recipe is not None
        workdir = REPOSITORY if recipe.source or recipe.files else task.workdir

        async def build(box: Session) -> Instance:
            client, pip = SessionClient(box), await _with_certificates(box)
            await _write(client, {f"{REPOSITORY}/{path}": text.encode() for path, text in recipe.files.items()})
            for step in repository_steps(recipe, pip):
                await run_step(client, step, task.instance_id, log)
            commit = await _commit_of(client, workdir, task.instance_id, log)
            await _enter(box, where_sessions_begin(workdir, recipe), task.instance_id)
            kept, python = await box.snapshot(), f"{ENVIRONMENT}/bin/python"
            size, key = kept.size_bytes, instance_key(task)
            return Instance(key, kept.snapshot_id, commit, workdir, python, size, 0.0, 0.0, layer=layer.key)

        return await self._built(task, _spec(SnapshotRef(layer.snapshot_id), recipe), build, log)

    async def from_image(self, task: SweTask, log: BuildLog) -> Instance:
        """The repository as a dataset's image has it. Raises RequestError for an image where there are none."""
        if not self._provider.capabilities.others_images:
            problem = f"is the image {task.image[:200]!r}, and provider {self._provider.name} begins from no images"
            remedy = "serve with provider docker, or give an environment recipe"
            raise RequestError("row.image", f"{problem} of others", remedy)
        spec = SandboxSpec(task.image, "builder", BUILD_LIMITS, MACHINES_NETWORK, adoption=adoption(task))
        return await self._built(task, spec, lambda box: _adopted(task, box, log), log)

    async def _built(
        self, task: SweTask, spec: SandboxSpec, build: Callable[[Session], Awaitable[Instance]], log: BuildLog
    ) -> Instance:
        started = time.monotonic()
        await log.note(f"== sandbox: {spec.source} with provider {self._provider.name}")
        try:
            built = await self._in_box(spec, task, build)
        except BoxLost as error:
            _log.warning("instance_build_repeated", instance=task.instance_id, why=str(error))
            await log.note(f"== once more: {error}")
            built = await self._in_box(spec, task, build)
        took = time.monotonic() - started
        await log.note(f"== kept after {took:.1f} s: {built.size_bytes} bytes")
        return replace(built, build_s=took, last_used=time.time())

    async def _in_box(
        self, spec: SandboxSpec, task: SweTask, build: Callable[[Session], Awaitable[Instance]]
    ) -> Instance:
        box = await open_session(self._provider, spec)
        try:
            return await build(box)
        except SnapshotFailed as error:
            raise InstanceFailed(f"building {task.instance_id}: what was built can't be kept: {error}") from error
        finally:
            await box.aclose()


def _spec(source: str | SnapshotRef, recipe: Recipe) -> SandboxSpec:
    packages = recipe.system_packages
    return SandboxSpec(source, "builder", BUILD_LIMITS, MACHINES_NETWORK, recipe.python, system_packages=packages)


async def _adopted(task: SweTask, box: Session, log: BuildLog) -> Instance:
    client = SessionClient(box)
    await _enter(box, enter(task), task.instance_id)
    if task.patch_is_bug and task.patch:
        await client.write_file(BUG, patch_bytes(task.patch))
    for step in image_steps(task):
        await run_step(client, step, task.instance_id, log)
    python, helper = (await run_step(client, PYTHON_STEP, task.instance_id, log)).splitlines()[:2] or ("", "")
    commit = await _commit_of(client, task.workdir, task.instance_id, log)
    kept = agents = await box.snapshot()
    hiding = hide_steps(task)
    for step in hiding:
        await run_step(client, step, task.instance_id, log)
    if hiding:
        agents = await box.snapshot()
    size = kept.size_bytes + (agents.size_bytes if hiding else 0)
    tests, env = kept.snapshot_id if hiding else "", dict(kept.env)
    key = instance_key(task)
    return Instance(key, agents.snapshot_id, commit, task.workdir, python, size, 0.0, 0.0, tests, helper, env)


async def _commit_of(client: SessionClient, workdir: str, instance_id: str, log: BuildLog) -> str:
    asked = BuildStep("commit id", f"git -C {shlex.quote(workdir)} rev-parse HEAD", 60)
    return (await run_step(client, asked, instance_id, log)).strip()


async def run_step(client: SessionClient, step: BuildStep, instance_id: str, log: BuildLog) -> str:
    """What a step printed. Raises InstanceFailed with the cause of it where it failed."""
    what = f"step {step.name}" + (f" ({step.shown[:_SHOWN]})" if step.shown else "")
    argv = ("/bin/bash", "-c", f"exec 2>&1\n{step.command}")
    started = time.monotonic()
    await log.note(f"== {what}")
    try:
        ran = await client.exec(Command(argv, step.timeout_s, stdout_bytes=STEP_BYTES, keep_background=True))
    except RequestError as error:
        raise InstanceFailed(f"building {instance_id}: {what} can't be run: {error}") from error
    text = ran.stdout.decode("utf-8", "replace")
    cut = f"{ran.stdout_cut_bytes} bytes of its middle are left out; " if ran.stdout_cut_bytes else ""
    await log.note(f"{text}\n== {cut}exit code {ran.exit_code} after {time.monotonic() - started:.1f} s")
    if ran.timed_out:
        how = f"was given up after {step.timeout_s:.0f} s, its time limit; its last words: {last_words(text)}"
        raise InstanceFailed(f"building {instance_id}: {what} {how}")
    if ran.exit_code != 0:
        _log.debug("instance_step_failed", instance=instance_id, step=step.name, output=text)
        raise InstanceFailed(f"building {instance_id}: {what} failed: {cause_of(text)}")
    return text


async def _enter(box: Session, command: str, instance_id: str) -> None:
    """Have the session's own shell run a command, so that the snapshot has its folder and variables."""
    request = {"op": "bash", "timeout_s": _ENTER_S, "output_bytes": 4096}
    reply, body = await box.call(request, command.encode(), within_s=_ENTER_S + GRACE_S)
    if reply.get("exit_code") != 0:
        said = body.decode("utf-8", "replace")[:_SHOWN]
        raise InstanceFailed(f"building {instance_id}: its repository can't be entered: {said}")


async def _with_certificates(box: Session) -> Mapping[str, str]:
    """Bring this machine's certificates; its settings for pip."""
    bundle = certificates()
    if bundle is not None:
        await _write(SessionClient(box), {BUNDLE: await anyio.to_thread.run_sync(bundle.read_bytes)})
    return await anyio.to_thread.run_sync(pip_settings)


async def _write(client: SessionClient, files: Mapping[str, bytes]) -> None:
    try:
        for path, data in files.items():
            await client.write_file(path, data)
    except FileProblem as error:
        raise ProviderDown(f"a build's sandbox can't be written to: {error}") from error
