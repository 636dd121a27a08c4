"""Prometheus' own tools, of Debian's package: installed, or unpacked beneath .run as `make tools` does it."""

from __future__ import annotations

import shutil
from pathlib import Path

REPOSITORY = Path(__file__).parents[2]
DEPLOY = REPOSITORY / "deploy"


def tool(name: str) -> str:
    """The path of `promtool` or `prometheus`, whose absence is a failure, never a skip."""
    unpacked = REPOSITORY / ".run" / "prometheus" / "usr" / "bin" / name
    found = shutil.which(name) or (str(unpacked) if unpacked.exists() else None)
    assert found is not None, f"no {name}: `make tools`, or apt-get install prometheus"
    return found
