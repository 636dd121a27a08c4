"""A process that holds sandboxes until it is killed: `python -m tests.engine.holder PROVIDER [no-mounts]`.

Says on stdout, as one JSON line, what it holds outside itself.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile

import anyio
import structlog

from sandbox_gym.config import Settings
from sandbox_gym.engine import open_engine
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.cleanup.owner import held_lease, this_owner
from sandbox_gym.sandbox.cleanup.reaper import Reaper, Swept
from sandbox_gym.sandbox.containers import ownership
from sandbox_gym.sandbox.docker import orphans
from sandbox_gym.sandbox.docker.machine import DockerMachine
from sandbox_gym.sandbox.local.machine import LocalMachine
from sandbox_gym.sandbox.registry import make_provider


async def hold(provider: str, mounts: bool) -> None:
    settings = Settings(provider=provider)
    maker = make_provider(settings)
    held: dict[str, object] = {"owner": str(this_owner())}
    swept = anyio.Event()
    sweep = Reaper.sweep

    async def sweep_and_say(reaper: Reaper) -> Swept:
        try:
            return await sweep(reaper)
        finally:
            swept.set()

    Reaper.sweep = sweep_and_say  # type: ignore[method-assign,assignment]
    async with open_engine(settings):
        await swept.wait()  # its first sweep must not meet what its test does next
        machines = [(await maker.create(SandboxSpec())).machine for _ in range(2)]
        held["pids"] = [one.pid for one in machines if isinstance(one, LocalMachine)]
        held["groups"] = [
            str(folder)
            for one in machines
            if isinstance(one, LocalMachine) and one.group
            for folder in one.group.folders.values()
        ]
        held["containers"] = [str(one.container.id) for one in machines if isinstance(one, DockerMachine)]
        if provider == "docker":
            held |= in_engine()
        with held_lease(settings.state_dir) as lease:
            scratch = lease.scratch()
            (scratch / "inner").mkdir()
            (scratch / "file").write_text("x")
            for name in ("a", "b") if mounts else ():  # one mounted over the other
                subprocess.run(["mount", "-t", "tmpfs", name, str(scratch / "inner")], check=True)
            held["scratch"] = str(scratch)
            print(json.dumps(held), flush=True)  # noqa: T201
            await anyio.sleep_forever()


def in_engine() -> dict[str, str]:
    """A volume and an image, labelled as ours and temporary."""
    import docker

    api = docker.from_env().api
    labels = ownership.labels(60) | {orphans.TEMPORARY: "1"}
    volume = api.create_volume(labels=labels)["Name"]
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        tar.addfile(tarfile.TarInfo(labels[ownership.OWNER]))
    changes = [f"LABEL {key}={value}" for key, value in labels.items()]
    answer = api.import_image_from_data(archive.getvalue(), changes=changes)
    return {"volume": volume, "image": json.loads(answer)["status"]}


if __name__ == "__main__":
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))
    anyio.run(hold, sys.argv[1], "no-mounts" not in sys.argv)
