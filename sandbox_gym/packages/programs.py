"""A package's programs as texts: submissions and validators, of one file or of a folder, or why they can't be run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox_gym.packages.files import Files
from sandbox_gym.packages.package import PackageError, Validator
from sandbox_gym.verifiers.coding import LANGUAGES, Language, is_path, language_named, main_file

SCRIPTS: Final = ("build", "run")
_LANGUAGE_OF: Final = {ending: language for language in reversed(LANGUAGES) for ending in language.suffixes}
_HEADERS: Final = (".h", ".hpp", ".hh", ".hxx", ".inc")
_NO_PROGRAMS: Final = (
    *(".md", ".txt", ".yaml", ".yml", ".json", ".toml", ".in", ".ans", ".out", ".csv", ".dat", ".tex", ".pdf", ".png"),
    *(".class", ".o", ".pyc", ".exe", ".jar", ".log", ".desc", ".hint", ".bak", ".orig", ".interaction"),
)
_MADE: Final = (".class", ".o", ".pyc", ".exe")
"""What compilers leave behind: no part of a program."""
_PYTHON_2: Final = "python2"
MAX_PROGRAM_FILES: Final = 100


@dataclass(frozen=True, slots=True)
class ProgramText:
    """A program's sources. `main` is empty where the only file's name means nothing."""

    language: Language
    source: str
    main: str = ""
    files: Mapping[str, str] | None = None


def is_program(files: Files, path: Path) -> bool:
    """Whether an entry of a folder of programs is one, and not what lies beside them."""
    if files.is_folder(path) or (path.is_symlink() and not path.exists()):
        return True
    return "." in path.name and path.suffix not in (*_NO_PROGRAMS, *_HEADERS)


def read_program(files: Files, path: Path, *, language: str = "", entry: str = "") -> ProgramText:
    """The program of one file or folder. `language`, `entry`: what the package says of them. Raises PackageError."""
    if not files.is_folder(path):
        found = _named(language) or _language_of(files, [path])
        source = files.source(path)
        _refuse_python_2(files, path, found, source)
        return ProgramText(found, source, main=path.name if is_path(path.name) else "")
    return _folder(files, path, _named(language), entry)


def _folder(files: Files, folder: Path, told: Language | None, entry: str) -> ProgramText:
    paths = [path for path in files.below(folder) if path.suffix not in _MADE and "__pycache__" not in path.parts]
    if len(paths) > MAX_PROGRAM_FILES:
        raise PackageError(f"{files.shown(folder)}: has more than {MAX_PROGRAM_FILES} files")
    language = told or _language_of(files, paths)
    texts: dict[str, str] = {}
    for path in paths:
        name = path.relative_to(folder).as_posix()
        if not is_path(name):
            raise PackageError(f"{files.shown(path)}: has a name that sources can't have here")
        texts[name] = files.source(path)
        _refuse_python_2(files, path, language, texts[name])
    if len(texts) > 1 and language.several == "alone":
        raise PackageError(f"{files.shown(folder)}: programs of several files in {language.name} can't be run here")
    main = _entry(texts, entry, language) if entry else main_file(texts, language)
    if main is None:
        what = f"{entry!r} is none of its files" if entry else "which file is the main one is open; name it main"
        raise PackageError(f"{files.shown(folder)}: {what}")
    return ProgramText(language, texts.pop(main), main, texts)


def _entry(texts: Mapping[str, str], entry: str, language: Language) -> str | None:
    """The file that an entry point names: itself, or for a class its source."""
    endings = ("", *language.suffixes)
    return next((name for ending in endings if (name := entry.replace(".", "/") + ending) in texts), None) or (
        entry if entry in texts else None
    )


def _named(language: str) -> Language | None:
    if not language:
        return None
    found = language_named(language)
    if found is None:
        raise PackageError(f"submissions.yaml: {language[:40]!r} is no language that is judged here")
    return found


def _language_of(files: Files, paths: list[Path]) -> Language:
    """The one language of these files."""
    found = {_LANGUAGE_OF[path.suffix].name: _LANGUAGE_OF[path.suffix] for path in paths if path.suffix in _LANGUAGE_OF}
    if len(found) == 1:
        return next(iter(found.values()))
    where = files.shown(paths[0] if len(paths) == 1 else paths[0].parent) if paths else "the folder"
    if found:
        raise PackageError(f"{where}: has sources of {' and '.join(sorted(found))}; a program has one language")
    endings = sorted({path.suffix or path.name for path in paths if path.suffix not in (*_NO_PROGRAMS, *_HEADERS)})
    raise PackageError(f"{where}: {' and '.join(endings)[:80] or 'nothing'} is no language that is judged here")


def _refuse_python_2(files: Files, path: Path, language: Language, source: str) -> None:
    first = source.partition("\n")[0]
    if language.name == "python" and first.startswith("#!") and _PYTHON_2 in first:
        raise PackageError(f"{files.shown(path)}: is Python 2, which is not judged here")


# -- validators


def read_validator(files: Files) -> Validator | None:
    """The one output validator, or none. Raises PackageError for more than one, and for what can't be run."""
    own = files.root / "output_validator"
    programs = _programs(files, files.root / "output_validators")
    inner = files.entries(own)
    if inner:
        folders = [path for path in inner if files.is_folder(path)]
        nested = len(folders) == 1 and not any(_is_source(path) or path.name in SCRIPTS for path in inner)
        programs.append(folders[0] if nested else own)
    if len(programs) > 1:
        raise PackageError(f"{files.root.name}: has {len(programs)} output validators; give exactly one")
    return _validator(files, programs[0]) if programs else None


def _programs(files: Files, folder: Path) -> list[Path]:
    """Each entry is a program; a lone source with headers beside it is the folder's."""
    entries = files.entries(folder)
    found = [path for path in entries if files.is_folder(path) or _is_source(path)]
    sources = [path for path in found if not files.is_folder(path)]
    return [folder] if len(found) == len(sources) == 1 or any(path.name in SCRIPTS for path in entries) else found


def _is_source(path: Path) -> bool:
    return path.suffix in _LANGUAGE_OF


def _validator(files: Files, path: Path) -> Validator:
    if files.is_folder(path) and any(files.is_file(path / script) for script in SCRIPTS):
        return _scripted(files, path)
    program = read_program(files, path)
    others = dict(program.files or {})
    further = tuple(name for name in others if name.endswith(program.language.suffixes))
    compiled = further if program.language.compile else ()
    return Validator(program.source, program.language.name, others, compiled)


def _scripted(files: Files, folder: Path) -> Validator:
    """A validator that scripts build or run. What is no text and no script stays behind: icons, papers."""
    texts: dict[str, str] = {}
    for path in files.below(folder):
        name = path.relative_to(folder).as_posix()
        if not is_path(name) or path.suffix in _MADE:
            continue
        try:
            texts[name] = files.source(path)
        except PackageError as error:
            if name in SCRIPTS or "is no UTF-8" not in str(error):
                raise
    return Validator("", "bash", texts)
