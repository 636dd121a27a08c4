"""Package folders as values."""

from __future__ import annotations

from pathlib import Path

from sandbox_gym.packages.package import Package, Submission
from sandbox_gym.packages.reader import read_package
from tests.packages import write_package


def read(folder: Path, **files: str | bytes | None) -> Package:
    return read_package(write_package(folder / "echo", {name.replace("__", "/"): text for name, text in files.items()}))


def submissions(package: Package) -> dict[str, Submission]:
    return {one.path: one for one in package.submissions}
