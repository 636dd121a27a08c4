"""Files of others that come with the package are the ones that their script fetched, with a licence and a version."""

from __future__ import annotations

import hashlib
from pathlib import Path

ROOT = Path(__file__).parents[2]
UPLOT = ROOT / "sandbox_gym" / "server" / "dashboard" / "static" / "uplot"


def test_uplot_is_as_it_came() -> None:
    lines = [line.split() for line in (UPLOT / "SHA256SUMS").read_text().splitlines()]
    sums = {name: digest for digest, name in lines}
    assert {path.name for path in UPLOT.iterdir()} == {*sums, "SHA256SUMS"}
    assert {name: hashlib.sha256((UPLOT / name).read_bytes()).hexdigest() for name in sums} == sums
    assert "MIT" in (UPLOT / "LICENSE").read_text()
    version = (UPLOT / "VERSION").read_text().strip()
    assert f"version={version}\n" in (ROOT / "tools" / "vendor-uplot.sh").read_text()
    assert f"uPlot {version}" in (ROOT / "docs" / "design" / "dependencies.md").read_text()
