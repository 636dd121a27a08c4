"""Starts containers: `podman run` is left attached, and the guest says hello on its standard output."""

from __future__ import annotations

import contextlib
import resource
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import anyio
from anyio.abc import ByteStream, Process

from sandbox_gym.limits import SESSION_PTYS, Limits
from sandbox_gym.sandbox.channel.bundle import BOOTSTRAP
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.containers import ownership
from sandbox_gym.sandbox.containers.container import (
    CAPABILITIES,
    PIDS,
    SCRATCH,
    SHM_BYTES,
    TMP,
    ContainerOptions,
    ContainerSpec,
    sizes,
)
from sandbox_gym.sandbox.containers.machine import ContainerFacts, Removals
from sandbox_gym.sandbox.containers.start import Containers, greet
from sandbox_gym.sandbox.podman.command import Podman
from sandbox_gym.sandbox.podman.machine import PodmanMachine, size_options
from sandbox_gym.sandbox.users import User, Users


class ProcessStream(ByteStream):
    """Both directions of a container's guest, as `podman run` carries them."""

    def __init__(self, process: Process) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process, self._input, self._output = process, process.stdin, process.stdout

    async def receive(self, max_bytes: int = 65536) -> bytes:
        return await self._output.receive(max_bytes)

    async def send(self, item: bytes) -> None:
        await self._input.send(item)

    async def send_eof(self) -> None:
        await self._input.aclose()

    async def errors(self) -> str:
        """What `podman run` itself said, once it has ended or within a second."""
        said = b""
        with anyio.move_on_after(1), contextlib.suppress(anyio.EndOfStream, anyio.ClosedResourceError):
            while self._process.stderr is not None and len(said) < 4096:
                said += await self._process.stderr.receive()
        return said.decode("utf-8", "replace").strip()[-500:]

    async def aclose(self) -> None:
        """End `podman run`; the container itself is removed by its machine."""
        with contextlib.suppress(ProcessLookupError):
            self._process.kill()
        await self._process.aclose()


NO_PTYS: Final = "--tmpfs=/dev/pts:size=4k,mode=555,ro"
"""In the place of Podman's devpts: /dev/ptmx, a link into it, is not there."""
SESSION_DEVPTS: Final = f"--mount=type=devpts,dst=/dev/pts,mode=0620,max={SESSION_PTYS}"
"""In the place of Podman's devpts, with a limit: the machine has so many for all."""
OPEN_PTMX: Final = "import os\nos.chmod('/dev/pts/ptmx', 0o666)\n"
"""`--mount` knows no ptmxmode, and without one programs can make no terminal."""
HOSTS: Final = f"--mount=type=bind,ro,src={Path(__file__).with_name('hosts')},dst=/etc/hosts"
"""In the place of the file that Podman would make, with this machine's own names and the server's process in it."""
NO_NETWORK: Final = ("--network=none", "--hostname=box", HOSTS)
MOST_FILES: Final = 1 << 20
MOST_PROCESSES: Final = 32_768
"""Of one user; a run's own cap is lower, and the container's is lower still."""


class PodmanContainers(Containers[PodmanMachine]):
    """Containers of Podman's."""

    def __init__(self, podman: Podman, options: ContainerOptions, users: Users) -> None:
        super().__init__(options, users, Removals[str](self._remove))
        self._podman = podman

    async def _remove(self, name: str) -> None:
        await self._podman.call("rm", "--force", "--volumes", "--ignore", "--time=0", name)

    async def begin(self, spec: ContainerSpec, user: User) -> PodmanMachine:
        await self.removals.retry()
        name = ownership.container_name()
        stream = ProcessStream(await self._podman.open("run", *self._words(spec, name)))
        channel = GuestChannel(stream, lambda: f"container {name}")
        machine = PodmanMachine(self._podman, self.removals, channel, ContainerFacts(name, user, self.options))

        async def said() -> str:
            why = await stream.errors()
            return why + (f"; load {spec.reference} into Podman's storage" if "image not known" in why else "")

        await greet(machine, spec, said)
        return machine

    def _words(self, spec: ContainerSpec, name: str) -> Sequence[str]:
        """The command line of `podman run`."""
        options = self.options
        own_ptys = spec.keeps_files and options.isolation == "container"
        bootstrap = OPEN_PTMX + BOOTSTRAP if own_ptys else BOOTSTRAP
        labels = [f"--label={key}={value}" for key, value in ownership.labels(options.lifetime_s).items()]
        return [
            *("--interactive", "--attach=stdin", "--attach=stdout", "--sig-proxy=false", "--log-driver=none"),
            *("--pull=never", f"--name={name}", *labels),
            *(("--network=host",) if spec.network else NO_NETWORK),
            *("--http-proxy=false", "--systemd=false", "--no-healthcheck"),
            *("--cap-drop=all", f"--cap-add={','.join(CAPABILITIES)}", "--security-opt=no-new-privileges"),
            *(f"--pids-limit={PIDS}", *size_options(sizes(options.memory_bytes, Limits().cpus)), *ulimits()),
            *("--user=0:0", "--workdir=/", *self._disks(spec)),
            *("--entrypoint=python3", spec.reference, "-I", "-c", bootstrap, "0", "1"),
        ]

    def _disks(self, spec: ContainerSpec) -> Sequence[str]:
        """A session's files are in the container's own layer, where a snapshot finds them."""
        words = [f"--shm-size={SHM_BYTES}b", _tmpfs("/scratch", SCRATCH), _tmpfs("/tmp", TMP)]
        if not spec.keeps_files:
            words += ["--read-only", "--read-only-tmpfs=false"]
        if self.options.isolation == "container":
            words.append(SESSION_DEVPTS if spec.keeps_files else NO_PTYS)
        return words


def _tmpfs(folder: str, options: str) -> str:
    """An anonymous volume, which goes with the container: `--tmpfs` knows no bound on inodes."""
    return f'--mount=type=volume,dst={folder},volume-opt=type=tmpfs,volume-opt=device=tmpfs,"volume-opt=o={options}"'


def ulimits() -> Sequence[str]:
    """Podman would set its defaults, which may be above what this process may give."""
    words = []
    for name, limit, most in (
        ("nofile", resource.RLIMIT_NOFILE, MOST_FILES),
        ("nproc", resource.RLIMIT_NPROC, MOST_PROCESSES),
    ):
        hard = resource.getrlimit(limit)[1]
        value = most if hard == resource.RLIM_INFINITY else min(hard, most)
        words.append(f"--ulimit={name}={value}:{value}")
    return words
