"""Images with what a builder asks for beyond its own: Debian packages, and an interpreter that this machine has.

The one thing that is done as root and with a network: by the Engine's build, of Debian's signed packages, with nothing
of a row in it but names that were checked. Such an image has no name, so that it goes with the last snapshot on it; the
Engine's cache has its steps meanwhile. Those that no snapshot was made of go a week later, at another build.
"""

from __future__ import annotations

import re
import tarfile
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

import anyio.to_thread

from sandbox_gym.errors import InstanceFailed, ToolchainMissing
from sandbox_gym.sandbox import pythons
from sandbox_gym.sandbox.docker.engine import Engine
from sandbox_gym.sandbox.pythons import PLACE, in_box, minor
from sandbox_gym.sandbox.snapshots import FORGOTTEN_S

BUILD_S: Final = 2700.0
SILENCE_S: Final = 900.0
"""Without a word of the build's."""
_CHECK_S: Final = 60
_SAID: Final = 600
_PACKAGE: Final = re.compile(r"[a-z0-9][a-z0-9+.-]*[a-z0-9+.]")
_LABEL: Final = "sandbox-gym.additions"
_SMOKE: Final = "/usr/local/share/sandbox-gym/smoke-swe.py"


async def with_additions(engine: Engine, reference: str, packages: Sequence[str], python: str) -> str:
    """The image itself where nothing is missing, else the id of one on top of it. Raises InstanceFailed where the
    packages can't be had, ToolchainMissing for an interpreter that neither the image nor this machine has,
    ProviderDown."""
    copied = None
    if python and not await engine.ask(lambda client: _has_python(client, reference, python)):
        try:
            copied = await anyio.to_thread.run_sync(pythons.ready, python)
        except ToolchainMissing as error:
            raise ToolchainMissing(f"image {reference} has no Python {minor(python)}, and {error}") from error
    if not packages and copied is None:
        return reference
    return await engine.ask(lambda _client: _build(engine, _dockerfile(reference, packages, copied), copied))


def _has_python(client: Any, reference: str, version: str) -> bool:
    """Blocking."""
    there = f"[ -x {in_box(version)} ] || [ -x /usr/bin/python{minor(version)} ]"
    container = client.containers.create(reference, ["/bin/sh", "-c", there], entrypoint=[], network_mode="none")
    try:
        container.start()
        return bool(container.wait(timeout=_CHECK_S)["StatusCode"] == 0)
    finally:
        container.remove(force=True)


def _dockerfile(reference: str, packages: Sequence[str], copied: Path | None) -> str:
    wrong = [name for name in packages if not _PACKAGE.fullmatch(name)]
    if wrong or not reference or not reference.isprintable() or " " in reference:
        raise InstanceFailed(f"no image is made of {reference[:200]!r} and packages {wrong[:3]}")
    lines = [f"FROM {reference}", f"LABEL {_LABEL}=1", "USER 0:0"]
    if copied is not None:
        lines += [f"COPY python {PLACE}/{copied.name}", f'RUN ["{in_box(copied.name)}", "-I", "{_SMOKE}"]']
    if packages:
        folders = (
            "mkdir -p $(seq -f /usr/share/man/man%g 8)"  # slim images have none, and Java's scripts make links there
        )
        install = f"DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends {' '.join(packages)}"
        removed = "rm -rf /var/lib/apt/lists/* /var/cache/apt/archives/*.deb"
        lines.append(f"RUN {folders} && apt-get update && {install} && {removed}")
    return "\n".join(lines) + "\n"


def _build(engine: Engine, dockerfile: str, copied: Path | None) -> str:
    """Blocking; the image's id."""
    until, image_id, said = time.monotonic() + BUILD_S, "", ""
    client = engine.patient(SILENCE_S)
    try:
        _forget_unused(engine, client)
        with tempfile.TemporaryFile() as context:
            _pack(context, dockerfile, copied)
            events = client.api.build(
                fileobj=context, custom_context=True, rm=True, forcerm=True, network_mode="host", decode=True,
                use_config_proxy=True,
            )  # fmt: skip
            for event in events:
                said = (said + str(event.get("stream") or event.get("error") or ""))[-_SAID:]
                if "error" in event:
                    raise InstanceFailed(f"its image can't be built ({_asked(dockerfile)}): {said.strip()}")
                if time.monotonic() > until:
                    raise InstanceFailed(f"its image was not built within {BUILD_S:.0f} s ({_asked(dockerfile)})")
                image_id = _id_in(event) or image_id
    finally:
        client.close()
    if not image_id:
        raise InstanceFailed(f"its image can't be built ({_asked(dockerfile)}): the Engine named none; {said.strip()}")
    return image_id


def _forget_unused(engine: Engine, client: Any) -> None:
    """Blocking. Images of builds that failed or were given up; not one that a container or a snapshot is made of."""
    with suppress(*engine.errors):
        for image in client.api.images(filters={"dangling": True, "label": _LABEL}):
            if image["Created"] < time.time() - FORGOTTEN_S:
                with suppress(engine.api_error):
                    client.api.remove_image(image["Id"])


def _pack(context: IO[bytes], dockerfile: str, copied: Path | None) -> None:
    with tempfile.NamedTemporaryFile() as file, tarfile.open(fileobj=context, mode="w") as tar:
        file.write(dockerfile.encode())
        file.flush()
        tar.add(file.name, "Dockerfile", filter=partial(_owned, mode=0o644))
        if copied is not None:
            tar.add(copied, "python", filter=_owned)
    context.seek(0)


def _owned(entry: tarfile.TarInfo, *, mode: int | None = None) -> tarfile.TarInfo:
    entry.uid = entry.gid = 0
    entry.mode = entry.mode if mode is None else mode
    return entry


def _id_in(event: Mapping[str, Any]) -> str:
    aux = event.get("aux")
    return str(aux.get("ID") or "") if isinstance(aux, Mapping) else ""


def _asked(dockerfile: str) -> str:
    return "; ".join(line for line in dockerfile.splitlines() if line.startswith(("FROM", "COPY", "RUN apt")))[:300]
