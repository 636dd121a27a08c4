"""Commands run as docker-compose.yml runs the server: its image, read-only, the socket; but with this tree's code."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
DOCKER = os.environ.get("DOCKER", "docker")


def in_compose(*python: str, options: Sequence[str] = ()) -> list[str]:
    """The command that runs `python ...` in such a container. `options` are `docker run`'s."""
    return [
        DOCKER, "run", "--rm", "--read-only", "--tmpfs", "/tmp", "--security-opt", "no-new-privileges",
        "--cap-drop", "ALL",
        "--volume", "/var/run/docker.sock:/var/run/docker.sock", "--volume", f"{REPOSITORY}:/repository:ro",
        "--workdir", "/repository", "--env", "PYTHONPATH=/repository", "--env", "PYTHONDONTWRITEBYTECODE=1", *options,
        "--entrypoint", "/opt/sandbox-gym/bin/python", "sandbox-gym/server", *python,
    ]  # fmt: skip
