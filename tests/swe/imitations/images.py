"""Builds images to the layouts that datasets document, from what Debian gives and pytest's wheels, without a registry.

Everything in them is root's. Each repository has a history with the fix in it, which is to be found nowhere later: in a
later commit, a tag, a branch of a remote and the reflog.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from tests.swe.imitations.projects import Files, Project

DOCKER = os.environ.get("DOCKER", "docker")
PREFIX = "sandbox-gym-imitation/"
CONDA = f"{PREFIX}conda:latest"
VENV = f"{PREFIX}venv:latest"
BARE = f"{PREFIX}bare:latest"
MARKER = "a commit that no agent may find"

_ACTIVATE = """# what `source /opt/miniconda3/bin/activate` defines, as far as harnesses use it
conda() {
  [ "$1" = activate ] || { /opt/miniconda3/bin/conda "$@"; return; }
  export CONDA_DEFAULT_ENV="$2" CONDA_PREFIX="/opt/miniconda3/envs/$2"
  export PATH="$CONDA_PREFIX/bin:$PATH"
}
export CONDA_EXE=/opt/miniconda3/bin/conda PATH="/opt/miniconda3/condabin:$PATH"
"""
_HISTORY = f"""set -eu
repo=$1
mkdir -p "$repo"
cp -R /context/base/. "$repo/"
cd "$repo"
git init -q .
git config user.name author
git config user.email author@example.org
git add -A && git commit -q -m 'The first one'
git remote add origin https://example.invalid/project.git
cp -R /context/fixed/. . && git add -A && git commit -q -m '{MARKER}'
git tag v2.0
git update-ref refs/remotes/origin/main HEAD
[ "$2" = fixed ] || git reset -q --hard HEAD~1
mkdir -p project.egg-info built
echo 'Name: project' >project.egg-info/PKG-INFO
echo made >built/artifact.txt
chmod 600 "$(git ls-files | tail -1)"
rm -rf /context
"""
_BASES = {
    CONDA: """FROM sandbox-gym/swe:latest
COPY wheels /wheels
COPY activate /opt/miniconda3/bin/activate
RUN python3 -m venv /opt/miniconda3/envs/testbed \\
 && /opt/miniconda3/envs/testbed/bin/pip install -q --no-index --find-links /wheels pytest && rm -r /wheels
""",
    VENV: """FROM sandbox-gym/swe:latest
COPY wheels /wheels
RUN python3 -m venv /opt/venv && /opt/venv/bin/pip install -q --no-index --find-links /wheels pytest && rm -r /wheels
ENV PATH=/opt/venv/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
""",
    BARE: """FROM debian:bookworm-slim
RUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends git \\
 && rm -rf /var/lib/apt/lists/*
""",
}


@dataclass(frozen=True)
class Image:
    """One image of a dataset."""

    name: str
    base: str
    project: Project
    workdir: str
    fixed: bool = False
    """Whether the repository is at its fix."""
    lines: tuple[str, ...] = ()
    """Of its Dockerfile, after the repository is there."""
    before: tuple[str, ...] = ()
    files: Files = field(default_factory=dict)
    """More files of the context."""


def build(image: Image) -> None:
    """Build an image and what it begins from, unless they are there. Raises CalledProcessError."""
    _base(image.base)
    lines = [
        f"FROM {image.base}",
        *image.before,
        "COPY context /context",
        "COPY history.sh /history.sh",
        f"RUN sh /history.sh {image.workdir} {'fixed' if image.fixed else 'base'} && rm /history.sh",
        *image.lines,
        f"WORKDIR {image.workdir}",
    ]
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        for stage, files in (("base", image.project.base), ("fixed", image.project.fixed)):
            _write(folder / "context" / stage, files)
        _write(folder, {**image.files, "history.sh": _HISTORY, "Dockerfile": "\n".join(lines) + "\n"})
        _docker("build", "-q", "--network", "host", "-t", image.name, where)


def _base(name: str) -> None:
    if subprocess.run([DOCKER, "image", "inspect", name], capture_output=True, check=False).returncode == 0:
        return
    with tempfile.TemporaryDirectory() as where:
        folder = Path(where)
        _write(folder, {"Dockerfile": _BASES[name], "activate": _ACTIVATE})
        if "wheels" in _BASES[name]:
            pip = [sys.executable, "-m", "pip", "--no-input", "download", "-q", "-d", str(folder / "wheels")]
            # the wheels of Debian's Python, whichever runs the tests
            subprocess.run([*pip, "--python-version", "3.11", "--only-binary", ":all:", "pytest"], check=True)
        _docker("build", "-q", "--network", "host", "-t", name, where)


def _write(folder: Path, files: Files) -> None:
    for path, text in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def _docker(*argv: str) -> None:
    done = subprocess.run([DOCKER, *argv], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


def exec_form(*argv: str) -> str:
    return json.dumps(list(argv))
