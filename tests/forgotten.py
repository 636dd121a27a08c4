"""What runs of the tests left: folders of those that failed or were killed, snapshots' images of all that went."""

from __future__ import annotations

import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
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

PREFIXES = ("sg-", "sandbox-gym-tests-")
"""Of a run's temporary folder (tests/conftest.py) and of its state folder (conftest.py)."""
PATIENCE_S = 30
"""A busy Engine removes one a second, and a run must not seem to hang; a later one goes on."""
KEPT_S = 2 * 86_400
"""How long what a failed run left can be looked at."""


def forget_folders() -> None:
    """Those of earlier runs; no run takes so long. A mount in one stays, and so does what is above it."""
    for prefix in PREFIXES:
        for folder in Path(tempfile.gettempdir()).glob(f"{prefix}{'?' * 8}"):  # as mkdtemp names them
            with suppress(FileNotFoundError):
                found = folder.lstat()
                if found.st_mode == stat.S_IFDIR | stat.S_IRWXU and found.st_mtime < time.time() - KEPT_S:
                    remove_folder(folder)


def remove_folder(folder: Path) -> None:
    """All of it that is on its own file system."""
    subprocess.run(["rm", "-rf", "--one-file-system", folder], check=False, stderr=subprocess.DEVNULL)


def is_over(folder: Path) -> bool:
    """Whether a state folder belonged to a run whose temporary folder is gone."""
    return any(one.name.startswith(PREFIXES) and not one.exists() for one in (folder, *folder.parents))


def forget_snapshots(*roots: Path) -> None:
    """Also where an event loop runs. An environment without the SDK, such as that of tests/cluster, has made none."""
    if find_spec("docker") is None:
        return
    with ThreadPoolExecutor(1) as thread:
        thread.submit(anyio.run, _forget, roots).result()


async def _forget(roots: Sequence[Path]) -> None:
    """Those of state folders below `roots` and of runs that are over, whatever saw their disk (a server of other
    mounts, the machine before its last start), and those whose folder is gone. Where no Engine answers there are none.
    """
    provider = make_provider(Settings(provider="docker"))
    source = provider.orphan_sources["docker snapshots"]
    assert isinstance(provider, DockerProvider)
    assert isinstance(source, AbandonedSnapshots)

    def of_runs(client: Any) -> Iterator[str]:
        for image in client.api.images(filters={"label": FOLDER_LABEL}):
            folder = folder_of(image["Labels"])
            if is_over(folder) or any(map(folder.is_relative_to, roots)):
                yield image["Labels"][KEEPER_LABEL]

    with suppress(SandboxGymError), anyio.move_on_after(PATIENCE_S):
        source.asked = await provider.engine.call(lambda client: frozenset(of_runs(client)))
        for orphan in await source.orphans():
            with suppress(PermissionError):
                await source.remove(orphan)
    await provider.aclose()
