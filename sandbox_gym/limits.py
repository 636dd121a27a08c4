"""Every cap a program runs under. Owns the numbers and their units; knows nothing of who enforces them."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

MIB = 1024 * 1024
UID_BASE = 0x78000000
"""Sandboxes' users on the server's machine are from here on: after the last that systemd (systemd.io/UIDS-GIDS), a
distribution, or SSSD and FreeIPA (up to 2,000,200,000) assign."""
UID_COUNT = 0x07FFFFFF
SESSION_PTYS = 64
"""Pseudo-terminals of one session or pool sandbox at once. The machine has kernel.pty.max of them, 4096 by default, for
all; runs of a verdict have none, but for those in a task's own repository (SWE), which are as a session's."""


def mebibytes(number: float) -> int:
    """So many MiB as bytes: a whole number, however large a float a request asks for."""
    return int(min(number, 1 << 40) * MIB)


@dataclass(frozen=True, slots=True)
class Limits:
    """The caps of one run. All are hard: crossing one ends the run with an outcome that names it."""

    cpu_time_s: float = 10.0
    """CPU seconds of the whole process tree."""
    cpus: float = 2.0
    """CPUs that the whole box may use at once, a fraction or more than one, where a cgroup is at hand."""
    wall_time_s: float = 30.0
    """Wall seconds from start to exit: the backstop for programs that sleep."""
    memory_bytes: int = 1024 * MIB
    """Resident memory of the tree where a cgroup is at hand, data segment of each process where not."""
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
    """Bytes of standard output, then the run is killed as `output_limit`."""
    stderr_bytes: int = 1 * MIB
    """Bytes of standard error, then the run is killed as `output_limit`."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not value > 0:
                raise ValueError(f"Limits.{field.name} is {value!r}; it must be greater than zero")

    def tightened(
        self,
        *,
        cpu_time_s: float | None = None,
        wall_time_s: float | None = None,
        memory_bytes: int | None = None,
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
    """How sessions are held. Times in seconds."""

    ttl_s: float = 24 * 3600
    """A session that nobody called for so long is closed."""
    idle_s: float = 60
    """A session idle for so long hibernates."""
    checkpoint_s: float = 30
    """A session that was called is snapshotted this long after the first call, so that a crash costs no more."""
    live: int = 64
    """Sessions in sandboxes at once; beyond it the longest idle one hibernates."""
    held: int = 20_000
    """Sessions at all; beyond it a new one is refused."""
    disk_bytes: int = 8 << 30
    """Disk for all snapshots; the oldest that no session needs go first, then new ones are refused."""
    keep_globals: bool = False
    """Keep Python's picklable globals in snapshots too."""
