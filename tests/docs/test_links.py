"""Every link of the documentation to a file or a heading of this repository leads there, offline."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.documented import ROOT, pages

_FENCE: Final = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_CODE: Final = re.compile(r"`[^`\n]*`")
_LINK: Final = re.compile(r"\]\(([^)\s]+)\)")
_HEADING: Final = re.compile(r"^#{1,6} +(.+?)\s*$", re.MULTILINE)
_PATH: Final = re.compile(r"`((?:[a-zA-Z_0-9.-]+/)*[a-zA-Z_0-9-]+\.(?:py|sh|yml))`")
_BESIDE: Final = ("", "sandbox_gym", "tests")
"""What paths in pages begin at: the repository, the package, the tests."""


def _name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def test_headings_are_named_as_github_names_them() -> None:
    assert _anchor("Where a verify's time goes") == "where-a-verifys-time-goes"
    assert _anchor("`serve pool`, and more: [this](x.md)") == "serve-pool-and-more-this"


def _all() -> list[Path]:
    """Every Markdown file of the repository; what is made in it is left out."""
    made = {"site", "node_modules", "outputs", "cache", "build", "dist"}
    found = (path for path in ROOT.rglob("*.md") if not made & {*path.relative_to(ROOT).parts})
    return sorted(path for path in found if not any(part.startswith(".") for part in path.relative_to(ROOT).parts))


@pytest.mark.parametrize("page", _all(), ids=_name)
def test_links_lead_somewhere(page: Path) -> None:
    text = _CODE.sub("", _FENCE.sub("", page.read_text()))
    for target in _LINK.findall(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), f"{target}: no such file"
        assert found.is_relative_to(ROOT), f"{target} leaves the repository"
        assert not anchor or anchor in _anchors(found), f"{target}: no such heading"


@cache
def _anchors(page: Path) -> frozenset[str]:
    """Of all headings; a second one of the same text gets a number."""
    found: list[str] = []
    for heading in _HEADING.findall(_FENCE.sub("", page.read_text())):
        name = _anchor(heading)
        before = sum(1 for each in found if each == name or re.fullmatch(rf"{re.escape(name)}-\d+", each))
        found.append(f"{name}-{before}" if before else name)
    return frozenset(found)


def _anchor(heading: str) -> str:
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", plain.lower()).replace(" ", "-")


@pytest.mark.parametrize("page", [path for path in pages() if path.name != "CHANGELOG.md"], ids=_name)
def test_pages_name_modules_that_there_are(page: Path) -> None:
    assert [path for path in _PATH.findall(_FENCE.sub("", page.read_text())) if not _is_there(path)] == []


@cache
def _is_there(path: str) -> bool:
    """A file's name alone stands for any of that name."""
    if any((ROOT / above / path).exists() for above in _BESIDE):
        return True
    folders = (ROOT / name for name in ("sandbox_gym", "verifiers", "tests"))
    return "/" not in path and any(next(folder.rglob(path), None) for folder in folders)
