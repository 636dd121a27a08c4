"""Who enforces which cap in a container, given what the Engine says of itself (`docker info`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sandbox_gym.limits import SESSION_PTYS
from sandbox_gym.sandbox.caps import Cap, CapRow, guest_caps, in_order

MEMORY_OF_TREE = "MemoryLimit"


def docker_caps(info: Mapping[str, object]) -> Sequence[CapRow]:
    """One row per cap. `info`: the Engine's, of which only booleans and the cgroup version are read."""
    version = f"the container's cgroup v{info.get('CgroupVersion') or '?'}"

    def by_engine(cap: Cap, ability: str, what: str, otherwise: CapRow) -> CapRow:
        return CapRow(cap, "box", f"{version} {what}") if info.get(ability) is True else otherwise

    return in_order(
        (
            *guest_caps(),
            CapRow(Cap.CPU_TIME, "run", f"supervisor, from {version} or /proc; RLIMIT_CPU"),
            by_engine(Cap.CPU_SHARE, "CpuCfsQuota", "CPU quota", _uncapped(Cap.CPU_SHARE)),
            by_engine(Cap.MEMORY, MEMORY_OF_TREE, "memory", CapRow(Cap.MEMORY, "process", "RLIMIT_DATA")),
            by_engine(Cap.SWAP, "SwapLimit", "memory and swap", _uncapped(Cap.SWAP)),
            by_engine(
                Cap.PROCESSES,
                "PidsLimit",
                "pids; RLIMIT_NPROC of the run's own user",
                CapRow(Cap.PROCESSES, "run", "RLIMIT_NPROC of the run's own user"),
            ),
            CapRow(Cap.DISK_BYTES, "box", "tmpfs size"),
            CapRow(Cap.DISK_INODES, "box", "tmpfs nr_inodes"),
            CapRow(Cap.PTYS, "box", f"no devpts; {SESSION_PTYS} in a session's; with gVisor its own kernel's"),
            CapRow(Cap.NETWORK, "box", "network none"),
        )
    )


def _uncapped(cap: Cap) -> CapRow:
    return CapRow(cap, "none", "the Engine's kernel can't")
