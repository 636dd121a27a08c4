"""Who enforces which cap in a container, given what the Engine says of itself (`docker info`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sandbox_gym.sandbox.caps import Cap, CapRow
from sandbox_gym.sandbox.containers.caps import container_caps

_ABILITIES = {
    Cap.CPU_SHARE: "CpuCfsQuota", Cap.MEMORY: "MemoryLimit", Cap.SWAP: "SwapLimit", Cap.PROCESSES: "PidsLimit",
}  # fmt: skip


def docker_caps(info: Mapping[str, object]) -> Sequence[CapRow]:
    """One row per cap. `info`: the Engine's, of which only booleans and the cgroup version are read."""
    group = f"the container's cgroup v{info.get('CgroupVersion') or '?'}"
    controlled = {cap for cap, ability in _ABILITIES.items() if info.get(ability) is True}
    return container_caps(group, controlled, "the Engine's kernel can't")
