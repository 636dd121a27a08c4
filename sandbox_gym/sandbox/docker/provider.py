"""Boxes as containers of a Docker Engine, through the docker SDK; the guest talks over the attach stream.

A container has no network, a read-only root, sized tmpfs, no capability but what the guest needs to change users and
clean up, no new privileges, the default seccomp profile, and caps on memory, swap, processes and CPU.
"""

from __future__ import annotations

import contextlib
import itertools
import socket
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar

import anyio
import anyio.to_thread
from anyio.abc import ByteStream, SocketStream, UNIXSocketStream

from sandbox_gym.contract import Dialogue, DialogueOutcome, Isolation, Outcome, Run
from sandbox_gym.errors import BoxLost, ConfigurationError, LossEvidence, ProviderDown
from sandbox_gym.limits import MIB, SESSION_PTYS, Limits
from sandbox_gym.sandbox.api import Box, Capability
from sandbox_gym.sandbox.caps import CapRow
from sandbox_gym.sandbox.channel.attached_run import Relay
from sandbox_gym.sandbox.channel.bundle import BOOTSTRAP
from sandbox_gym.sandbox.channel.dialogue import converse
from sandbox_gym.sandbox.channel.guest_channel import GuestConfig, GuestLink
from sandbox_gym.sandbox.cleanup.owner import Owners
from sandbox_gym.sandbox.cleanup.reaper import Orphan
from sandbox_gym.sandbox.docker import orphans
from sandbox_gym.sandbox.docker.caps import docker_caps
from sandbox_gym.sandbox.users import User, Users

if TYPE_CHECKING:
    from docker.models.containers import Container

GUEST_BYTES: Final = 64 * MIB
CAPABILITIES: Final = ("SETUID", "SETGID", "KILL", "CHOWN", "DAC_OVERRIDE", "FOWNER", "SETPCAP")
CALL_TIMEOUT_S: Final = 60
UIDS: Final = 20_000
"""A container's users, one for each run until they come round again. No other container has them: the kernel counts
much by user for the whole machine."""
NO_PTYS: Final = {"/dev/pts": "size=4k,nr_inodes=2,mode=555,ro"}
"""In the place of Docker's devpts: /dev/ptmx, a link into it, is not there."""
CPU_PERIOD_US: Final = 100_000
R = TypeVar("R")
_numbers = itertools.count()


class SupportsClose(Protocol):
    """The SDK's file object over the attach socket."""

    def close(self) -> None: ...


class AttachStream(ByteStream):
    """The raw attach connection as a byte stream: input as it is, output freed of its 8-byte headers."""

    def __init__(self, raw: SocketStream | UNIXSocketStream, keep_alive: SupportsClose) -> None:
        self._raw = raw
        self._keep_alive = keep_alive  # the SDK's response closes the socket when it is collected
        self._buffer = bytearray()
        self._left = 0
        self._is_output = True
        self.stderr = bytearray()

    async def receive(self, max_bytes: int = 65536) -> bytes:
        while True:
            if self._left:
                if not self._buffer:
                    self._buffer += await self._raw.receive(1 << 17)
                piece = bytes(self._buffer[: min(self._left, max_bytes)])
                del self._buffer[: len(piece)]
                self._left -= len(piece)
                if self._is_output:
                    return piece
                self.stderr += piece[: max(0, 4096 - len(self.stderr))]
                continue
            while len(self._buffer) < 8:
                self._buffer += await self._raw.receive(1 << 17)
            self._is_output = self._buffer[0] == 1
            self._left = int.from_bytes(self._buffer[4:8], "big")
            del self._buffer[:8]

    async def send(self, item: bytes) -> None:
        await self._raw.send(item)

    async def send_eof(self) -> None:
        await self._raw.send_eof()

    async def aclose(self) -> None:
        """Both: the SDK's file object holds the descriptor open until it is closed too."""
        self._keep_alive.close()
        await self._raw.aclose()


class DockerBox:
    """A container and its guest's link."""

    def __init__(
        self, provider: DockerProvider, container: Container, link: GuestLink, isolation: Isolation, user: User
    ) -> None:
        self.box_id = str(container.id)[:12]
        self.isolation: Isolation = isolation
        self.link = link
        self._provider = provider
        self._container = container
        self.user = user
        self._earlier_oom = False
        self._caps = (provider.memory_bytes, Limits().cpus)
        self._worn_at = time.monotonic() + provider.lifetime_s

    @property
    def worn(self) -> bool:
        """Whether its lifetime is over: soon its label lets other hosts' reapers take it for an orphan."""
        return time.monotonic() > self._worn_at

    @asynccontextmanager
    async def run_all(self, runs: Sequence[Run]) -> AsyncIterator[AsyncIterator[Outcome]]:
        await self.cap(runs)
        async with self.link.run_all(runs) as outcomes:
            yield outcomes

    async def converse(self, dialogue: Dialogue, candidate_box: Box) -> DialogueOutcome:
        if not isinstance(candidate_box, DockerBox):
            raise BoxLost(f"{candidate_box.box_id} is no docker box")
        await self.cap([dialogue.asker])
        await candidate_box.cap([dialogue.candidate])
        return await converse(self.link, candidate_box.link, dialogue)

    async def evidence(self) -> LossEvidence:
        found = await self._provider.inspect(self._container)
        # the Engine's flag stays up for good, and an earlier task may have raised it
        return replace(found, oom_kills=0) if self._earlier_oom else found

    @property
    def container(self) -> Container:
        return self._container

    async def cap(self, runs: Sequence[Run]) -> None:
        """Set the container's memory and CPUs to the largest of the runs' limits; runs of one task share theirs."""
        if not runs:
            return
        caps = (max(run.limits.memory_bytes for run in runs), max(run.limits.cpus for run in runs))
        if caps != self._caps:
            await self._provider.limit(self._container, *caps)
            self._caps = caps

    async def relay(self, run: Run) -> Relay:
        await self.cap([run])
        relay = Relay(self.link, run)
        await relay.start()
        return relay

    async def reset(self) -> bool:
        """Not after the OOM killer either: the Engine's flag stays up, and of the next task could not tell anything."""
        self._earlier_oom = self._earlier_oom or self.link.memory_limits > 0
        return not self.worn and await self.link.reset() and not self.link.ooms_told

    async def aclose(self) -> None:
        with anyio.CancelScope(shield=True):
            await self.link.aclose()
            await self._provider.destroy(self._container)
            self.user.close()


class DockerProvider:
    """Starts containers of `memory_bytes` and the guest's own; a container follows what its runs ask for."""

    name = "docker"

    def __init__(
        self,
        *,
        image_prefix: str = "sandbox-gym/",
        runtime: str = "",
        memory_bytes: int = 1024 * MIB,
        lifetime_s: float = 24 * 3600.0,
        state_dir: Path | None = None,
        users: Users | None = None,
    ) -> None:
        """`users`: of which containers have their own."""
        try:
            import docker
        except ImportError as error:
            raise ConfigurationError("the docker SDK is missing; pip install 'sandbox-gym[docker]'") from error
        self._errors: tuple[type[BaseException], ...] = (docker.errors.DockerException, OSError)
        self._not_found: type[BaseException] = docker.errors.NotFound
        self._image_missing: type[BaseException] = docker.errors.ImageNotFound
        self._prefix, self._runtime, self.memory_bytes = image_prefix, runtime, memory_bytes
        self.lifetime_s = lifetime_s
        self._owners = Owners(state_dir)
        self._users = users or Users()
        self._limiter = anyio.CapacityLimiter(8)
        self._reaping = anyio.CapacityLimiter(8)
        self._isolation: Isolation = "gvisor" if "runsc" in runtime else "container"
        self._client: Any = None
        self._unremoved: list[Container] = []
        self._docker = docker

    async def _call(self, function: Callable[[], R]) -> R:
        return await anyio.to_thread.run_sync(function, limiter=self._limiter, abandon_on_cancel=False)

    def _connect(self) -> Any:
        if self._client is None:
            self._client = self._docker.from_env(timeout=CALL_TIMEOUT_S)
        return self._client

    def _create(self, reference: str, *, session: bool, network: bool) -> tuple[Container, Any]:
        """Create, attach, start, in this order: the guest's first byte must not be missed. Blocking."""
        client = self._connect()
        memory = self.memory_bytes + GUEST_BYTES
        limits = Limits()
        container = client.containers.create(
            reference,
            ["python3", "-I", "-c", BOOTSTRAP, "0", "1"],
            stdin_open=True,
            network_mode="host" if network else "none",
            read_only=not session,  # a session's files are in the container's own layer, where a snapshot finds them
            tmpfs={
                "/scratch": f"size={limits.scratch_bytes},nr_inodes={limits.scratch_inodes},mode=755,exec",
                "/tmp": f"size={64 * MIB},nr_inodes=8192,mode=1777,exec",
                **(NO_PTYS if not session and self._isolation == "container" else {}),
            },
            mounts=[self._ptys()] if session and self._isolation == "container" else [],
            shm_size=f"{64 * MIB}b",
            cap_drop=["ALL"],
            cap_add=list(CAPABILITIES),
            security_opt=["no-new-privileges"],
            pids_limit=256,
            mem_limit=memory,
            memswap_limit=memory,
            cpu_period=CPU_PERIOD_US,
            cpu_quota=round(limits.cpus * CPU_PERIOD_US),
            init=True,
            name=orphans.container_name(next(_numbers)),
            labels=orphans.labels(self.lifetime_s),
            **({} if network else {"hostname": "box"}),
            working_dir="/",
            user="0:0",
            environment={},
            entrypoint=[],
            log_config={"type": "none"},
            **({"runtime": self._runtime} if self._runtime else {}),
        )
        try:
            attached = client.api.attach_socket(container.id, {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
            container.start()
        except BaseException:
            with contextlib.suppress(*self._errors):
                container.remove(force=True)
            raise
        return container, attached

    def _ptys(self) -> Any:
        """A devpts of the container's own in the place of Docker's, with a limit: the machine has so many for all. An
        anonymous volume, which goes with the container."""
        options = {"type": "devpts", "device": "devpts", "o": f"newinstance,ptmxmode=0666,mode=0620,max={SESSION_PTYS}"}
        types = self._docker.types
        driver = types.DriverConfig("local", options)
        return types.Mount("/dev/pts", None, type="volume", no_copy=True, driver_config=driver)

    def _claim(self, uid: int | None) -> User:
        """Users for a container: those from `uid` on, whose files it has, else of its own. Raises ProviderDown."""
        if not self._users.can_claim():  # chance keeps them apart
            return User(self._users.any(UIDS) if uid is None else uid)
        if uid is None:
            return self._users.claim(UIDS)
        return self._users.claim_at(uid, UIDS) or User(uid)  # it shares them with others of the same snapshot

    async def start(self, image: str) -> DockerBox:
        """A container of `image` with its guest saying hello. Raises ProviderDown."""
        return await self.start_from(f"{self._prefix}{image}:latest")

    async def start_from(
        self, reference: str, *, session: bool = False, network: bool = False, uid: int | None = None
    ) -> DockerBox:
        """A container of any image that holds a Python. `session`: it will hold one. `network`: the machine's, only to
        build what others begin with. `uid`: whose files are in the image; None where there are none."""
        user = self._claim(uid)
        try:
            return await self._start_from(reference, session, network, user)
        except BaseException:
            user.close()
            raise

    async def _start_from(self, reference: str, session: bool, network: bool, user: User) -> DockerBox:
        try:
            container, attached = await self._call(lambda: self._create(reference, session=session, network=network))
        except self._image_missing as error:
            raise ProviderDown(f"image {reference} is missing; run `make images`") from error
        except self._errors as error:
            raise ProviderDown(f"the Docker Engine can't start a container: {str(error)[:500]}") from error
        try:
            await self._catch_up()
            raw: socket.socket = getattr(attached, "_sock", attached)
            raw.setblocking(False)
            stream_type: type[SocketStream] | type[UNIXSocketStream] = (
                UNIXSocketStream if raw.family == socket.AF_UNIX else SocketStream
            )
            stream = AttachStream(await stream_type.from_socket(raw), attached)
        except BaseException:  # no box owns the container yet
            with anyio.CancelScope(shield=True):
                attached.close()
                await self.destroy(container)
            raise
        link = GuestLink(stream, lambda: f"docker box {str(container.id)[:12]}")
        box = DockerBox(self, container, link, self._isolation, user)
        try:
            await link.handshake(
                GuestConfig(
                    tier="uid",
                    cgroup="/sys/fs/cgroup",
                    dirs=("/scratch", "/tmp", "/dev/shm"),
                    uid_base=user.uid,
                    limit_data=True,
                    sessions=session,
                    shared_uid=session,
                )
            )
        except BaseException as error:
            await box.aclose()
            if isinstance(error, BoxLost):
                words = bytes(stream.stderr[-500:]).decode("utf-8", "replace")
                raise ProviderDown(f"a container did not start its guest: {error} {words}") from error
            raise
        return box

    async def limit(self, container: Container, memory_bytes: int, cpus: float) -> None:
        """Raises BoxLost when the Engine won't: a box without its caps is not to be used."""
        total = memory_bytes + GUEST_BYTES
        quota = max(1000, round(cpus * CPU_PERIOD_US))
        try:
            await self._call(
                lambda: container.update(
                    mem_limit=total, memswap_limit=total, cpu_period=CPU_PERIOD_US, cpu_quota=quota
                )
            )
        except self._errors as error:
            raise BoxLost(f"container {container.id}: it can't be capped ({str(error)[:300]})") from error

    async def engine_call(self, function: Callable[[Any], R]) -> R:
        """`function(client)` in a worker thread. Raises ProviderDown for whatever the Engine refuses."""
        try:
            return await self._call(lambda: function(self._connect()))
        except self._errors as error:
            raise ProviderDown(f"the Docker Engine refused: {str(error)[:500]}") from error

    @property
    def prefix(self) -> str:
        return self._prefix

    async def inspect(self, container: Container) -> LossEvidence:
        """What the Engine recorded of a container's end; nothing when it is gone or the daemon is down."""

        def state() -> dict[str, Any]:
            container.reload()
            return dict(container.attrs["State"])

        try:
            found = await self._call(state)
        except self._errors as error:
            return LossEvidence(detail=f"the Engine does not know it: {str(error)[:200]}")
        detail = f"{found.get('Status')}, exit code {found.get('ExitCode')}"
        return LossEvidence(oom_kills=int(found.get("OOMKilled") is True), detail=detail)

    async def pid_of(self, container: Container) -> int:
        """The container's first process, as the Engine's machine numbers it. Raises ProviderDown."""
        found = await self.engine_call(lambda client: client.api.inspect_container(container.id))
        return int(found["State"]["Pid"])

    async def destroy(self, container: Container) -> None:
        """Kill and remove; a container that is gone already is fine. Where the daemon is down, it is tried later."""
        try:
            with anyio.move_on_after(CALL_TIMEOUT_S):
                await self._call(lambda: container.remove(force=True, v=True))
        except self._not_found:
            return
        except Exception:  # the Engine, or no thread here to ask it with
            self._unremoved.append(container)

    async def _catch_up(self) -> None:
        """The daemon answers: remove what could not be removed while it did not."""
        unremoved, self._unremoved = self._unremoved, []
        for container in unremoved:
            await self.destroy(container)

    async def caps(self) -> Sequence[CapRow]:
        return docker_caps(await self._ask(lambda: self._connect().info()))

    async def orphans(self) -> Sequence[Orphan]:
        return await self._ask(lambda: orphans.find(self._connect().api, self._owners))

    async def remove(self, orphan: Orphan) -> None:
        def remove() -> None:
            orphans.remove(self._connect().api, orphan, self._owners, self._docker.errors.APIError)

        await self._ask(remove)

    async def _ask(self, function: Callable[[], R]) -> R:
        """As `_call`, on threads of its own that a caller may leave behind. Raises ProviderDown."""
        try:
            return await anyio.to_thread.run_sync(function, limiter=self._reaping, abandon_on_cancel=True)
        except self._errors as error:
            raise ProviderDown(f"the Docker Engine: {str(error)[:500]}") from error

    async def doctor(self) -> list[Capability]:
        """Ask the daemon, then start a box."""
        try:
            version = await self._call(lambda: str(self._connect().version()["Version"]))
        except self._errors as error:
            remedy = "apt-get install docker.io, start dockerd, or set DOCKER_HOST"
            return [Capability("docker engine", False, str(error)[:200], remedy)]
        rows = [Capability("docker engine", True, version)]
        try:
            box = await self.start("python")
        except ProviderDown as error:
            return [*rows, Capability("container", False, str(error)[:300], "make images")]
        await box.aclose()
        caps = "network none, read-only root, user per run, seccomp, memory, pids and cpu caps"
        return [*rows, Capability("container", True, caps)]

    async def aclose(self) -> None:
        await self._catch_up()
        if self._client is not None:
            client, self._client = self._client, None
            await self._call(client.close)
