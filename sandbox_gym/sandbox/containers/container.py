"""How containers are made: their limits, capabilities, users, and what their guest is set up with.

A container has no network, a read-only root, sized tmpfs, no capability but what the guest needs to change users and
clean up, no new privileges, the default seccomp profile, and caps on memory, swap, processes and CPU.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

from sandbox_gym.contract import Isolation
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.channel.guest_config import GuestConfig
from sandbox_gym.sandbox.users import User, Users

CAPABILITIES: Final = ("SETUID", "SETGID", "KILL", "CHOWN", "DAC_OVERRIDE", "FOWNER", "SETPCAP")
PIDS: Final = 256
UIDS: Final = 20_000
"""A container's users, one for each run until they come round again. No other container has them: the kernel counts
much by user for the whole machine."""
SHM_BYTES: Final = 64 * MIB
TMP: Final = f"size={64 * MIB},nr_inodes=8192,mode=1777"
"""Mount options of /tmp."""
SCRATCH: Final = f"size={Limits().scratch_bytes},nr_inodes={Limits().scratch_inodes},mode=755"
_GUEST_BYTES: Final = 64 * MIB
_CPU_PERIOD_US: Final = 100_000


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


class Sizes(NamedTuple):
    """Of a container's cgroup. Memory and swap together are capped at `memory_bytes`."""

    memory_bytes: int
    cpu_period_us: int
    cpu_quota_us: int


def sizes(memory_bytes: int, cpus: float) -> Sizes:
    """For programs of so much memory, with their guest's."""
    return Sizes(memory_bytes + _GUEST_BYTES, _CPU_PERIOD_US, max(1000, round(cpus * _CPU_PERIOD_US)))


def claim(users: Users, uid: int | None) -> User:
    """Users for a container: those from `uid` on, whose files it has, else of its own. Raises ProviderDown."""
    if not users.can_claim():  # chance keeps them apart
        return User(users.any(UIDS) if uid is None else uid)
    if uid is None:
        return users.claim(UIDS)
    return users.claim_at(uid, UIDS) or User(uid)  # it shares them with others of the same snapshot


def root_config() -> GuestConfig:
    """For a second guest of a container, whose first run is the container's root."""
    return GuestConfig(
        tier="uid",
        cgroup="/sys/fs/cgroup",
        dirs=(),
        uid_base=-1,
        limit_data=True,
        sessions=True,
        shared_uid=True,
        guests=True,
    )


def guest_config(spec: ContainerSpec, user: User) -> GuestConfig:
    """For the guest of such a container."""
    return GuestConfig(
        tier="uid",
        cgroup="/sys/fs/cgroup",
        dirs=("/scratch", "/tmp", "/dev/shm"),
        uid_base=user.uid,
        limit_data=True,
        sessions=spec.keeps_files,
        shared_uid=spec.keeps_files,
    )
