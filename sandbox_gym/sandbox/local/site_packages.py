"""Packages of the server's own environment, copied to where a box's user can read them, for a box's own interpreter.

A server often runs from a virtual environment in a user's home, which a sandbox must not see and its user can't enter.
Pure Python packages need no installation: a copy on the path is enough. Made once for each set of versions.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import secrets
import shutil
import subprocess
from pathlib import Path
from typing import Final

import anyio
import anyio.to_thread

from sandbox_gym.errors import ProviderDown, ToolchainMissing
from sandbox_gym.sandbox.local.files import remove_tree

PACKAGES: Final = {"math": ("math-verify", "latex2sympy2_extended", "antlr4-python3-runtime", "sympy", "mpmath")}
"""What images of these names have beyond a Python; the same as images/math/Dockerfile installs."""
CACHE: Final = Path("/var/cache/sandbox-gym")
"""As root, whose boxes run as users that can't enter just any state folder."""
COMPILE_S: Final = 300
_MADE = ".complete"
_LEFT_OUT = ("tests", "benchmarks", "__pycache__")


class SitePackages:
    """The copies: below CACHE as root, else below `state_dir`, or the temporary folder where there is none."""

    def __init__(self, python: Path, state_dir: Path | None) -> None:
        self._python = python
        own = state_dir or Path(f"/tmp/sandbox-gym-{os.geteuid()}")
        self._root = (CACHE if os.geteuid() == 0 else own) / "sites"
        self._ready: dict[str, Path | None] = {}
        self._lock = anyio.Lock()

    async def ready(self, image: str) -> Path | None:
        """The folder for an image, made unless it is there; None for images that need none.

        Raises ToolchainMissing where this environment lacks a package, ProviderDown where it can't be copied.
        """
        if image not in PACKAGES:
            return None
        async with self._lock:
            if image not in self._ready:
                self._ready[image] = await anyio.to_thread.run_sync(self._made, PACKAGES[image])
            return self._ready[image]

    def _made(self, names: tuple[str, ...]) -> Path:
        distributions = [_distribution(name) for name in names]
        versions = [f"{name}=={found.version}" for name, found in zip(names, distributions, strict=True)]
        try:
            tag = self._tag()
            folder = self._root / hashlib.sha256(" ".join([tag, *versions]).encode()).hexdigest()[:16]
            if not (folder / _MADE).exists():
                self._make(folder, distributions)
        except (OSError, subprocess.SubprocessError) as error:
            raise ProviderDown(f"packages for a sandbox can't be copied to {self._root}: {error}") from error
        return folder

    def _tag(self) -> str:
        ask = [str(self._python), "-I", "-c", "import sys; print(sys.implementation.cache_tag)"]
        return subprocess.run(ask, capture_output=True, text=True, check=True, timeout=30).stdout.strip()

    def _make(self, folder: Path, distributions: list[importlib.metadata.Distribution]) -> None:
        """Copied beside its place and moved there whole: other servers may do the same at the same time."""
        self._root.mkdir(mode=0o755, parents=True, exist_ok=True)
        new = self._root / f".new-{secrets.token_hex(6)}"
        try:
            new.mkdir(mode=0o755)
            for distribution in distributions:
                _copy(distribution, new)
            compile_all = [str(self._python), "-I", "-m", "compileall", "-q", "-j", "0", str(new)]
            subprocess.run(compile_all, capture_output=True, check=False, timeout=COMPILE_S)
            (new / _MADE).touch()
            try:
                new.rename(folder)
            except OSError:
                if not (folder / _MADE).exists():
                    raise
        finally:
            remove_tree(new)


def _distribution(name: str) -> importlib.metadata.Distribution:
    try:
        return importlib.metadata.distribution(name)
    except importlib.metadata.PackageNotFoundError:
        raise ToolchainMissing(f"{name} is not installed here; run `pip install 'sandbox-gym[math]'`") from None


def _copy(distribution: importlib.metadata.Distribution, folder: Path) -> None:
    for file in distribution.files or ():
        if ".." in file.parts or file.is_absolute() or set(file.parts) & set(_LEFT_OUT):
            continue
        if file.suffix in (".so", ".pyd"):
            raise OSError(f"{distribution.metadata['Name']} is not pure Python ({file})")
        target = folder / file
        target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        shutil.copyfile(str(file.locate()), target)
        target.chmod(0o644)
