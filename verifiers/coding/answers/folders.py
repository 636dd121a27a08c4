"""Programs of several files: which file is the main one, and how the others reach a compiler. Pure.

Sources: the Kattis problem package format (all sources of a folder are one program; a language's default entry point),
and what each compiler does with more than one source.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from sandbox_gym.verifiers.coding.languages import Language
from sandbox_gym.verifiers.coding.languages.language import NAME_MAX

MAX_FILES: Final = 100
LISTED: Final = ".sources"
"""Names a compiler's sources, one a line; no file of a program can have this name."""
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.+-]*", re.ASCII)
_MAX_DEPTH: Final = 8
_JAVA_MAIN = re.compile(r"\bstatic\b[\w\s]{0,100}\bvoid\s{1,50}main\s{0,50}\(")
_C_MAIN = re.compile(r"\bmain\s*\(")
_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]*)[ \t]+import[ \t]+([\w, \t*()]*)|import[ \t]+([\w., \t]+))", re.M)


@dataclass(frozen=True, slots=True)
class Sources:
    """A program's main file and the files beside it, by paths below its folder."""

    main: str
    code: str
    files: Mapping[str, str] = field(default_factory=dict)

    def further(self, language: Language) -> tuple[str, ...]:
        """The other files that a compiler is given."""
        return tuple(name for name in self.files if is_source(name, language))


def is_path(path: str) -> bool:
    """Whether a path can name a file of a program: below its folder, of plain characters, not hidden."""
    parts = path.split("/")
    return (
        len(parts) <= _MAX_DEPTH
        and all(_PART.fullmatch(part) for part in parts)
        and len(path) <= NAME_MAX
        and parts[-1] != "__pycache__"
    )


def is_source(name: str, language: Language) -> bool:
    return name.endswith(language.suffixes)


def main_file(files: Mapping[str, str], language: Language) -> str | None:
    """The file that a program begins with: the only source, or the one of the language's usual name, or the only one
    that has a `main` function or that no other file imports; None where that leaves a choice."""
    sources = sorted(name for name in files if is_source(name, language))
    if len(sources) <= 1:
        return sources[0] if sources else None
    usual = [name for stem in ("main", "Main", "__main__") for name in sources if _stem(name) == stem]
    top = [name for name in usual if "/" not in name] or usual
    if top:
        return top[0]
    if language.name in ("python", "pypy"):
        return _only(_not_imported(files, sources))
    if language.name == "java":
        return _only([name for name in sources if _JAVA_MAIN.search(files[name])])
    given = language.several in ("listed", "named")
    if given or language.name == "rust":
        return _only([name for name in sources if _C_MAIN.search(files[name])]) or (sources[0] if given else None)
    return None


def _only(names: list[str]) -> str | None:
    return names[0] if len(names) == 1 else None


def _stem(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[0]


def _not_imported(files: Mapping[str, str], sources: Iterable[str]) -> list[str]:
    imported: dict[str, set[str]] = {name: _imports(files[name]) for name in sources}
    return [
        name
        for name in imported
        if _stem(name) != "__init__"
        and not any(_stem(name) in names for other, names in imported.items() if other != name)
    ]


def _imports(code: str) -> set[str]:
    """Every word that import statements of a Python source name."""
    named = " ".join(group for match in _IMPORT.finditer(code) for group in match.groups(""))
    return set(re.findall(r"\w+", named))


def with_sources(
    argv: tuple[str, ...], main: str, further: tuple[str, ...], language: Language
) -> tuple[tuple[str, ...], Mapping[str, bytes]]:
    """A compiler's command line with all sources in place of the main one, and the file that lists them, if it needs
    one."""
    if not further:
        return argv, {}
    if language.several == "named":
        return tuple(word for part in argv for word in ((main, *further) if part == main else (part,))), {}
    if language.several == "beside":
        return (*argv, f"@{LISTED}"), {LISTED: _lines(further)}
    if language.several != "listed":
        return argv, {}
    return tuple(f"@{LISTED}" if part == main else part for part in argv), {LISTED: _lines((main, *further))}


def _lines(names: Iterable[str]) -> bytes:
    return "".join(f"{name}\n" for name in names).encode()


def shadows(files: Iterable[str]) -> bool:
    """Whether one of a Python program's files has a name of the standard library's, whose module a fork of a running
    interpreter may have loaded already."""
    return any(path.partition("/")[0].partition(".")[0] in sys.stdlib_module_names for path in files)
