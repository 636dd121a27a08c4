"""A package's submissions, one by one: what can't be run here is refused alone, with its reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox_gym.packages.expectations import FOLDERS, Listing, by_comment, by_folder, listing
from sandbox_gym.packages.files import Files, plain
from sandbox_gym.packages.package import Expected, PackageError, Submission
from sandbox_gym.packages.programs import ProgramText, is_program, read_program


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
