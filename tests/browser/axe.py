"""axe-core from npm, kept for the next run; it comes in through the debugger, for the pages' policy lets nobody in."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import tarfile
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Page

VERSION: Final = "4.14.1"
_CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sandbox-gym-tests"


@functools.cache
def source() -> str:
    """The library's text, from npm's registry unless it was here before."""
    kept = _CACHE / f"axe-{VERSION}.min.js"
    if not kept.exists():
        npm = shutil.which("npm")
        assert npm is not None, "no npm; `-m 'not npm'` leaves out what needs it"
        _CACHE.mkdir(parents=True, exist_ok=True)
        subprocess.run([npm, "pack", f"axe-core@{VERSION}"], cwd=_CACHE, capture_output=True, timeout=120, check=True)
        with tarfile.open(_CACHE / f"axe-core-{VERSION}.tgz") as archive:
            member = archive.extractfile("package/axe.min.js")
            assert member is not None
            kept.write_bytes(member.read())
    return kept.read_text("utf-8")


def violations(page: Page) -> list[str]:
    """What axe finds of WCAG 2.2 A and AA and of its best practices: rule and elements."""
    page.evaluate(source())
    options = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}
    found: dict[str, Any] = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{one['id']}: {node['target']} {node.get('failureSummary', '')}"
        for one in found["violations"]
        for node in one["nodes"]
    ]
