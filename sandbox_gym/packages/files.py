"""A package's files, read with bounds: nothing outside its folder, nothing but regular files, so much and no more."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

import yaml

from sandbox_gym.packages.package import PackageError

MAX_FILE: Final = 64 << 20
MAX_TOTAL: Final = 1 << 30
MAX_YAML: Final = 1 << 20
MAX_SOURCE: Final = 4 << 20
MAX_ENTRIES: Final = 20_000
"""Of one folder, and of all that is below it."""
_MAX_DEPTH: Final = 12
_CONSTANT = re.compile(r"\{\{([A-Za-z_][A-Za-z0-9_]*)\}\}")


class Files:
    """The reader of one package's folder; every method raises PackageError, which names the file."""

    def __init__(self, root: Path) -> None:
        try:
            self.root = root.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise PackageError(f"{root}: can't be read ({error})") from None
        self._read = 0
        self.constants: Mapping[str, str] = {}

    def text(self, path: Path, limit: int = MAX_FILE) -> str:
        """A file's text."""
        data = self._bytes(path, limit)
        try:
            return data.decode("utf-8").replace("\r\n", "\n") if path.suffix == ".yaml" else data.decode("utf-8")
        except UnicodeDecodeError:
            raise PackageError(f"{self.shown(path)}: is no UTF-8") from None

    def source(self, path: Path) -> str:
        """A program's text, with the problem's constants in place of their names."""
        text = self.text(path, MAX_SOURCE)
        if not self.constants:
            return text
        return _CONSTANT.sub(lambda found: self.constants.get(found[1], found[0]), text)

    def yaml(self, path: Path) -> Mapping[str, object]:
        """A file of key: value lines; empty where there is none."""
        if not self.is_file(path):
            return {}
        try:
            return mapping(yaml.safe_load(self.text(path, MAX_YAML)), self.shown(path))
        except (yaml.YAMLError, ValueError, OverflowError, RecursionError) as error:
            raise PackageError(f"{self.shown(path)}: is no YAML ({' '.join(str(error)[:200].split())})") from None

    def is_file(self, path: Path) -> bool:
        """Whether something is there that is to be read as a file; what can't be read is reported when it is read."""
        try:
            return path.is_symlink() or path.is_file()
        except OSError:
            return False

    def is_folder(self, path: Path) -> bool:
        """Whether this is a folder of the package's."""
        try:
            return path.is_dir() and path.resolve(strict=True).is_relative_to(self.root)
        except (OSError, RuntimeError):
            return False

    def entries(self, folder: Path) -> list[Path]:
        """What a folder holds, by name, but for what is hidden; nothing where there is no folder."""
        if not self.is_folder(folder):
            return []
        try:
            names = sorted(name for name in os.listdir(folder) if not name.startswith("."))
        except OSError as error:
            raise PackageError(f"{self.shown(folder)}: can't be read ({error.strerror})") from None
        if len(names) > MAX_ENTRIES:
            raise PackageError(f"{self.shown(folder)}: holds more than {MAX_ENTRIES} files")
        return [folder / name for name in names]

    def below(self, folder: Path) -> list[Path]:
        """Every file below a folder, links to folders aside, by name. What links out of the package is among them, for
        the reader to refuse."""
        found = list(self._walk(folder, 0))
        if len(found) > MAX_ENTRIES:
            raise PackageError(f"{self.shown(folder)}: holds more than {MAX_ENTRIES} files")
        return found

    def folders(self, folder: Path, depth: int = 0) -> list[Path]:
        """Every folder below, by name, depth first."""
        if depth > _MAX_DEPTH:
            raise PackageError(f"{self.shown(folder)}: lies too deep")
        found: list[Path] = []
        for entry in self.entries(folder):
            if entry.is_symlink() and entry.is_dir():
                raise PackageError(f"{self.shown(entry)}: is a link to a folder; put the files there")
            if self.is_folder(entry):
                found += [entry, *self.folders(entry, depth + 1)]
        return found

    def shown(self, path: Path) -> str:
        """A path as messages have it: below the package's own folder."""
        try:
            return plain(f"{self.root.name}/{path.relative_to(self.root)}")
        except ValueError:
            return plain(str(path))

    def _walk(self, folder: Path, depth: int) -> Iterator[Path]:
        if depth > _MAX_DEPTH:
            raise PackageError(f"{self.shown(folder)}: lies too deep")
        for entry in self.entries(folder):
            if self.is_folder(entry):
                if entry.is_symlink():
                    raise PackageError(f"{self.shown(entry)}: is a link to a folder; put the files there")
                yield from self._walk(entry, depth + 1)
            else:
                yield entry

    def _bytes(self, path: Path, limit: int) -> bytes:
        try:
            target = path.resolve(strict=True)
            if not target.is_relative_to(self.root):
                raise PackageError(f"{self.shown(path)}: leads out of the package")
            fd = os.open(target, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
            with open(fd, "rb") as file:
                about = os.fstat(fd)
                if not stat.S_ISREG(about.st_mode):
                    raise PackageError(f"{self.shown(path)}: is no file")
                if about.st_size > limit:
                    raise PackageError(f"{self.shown(path)}: is larger than {limit} bytes")
                data = file.read(limit + 1)
        except (OSError, RuntimeError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise PackageError(f"{self.shown(path)}: can't be read ({why})") from None
        self._read += len(data)
        if len(data) > limit or self._read > MAX_TOTAL:
            raise PackageError(f"{self.shown(path)}: is one byte too many; a package may have {MAX_TOTAL} bytes")
        return data


def plain(name: str) -> str:
    """A file's name as text: bytes of it that are no UTF-8 become escapes."""
    return name.encode("utf-8", "backslashreplace").decode()


def mapping(value: object, where: str) -> Mapping[str, object]:
    """A value of YAML as key: value lines."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise PackageError(f"{where}: is a {type(value).__name__}; write key: value lines")
    return {str(key) if isinstance(key, str | int | float) else type(key).__name__: item for key, item in value.items()}


def words(value: object, where: str) -> tuple[str, ...]:
    """A value of YAML as words: a text is split at blanks and commas, a list is taken as it is."""
    if value is None:
        return ()
    if isinstance(value, str):
        return tuple(value.replace(",", " ").split())
    return listed(value, where)


def listed(value: object, where: str) -> tuple[str, ...]:
    """A scalar or a list of scalars, as texts."""
    items = value if isinstance(value, list) else [value]
    if not all(isinstance(item, str | int | float) for item in items):
        raise PackageError(f"{where}: holds a {type(value).__name__}; give text or a list of texts")
    return tuple(str(item) for item in items)


def number(value: object, where: str, *, zero: bool = False) -> float | None:
    """A number of YAML, greater than zero; None where there is none."""
    if value is None:
        return None
    try:
        found = float(str(value)) if isinstance(value, str | int | float) else -1.0
    except (ValueError, OverflowError):
        found = -1.0
    if not (0 < found < 1e9 or (zero and found == 0)):
        shown = repr(value)[:60] if isinstance(value, str | int | float) else f"a {type(value).__name__}"
        raise PackageError(f"{where} is {shown}; give a number greater than zero")
    return found
