"""What the figures were made on: processor, kernel, load, versions, commit."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
import time
from pathlib import Path

from benchmarks.side_by_side.systems import code_gen
from benchmarks.side_by_side.workloads import REPOSITORY
from sandbox_gym import __version__

PACKAGES = ("anyio", "fastapi", "uvicorn", "uvloop", "orjson", "pydantic", "math-verify", "docker")


def facts() -> dict[str, object]:
    """Plain JSON values, none of them a name or an address of the machine."""
    return {
        "at": time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime()),
        "cpu": _cpu_model(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "kernel": platform.release(),
        "cgroups": 2 if Path("/sys/fs/cgroup/cgroup.controllers").exists() else 1,
        "load": [round(value, 2) for value in os.getloadavg()],
        "python": platform.python_version(),
        "programs_python": _said(["/usr/bin/python3", "--version"]),
        "bubblewrap": _said(["bwrap", "--version"]),
        "docker_engine": _said(["docker", "version", "--format", "{{.Server.Version}}"]),
        "compiler": _said(["g++", "-dumpfullversion"]),
        "sandbox_gym": __version__,
        "nemo_gym": code_gen.version(),
        "commit": _said(["git", "-C", str(REPOSITORY), "rev-parse", "--short=12", "HEAD"]),
        "changed": bool(_said(["git", "-C", str(REPOSITORY), "status", "--porcelain", "--untracked-files=no"])),
        "packages": {name: found for name in PACKAGES if (found := _version(name))},
    }


def _cpu_model() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def _said(command: list[str]) -> str:
    """The first line that a command prints; empty where it fails."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except OSError:
        return ""
    lines = done.stdout.splitlines()
    return lines[0].strip() if done.returncode == 0 and lines else ""


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""
