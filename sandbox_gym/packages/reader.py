"""A package's folder as values. Sources: the Kattis problem package format (legacy and 2023-07), DOMjudge's additions.

What the format has and this lacks is an error that says so: of the package where no submission could be judged rightly,
of a submission where only that one can't.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox_gym.packages.data import read_groups
from sandbox_gym.packages.expectations import FOLDERS, Listing, by_comment, by_folder, listing
from sandbox_gym.packages.files import Files, mapping, number, plain, words
from sandbox_gym.packages.flags import Flags
from sandbox_gym.packages.package import Expected, Package, PackageError, Submission
from sandbox_gym.packages.programs import ProgramText, is_program, read_program, read_validator
from sandbox_gym.verifiers.coding import MAX_PASSES, is_path, language_named


@dataclass(frozen=True, slots=True)
class SubmissionReader:
    """Reads what is filed under each verdict. `include`: files that join every submission, by language."""

    files: Files
    include: Mapping[str, Mapping[str, str]]
    dated: bool

    def all(self) -> tuple[Submission, ...]:
        """Raises PackageError where the folder as a whole, or `submissions.yaml`, can't be read."""
        folder = self.files.root / "submissions"
        told = self.files.yaml(folder / "submissions.yaml")
        return tuple(
            self._read(path, below.name, told)
            for below in self.files.entries(folder)
            if self.files.is_folder(below)
            for path in self.files.entries(below)
            if is_program(self.files, path)
        )

    def _read(self, path: Path, folder: str, told: Mapping[str, object]) -> Submission:
        name = plain(f"{folder}/{path.name}")
        listed = listing(told, name)
        found = by_folder(folder, dated=self.dated)
        expected, also = found or ((), ())
        try:
            program = read_program(self.files, path, language=listed.language, entry=listed.entry)
        except PackageError as error:
            return Submission(name, "", "", expected, refused=str(error))
        annotated = by_comment("\n".join((program.source, *(program.files or {}).values())))
        if annotated:
            expected, also = annotated, ()
        if not expected and not listed.rules:
            why = f"{folder} is no verdict; one of {', '.join(FOLDERS)}"
            return Submission(name, program.language.name, "", (), refused=why)
        return self._submission(name, program, expected, also, listed)

    def _submission(
        self, name: str, program: ProgramText, expected: tuple[Expected, ...], also: tuple[str, ...], listed: Listing
    ) -> Submission:
        joined = {**self.include.get("default", {}), **self.include.get(program.language.name, {})}
        several = bool(program.files) or bool(joined)
        return Submission(
            path=name,
            language=program.language.name,
            source=program.source,
            expected=expected,
            also=also,
            rules=listed.rules,
            main=program.main if several else "",
            files=dict(program.files or {}) if several else {},
        )


_KINDS: Final = {"pass-fail", "scoring", "custom", "interactive", "multi-pass", "default", "score"}
_SPELLED: Final = {"multipass": "multi-pass", "multi_pass": "multi-pass", "passfail": "pass-fail"}


def read_package(folder: Path) -> Package:
    """The package in `folder`. Raises PackageError."""
    files = Files(folder)
    if not files.is_file(files.root / "problem.yaml"):
        raise PackageError(f"{folder}: has no problem.yaml; name the folder of one problem package")
    problem = files.yaml(files.root / "problem.yaml")
    dated = _is_dated(problem)
    kinds = _kinds(files, problem)
    limits = mapping(problem.get("limits"), "limits in problem.yaml")
    files.constants = _constants(problem)
    validator = read_validator(files) if "custom" in kinds or dated else None
    if validator is None and "custom" in kinds:
        raise PackageError(f"{folder}: has 0 output validators; give exactly one")
    include = _include(files)
    multiplier, resolution = _timing(limits, dated=dated)
    return Package(
        name=plain(files.root.name),
        statement=_statement(files),
        groups=read_groups(files, Flags(files, problem), scoring="scoring" in kinds, dated=dated),
        submissions=SubmissionReader(files, include, dated).all(),
        scoring="scoring" in kinds,
        time_limit_s=_time_limit(files, limits),
        time_multiplier=multiplier,
        time_resolution_s=resolution,
        memory_limit_mb=max(16, int(number(limits.get("memory"), "problem.yaml: limits.memory") or 2048)),
        validator=validator,
        interactive="interactive" in kinds,
        passes=_passes(limits) if "multi-pass" in kinds else 1,
        include=include,
        validation_time_s=number(limits.get("validation_time"), "problem.yaml: limits.validation_time"),
        validation_memory_mb=number(limits.get("validation_memory"), "problem.yaml: limits.validation_memory"),
    )


def _is_dated(problem: Mapping[str, object]) -> bool:
    """Whether the format is one with a date, or its draft: the legacy one has none."""
    return str(problem.get("problem_format_version"))[:80].startswith(("2", "draft"))


def _kinds(files: Files, problem: Mapping[str, object]) -> set[str]:
    """Of pass-fail, scoring, custom, interactive and multi-pass, what the problem is, in either version."""
    declared = words(problem.get("type") or "pass-fail", "problem.yaml: type")
    declared += words(problem.get("validation") or "default", "problem.yaml: validation")
    kinds = {_SPELLED.get(word.lower(), word.lower()) for word in declared}
    unknown = kinds - _KINDS
    if unknown:
        raise PackageError(f"problem.yaml: {', '.join(sorted(unknown))[:80]} problems can't be judged here")
    if kinds & {"interactive", "multi-pass"}:
        kinds.add("custom")
    if files.entries(files.root / "static_validator"):
        raise PackageError(f"{files.root.name}/static_validator: validators of sources can't be run here")
    return kinds


def _passes(limits: Mapping[str, object]) -> int:
    most = int(number(limits.get("validation_passes"), "problem.yaml: limits.validation_passes") or 2)
    if not 2 <= most <= MAX_PASSES:
        raise PackageError(f"problem.yaml: limits.validation_passes is {most}; from 2 to {MAX_PASSES} can be run here")
    return most


def _constants(problem: Mapping[str, object]) -> Mapping[str, str]:
    found = mapping(problem.get("constants"), "constants in problem.yaml")
    if not all(isinstance(value, str | int | float) for value in found.values()):
        raise PackageError("problem.yaml: constants hold more than texts and numbers")
    return {name: str(value) for name, value in found.items()}


def _timing(limits: Mapping[str, object], *, dated: bool) -> tuple[float, float]:
    """(what the slowest accepted time is multiplied by, what the limit is a multiple of)."""
    default = 2.0 if dated else 5.0
    found = limits.get("time_multipliers", limits.get("time_multiplier"))
    if isinstance(found, Mapping):
        found = mapping(found, "limits.time_multipliers").get("ac_to_time_limit")
    multiplier = number(found, "problem.yaml: limits.time_multiplier") or default
    return multiplier, number(limits.get("time_resolution"), "problem.yaml: limits.time_resolution") or 1.0


def _time_limit(files: Files, limits: Mapping[str, object]) -> float | None:
    if limits.get("time_limit") is not None:
        return number(limits["time_limit"], "problem.yaml: limits.time_limit")
    legacy, ini = files.root / ".timelimit", files.root / "domjudge-problem.ini"
    if files.is_file(legacy):
        return number(files.text(legacy).strip(), ".timelimit")
    if files.is_file(ini):
        found = re.search(r"^\s*timelimit\s*=\s*['\"]?([\d.]+)", files.text(ini), re.M)
        return number(found[1], "timelimit in domjudge-problem.ini") if found else None
    return None


def _statement(files: Files) -> str:
    for below in ("problem_statement", "statement"):
        found = [path for path in files.entries(files.root / below) if path.suffix in (".md", ".tex")]
        english = [path for path in found if ".en." in path.name]
        if found:
            return files.text((english or found)[0])
    return ""


def _include(files: Files) -> Mapping[str, Mapping[str, str]]:
    """What joins submissions, by our names of languages."""
    found: dict[str, dict[str, str]] = {}
    for folder in files.entries(files.root / "include"):
        language = language_named(folder.name)
        name = folder.name if folder.name == "default" else language.name if language is not None else ""
        for path in files.below(folder) if name else ():
            below = path.relative_to(folder).as_posix()
            if not is_path(below):
                raise PackageError(f"{files.shown(path)}: has a name that sources can't have here")
            found.setdefault(name, {})[below] = files.source(path)
    return found
