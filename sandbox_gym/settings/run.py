"""Settings of a run: how many sandboxes, how long a verify may wait and take, what one test may use."""

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
        2.0, gt=0, description="CPUs that one sandbox may use at once, such as 0.5, where a cgroup can be made."
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
