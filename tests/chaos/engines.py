"""A Docker Engine of a test's own, which may be killed and stopped while others go on. One that ends is replaced."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from tests.chaos.victims import DOCKER

UP_S = 60.0
LOAD_S = 600.0
IMAGES: Mapping[str, tuple[str, str]] = {
    "coding": ("base", "python"),  # plain programs need no more, and it is loaded five times as fast
    "session": ("base", "python"),
    "math": ("math", "math"),
    "swe": ("swe", "swe"),
}
"""By workload: the image to take along, and the name that it gets."""


class OwnEngine:
    """dockerd with folders, a socket and a containerd of its own."""

    def __init__(self, images: tuple[str, str]) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="sg-engine-"))
        self.host = f"unix://{self._folder}/docker.sock"
        self._stopping = threading.Event()
        self._process = self._started()
        self._keeper = threading.Thread(target=self._keep)
        self._keeper.start()
        try:
            self._wait()
            self._load(*images)
        except BaseException:
            self.close()
            raise

    def _started(self) -> subprocess.Popen[bytes]:
        folder = self._folder
        (folder / "docker.pid").unlink(missing_ok=True)
        with (folder / "log").open("ab") as log:
            return subprocess.Popen(
                [
                    "dockerd", f"--host={self.host}", f"--pidfile={folder}/docker.pid", f"--data-root={folder}/data",
                    f"--exec-root={folder}/exec", "--bridge=none", "--iptables=false", "--ip6tables=false",
                    "--ip-forward=false",
                ],
                stdout=log, stderr=log, start_new_session=True,
            )  # fmt: skip

    def _keep(self) -> None:
        """As a service manager would have it."""
        while not self._stopping.is_set():
            self._process.wait()
            if not self._stopping.is_set():
                time.sleep(0.2)
                self._process = self._started()

    def _docker(self, *arguments: str) -> subprocess.CompletedProcess[bytes]:
        command = [DOCKER, "--host", self.host, *arguments]
        return subprocess.run(command, capture_output=True, check=False, timeout=LOAD_S)

    def _wait(self) -> None:
        until = time.monotonic() + UP_S
        while self._docker("version").returncode:
            assert time.monotonic() < until, (self._folder / "log").read_text()[-2000:]
            time.sleep(0.2)

    def _load(self, image: str, name: str) -> None:
        source, target = f"sandbox-gym/{image}:latest", f"sandbox-gym/{name}:latest"
        with subprocess.Popen([DOCKER, "save", source], stdout=subprocess.PIPE) as saving:
            loading = [DOCKER, "--host", self.host, "load"]
            subprocess.run(loading, stdin=saving.stdout, capture_output=True, check=True, timeout=LOAD_S)
        self._docker("tag", source, target)

    def send(self, number: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._process.pid, number)

    def close(self) -> None:
        self._stopping.set()
        self.send(signal.SIGCONT)
        self.send(signal.SIGTERM)
        self._keeper.join(UP_S)
        for pid in self._left():  # of an Engine that was killed, containerd and its shims live on
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        mounted = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
        for place in sorted((one for one in mounted if one.startswith(f"{self._folder}/")), reverse=True):
            subprocess.run(["umount", "--lazy", place], check=False)
        shutil.rmtree(self._folder, ignore_errors=True)

    def _left(self) -> list[int]:
        """Processes that were started with this Engine's folder in their command."""
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if f"{self._folder}/".encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
        return [pid for pid in found if pid != os.getpid()]
