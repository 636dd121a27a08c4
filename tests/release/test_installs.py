"""Wheel and sdist in empty environments: every Python of this machine, as root and as a user."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from sandbox_gym import __version__
from sandbox_gym.sandbox.pythons import ready
from tests.documented import ROOT
from tests.release.building import build

pytestmark = [pytest.mark.extended, pytest.mark.timeout(900)]
VERSIONS: Final = ("3.11", "3.12", "3.13", "3.14")
USER: Final = 47321
"""An id that no user of this machine has."""
ROWS: Final = ROOT / "resources_servers" / "coding" / "data" / "example.jsonl"
WORTH: Final = [1.0, 0.0, 1.0, 1.0, 0.0]
WITHOUT: Final[Mapping[str, tuple[tuple[str, ...], Mapping[str, str]]]] = {
    "docker": (("verify", "rows.jsonl", "--out", "out", "--provider", "docker"), {}),
    "e2b": (("verify", "rows.jsonl", "--out", "out", "--provider", "e2b"), {"E2B_API_KEY": "any"}),
    "postgres": (("verify", "rows.jsonl", "--out", "out", "--journal", "postgresql://127.0.0.1:9/none"), {}),
    "otel": (("verify", "rows.jsonl", "--out", "out"), {"SANDBOX_GYM_TRACES": "true"}),
    "mcp": (("serve", "coding", "--port", "0"), {"SANDBOX_GYM_EXPOSE_TOOLS_OVER_MCP": "true"}),
    "ray": (("serve", "coding", "--port", "0", "--cluster", "127.0.0.1:9"), {}),
}
"""What asks for each extra that an environment does not have."""


def interpreters() -> dict[str, Path]:
    """A Python of each version that this machine has: on the path, or a version manager's."""
    found: dict[str, Path] = {}
    for version in VERSIONS:
        named = [Path(sys.base_prefix) / "bin" / f"python{version}", Path(f"/usr/bin/python{version}")]
        managed = (Path.home() / ".pyenv" / "versions").glob(f"{version}.*/bin/python{version}")
        there = [path for path in (*named, *sorted(managed)) if path.exists()]
        if there:
            found[version] = there[0]
    return found


PYTHONS: Final = interpreters()


@contextmanager
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, which a test's own is not."""
    path = Path(tempfile.mkdtemp(prefix="sg-release-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


@dataclass(frozen=True)
class Installed:
    """An environment with the package and what it needs, nothing else."""

    folder: Path

    def run(self, user: int, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """One of its commands as this user, in a folder of the user's own that has the example rows."""
        home = self.folder / str(user)
        if not home.exists():
            home.mkdir(mode=0o700)
            shutil.copy(ROWS, home / "rows.jsonl")
            os.chown(home, user, user)
            os.chown(home / "rows.jsonl", user, user)
        own = {"PATH": f"{self.folder}/env/bin:/usr/bin:/bin", "HOME": str(home), "NO_COLOR": "1", "COLUMNS": "200"}
        more = {"SANDBOX_GYM_STATE_DIR": str(home / "state")}
        drop = ["setpriv", f"--reuid={user}", f"--regid={user}", "--clear-groups"] if user else []
        return subprocess.run(
            [*drop, str(self.folder / "env/bin" / words[0]), *words[1:]],
            cwd=home, env={**own, **more, **environment}, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip


@pytest.fixture(scope="module")
def dist() -> Iterator[dict[str, Path]]:
    with open_folder() as folder:
        yield {kind: build(ROOT, folder, kind) for kind in ("sdist", "wheel")}


@pytest.fixture(scope="module", params=[f"{version}-{kind}" for version in PYTHONS for kind in ("wheel", "sdist")])
def installed(request: pytest.FixtureRequest, dist: dict[str, Path]) -> Iterator[Installed]:
    version, kind = request.param.split("-")
    with open_folder() as folder:
        program = PYTHONS[version]
        if Path.home() in program.parents:  # where no other user may look
            program = ready(version, folder / "python") / "bin" / program.name
        subprocess.run([program, "-m", "venv", "--without-pip", folder / "env"], check=True, timeout=60)
        pip = [sys.executable, "-m", "pip", "--python", str(folder / "env/bin/python"), "install", "--quiet"]
        subprocess.run([*pip, "--disable-pip-version-check", str(dist[kind])], check=True, timeout=600)
        yield Installed(folder)


@pytest.mark.parametrize("user", [0, USER])
def test_verdicts(installed: Installed, user: int) -> None:
    assert f"sandbox-gym {__version__}" in installed.run(user, "sandbox-gym", "--version").stdout
    helped = installed.run(user, "sandbox-gym", "--help")
    assert (helped.returncode, helped.stderr) == (0, "")
    done = installed.run(user, "sandbox-gym", "verify", "rows.jsonl", "--out", "out.jsonl")
    assert done.returncode == 0, done.stderr
    found = map(json.loads, (installed.folder / str(user) / "out.jsonl").read_text().splitlines())
    assert [row["reward"] for row in sorted(found, key=lambda row: int(row["row"]))] == WORTH


@pytest.mark.parametrize("extra", WITHOUT)
def test_a_missing_extra_is_named(installed: Installed, extra: str) -> None:
    words, environment = WITHOUT[extra]
    done = installed.run(0, "sandbox-gym", *words, **environment)
    assert done.returncode == 2, done.stdout + done.stderr
    assert f"sandbox-gym[{extra}]" in done.stderr or f"sandbox-gym[{extra}]" in done.stdout
    assert "Traceback" not in done.stderr


def test_nemo_gyms_servers_are_where_it_looks(installed: Installed) -> None:
    (found,) = (installed.folder / "env").glob("lib/python3.*/site-packages/resources_servers")
    assert {path.name for path in found.iterdir()} == {"coding", "math", "swe"}
    assert (found / "coding" / "data" / "example_rollouts.jsonl").is_file()


def test_uvx(dist: dict[str, Path], tmp_path: Path) -> None:
    """As from PyPI: by the package's name alone, in a folder that has rows and nothing else."""
    shutil.copy(ROWS, tmp_path / "rows.jsonl")
    env = tmp_path / "uv"
    subprocess.run([sys.executable, "-m", "venv", env], check=True, timeout=60)
    script = ROOT / "tests" / "install.sh"  # which brings uv, and tells it pip's index
    subprocess.run([script, env / "bin/python", "--dry-run", str(dist["wheel"])], check=True, timeout=300)
    uvx = [str(env / "bin/uvx"), "--find-links", str(dist["wheel"].parent), "--python", sys.executable]
    done = subprocess.run(
        [*uvx, "sandbox-gym", "verify", "rows.jsonl", "--out", "out.jsonl"],
        cwd=tmp_path, env={**os.environ, **indexes(), "UV_TOOL_DIR": str(tmp_path / "tools")},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert sum(json.loads(line)["reward"] for line in (tmp_path / "out.jsonl").read_text().splitlines()) == sum(WORTH)


def indexes() -> dict[str, str]:
    """Where pip was told to look, in uv's words."""
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "config", "list"], capture_output=True, text=True, check=True
    ).stdout
    found = dict(re.findall(r"^[^=]*\.([\w-]+)='(.*)'$", listed, re.MULTILINE))
    names = {"index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX", "cert": "SSL_CERT_FILE"}
    return {names[key]: value for key, value in found.items() if key in names}
