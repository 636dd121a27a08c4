"""The template builds of all tenants: which run, what they said, and the snapshots that come of them.

A build has no more rights than its tenant: its sandbox counts as one of the tenant's, its snapshot as one of theirs.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal

import anyio

from sandbox_gym.e2b_server.builds.shapes import BuildStep, RequestBuild, StartBuild
from sandbox_gym.e2b_server.builds.steps import Files, Log, Place, StepFailed, StepRunner, unheard
from sandbox_gym.e2b_server.builds.uploads import Uploads
from sandbox_gym.e2b_server.faults import Fault, fault_of
from sandbox_gym.e2b_server.sandboxes.images import clean, parsed
from sandbox_gym.e2b_server.sandboxes.manager import Sandboxes
from sandbox_gym.e2b_server.sandboxes.records import Image, Made
from sandbox_gym.e2b_server.sandboxes.sandbox import Sandbox, SandboxRequest
from sandbox_gym.e2b_server.sandboxes.templates import ROOT
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.channel.envd import USER
from sandbox_gym.server.access.accounts import Tenant, new_id

BUILD_S: Final = 3600.0
MAX_BUILDS: Final = 50
"""Of a tenant, that are remembered with their logs."""
MAX_LINES: Final = 20_000
MAX_LOG: Final = 1 << 21
"""Bytes of a build's log in memory."""
READY: Final = "sleep 20"
"""Where a start command comes without one that says when it is ready, as at E2B."""
_SLEEP: Final = re.compile(r"sleep [\d.]+")
_STAND_INS: Final = re.compile(
    r"(docker\.io/)?(library/)?(e2bdev/[a-z-]+|oven/bun|python|node|debian|ubuntu|fedora|alpine|archlinux)(:.*)?"
)
"""Images of E2B's own methods, which the pool's usual image stands for: none is pulled."""
_USUAL: Final = "base"


@dataclass(slots=True, eq=False)
class Build:
    """One build. Times in seconds since the epoch; log lines as (time, level, text, step)."""

    tenant: Tenant
    template_id: str
    name: str
    tags: tuple[str, ...]
    build_id: str = field(default_factory=lambda: str(uuid.uuid4()))
    status: Literal["waiting", "building", "ready", "error"] = "waiting"
    lines: list[tuple[float, str, str, str]] = field(default_factory=list)
    why: str = ""
    step: str = ""
    logged: int = 0
    full: bool = False

    def log(self, level: str, text: str) -> None:
        if self.full:
            return
        self.logged += sys.getsizeof(text)
        self.full = len(self.lines) >= MAX_LINES or self.logged > MAX_LOG
        if self.full:
            level, text = "warn", f"more than {MAX_LINES} lines or {MAX_LOG} bytes: the rest is left out"
        self.lines.append((time.time(), level, text, self.step))


class Builds:
    """Use one for all tenants of a pool."""

    def __init__(self, sandboxes: Sandboxes, folder: Path) -> None:
        self._sandboxes, self.images = sandboxes, sandboxes.images
        self.uploads = Uploads(folder)
        self._builds: dict[str, Build] = {}

    # -- requests

    def request(self, tenant: Tenant, asked: RequestBuild) -> Build:
        """Raises Fault 400 for a name or a tag that is none, 429."""
        name, tags = parsed(asked.name or asked.alias or "", asked.tags or [])
        known = self.images.of_template(tenant, name)
        pending = (one.template_id for one in self._of(tenant) if one.name == name)
        before = known[0].made.template_id if known else next(pending, "")
        build = Build(tenant, before or new_id("t"), name, tags or ("default",))
        self._forget_old(tenant)
        self._builds[build.build_id] = build
        return build

    def _of(self, tenant: Tenant) -> list[Build]:
        return [one for one in self._builds.values() if one.tenant.name == tenant.name]

    def _forget_old(self, tenant: Tenant) -> None:
        """Make room for one build more of the tenant. Raises Fault 429 where all run."""
        own = self._of(tenant)
        idle = sorted((one for one in own if one.status != "building"), key=lambda one: one.status == "waiting")
        if len(own) - len(idle) >= MAX_BUILDS:
            raise Fault(429, f"{MAX_BUILDS} builds run already", retry_after_s=60)
        for one in idle[: max(0, len(own) - MAX_BUILDS + 1)]:
            del self._builds[one.build_id]

    def of(self, tenant: Tenant, template_id: str, build_id: str) -> Build:
        """Raises Fault 404."""
        build = self._builds.get(build_id)
        if build is None or build.tenant.name != tenant.name or template_id not in (build.template_id, build.name):
            raise Fault(404, f"build {build_id[:40]!r} not found")
        return build

    def builds_of(self, tenant: Tenant, template: str) -> list[Image]:
        """Those of a template, by its name or id. Raises Fault 404 where there are none."""
        found = self.images.of_template(tenant, template)
        if not found:
            raise Fault(404, f"template {template[:80]!r} not found")
        return found

    def limits_of(self, image: Image) -> Limits:
        return self._sandboxes.machines.limits_of(image.image)

    def owns(self, tenant: Tenant, template_id: str) -> None:
        """Raises Fault 404 for a template without any build of the tenant."""
        if all(one.template_id != template_id for one in self._of(tenant)):
            self.builds_of(tenant, template_id)

    def start(self, build: Build, asked: StartBuild) -> None:
        """Raises Fault 409 for one that has started."""
        if build.status != "waiting":
            raise Fault(409, f"build {build.build_id} has started")
        build.status = "building"
        self._sandboxes.tasks.start_soon(self._run, build, asked)

    async def create(self, tenant: Tenant, asked: SandboxRequest) -> Sandbox:
        """A sandbox, with its template's start command running in it. Raises Fault, Unavailable."""
        image = self.images.find(tenant, asked.template)
        sandbox = await self._sandboxes.create(tenant, asked)
        if image is not None and image.made.start_cmd:
            try:
                await self._runner(sandbox, place_of(image.made)).begin(image.made.start_cmd, image.made.ready_cmd)
            except BaseException:
                with anyio.CancelScope(shield=True):
                    await self._sandboxes.kill(sandbox)
                raise
        return sandbox

    def _runner(self, sandbox: Sandbox, place: Place, log: Log = unheard, files: Files = Path) -> StepRunner:
        return StepRunner(sandbox, self._sandboxes.tasks, self._sandboxes.driver, place, log, files)

    # -- one build

    async def _run(self, build: Build, asked: StartBuild) -> None:
        try:
            with anyio.fail_after(min(BUILD_S, build.tenant.max_timeout_s)):
                await self._build(build, asked)
            build.log("info", "Build finished")
            build.status = "ready"
        except Exception as error:  # of this build alone
            while isinstance(error, ExceptionGroup):  # of what ran beside the start command
                error = error.exceptions[0]
            if isinstance(error, StepFailed):
                build.why, build.step = str(error), error.step
            else:
                late = isinstance(error, TimeoutError)
                build.why = "the build took too long" if late else fault_of(error).message
        finally:
            if build.status != "ready":
                build.log("error", build.why or "the server is stopping")
                build.status = "error"

    async def _build(self, build: Build, asked: StartBuild) -> None:
        build.step = "base"
        template = self._base(build, asked)
        try:
            image, base = await self._sandboxes.source(build.tenant, template)
        except Fault as error:
            raise StepFailed(error.message, "base") from None
        root = ROOT if self._sandboxes.machines.root and build.tenant.root else ""
        keys = recipe((base.snapshot_id if base is not None else image) + root, asked)
        done, cached = self._cached(build, asked, keys)
        if cached is not None:
            build.log("info", f"CACHED {done} of {len(asked.steps)} steps")
        start = cached or base
        begun = start.snapshot_id if start is not None else template
        request = SandboxRequest(template=begun, timeout_s=build.tenant.max_timeout_s, network=True)
        sandbox = await self._sandboxes.create(build.tenant, request)
        try:
            made = await self._steps(build, asked, sandbox, done, start)
            snapshot = await self._sandboxes.snapshot(build.tenant, sandbox, "")
            names = [f"{build.name}:{tag}" for tag in build.tags]
            built = replace(snapshot, made=replace(made, recipe=keys[-1]))
            await self._sandboxes.name(built, names)
        finally:
            with anyio.CancelScope(shield=True):
                await self._sandboxes.kill(sandbox)

    def _base(self, build: Build, asked: StartBuild) -> str:
        if asked.from_image is None:
            return asked.from_template or _USUAL
        if _STAND_INS.fullmatch(asked.from_image):
            build.log("warn", f"image {asked.from_image!r} is not pulled: this pool's {_USUAL!r} stands for it")
            return _USUAL
        return asked.from_image

    def _cached(self, build: Build, asked: StartBuild, keys: Sequence[str]) -> tuple[int, Image | None]:
        """(how many steps are done in it, a snapshot of an earlier build that began with the same steps)."""
        forced = next((at for at, step in enumerate(asked.steps) if step.force), len(asked.steps))
        usable = range(0 if asked.force else forced, 0, -1)
        known = {one.made.recipe: one for one in self.images.of(build.tenant) if one.made.recipe}
        return next(((done, known[keys[done]]) for done in usable if keys[done] in known), (0, None))

    async def _steps(self, build: Build, asked: StartBuild, sandbox: Sandbox, done: int, start: Image | None) -> Made:
        place = Place() if start is None else place_of(start.made)
        runner = self._runner(sandbox, place, build.log, partial(self.uploads.path, build.tenant))
        for at, step in enumerate(asked.steps):
            if at >= done:
                build.step = str(at + 1)
                build.log("info", f"[{at + 1}/{len(asked.steps)}] {step.type} {' '.join(step.args)[:500]}")
                await runner.run(step, build.step)
        build.step = "finalize"
        if asked.start_cmd:
            await runner.start(asked.start_cmd, asked.ready_cmd or READY)
        before = Made() if start is None or asked.start_cmd else start.made
        command, ready = asked.start_cmd or before.start_cmd, asked.ready_cmd or before.ready_cmd
        ready = "" if _SLEEP.fullmatch(ready) else ready  # it tells nothing of whether a sandbox is ready
        return Made(build.template_id, build.build_id, place.env, place.workdir, place.user, command, ready)

    # -- tags

    def tagged(self, tenant: Tenant, target: str) -> Image:
        """The build that a name, with or without a tag, or an id stands for. Raises Fault 404."""
        found = self.images.find(tenant, target)
        if found is None or not found.made.template_id:
            raise Fault(404, f"template {target[:80]!r} not found")
        return found

    def assign(self, tenant: Tenant, target: str, tags: Sequence[str]) -> tuple[Image, tuple[str, ...]]:
        """(the build, its new tags). Raises Fault 400, 404."""
        image = self.tagged(tenant, target)
        name = name_of(image)
        new = tuple(parsed(tag if ":" in tag else f"{name}:{tag}", [])[1][0] for tag in tags)
        self.images.tag(image, tuple(f"{name}:{tag}" for tag in new))
        return image, new

    def remove(self, tenant: Tenant, name: str, tags: Sequence[str]) -> None:
        """Raises Fault 404 unless the template has all of them."""
        own = clean(name).partition(":")[0]
        gone = [f"{own}:{clean(tag).rpartition(':')[2]}" for tag in tags]
        for one in gone:
            if self.images.named(tenant, one) is None:
                raise Fault(404, f"tag {one[:80]!r} not found")
        self.images.untag(tenant, frozenset(gone))


def place_of(made: Made) -> Place:
    """Where a template's build left off."""
    return Place(dict(made.env), made.workdir, made.user or USER)


def name_of(image: Image) -> str:
    """The template's name, of a build that has a tag; its id otherwise."""
    return image.names[0].partition(":")[0] if image.names else image.made.template_id


def recipe(base: str, asked: StartBuild) -> list[str]:
    """For each number of steps, a digest of the base and of so many steps."""
    keys = [hashlib.sha256(base.encode()).hexdigest()]
    for step in asked.steps:
        keys.append(hashlib.sha256((keys[-1] + _text(step)).encode()).hexdigest())
    return keys


def _text(step: BuildStep) -> str:
    return json.dumps([step.type, step.args, step.files_hash])
