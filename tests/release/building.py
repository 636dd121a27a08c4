"""Builds the packages of this tree, as a checkout or as Git makes one where there are no symbolic links."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final, Literal

from tests.documented import ROOT

LINK: Final = Path("sandbox_gym/verifiers")
_FILES: Final = ("LICENSE", "README.md", "pyproject.toml", ".gitignore", "tools/package_metadata.py")
_FOLDERS: Final = ("sandbox_gym", "verifiers", "resources_servers")


def checkout(folder: Path, *, links: bool) -> Path:
    """What a wheel is built of, in a folder of its own; without `links` a text file stands where the link was."""
    for name in _FILES:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, folder / name)
    for name in _FOLDERS:
        unwanted = shutil.ignore_patterns("__pycache__", ".venv")
        shutil.copytree(ROOT / name, folder / name, symlinks=True, ignore=unwanted)
    if not links:
        target = os.readlink(folder / LINK)
        (folder / LINK).unlink()
        (folder / LINK).write_text(target)  # without an end of line, as Git writes it
    return folder


def build(tree: Path, out: Path, kind: Literal["wheel", "sdist"]) -> Path:
    """The package that is built. Needs no network."""
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(out), "--target", kind]
    done = subprocess.run(command, cwd=tree, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return out / Path((done.stdout + done.stderr).split()[-1]).name
