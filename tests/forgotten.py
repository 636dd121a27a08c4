"""Snapshots' images of a run whose folder goes: removed as `sandbox-gym pool gc` removes them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import anyio

from sandbox_gym.config import Settings
from sandbox_gym.errors import SandboxGymError
from sandbox_gym.sandbox.containers.keepers import FOLDER_LABEL, KEEPER_LABEL, folder_of
from sandbox_gym.sandbox.containers.snapshots import AbandonedSnapshots
from sandbox_gym.sandbox.docker.provider import DockerProvider
from sandbox_gym.sandbox.registry import make_provider

PATIENCE_S = 30
"""A busy Engine removes one a second, and a run must not seem to hang; a later one goes on."""


def forget_snapshots(root: Path) -> None:
    """Also where an event loop runs. An environment without the SDK, such as that of tests/cluster, has made none."""
    if find_spec("docker") is None:
        return
    with ThreadPoolExecutor(1) as thread:
        thread.submit(anyio.run, _forget, root).result()


async def _forget(root: Path) -> None:
    """Those of state folders below `root`, also where a server of other mounts made them, and those whose folder is
    gone. Where no Engine answers there are none."""
    provider = make_provider(Settings(provider="docker"))
    source = provider.orphan_sources["docker snapshots"]
    assert isinstance(provider, DockerProvider)
    assert isinstance(source, AbandonedSnapshots)

    def below(client: Any) -> Iterator[str]:
        for image in client.api.images(filters={"label": FOLDER_LABEL}):
            if folder_of(image["Labels"]).is_relative_to(root):
                yield image["Labels"][KEEPER_LABEL]

    with suppress(SandboxGymError), anyio.move_on_after(PATIENCE_S):
        source.asked = await provider.engine.call(lambda client: frozenset(below(client)))
        for orphan in await source.orphans():
            with suppress(PermissionError):
                await source.remove(orphan)
    await provider.aclose()
