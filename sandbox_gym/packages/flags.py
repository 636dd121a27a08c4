"""What a package tells its output validator: flags of the problem, of a group of cases and of a case."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from sandbox_gym.packages.files import Files, listed, mapping
from sandbox_gym.packages.package import PackageError, Row

_SWITCHES = {
    "case_sensitive": "case_sensitive",
    "space_change_sensitive": "space_sensitive",
    "space_sensitive": "space_sensitive",
}
_TOLERANCES = ("float_tolerance", "float_absolute_tolerance", "float_relative_tolerance")


class Flags:
    """Where the flags of a case come from: `problem.yaml` first, then the nearest folder that has any, or the case."""

    def __init__(self, files: Files, problem: Mapping[str, object]) -> None:
        self._files = files
        self._data = files.root / "data"
        self._own = _split(problem.get("validator_flags"), "problem.yaml: validator_flags")
        self._folders: dict[Path, tuple[str, ...]] = {}

    def of_case(self, given: Path) -> tuple[str, ...]:
        """Of the case whose input this is."""
        beside = given.with_suffix(".yaml")
        found = self._files.yaml(beside).get("output_validator_args")
        if found is not None:
            return (*self._own, *_split(found, f"{self._files.shown(beside)}: output_validator_args"))
        return (*self._own, *self._of_folder(given.parent))

    def _of_folder(self, folder: Path) -> tuple[str, ...]:
        if folder not in self._folders:
            self._folders[folder] = self._read(folder)
        return self._folders[folder]

    def _read(self, folder: Path) -> tuple[str, ...]:
        for name, key in (("test_group.yaml", "output_validator_args"), ("testdata.yaml", "output_validator_flags")):
            where = folder / name
            found = self._files.yaml(where).get(key)
            if isinstance(found, Mapping):
                found = mapping(found, self._files.shown(where)).get("flags")
            if found is not None:
                return _split(found, f"{self._files.shown(where)}: {key}")
        return () if folder == self._data or folder == self._files.root else self._of_folder(folder.parent)


def _split(value: object, where: str) -> tuple[str, ...]:
    """A command line's words."""
    if value is None:
        return ()
    if not isinstance(value, str):
        return listed(value, where)
    try:
        return tuple(shlex.split(value))
    except ValueError as error:
        raise PackageError(f"{where}: {error}") from None


def default_checker(flags: Sequence[str]) -> Row:
    """The default output validator under these flags. Raises PackageError for one that it lacks.

    A flag may be spelled with dashes, and with its number behind a `=`.
    """
    checker: Row = {"type": "tokens", "case_sensitive": False}
    left = [part for word in flags for part in word.split("=", 1)]
    while left:
        word = left.pop(0)
        flag = word.lstrip("-").replace("-", "_").lower()
        if flag in _SWITCHES:
            checker[_SWITCHES[flag]] = True
        elif flag in _TOLERANCES and left:
            checker[flag] = _tolerance(left.pop(0))
        elif flag in _TOLERANCES:
            raise PackageError(f"validator_flags: {word} lacks its number")
        else:
            raise PackageError(f"validator_flags has {word[:60]!r}, which the default validator lacks")
    return checker


def _tolerance(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise PackageError(f"validator_flags has {word[:60]!r} where a number belongs")
    return value
