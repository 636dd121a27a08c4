"""Every cap that a program runs under. Owns the numbers and their units; knows nothing of their enforcement."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

MIB = 1024 * 1024
UID_BASE = 0x78000000
"""The first user id of sandboxes on the server's machine: after the last ids that systemd (systemd.io/UIDS-GIDS),
distributions, SSSD and FreeIPA (up to 2,000,200,000) assign."""
UID_COUNT = 0x07FFFFFF
STARVED_SHARE = 0.2
"""Of a wall time limit: a program that was kept from the CPU for less would have met the limit on a quiet machine too,
or nearly. One that wants CPU all the time has its CPU time limit first, unless it is kept from it for most."""
PATIENCE = 3.0
"""So many times its wall time a starved run may have when it is tried again, with its CPU time as it was: on a machine
that stays busy it comes to its end, or to its CPU time limit."""
SESSION_PTYS = 64
"""Pseudo-terminals of one session or pool sandbox at once. The whole machine has kernel.pty.max, 4096 by default. Runs
of a verdict have none, except those in a task's own repository (SWE), which have as many as a session."""


def mebibytes(number: float) -> int:
    """MiB as an integer number of bytes, bounded however large the float is."""
    return int(min(number, 1 << 40) * MIB)


@dataclass(frozen=True, slots=True)
class Limits:
    """The caps of one run. All are hard: crossing one ends the run with an outcome that names it."""

    cpu_time_s: float = 10.0
    """CPU seconds of the whole process tree."""
    cpus: float = 2.0
    """CPUs that the whole box may use at once, such as 0.5 or 2, where a cgroup can be made."""
    wall_time_s: float = 30.0
    """Wall seconds from start to exit: the backstop for programs that sleep."""
    memory_bytes: int = 1024 * MIB
    """Resident memory of the process tree where a cgroup can be made, else the data segment of each process."""
    processes: int = 64
    """Processes and threads."""
    open_files: int = 256
    """Open file descriptors of each process."""
    file_bytes: int = 64 * MIB
    """Size of any one file that the program writes."""
    scratch_bytes: int = 128 * MIB
    """Size of the scratch file system."""
    scratch_inodes: int = 16_384
    """Files and folders in the scratch file system."""
    stdout_bytes: int = 16 * MIB
    """Bytes of standard output; with more, the run is killed as `output_limit`."""
    stderr_bytes: int = 1 * MIB
    """Bytes of standard error that are kept; with 16 times as many, the run is killed as `output_limit`."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise ValueError(f"Limits.{field.name} is {value!r}; it must be greater than zero")

    def tightened(
        self, *, cpu_time_s: float | None = None, wall_time_s: float | None = None, memory_bytes: int | None = None
    ) -> Limits:
        """These limits, each lowered to what a request asks for; a request never loosens one."""
        return replace(
            self,
            cpu_time_s=min(self.cpu_time_s, cpu_time_s or self.cpu_time_s),
            wall_time_s=min(self.wall_time_s, wall_time_s or self.wall_time_s),
            memory_bytes=min(self.memory_bytes, memory_bytes or self.memory_bytes),
        )


@dataclass(frozen=True, slots=True)
class Policy:
    """When sessions hibernate, are snapshotted and closed. Times in seconds."""

    ttl_s: float = 24 * 3600
    """A session without a call for this long is closed."""
    idle_s: float = 60
    """A session without a call for this long hibernates."""
    checkpoint_s: float = 30
    """A session is snapshotted this long after its first call since the last snapshot: the most that a crash costs."""
    live: int = 64
    """Sessions in sandboxes at once; one more makes the one idle for longest hibernate."""
    held: int = 20_000
    """Sessions in all, hibernated ones included; one more is refused."""
    disk_bytes: int = 8 << 30
    """Bytes of disk for all snapshots; the oldest that no session needs are deleted, then new ones are refused."""
    keep_globals: bool = False
    """Keep Python's picklable globals in snapshots too."""
    root: bool = False
    """Whoever seeds a session may ask for root in its sandbox."""
