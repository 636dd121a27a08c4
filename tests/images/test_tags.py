"""The images are tagged with the package's version, whichever of them are built in one go."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path

import sandbox_gym

ROOT = Path(__file__).parents[2]
NAMES = ("swe", "base", "math", "server", "swe", "guest")


def test_each_has_the_version(tmp_path: Path) -> None:
    """`docker` is a script that writes down what it was called with. The rows' Pythons are asked for, in vain."""
    said, docker = tmp_path / "said", tmp_path / "docker"
    docker.write_text(f'#!/bin/sh\necho "$*" >>{said}\n')
    docker.chmod(0o755)
    environment = {**os.environ, "DOCKER": str(docker), "PYTHON": "/bin/false", "SWE_PYTHONS": "3.8 3.13"}
    subprocess.run([ROOT / "images" / "build.sh", *NAMES], env=environment, check=True, timeout=60, stdout=sys.stderr)
    builds = [line.split() for line in said.read_text().splitlines() if line.startswith("build ")]
    tags = [[word for before, word in itertools.pairwise(line) if before == "-t"] for line in builds]
    assert tags == [[f"sandbox-gym/{name}:latest", f"sandbox-gym/{name}:{sandbox_gym.__version__}"] for name in NAMES]
