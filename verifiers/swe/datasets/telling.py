"""Which dataset a row is of, and what follows from it: the image, its folder, who runs the tests."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.coding.fields import text, wrong
from sandbox_gym.verifiers.swe.datasets.conventions import CONVENTIONS
from sandbox_gym.verifiers.swe.datasets.forms import refuse_unknown
from sandbox_gym.verifiers.swe.logs.formats import PYTEST_PARSERS
from sandbox_gym.verifiers.swe.task import Family, ImageLayout, Runner

_IMAGE_FIELDS: Final = ("image", "image_name", "docker_image")
_IMAGE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,499}")
_NAME: Final = re.compile(r"[A-Za-z0-9_.][A-Za-z0-9._-]{0,127}")
_COLLECTED: Final = re.compile(r".*?\.(py|pyx|rst|txt|md|ipynb|ya?ml)::", re.DOTALL)
"""An id of pytest's, by the file: tests, and what it and its plugins collect beside them."""
_LOG_REPOS: Final = frozenset({"django/django", "sympy/sympy"})
"""SWE-bench's Python repositories whose tests are not pytest's."""


def family_of(row: Mapping[str, object], root: str) -> Family:
    """The dataset, from fields that only it has, then from the names that a row may give. Raises RequestError."""
    if isinstance(row.get("environment"), Mapping) or ("base" in row and "install" in row):
        return "own"
    told = _by_marks(row) or _by_names(row)
    if told is not None:
        return told
    if text(row, "repo", root).startswith("swesmith/"):
        return "swe_smith"
    if row.get("install_config"):
        return "swe_rebench"
    if row.get("subset") == "gym":
        return "swe_gym"
    refuse_unknown(row, root)
    return "swebench"


def _by_marks(row: Mapping[str, object]) -> Family | None:
    for family, conventions in CONVENTIONS.items():
        if family != "swebench" and any(all(mark in row for mark in marks) for marks in conventions.marks):
            return family
    return None


def _by_names(row: Mapping[str, object]) -> Family | None:
    """The longest name that stands in what the row gives: SWE-bench's is part of others'."""
    for field in ("dataset_name", "dataset", *_IMAGE_FIELDS):
        value = row.get(field)
        if isinstance(value, str):
            lower = value.lower()
            found = [(len(name), family) for family, one in CONVENTIONS.items() for name in one.names if name in lower]
            if found:
                return max(found, key=lambda pair: pair[0])[1]
    return None


def image_of(row: Mapping[str, object], family: Family, instance_id: str, root: str) -> str:
    """The image the row names, or the one its dataset publishes for the instance. Raises RequestError."""
    for name in _IMAGE_FIELDS:
        given = text(row, name, root, remedy="give an image's name")
        if given:
            if not _IMAGE.fullmatch(given):
                raise wrong(f"{root}.{name}", given, "give an image's name such as registry/name:tag")
            return _published(given) if family == "swe_smith" else given
    rule = CONVENTIONS[family].image if family in CONVENTIONS and not _is_second_rebench(row, family) else ""
    slug = instance_id.lower()
    if "{dockerhub_tag}" in rule:
        return rule.format(dockerhub_tag=_part(row, "dockerhub_tag", root))
    if "{org}" in rule:
        org, slash, repo = text(row, "repo", root).lower().partition("/")
        number = row.get("number")
        if not slash or type(number) is not int:
            raise RequestError(f"{root}.image", "is missing", "give image, or org, repo and number of the pull request")
        return rule.format(org=org, repo=repo, number=number)
    if "{smith}" in rule:
        return rule.format(smith=_smith_slug(text(row, "repo", root), instance_id, root))
    if rule:
        return rule.format(id_1776=slug.replace("__", "_1776_"), id_s=slug.replace("__", "_s_"))
    raise RequestError(f"{root}.docker_image", "is missing", "give the image that the row's tests run in")


def _part(row: Mapping[str, object], name: str, root: str) -> str:
    value = text(row, name, root)
    if not value:
        raise RequestError(f"{root}.{name}", "is missing", f"give {name}, or image: what the row's tests run in")
    if not _NAME.fullmatch(value):
        raise wrong(f"{root}.{name}", value, "give letters, digits and . _ -")
    return value


def _published(image: str) -> str:
    """SWE-smith's rows have the local name; the registry has no `__` in names."""
    folder, slash, name = image.rpartition("/")
    return f"{folder}{slash}{name.replace('__', '_1776_')}" if slash else f"swebench/{name.replace('__', '_1776_')}"


def _smith_slug(repo: str, instance_id: str, root: str) -> str:
    """`owner_1776_name.commit` of `swesmith/owner__name.commit`, or of `owner__name.commit.kind__hash`."""
    name = repo.removeprefix("swesmith/") if repo.startswith("swesmith/") else ".".join(instance_id.split(".")[:2])
    if "__" not in name or "." not in name:
        raise wrong(f"{root}.repo", repo, "give swesmith/owner__name.commit, or an image_name")
    return name.lower().replace("__", "_1776_")


def workdir_of(row: Mapping[str, object], family: Family, repo: str, root: str) -> str:
    """Where the image has the repository: its dataset's folder, but for rows that say otherwise."""
    given = text(row, "workdir", root, remedy="give an absolute path")
    if given:
        if not given.startswith("/") or ".." in given.split("/") or "\0" in given:
            raise wrong(f"{root}.workdir", given, "give an absolute path without ..")
        return given.rstrip("/") or "/"
    name = repo.rpartition("/")[2]
    if _is_second_rebench(row, family):
        return f"/{name}"
    return CONVENTIONS[family].workdir.format(name=name) if family in CONVENTIONS else "/testbed"


def _is_second_rebench(row: Mapping[str, object], family: Family) -> bool:
    """SWE-rebench's second version, whose rows name their language and whose images have no conda."""
    return family == "swe_rebench" and "language" in row


def layout_of(row: Mapping[str, object], family: Family) -> ImageLayout:
    """How the dataset's images are laid out."""
    if family not in CONVENTIONS:
        return ImageLayout()
    layout = CONVENTIONS[family].layout
    return replace(layout, conda_env="", environments=()) if _is_second_rebench(row, family) else layout


def runner_of(row: Mapping[str, object], ids: tuple[str, ...], parser: str, repo: str, root: str) -> Runner:
    """pytest where the ids are its own (`file::test`); unittest where the row says so; else the command's log."""
    given = row.get("runner")
    if given is not None:
        if given not in ("pytest", "unittest", "log"):
            raise wrong(f"{root}.runner", given, "give pytest, unittest or log, or leave it out")
        return given
    if repo in _LOG_REPOS or (parser and parser not in PYTEST_PARSERS):
        return "log"
    found = [_COLLECTED.match(test) for test in ids]
    return "pytest" if all(found) and any(one and one[1] == "py" for one in found) else "log"
