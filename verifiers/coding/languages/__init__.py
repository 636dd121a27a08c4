"""The languages that answers may be in: one file each, and this list. Packages that are installed beside ours may bring
more, each a `Language` that an entry point of the group `sandbox_gym.languages` names."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import entry_points
from typing import Final

from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.coding.languages.bash import BASH
from sandbox_gym.verifiers.coding.languages.c import C
from sandbox_gym.verifiers.coding.languages.cpp import CPP, CPP20, CPP23
from sandbox_gym.verifiers.coding.languages.csharp import CSHARP
from sandbox_gym.verifiers.coding.languages.go import GO
from sandbox_gym.verifiers.coding.languages.java import JAVA
from sandbox_gym.verifiers.coding.languages.javascript import JAVASCRIPT
from sandbox_gym.verifiers.coding.languages.language import Language
from sandbox_gym.verifiers.coding.languages.more import MORE
from sandbox_gym.verifiers.coding.languages.pypy import PYPY
from sandbox_gym.verifiers.coding.languages.python import PYTHON
from sandbox_gym.verifiers.coding.languages.runners import RUNNERS
from sandbox_gym.verifiers.coding.languages.rust import RUST
from sandbox_gym.verifiers.coding.languages.sql import SQL
from sandbox_gym.verifiers.coding.languages.typescript import TYPESCRIPT

__all__ = ["LANGUAGES", "PYTHON", "Language", "known_language", "language_named"]

_FIRST = (PYTHON, PYPY, C, CPP, CPP20, CPP23, JAVA, GO, RUST, JAVASCRIPT, TYPESCRIPT, CSHARP, BASH, SQL)
_GROUP: Final = "sandbox_gym.languages"
_NOT_HERE: Final = {
    "cuda": "sandboxes have no GPU",
    "python_gpu": "sandboxes have no GPU",
    "lean": "Debian has no package of it",
    "julia": "Debian 12 and 13 have no package of it",
}


def _installed() -> Iterator[Language]:
    """Languages of other packages. Raises TypeError for what is none."""
    for point in entry_points(group=_GROUP):
        language: object = point.load()
        if not isinstance(language, Language):
            raise TypeError(f"{point.value} of {_GROUP} is no Language")
        yield language


LANGUAGES: tuple[Language, ...] = (*_FIRST, *MORE, *RUNNERS, *_installed())
_BY_NAME = {name: language for language in reversed(LANGUAGES) for name in language.tags}


def language_named(name: str) -> Language | None:
    """The language of a name or alias, in any case; None for one that is not judged."""
    return _BY_NAME.get(name.strip().lower())


def known_language(name: object, field: str) -> Language:
    """The language that a request names, Python without a name. Raises RequestError, which lists all."""
    if name is None:
        return PYTHON
    language = language_named(name) if isinstance(name, str) else None
    if language is None:
        why = _NOT_HERE.get(name.strip().lower(), "it is not judged here") if isinstance(name, str) else "no text"
        known = ", ".join(one.name for one in LANGUAGES)
        raise RequestError(field, f"is {str(name)[:40]!r}: {why}", f"give one of {known}")
    return language
