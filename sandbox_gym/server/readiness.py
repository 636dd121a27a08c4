"""What each kind of row needs of this machine, found out by using it: by a server before it listens, by `verify`
before its first row, and by `doctor`."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import anyio

from sandbox_gym.config import Settings
from sandbox_gym.contract import Program, Run
from sandbox_gym.errors import ConfigurationError, SandboxGymError
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.api import BUILDER_IMAGE, Capability, Provider, SandboxSpec
from sandbox_gym.sandbox.registry import make_provider

KINDS: Final = ("coding", "math", "swe")
START_DEADLINE_S: Final = 120.0
_IMAGES: Final = {"math": "math"}
"""What a kind's own programs run in, where that is not Python alone."""
_GIT: Final = Run("git", Program("exec", {}, argv=("git", "--version")), limits=Limits(cpu_time_s=10, wall_time_s=30))


async def check_ready(settings: Settings, kinds: Collection[str]) -> None:
    """Start a sandbox for each kind of row; other words stand for any sandbox at all. Raises ConfigurationError with
    what is missing and what to do."""
    provider = make_provider(settings)
    try:
        for kind in sorted(kinds):
            found = await readiness(provider, kind)
            if not found.works:
                why = "; ".join((found.detail, *await _remedies(provider, found)))
                raise ConfigurationError(f"no sandbox for {kind} starts here: {why}")
    finally:
        with anyio.CancelScope(shield=True):
            await provider.aclose()


async def _remedies(provider: Provider, found: Capability) -> list[str]:
    """The remedies that `doctor` has, those that the error does not name itself."""
    if found.remedy:
        return [found.remedy]
    with anyio.move_on_after(START_DEADLINE_S):
        rows = await provider.doctor.probe()
        return [row.remedy for row in rows if not row.works and row.remedy and row.remedy not in found.detail]
    return []


async def readiness(provider: Provider, kind: str) -> Capability:
    """Whether rows of a kind can be judged with this provider."""
    try:
        with anyio.fail_after(START_DEADLINE_S):
            await provider.doctor.check()
            if kind == "swe" and not provider.capabilities.others_images and provider.capabilities.runs_programs:
                return await _builds(provider)
            return await _starts(provider, kind)
    except TimeoutError:
        return Capability(kind, False, f"no sandbox started within {START_DEADLINE_S:.0f} s")
    except (SandboxGymError, OSError, ImportError) as error:
        return Capability(kind, False, str(error))


async def _starts(provider: Provider, kind: str) -> Capability:
    builds = kind == "swe" and await provider.has_image(BUILDER_IMAGE)
    sandbox = await provider.create(SandboxSpec(BUILDER_IMAGE if builds else _IMAGES.get(kind, "python")))
    isolation = sandbox.isolation
    await sandbox.aclose()
    found = f"isolation: {isolation}"
    if kind == "swe":
        recipes = "and of recipes" if builds else f"but no image {BUILDER_IMAGE}"
        found += f"; rows of published images, {recipes}"
    return Capability(kind, True, found)


async def _builds(provider: Provider) -> Capability:
    """Rows of recipes, which this machine builds itself with git."""
    sandbox = await provider.create(SandboxSpec(BUILDER_IMAGE))
    try:
        async with sandbox.run_all([_GIT]) as outcomes:
            said = await anext(aiter(outcomes))
        if said.exit_code != 0:
            return Capability("swe", False, "its sandboxes have no git", "install git (apt-get install git)")
        version = said.stdout.decode("utf-8", "replace").strip()[:60]
        return Capability("swe", True, f"isolation: {sandbox.isolation}; {version}; rows of recipes, not of images")
    finally:
        with anyio.CancelScope(shield=True):
            await sandbox.aclose()
