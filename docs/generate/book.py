"""What mkdocs calls while it builds the book: generated parts, and files of the repository that pages link to.

A link out of docs/ (to a server's README, a benchmark's result) would be dead in the book. Such a file becomes part of
it, under its path in the repository; links in it that lead on to files of other kinds become plain text.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from docs.generate.parts import filled

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files
    from mkdocs.structure.pages import Page

_ROOT: Final = Path(__file__).parents[2]
_LINK: Final = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s#]*)(#[^)\s]*)?\)")
_FENCE: Final = re.compile(r"^(```.*?^```$)", re.MULTILINE | re.DOTALL)
_BROUGHT: Final = (".md", ".json", ".svg", ".png")
"""Kinds of files that a book can show."""


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Bring in what pages link to outside of docs/, and what those files link to."""
    from mkdocs.structure.files import File

    waiting = [file.src_uri for file in files.documentation_pages()]
    while waiting:
        here = waiting.pop()
        for path in _outside(here):
            if files.get_file_from_path(path) is None:
                files.append(File(path, str(_ROOT), config.site_dir, config.use_directory_urls))
                waiting += [path] * path.endswith(".md")
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The page with its generated parts, its links as the book has them."""
    here = page.file.src_uri

    def linked(found: re.Match[str]) -> str:
        picture, text, target, anchor = found.groups()
        if not target or ":" in target:
            return found[0]
        path = _in_book(_in_repository(here, target))
        if files.get_file_from_path(path) is None and not _is_of_docs(_in_repository(here, target)):
            return text
        return f"{picture}[{text}]({posixpath.relpath(path, posixpath.dirname(here) or '.')}{anchor or ''})"

    parts = _FENCE.split(markdown)
    return filled("".join(part if part.startswith("```") else _LINK.sub(linked, part) for part in parts))


def _outside(here: str) -> Iterator[str]:
    """The repository's files outside of docs/ that a page links to."""
    source = _ROOT / _of_repository(here)
    if not source.is_file():
        return
    for found in _LINK.finditer(_FENCE.sub("", source.read_text())):
        target = found[3]
        path = _in_repository(here, target)
        known = target and ":" not in target and path.endswith(_BROUGHT) and (_ROOT / path).is_file()
        if known and not _is_of_docs(path):
            yield path


def _in_repository(here: str, target: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(_of_repository(here)), target))


def _of_repository(uri: str) -> str:
    """A page's path in the repository; those of docs/ come first."""
    return f"docs/{uri}" if (_ROOT / "docs" / uri).is_file() else uri


def _in_book(path: str) -> str:
    return path.removeprefix("docs/")


def _is_of_docs(path: str) -> bool:
    return path.startswith("docs/") or os.path.isabs(path)
