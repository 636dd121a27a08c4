"""The languages that answers may be in: one file each, and this list."""

from __future__ import annotations

from sandbox_gym.verifiers.coding.languages.bash import BASH
from sandbox_gym.verifiers.coding.languages.c import C
from sandbox_gym.verifiers.coding.languages.cpp import CPP, CPP20
from sandbox_gym.verifiers.coding.languages.csharp import CSHARP
from sandbox_gym.verifiers.coding.languages.go import GO
from sandbox_gym.verifiers.coding.languages.java import JAVA
from sandbox_gym.verifiers.coding.languages.javascript import JAVASCRIPT
from sandbox_gym.verifiers.coding.languages.language import Language
from sandbox_gym.verifiers.coding.languages.pypy import PYPY
from sandbox_gym.verifiers.coding.languages.python import PYTHON
from sandbox_gym.verifiers.coding.languages.rust import RUST
from sandbox_gym.verifiers.coding.languages.sql import SQL
from sandbox_gym.verifiers.coding.languages.typescript import TYPESCRIPT

__all__ = ["LANGUAGES", "PYTHON", "Language", "language_named"]

LANGUAGES = (PYTHON, PYPY, C, CPP, CPP20, JAVA, GO, RUST, JAVASCRIPT, TYPESCRIPT, CSHARP, BASH, SQL)
_BY_NAME = {name: language for language in LANGUAGES for name in language.tags}


def language_named(name: str) -> Language | None:
    """The language of a name or alias, in any case; None for one that is not judged."""
    return _BY_NAME.get(name.strip().lower())
