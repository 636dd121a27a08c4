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


REPLACED = """#!/bin/sh
case "$*" in
  "image inspect --format {{.Id}}"*) echo "id-of-${5#sandbox-gym/}";;
  "image inspect --format {{len .RepoTags}} id-of-guest:latest") echo 1;;
  "image inspect --format {{len .RepoTags}}"*) echo 0;;
  "image rm "*) echo "$3" >>GONE; exit 1;;
esac
"""


def test_what_a_build_takes_the_place_of_goes_the_topmost_first_unless_it_has_another_name(tmp_path: Path) -> None:
    """Also where the Engine refuses one, which a container is made of."""
    gone, docker = tmp_path / "gone", tmp_path / "docker"
    docker.write_text(REPLACED.replace("GONE", str(gone)))
    docker.chmod(0o755)
    command = [str(ROOT / "images" / "build.sh"), "base", "guest", "python"]
    subprocess.run(command, env={**os.environ, "DOCKER": str(docker)}, check=True, timeout=60, stdout=sys.stderr)
    assert gone.read_text().split() == ["id-of-python:latest", "id-of-base:latest"]
