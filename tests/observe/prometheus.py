"""Prometheus' own tools, of Debian's package: installed, or unpacked beneath .run as `make tools` does it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
DEPLOY = REPOSITORY / "deploy"


def tool(name: str) -> str:
    """The path of `promtool` or `prometheus`. Skips where there is none."""
    unpacked = REPOSITORY / ".run" / "prometheus" / "usr" / "bin" / name
    found = shutil.which(name) or (str(unpacked) if unpacked.exists() else None)
    if found is None:
        pytest.skip(f"no {name}: make tools, or apt-get install prometheus")
    return found
