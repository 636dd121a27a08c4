"""Settings of the SWE verifier."""

from __future__ import annotations

from pydantic import Field

from sandbox_gym.settings.group import Group


class SweSettings(Group):
    """What the tests of a repository may use, and the disk for built instances."""

    test_timeout_s: float = Field(
        60.0, gt=0, description="Wall seconds of one test of a repository; a row may ask for less."
    )
    run_timeout_s: float = Field(
        1800.0, gt=0, description="Wall seconds of all tests of one verdict; a row may ask for less."
    )
    memory_limit_mb: int = Field(4096, ge=64, description="Memory of the tests, in MiB; a row may ask for less.")
    restore_test_config: bool = Field(
        True,
        description="Put back test configuration that a patch touches, such as conftest.py; it is flagged either way.",
    )
    disk_mb: int = Field(
        20_000, ge=100, description="Disk for built instances, in MiB; those unused for longest are removed first."
    )
