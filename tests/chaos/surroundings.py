"""A server with a small world of its own: a mount namespace, control groups above its boxes, a state disk, a clock.

What a test does to them reaches this server and its boxes alone, and no other server of the machine. Needs root.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tests.chaos.engines import OwnEngine
from tests.chaos.victims import containers
from tests.load.servers import ServerProcess, free_port

CGROUPS = Path("/sys/fs/cgroup")
V2 = (CGROUPS / "cgroup.controllers").exists()
CONTROLLERS = ("memory", "pids")
MIB = 1024 * 1024
HOG_MIB = 32
GONE_S = 20.0


class Groups:
    """`boxes`, above the groups of all boxes, and `server`; in v1 a pair for each controller."""

    def __init__(self, name: str) -> None:
        self._name = name
        self.tops = [CGROUPS / name] if V2 else [CGROUPS / controller / name for controller in CONTROLLERS]
        for top in self.tops:
            for part in ("boxes", "server"):
                (top / part).mkdir(parents=True)
        if V2:
            for folder in (self.tops[0], self.tops[0] / "boxes"):
                (folder / "cgroup.subtree_control").write_text("+memory +pids +cpu")

    def entering(self) -> list[str]:
        """Shell lines that put the shell into `server` and show it `boxes` as the machine's own groups."""
        lines = [f"echo 0 > {top}/server/cgroup.procs" for top in self.tops]
        return lines + [f"mount --bind {top}/boxes {CGROUPS if V2 else top.parent}" for top in self.tops]

    def _file(self, part: str, controller: str, name: str) -> Path:
        return (CGROUPS / self._name if V2 else CGROUPS / controller / self._name) / part / name

    def cap_processes(self, part: str, room: int | None) -> None:
        """`room` more processes than there are now; None: as many as they like."""
        cap = self._file(part, "pids", "pids.max")
        now = int(self._file(part, "pids", "pids.current").read_text())
        cap.write_text("max" if room is None else str(now + room))

    def cap_memory(self, room_bytes: int | None) -> None:
        """All boxes together may have so much more than they have now; None: as much as they like."""
        used, most, none = (
            ("memory.current", "memory.max", "max") if V2 else ("memory.usage_in_bytes", "memory.limit_in_bytes", "-1")
        )
        now = int(self._file("boxes", "memory", used).read_text())
        self._file("boxes", "memory", most).write_text(none if room_bytes is None else str(now + room_bytes))

    @contextmanager
    def memory_short(self, room_bytes: int) -> Iterator[None]:
        """The boxes together have `room_bytes` more than now, and a process among them takes more than that: not as
        memory of its own, for which the kernel would end it, but in a file of memory."""
        self.cap_memory(room_bytes)
        folder = self._file("boxes", "memory", "cgroup.procs").parent / "hog"
        folder.mkdir(exist_ok=True)
        write = "import os, time\nfile = os.memfd_create('hog')\n"
        write += f"for _ in range({room_bytes // MIB + HOG_MIB}): os.write(file, bytes({MIB}))\ntime.sleep(600)"
        enter = f'echo 0 > {folder}/cgroup.procs; exec "$@"'
        hog = subprocess.Popen(["sh", "-ec", enter, "hog", sys.executable, "-S", "-c", write])
        try:
            yield
        finally:
            hog.kill()
            hog.wait()
            self.cap_memory(None)

    def left(self) -> set[str]:
        """Groups of boxes with processes in them, a while after their server ended; empty ones are swept later."""
        until = time.monotonic() + GONE_S
        while True:
            groups = [path for top in self.tops for path in top.glob("boxes/sandbox_gym/*/")]
            found = {str(path) for path in groups if (path / "cgroup.procs").read_text()}
            if not found or time.monotonic() > until:
                return found
            time.sleep(0.1)

    def remove(self) -> None:
        until = time.monotonic() + GONE_S
        for top in self.tops:
            for folder, _folders, _files in os.walk(top, topdown=False):
                while time.monotonic() < until:
                    try:
                        os.rmdir(folder)
                    except FileNotFoundError:
                        break
                    except OSError:  # its last processes leave a moment after they died
                        time.sleep(0.05)
                    else:
                        break


class World:
    """The surroundings of one server, which may be started in them again and again."""

    def __init__(
        self,
        server: str,
        provider: str,
        folder: Path,
        settings: Mapping[str, str],
        disk_mb: int,
        engine: OwnEngine | None = None,
    ) -> None:
        """`engine`: a Docker Engine for this server alone, which goes with it."""
        self.kind, self.provider, self.folder = server, provider, folder
        self.engine = engine
        self.docker_host = engine.host if engine else ""
        self.state, self.clock = folder / "state", folder / "clock"
        self.port = free_port()
        self.groups = Groups(f"sandbox-gym-chaos-{os.getpid()}-{self.port}")
        self._settings = {**settings, **({"DOCKER_HOST": engine.host} if engine else {})}
        self.state.mkdir()
        size = f"size={disk_mb}m,nr_inodes=40k,mode=700"
        subprocess.run(["mount", "-t", "tmpfs", "-o", size, "chaos", str(self.state)], check=True)
        self.clock.write_text("0")
        self.usual_s = 0.0
        """What a right answer takes without any fault."""
        self.pids: list[int] = []
        self.process = self._started()

    def _started(self) -> ServerProcess:
        lines = [
            *self.groups.entering(),
            # slots of sessions: other servers don't see this one's state, and would take its slots for a dead server's
            "mkdir -p /run/sandbox-gym",
            "mount -t tmpfs -o mode=755 chaos /run/sandbox-gym",
            "mount --rbind /tmp /tmp",  # to be made read-only, without the state, which is a mount of its own
            'exec "$@"',
        ]
        enter = ["unshare", "--mount", "--propagation", "private", "sh", "-ec", "\n".join(lines), "chaos"]
        serve = ["serve", self.kind, "--port", str(self.port), "--provider", self.provider]
        process = ServerProcess(
            self.provider,
            self.folder,
            settings={**self._settings, "SANDBOX_GYM_TEST_CHAOS_CLOCK": str(self.clock)},
            command=[*enter, sys.executable, "-m", "tests.chaos.stepping", *serve],
        )
        self.pids.append(process.process.pid)
        return process

    @property
    def pid(self) -> int:
        return self.process.process.pid

    @property
    def url(self) -> str:
        return self.process.url

    def restart(self) -> None:
        """The next server on the same port and state, as a service manager would start it."""
        self.process = self._started()

    def remount_tmp(self, how: str) -> None:
        command = ["nsenter", "--mount", f"--target={self.pid}", "mount", "-o", f"remount,bind,{how}", "/tmp"]
        subprocess.run(command, check=True)

    def _sweep(self) -> None:
        """What a server could not remove while its Engine was gone goes with the next sweep."""
        environment = {**os.environ, **self._settings, "SANDBOX_GYM_STATE_DIR": str(self.state)}
        environment["SANDBOX_GYM_PROVIDER"] = self.provider
        command = [sys.executable, "-m", "sandbox_gym", "pool", "gc"]
        subprocess.run(command, env=environment, capture_output=True, check=True, timeout=120)

    def close(self) -> set[str]:
        """Stop the server; what it left behind."""
        self.process.stop()
        left = self.groups.left()
        if self.provider == "docker":
            self._sweep()
            left |= {one for pid in self.pids for one in containers(pid, self.docker_host, all_states=True)}
        if self.engine:
            self.engine.close()
        left |= {line for line in Path("/proc/self/mountinfo").read_text().splitlines() if f"{self.state}/" in line}
        subprocess.run(["umount", "--lazy", str(self.state)], check=True)
        self.groups.remove()
        return left


def empty(folder: Path) -> None:
    """Remove what is in it; the folder itself is a mount."""
    for entry in folder.iterdir():
        with contextlib.suppress(OSError):
            if entry.is_dir() and not entry.is_symlink():
                shutil.rmtree(entry)
            else:
                entry.unlink()
