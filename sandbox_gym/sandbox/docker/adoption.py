"""Containers of images that others built: the guest's own interpreter in them, and what root does there first.

The interpreter is the image `guest`'s, kept in a volume that such containers mount read-only, so that an image needs no
Python, and an Engine on another machine no folder of this one.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.resources import files
from typing import Any, Final

import anyio

from sandbox_gym.errors import InstanceFailed, ProviderDown
from sandbox_gym.sandbox.api import Adoption
from sandbox_gym.sandbox.channel.driver import WORK
from sandbox_gym.sandbox.docker.engine import BUILD_IMAGES, Engine
from sandbox_gym.sandbox.docker.machine import DockerMachine

FOLDER: Final = "/opt/sandbox-gym/guest"
TEMPLATE_LABEL: Final = "sandbox-gym.template"
"""The user whose files an image holds that was adopted when it was built."""
PYTHON: Final = f"{FOLDER}/bin/python3"
ADOPT_S: Final = 1800.0
"""For an image of hundreds of thousands of files on a slow disk."""


class GuestVolume:
    """The volume with the interpreter. It is filled by the Engine when a container of the image is made with it."""

    def __init__(self, engine: Engine, image: str) -> None:
        self._engine, self._image = engine, image
        self._name = ""
        self._lock = anyio.Lock()

    async def name(self) -> str:
        """Raises ProviderDown."""
        async with self._lock:
            if not self._name:
                self._name = await self._filled()
            return self._name

    async def _filled(self) -> str:
        try:
            return await self._engine.raw_call(self._fill)
        except self._engine.image_missing as error:
            what = f"image {self._image} is missing, with which datasets' images are run; {BUILD_IMAGES}"
            raise ProviderDown(what) from error
        except self._engine.errors as error:
            raise ProviderDown(f"the guest's volume can't be made: {str(error)[:500]}") from error

    def _fill(self, client: Any) -> str:
        """Blocking. What another process has filled is not filled again."""
        image = client.images.get(self._image)
        name = f"sandbox-gym-guest-{image.id.removeprefix('sha256:')[:16]}"
        container = client.containers.create(image.id, mounts=[self.mount(name, read_only=False)], network_mode="none")
        container.remove()
        return name

    def mount(self, name: str, *, read_only: bool = True) -> Any:
        """For a container that uses it, or fills it."""
        return self._engine.sdk.types.Mount(FOLDER, name, type="volume", read_only=read_only, no_copy=read_only)


async def adopted_for(engine: Engine, reference: str) -> int | None:
    """The `uid` of `ContainerSpec` for an image that says it was adopted when it was built (swe/published.py);
    None for one of our own, and for one that is missing. Raises ProviderDown."""

    def labels(client: Any) -> Mapping[str, str]:
        try:
            return dict(client.api.inspect_image(reference)["Config"]["Labels"] or {})
        except engine.not_found:
            return {}

    found = (await engine.call(labels)).get(TEMPLATE_LABEL, "")
    return int(found) - 1 if found.isascii() and found.isdigit() and 0 < len(found) < 10 else None


async def adopt(engine: Engine, machine: DockerMachine, adoption: Adoption, image: str) -> None:
    """Make an image's container fit for its session. Raises InstanceFailed where the image is to blame,
    ProviderDown."""
    source = files("sandbox_gym.guest").joinpath("adopt.py").read_text(encoding="utf-8")
    job = json.dumps({**asdict(adoption), "uid": machine.session_uid, "work": WORK})
    said = await _as_root(engine, machine, (PYTHON, "-I", "-c", source, job))
    if said:
        raise InstanceFailed(f"image {image} can't be used: {said}")


async def _as_root(engine: Engine, machine: DockerMachine, argv: Sequence[str]) -> str:
    """What a command said that failed; empty for one that did not."""
    container_id = str(machine.container.id)
    made = await engine.call(lambda client: client.api.exec_create(container_id, list(argv), user="0:0", stdin=False))
    exec_id = str(made["Id"])
    said = bytearray()

    until = time.monotonic() + ADOPT_S

    def read(client: Any) -> None:
        for piece in client.api.exec_start(exec_id, stream=True):
            said.extend(piece[: 1 << 16])
            del said[: -(1 << 16)]
            if time.monotonic() > until:
                raise InstanceFailed(f"an image was not made fit for sessions within {ADOPT_S:.0f} s")

    await engine.call(read)  # it says something now and then, so that the Engine's silence is no timeout
    found: Mapping[str, Any] = await engine.call(lambda client: client.api.exec_inspect(exec_id))
    text = said.decode("utf-8", "replace").strip()
    return "" if found.get("ExitCode") == 0 else (text[-500:] or f"exit code {found.get('ExitCode')}")
