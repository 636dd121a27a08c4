"""What is Podman's alone: what dead owners leave in its storage, and what it knows of a container that was killed."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.errors import BoxLost, ProviderDown
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.api import Provider, SandboxSpec
from sandbox_gym.sandbox.cleanup.owner import this_owner
from sandbox_gym.sandbox.containers import ownership
from sandbox_gym.sandbox.registry import make_provider
from tests.conformance.running import run

pytestmark = [pytest.mark.anyio, pytest.mark.extended, pytest.mark.timeout(120)]

WRITABLE = """
import os
for folder, _, _ in os.walk("/"):
    if not folder.startswith(("/proc", "/sys", "/scratch/")) and os.access(folder, os.W_OK): print(folder)
"""


def podman(*words: str) -> str:
    return subprocess.run(["podman", *words], capture_output=True, text=True, check=True).stdout


@pytest.fixture
async def provider(tmp_path: Path) -> AsyncIterator[Provider]:
    made = make_provider(Settings(provider="podman", state_dir=tmp_path))
    yield made
    await made.aclose()


@pytest.fixture
def dead() -> str:
    """An owner of this machine whose process is gone."""
    this = this_owner()
    with subprocess.Popen(["true"]) as process:
        return f"{this.boot}-{this.pid_namespace}-{process.pid}-1"


async def test_a_closed_sandbox_leaves_nothing(provider: Provider) -> None:
    before = podman("volume", "ls", "--quiet")
    box = await provider.create(SandboxSpec())
    assert box.box_id in podman("ps", "--format={{.Names}}")
    await box.aclose()
    await box.aclose()
    assert box.box_id not in podman("ps", "--all", "--format={{.Names}}")
    left = set(podman("volume", "ls", "--quiet").split()) - set(before.split())
    assert not left & set(podman("volume", "ls", "--quiet", "--filter=dangling=true").split())


async def test_a_program_learns_nothing_of_the_machine(provider: Provider) -> None:
    box = await provider.create(SandboxSpec())
    try:
        outcome = await run(box, "import socket\nprint(socket.gethostbyname('localhost'), open('/etc/hosts').read())")
        assert outcome.stdout.startswith(b"127.0.0.1 ")
        assert socket.gethostname().encode() not in outcome.stdout
        assert b"host.containers.internal" not in outcome.stdout
        assert str(this_owner()).encode() not in outcome.stdout
        places = await run(box, WRITABLE)
        assert set(places.stdout.split()) <= {b"/dev/mqueue", b"/dev/shm", b"/tmp", b"/scratch"}
    finally:
        await box.aclose()


async def test_a_dead_owners_container_is_removed_and_no_other(provider: Provider, dead: str) -> None:
    source = provider.orphan_sources["podman"]
    image = "localhost/sandbox-gym/python:latest"
    box = await provider.create(SandboxSpec())
    owned = ("create", f"--label={ownership.OWNER}={dead}", "--network=none")
    orphan = podman(*owned, f"--name=sandbox-gym-{dead}-7", image, "true").strip()
    other = podman(*owned, image, "true").strip()
    try:
        found = [one for one in await source.orphans() if one.owner == dead]
        assert [(one.kind, one.name) for one in found] == [("container", orphan)], "a label alone says nothing"
        assert not [one for one in await source.orphans() if one.owner == str(this_owner())]
        await source.remove(found[0])
        await source.remove(found[0])
        present = podman("ps", "--all", "--quiet", "--no-trunc").split()
        assert orphan not in present
        assert other in present
    finally:
        podman("rm", "--force", "--ignore", "--time=0", orphan, other)
        await box.aclose()


async def test_a_killed_container_is_lost_without_blame(provider: Provider) -> None:
    box = await provider.create(SandboxSpec())
    try:
        podman("kill", box.box_id)
        with pytest.raises(BoxLost):
            await run(box, "print(1)")
        evidence = await box.evidence()
        assert evidence.oom_kills == 0
        assert "exit code 137" in evidence.detail
    finally:
        await box.aclose()


async def test_a_kill_for_memory_is_counted(provider: Provider) -> None:
    """By the cgroup while the container runs; the next task's box is another."""
    box = await provider.create(SandboxSpec())
    try:
        limits = Limits(memory_bytes=64 * MIB, processes=16, wall_time_s=20)
        forks = "import os\nfor _ in range(4): os.fork()\nkept = bytearray(40 << 20)\n"
        touch = "for i in range(0, len(kept), 4096): kept[i] = 1\nimport time; time.sleep(5)"
        await run(box, forks + touch, limits=limits)
        assert (await box.evidence()).oom_kills > 0
        assert await box.reset() is False
        assert (await box.evidence()).oom_kills == 0, "it was an earlier task's"
    finally:
        await box.aclose()


async def test_an_image_that_is_not_there_says_so(provider: Provider) -> None:
    with pytest.raises(ProviderDown, match="load localhost/sandbox-gym/nothing:latest into Podman's storage"):
        await provider.create(SandboxSpec("nothing"))
    assert await provider.has_image("python")
    assert not await provider.has_image("nothing")
