"""Starts containers: created, attached to, started, their guest saying hello."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import anyio
from anyio.abc import ByteStream

from sandbox_gym.errors import ProviderDown, ToolchainMissing
from sandbox_gym.limits import SESSION_PTYS, Limits
from sandbox_gym.sandbox.channel.bundle import BOOTSTRAP
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.channel.socket_stream import RawSocketStream
from sandbox_gym.sandbox.containers import ownership
from sandbox_gym.sandbox.containers.container import (
    CAPABILITIES,
    PIDS,
    SCRATCH,
    SHM_BYTES,
    TMP,
    ContainerOptions,
    ContainerSpec,
    root_config,
    sizes,
)
from sandbox_gym.sandbox.containers.machine import ContainerFacts
from sandbox_gym.sandbox.containers.start import Containers, greet
from sandbox_gym.sandbox.docker.adoption import PYTHON, GuestVolume
from sandbox_gym.sandbox.docker.engine import BUILD_IMAGES, Engine
from sandbox_gym.sandbox.docker.machine import DockerMachine, removals, size_options
from sandbox_gym.sandbox.docker.stream import MEETING, AttachStream, direct
from sandbox_gym.sandbox.users import User, Users

if TYPE_CHECKING:
    from docker.models.containers import Container

NO_PTYS: Final = {"/dev/pts": "size=4k,nr_inodes=2,mode=555,ro"}
"""In the place of Docker's devpts: /dev/ptmx, a link into it, is not there."""


class DockerContainers(Containers[DockerMachine]):
    """Containers of a Docker Engine."""

    def __init__(self, engine: Engine, options: ContainerOptions, users: Users, guest: GuestVolume) -> None:
        super().__init__(options, users, removals(engine))
        self._engine, self._guest = engine, guest

    async def begin(self, spec: ContainerSpec, user: User) -> DockerMachine:
        volume = await self._guest.name() if spec.guest_volume else ""
        path = f"/scratch/{secrets.token_hex(8)}"
        container, attached = await self._created(spec, volume, path)
        (streams, stream), name = await self._streams(container, attached, path), str(container.id)[:12]
        channel = GuestChannel(stream, lambda: f"container {name}")
        facts = ContainerFacts(name, user, self.options, spec.guest_volume)
        machine = DockerMachine(self._engine, self.removals, container, channel, facts)
        try:
            await greet(machine, spec, streams.last_words)
        finally:
            if stream is not streams:
                await streams.aclose()
        return machine

    async def _created(self, spec: ContainerSpec, volume: str, path: str) -> tuple[Container, Any]:
        """A started container, and the connection to it. One that the Engine made before it failed us, perhaps without
        a word, is removed by its name, once it answers. Raises ProviderDown, ToolchainMissing."""
        settings = self._settings(spec)
        try:
            return await self._engine.raw_call(lambda client: self._create(client, spec, settings, volume, path))
        except self._engine.image_missing as error:
            if "polyglot-more" in spec.reference:  # which a server need not have: no other try finds it
                raise ToolchainMissing(
                    f"image {spec.reference} is missing; run `images/build.sh polyglot-more`"
                ) from error
            raise ProviderDown(f"image {spec.reference} is missing; {BUILD_IMAGES}") from error
        except self._engine.errors as error:
            with anyio.CancelScope(shield=True):
                await self.removals.remove(settings["name"])
            raise ProviderDown(f"the Docker Engine can't start a container: {str(error)[:500]}") from error

    async def root_guest(self, machine: DockerMachine) -> GuestChannel:
        """As a command of the Engine's in it: with the container's own capabilities, caps and files."""
        python = PYTHON if machine.guest_volume else "python3"
        command = [python, "-I", "-c", BOOTSTRAP, "0", "1"]

        def begun(client: Any) -> Any:
            made = client.api.exec_create(machine.container.id, command, stdin=True, user="0:0", workdir="/")
            return client.api.exec_start(made["Id"], socket=True)

        while machine.further:  # an earlier one's, which has ended or does so now
            await machine.further.pop().aclose()
        attached = await self._engine.call(begun)
        stream = AttachStream(RawSocketStream(getattr(attached, "_sock", attached)), attached)
        channel = GuestChannel(stream, lambda: f"root of container {machine.box_id}")
        machine.further.append(channel)
        await channel.handshake(root_config())
        return channel

    async def _streams(self, container: Container, attached: Any, path: str) -> tuple[AttachStream, ByteStream]:
        """The connection to a container that no machine owns yet, and the one to its guest."""
        streams = AttachStream(RawSocketStream(getattr(attached, "_sock", attached)), attached)
        try:
            await self.removals.retry()
            return streams, await direct(streams, container.attrs["State"]["Pid"], path)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await streams.aclose()
                await self.removals.remove(str(container.id))
            raise

    def _create(
        self, client: Any, spec: ContainerSpec, settings: Mapping[str, Any], volume: str, path: str
    ) -> tuple[Container, Any]:
        """Create, attach, start, in this order: the guest's first byte must not be missed. Blocking."""
        python = "python3"
        if volume:
            python, settings = PYTHON, {**settings, "mounts": [*settings["mounts"], self._guest.mount(volume)]}
        command = [python, "-I", "-c", MEETING, "0", "1", path]
        container = client.containers.create(spec.reference, command, **settings)
        attached = client.api.attach_socket(container.id, {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        try:
            container.start()
            container.reload()
        except BaseException:
            getattr(attached, "_sock", attached).close()  # which the SDK's file object alone leaves open
            attached.close()
            raise
        return container, attached

    def _settings(self, spec: ContainerSpec) -> dict[str, Any]:
        options = self.options
        plain = options.isolation == "container"
        return {
            "stdin_open": True,
            "network_mode": "host" if spec.network else "none",
            # a session's files are in the container's own layer, where a snapshot finds them
            "read_only": not spec.keeps_files,
            "tmpfs": {
                "/scratch": f"{SCRATCH},exec",
                "/tmp": f"{TMP},exec",
                **(NO_PTYS if plain and not spec.keeps_files else {}),
            },
            "mounts": [self._ptys()] if plain and spec.keeps_files else [],
            "shm_size": f"{SHM_BYTES}b",
            "cap_drop": ["ALL"],
            "cap_add": list(CAPABILITIES),
            "security_opt": ["no-new-privileges"],
            "pids_limit": PIDS,
            **size_options(sizes(options.memory_bytes, Limits().cpus)),
            "init": True,
            "name": ownership.container_name(),
            "labels": ownership.labels(options.lifetime_s),
            **({} if spec.network else {"hostname": "box"}),
            "working_dir": "/",
            "user": "0:0",
            "environment": {},
            "entrypoint": [],
            "log_config": {"type": "none"},
            **({"runtime": options.runtime} if options.runtime else {}),
        }

    def _ptys(self) -> Any:
        """A devpts of the container's own in the place of Docker's, with a limit: the machine has so many for all. An
        anonymous volume, which goes with the container."""
        options = {"type": "devpts", "device": "devpts", "o": f"newinstance,ptmxmode=0666,mode=0620,max={SESSION_PTYS}"}
        types = self._engine.sdk.types
        driver = types.DriverConfig("local", options)
        return types.Mount("/dev/pts", None, type="volume", no_copy=True, driver_config=driver)
