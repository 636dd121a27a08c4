"""Settings of a run: how many sandboxes, how long a verify may wait and take, what one test may use; of sessions, of a
cluster, and of the journal of verdicts."""

from __future__ import annotations

import os

from pydantic import Field, PositiveFloat

from sandbox_gym.settings.group import Group


class RunSettings(Group):
    """How plans are run."""

    boxes: int = Field(
        default_factory=lambda: 2 * (os.cpu_count() or 1),
        ge=2,
        description="Sandboxes alive at once; a dialogue needs two. By default twice the number of CPUs.",
    )
    cpus_per_box: float = Field(
        2.0,
        gt=0,
        le=100_000,
        description="CPUs that one sandbox may use at once, such as 0.5, where a cgroup can be made.",
    )
    queue_size: int = Field(
        1000, ge=1, description="Verifies that may wait for a sandbox; one more is answered 429 Too Many Requests."
    )
    tenant_weights: dict[str, PositiveFloat] = Field(
        default_factory=dict,
        description="Shares of the sandboxes by tenant (by its key, or by the header X-Sandbox-Gym-Tenant); 1 for"
        " tenants not named.",
    )
    deadline_s: float = Field(
        600.0, gt=0, description="Seconds that a verify may take at most, waiting and retries included."
    )
    attempts: int = Field(
        3, ge=1, description="How often a plan is tried, each time in another sandbox, when a sandbox is lost."
    )
    time_limit_s: float = Field(10.0, gt=0, description="CPU seconds of one test; a row may ask for less.")
    memory_limit_mb: int = Field(1024, ge=16, description="Memory of one test, in MiB; a row may ask for less.")


class BoxSettings(Group):
    """When a sandbox is replaced."""

    max_tasks: int = Field(
        256, ge=1, description="Tasks that one sandbox serves, each after a proven reset, before it is replaced."
    )
    lifetime_s: float = Field(
        24 * 3600.0,
        ge=60,
        description="Seconds after which a sandbox is replaced. A sandbox whose owner can't be asked is removed an hour"
        " later.",
    )


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


class JournalSettings(Group):
    """Where verdicts are recorded and how much of them is kept."""

    url: str = Field(
        "default",
        description="Where verdicts are recorded: `default` is journal.sqlite in the state directory, `off` is nowhere;"
        " else a path or a SQLAlchemy URL of SQLite or PostgreSQL.",
    )
    max_mb: float = Field(2048, gt=0, description="MiB that the journal is pruned to, oldest verdicts first.")
    days: float = Field(30, gt=0, description="Days after which verdicts are pruned.")
    state_mb: float = Field(
        32,
        ge=0,
        description="MiB of outputs that are kept of one verify at most; a verdict with more stays on record but can't"
        " be judged again.",
    )

    @property
    def age_s(self) -> float:
        """`days` in seconds."""
        return 86_400 * self.days
