"""Settings of stateful sandboxes."""

from __future__ import annotations

from pydantic import Field

from sandbox_gym.settings.group import Group


class SessionSettings(Group):
    """When a session hibernates, is snapshotted and is closed; how many there may be."""

    ttl_s: float = Field(24 * 3600, gt=0, description="Seconds after its last call when a session is closed.")
    idle_s: float = Field(60, gt=0, description="Seconds after its last call when a session hibernates.")
    checkpoint_s: float = Field(
        30,
        gt=0,
        description="Seconds after a call when a session is snapshotted: the most that a crash can cost it. The SWE"
        " server has a shorter default of its own.",
    )
    keep_globals: bool = Field(
        False, description="Keep Python's picklable globals over hibernation; the tools say which names were lost."
    )
    max_live: int = Field(
        64, ge=1, description="Sessions in sandboxes at once; the one idle for longest hibernates for the next."
    )
    max_count: int = Field(20_000, ge=1, description="Sessions at all, hibernated ones included.")
    root: bool = Field(
        False,
        description="Whether who seeds a session may ask for root in its sandbox (provider `docker`). No verdict begins"
        " from what such a session leaves.",
    )
    snapshot_disk_mb: int = Field(8192, ge=1, description="Disk for all snapshots, in MiB.")
