"""Settings of verifying on a Ray cluster."""

from __future__ import annotations

from pydantic import Field

from sandbox_gym.settings.group import Group


class ClusterSettings(Group):
    """Which cluster, and when one of its nodes is lost."""

    address: str = Field(
        "",
        description="Verify on a Ray cluster's nodes: `auto` for the cluster at hand, or an address; needs the extra"
        " `ray`.",
    )
    lost_s: float = Field(
        15.0, ge=1, description="Seconds without a node's answer after which it is lost and its verifies go to others."
    )
