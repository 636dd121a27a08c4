"""A container's channel is one socket from its guest to the server; where there can be none, its standard streams."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence

import pytest
from anyio.abc import ByteStream

from sandbox_gym.contract import Status
from sandbox_gym.errors import ProviderDown
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.docker import containers, stream
from sandbox_gym.sandbox.docker.provider import DockerProvider
from tests.conformance.running import run
from tests.conformance.test_dialogues import passed, talk

pytestmark = pytest.mark.anyio
LOOK = """
import os, sys
print(sys.stdin.read(), os.listdir("/scratch") == ["work-%d" % os.getuid()])
"""


def without_descriptors(raw: socket.socket, buffers: Sequence[bytes], _descriptors: object) -> int:
    return raw.send(buffers[0])


def as_it_is(_monkeypatch: pytest.MonkeyPatch) -> bool:
    return True


def engine_elsewhere(monkeypatch: pytest.MonkeyPatch) -> bool:
    """The Engine's processes are not ours to see."""

    async def without(streams: ByteStream, _pid: int, path: str) -> ByteStream:
        return await stream.direct(streams, (1 << 22) + 1, path)

    monkeypatch.setattr(containers, "direct", without)
    return False


def no_descriptors(monkeypatch: pytest.MonkeyPatch) -> bool:
    """Rules of the kernel let a container have none of ours."""
    monkeypatch.setattr(socket, "send_fds", without_descriptors)
    return False


@pytest.mark.parametrize("prepared", [as_it_is, engine_elsewhere, no_descriptors])
async def test_programs_and_dialogues_run_over_either(
    prepared: Callable[[pytest.MonkeyPatch], bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected, provider = prepared(monkeypatch), DockerProvider()
    one, other = await provider.create(SandboxSpec()), await provider.create(SandboxSpec())
    monkeypatch.undo()
    try:
        assert isinstance(one._channel, GuestChannel)
        assert one._channel.passes_descriptors is expected
        looked = await run(one, LOOK, b"in")
        assert (looked.status, looked.stdout) == (Status.OK, b"in True\n")
        assert passed(await talk((one, other)))
        assert await one.reset()
        assert await other.reset()
    finally:
        await one.aclose()
        await other.aclose()
        await provider.aclose()


@pytest.mark.parametrize("at", ["exec(", "s.bind("])
async def test_a_container_whose_guest_does_not_start_says_why(at: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "MEETING", stream.MEETING.replace(at, "import nowhere#"))
    provider = DockerProvider()
    with pytest.raises(ProviderDown, match="No module named 'nowhere'"):
        await provider.create(SandboxSpec())
    await provider.aclose()
