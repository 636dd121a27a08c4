"""caps.md, cell by cell: `test_cap[COLUMN-CAP]` is the cell's proof. Each column is run once, in its own process.

The cgroup v2 columns have no kernel here to run on: tests/unit/test_cgroups.py checks what is written into v2's files.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from functools import cache

import pytest

from sandbox_gym.sandbox.caps import Cap
from tests.e2b.servers import PoolServer
from tests.in_compose import REPOSITORY, in_compose

CELLS = "tests.conformance.caps"
NOBODY = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps=-all"]
COLUMNS = {
    "local": [sys.executable, "-m", CELLS, "local"],
    "local-rlimits": [sys.executable, "-m", CELLS, "local-rlimits"],
    "local-unprivileged": [*NOBODY, sys.executable, "-m", CELLS, "local-auto"],
    "docker": [sys.executable, "-m", CELLS, "docker"],
    "podman": [sys.executable, "-m", CELLS, "podman"],
    "docker-in-compose": in_compose("-m", CELLS, "docker"),
}
NOT_ENFORCED = {("local-rlimits", Cap.CPU_SHARE), ("local-unprivileged", Cap.CPU_SHARE)}
PER_PROCESS = {"local-rlimits", "local-unprivileged"}
"""Columns where memory is each process's."""


@cache
def column(name: str) -> dict[str, dict[str, str]]:
    environment = {**os.environ, "HOME": "/nonexistent"} if name == "local-unprivileged" else None
    done = subprocess.run(COLUMNS[name], cwd=REPOSITORY, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    found: dict[str, dict[str, str]] = json.loads(done.stdout)
    return found


@pytest.mark.timeout(300)
@pytest.mark.parametrize("cap", Cap, ids=lambda cap: cap.value.replace(" ", "_"))
@pytest.mark.parametrize("name", COLUMNS)
def test_cap(name: str, cap: Cap) -> None:
    cell = column(name)[cap.value]
    assert cell["wrong"] == "", cell
    assert (cell["scope"] == "none") == ((name, cap) in NOT_ENFORCED), cell
    if cap is Cap.MEMORY:
        assert cell["scope"] == ("process" if name in PER_PROCESS else "box")


@pytest.mark.timeout(300)
@pytest.mark.parametrize("beneath", ["local", "docker"])
def test_caps_of_e2b_over_a_pool(pools: Callable[[str], PoolServer], beneath: str) -> None:
    """The column of the e2b provider, whose pool the test session has."""
    command = [sys.executable, "-m", CELLS, pools(beneath).url]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    cells = json.loads(done.stdout)
    assert {name: cell["wrong"] for name, cell in cells.items()} == {cap.value: "" for cap in Cap}
    none = [name for name, cell in cells.items() if cell["scope"] == "none"]
    assert none == [Cap.CPU_SHARE.value, Cap.PTYS.value], "a sandbox of E2B's has its terminals to itself"


def test_no_local_box_inside_compose() -> None:
    """Docker's seccomp profile refuses the namespaces that bubblewrap would make."""
    for options, remedy in ([], "--tmpfs /run"), (["--user", "1000:1000"], "seccomp=deploy/seccomp/local.json"):
        run = in_compose("-m", CELLS, "local-auto", options=options)
        done = subprocess.run(run, capture_output=True, text=True, timeout=60)
        assert done.returncode != 0
        assert remedy in done.stderr
    source = "import ctypes; raise SystemExit(-ctypes.CDLL(None).unshare(0x10000000))"
    assert subprocess.run(in_compose("-c", source), timeout=60).returncode == 1
