"""Starts containers: `podman run` is left attached, and the guest says hello on its standard output.

A container has no network, a read-only root, sized tmpfs, no capability but what the guest needs to change users and
clean up, no new privileges, the default seccomp profile, and caps on memory, swap, processes and CPU.
"""

from __future__ import annotations

import itertools
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import anyio

from sandbox_gym.contract import Isolation
from sandbox_gym.errors import BoxLost, ProviderDown
from sandbox_gym.limits import MIB, SESSION_PTYS, Limits
from sandbox_gym.sandbox.channel.bundle import BOOTSTRAP
from sandbox_gym.sandbox.channel.guest_channel import GuestChannel
from sandbox_gym.sandbox.channel.guest_config import GuestConfig
from sandbox_gym.sandbox.podman import orphans
from sandbox_gym.sandbox.podman.command import Podman
from sandbox_gym.sandbox.podman.machine import ContainerFacts, PodmanMachine, Removals, size_options
from sandbox_gym.sandbox.podman.stream import ProcessStream
from sandbox_gym.sandbox.users import User, Users

CAPABILITIES: Final = "SETUID,SETGID,KILL,CHOWN,DAC_OVERRIDE,FOWNER,SETPCAP"
UIDS: Final = 20_000
"""A container's users, one for each run until they come round again. No other container has them: the kernel counts
much by user for the whole machine."""
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
    `uid`: whose files are in the image; None where there are none."""

    reference: str
    keeps_files: bool = False
    network: bool = False
    uid: int | None = None


class Containers:
    """Starts containers of any image that holds a Python."""

    def __init__(self, podman: Podman, options: ContainerOptions, users: Users) -> None:
        """`users`: of which containers have their own."""
        self._podman, self._options, self._users = podman, options, users
        self.removals = Removals(podman)

    async def start(self, spec: ContainerSpec) -> PodmanMachine:
        """Raises ProviderDown."""
        await self.removals.retry()
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

    async def _start(self, spec: ContainerSpec, user: User) -> PodmanMachine:
        options, name = self._options, orphans.container_name(next(_numbers))
        stream = ProcessStream(await self._podman.open("run", *self._words(spec, name)))
        channel = GuestChannel(stream, lambda: f"container {name}")
        expires_at = time.monotonic() + options.lifetime_s
        facts = ContainerFacts(name, options.isolation, user, options.memory_bytes, expires_at)
        machine = PodmanMachine(self._podman, self.removals, channel, facts)
        try:
            await channel.handshake(_guest_config(spec, user))
        except BaseException as error:
            with anyio.CancelScope(shield=True):
                why = await stream.errors() if isinstance(error, BoxLost) else ""
                await machine.destroy()
            if isinstance(error, BoxLost):
                remedy = f"; load {spec.reference} into Podman's storage" if "image not known" in why else ""
                raise ProviderDown(f"a container did not start its guest: {error} {why}{remedy}") from error
            raise
        return machine

    def _words(self, spec: ContainerSpec, name: str) -> Sequence[str]:
        """The command line of `podman run`."""
        options = self._options
        own_ptys = spec.keeps_files and options.isolation == "container"
        bootstrap = OPEN_PTMX + BOOTSTRAP if own_ptys else BOOTSTRAP
        labels = [f"--label={key}={value}" for key, value in orphans.labels(options.lifetime_s).items()]
        return [
            *("--interactive", "--attach=stdin", "--attach=stdout", "--sig-proxy=false", "--log-driver=none"),
            *("--pull=never", f"--name={name}", *labels),
            *(("--network=host",) if spec.network else NO_NETWORK),
            *("--http-proxy=false", "--systemd=false", "--no-healthcheck"),
            *("--cap-drop=all", f"--cap-add={CAPABILITIES}", "--security-opt=no-new-privileges"),
            *("--pids-limit=256", *size_options(options.memory_bytes, Limits().cpus), *ulimits()),
            *("--user=0:0", "--workdir=/", *self._disks(spec)),
            *("--entrypoint=python3", spec.reference, "-I", "-c", bootstrap, "0", "1"),
        ]

    def _disks(self, spec: ContainerSpec) -> Sequence[str]:
        """A session's files are in the container's own layer, where a snapshot finds them."""
        limits = Limits()
        scratch = f"size={limits.scratch_bytes},nr_inodes={limits.scratch_inodes},mode=755"
        words = [f"--shm-size={64 * MIB}b", _tmpfs("/scratch", scratch)]
        words.append(_tmpfs("/tmp", f"size={64 * MIB},nr_inodes=8192,mode=1777"))
        if not spec.keeps_files:
            words += ["--read-only", "--read-only-tmpfs=false"]
        if self._options.isolation == "container":
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
