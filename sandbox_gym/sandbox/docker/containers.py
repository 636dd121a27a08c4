"""Starts containers: created, attached to, started, their guest saying hello.

A container has no network, a read-only root, sized tmpfs, no capability but what the guest needs to change users and
clean up, no new privileges, the default seccomp profile, and caps on memory, swap, processes and CPU.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import anyio

from sandbox_gym.contract import Isolation
from sandbox_gym.errors import BoxLost, ProviderDown
from sandbox_gym.limits import MIB, SESSION_PTYS, Limits
from sandbox_gym.sandbox.channel.bundle import BOOTSTRAP
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.channel.guest_config import GuestConfig
from sandbox_gym.sandbox.channel.socket_stream import RawSocketStream
from sandbox_gym.sandbox.docker import orphans
from sandbox_gym.sandbox.docker.adoption import PYTHON, GuestVolume
from sandbox_gym.sandbox.docker.engine import Engine
from sandbox_gym.sandbox.docker.machine import CPU_PERIOD_US, GUEST_BYTES, DockerMachine, Removals
from sandbox_gym.sandbox.docker.stream import AttachStream
from sandbox_gym.sandbox.users import User, Users

if TYPE_CHECKING:
    from docker.models.containers import Container

CAPABILITIES: Final = ("SETUID", "SETGID", "KILL", "CHOWN", "DAC_OVERRIDE", "FOWNER", "SETPCAP")
UIDS: Final = 20_000
"""A container's users, one for each run until they come round again. No other container has them: the kernel counts
much by user for the whole machine."""
NO_PTYS: Final = {"/dev/pts": "size=4k,nr_inodes=2,mode=555,ro"}
"""In the place of Docker's devpts: /dev/ptmx, a link into it, is not there."""
_numbers = itertools.count()


@dataclass(frozen=True, slots=True)
class ContainerOptions:
    """What all containers of a provider have in common."""

    runtime: str = ""
    memory_bytes: int = 1024 * MIB
    lifetime_s: float = 24 * 3600.0

    @property
    def isolation(self) -> Isolation:
        return "gvisor" if "runsc" in self.runtime else "container"


@dataclass(frozen=True, slots=True)
class ContainerSpec:
    """One container. `keeps_files`: its root is writable, for a session or what one has kept. `network`: the machine's.
    `uid`: whose files are in the image; None where there are none. `guest_volume`: the image brings no interpreter for
    the guest that can be relied on."""

    reference: str
    keeps_files: bool = False
    network: bool = False
    uid: int | None = None
    guest_volume: bool = False


class Containers:
    """Starts containers of any image; of our own with their Python."""

    def __init__(self, engine: Engine, options: ContainerOptions, users: Users, guest: GuestVolume) -> None:
        """`users`: of which containers have their own."""
        self._engine, self._options, self._users, self._guest = engine, options, users, guest
        self.removals = Removals(engine)

    async def start(self, spec: ContainerSpec) -> DockerMachine:
        """Raises ProviderDown."""
        user = self._claim(spec.uid)
        try:
            return await self._start(spec, user)
        except BaseException:
            user.close()
            raise

    def _claim(self, uid: int | None) -> User:
        """Users for a container: those from `uid` on, whose files it has, else of its own. Raises ProviderDown."""
        if not self._users.can_claim():  # chance keeps them apart
            return User(self._users.any(UIDS) if uid is None else uid)
        if uid is None:
            return self._users.claim(UIDS)
        return self._users.claim_at(uid, UIDS) or User(uid)  # it shares them with others of the same snapshot

    async def _start(self, spec: ContainerSpec, user: User) -> DockerMachine:
        volume = await self._guest.name() if spec.guest_volume else ""
        try:
            container, attached = await self._engine.raw_call(lambda client: self._create(client, spec, volume))
        except self._engine.image_missing as error:
            raise ProviderDown(f"image {spec.reference} is missing; run `make images`") from error
        except self._engine.errors as error:
            raise ProviderDown(f"the Docker Engine can't start a container: {str(error)[:500]}") from error
        stream = await self._stream(container, attached)
        channel = GuestChannel(stream, lambda: f"container {str(container.id)[:12]}")
        options = self._options
        machine = DockerMachine(
            self._engine,
            self.removals,
            container,
            channel,
            isolation=options.isolation,
            user=user,
            memory_bytes=options.memory_bytes,
            lifetime_s=options.lifetime_s,
            guest_volume=spec.guest_volume,
        )
        try:
            await channel.handshake(_guest_config(spec, user))
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                await machine.destroy()
            if isinstance(error, BoxLost):
                stderr = bytes(stream.stderr[-500:]).decode("utf-8", "replace")
                raise ProviderDown(f"a container did not start its guest: {error} {stderr}") from error
            raise
        return machine

    async def _stream(self, container: Container, attached: Any) -> AttachStream:
        """The connection to a container that no machine owns yet."""
        try:
            await self.removals.retry()
            raw: socket.socket = getattr(attached, "_sock", attached)
            return AttachStream(RawSocketStream(raw), attached)
        except BaseException:
            with anyio.CancelScope(shield=True):
                attached.close()
                await self.removals.remove(container)
            raise

    def _create(self, client: Any, spec: ContainerSpec, volume: str) -> tuple[Container, Any]:
        """Create, attach, start, in this order: the guest's first byte must not be missed. Blocking."""
        python, settings = "python3", self._settings(spec)
        if volume:
            python, settings["mounts"] = PYTHON, [*settings["mounts"], self._guest.mount(volume)]
        container = client.containers.create(spec.reference, [python, "-I", "-c", BOOTSTRAP, "0", "1"], **settings)
        try:
            attached = client.api.attach_socket(container.id, {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
            container.start()
        except BaseException:
            with contextlib.suppress(*self._engine.errors):
                container.remove(force=True)
            raise
        return container, attached

    def _settings(self, spec: ContainerSpec) -> dict[str, Any]:
        options, limits = self._options, Limits()
        memory = options.memory_bytes + GUEST_BYTES
        plain = options.isolation == "container"
        return {
            "stdin_open": True,
            "network_mode": "host" if spec.network else "none",
            # a session's files are in the container's own layer, where a snapshot finds them
            "read_only": not spec.keeps_files,
            "tmpfs": {
                "/scratch": f"size={limits.scratch_bytes},nr_inodes={limits.scratch_inodes},mode=755,exec",
                "/tmp": f"size={64 * MIB},nr_inodes=8192,mode=1777,exec",
                **(NO_PTYS if plain and not spec.keeps_files else {}),
            },
            "mounts": [self._ptys()] if plain and spec.keeps_files else [],
            "shm_size": f"{64 * MIB}b",
            "cap_drop": ["ALL"],
            "cap_add": list(CAPABILITIES),
            "security_opt": ["no-new-privileges"],
            "pids_limit": 256,
            "mem_limit": memory,
            "memswap_limit": memory,
            "cpu_period": CPU_PERIOD_US,
            "cpu_quota": round(limits.cpus * CPU_PERIOD_US),
            "init": True,
            "name": orphans.container_name(next(_numbers)),
            "labels": orphans.labels(options.lifetime_s),
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


def _guest_config(spec: ContainerSpec, user: User) -> GuestConfig:
    return GuestConfig(
        tier="uid",
        cgroup="/sys/fs/cgroup",
        dirs=("/scratch", "/tmp", "/dev/shm"),
        uid_base=user.uid,
        limit_data=True,
        sessions=spec.keeps_files,
        shared_uid=spec.keeps_files,
    )
