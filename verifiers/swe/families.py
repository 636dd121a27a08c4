"""Which dataset a row is of, and the conventions each has: image names, folders, parsers.

Sources: swebench 5.0.2; mini-swe-agent's and SWE-Gym's image names; the R2E-Gym, SWE-smith and SWE-rebench harnesses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.coding.fields import text, wrong
from sandbox_gym.verifiers.swe.logs.formats import PYTEST_PARSERS
from sandbox_gym.verifiers.swe.task import Family, Runner

_IMAGE_FIELDS = ("image", "image_name", "docker_image")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,499}")
_BY_NAME: Mapping[str, Family] = {
    "swe-gym": "swe_gym",
    "swe_gym": "swe_gym",
    "swe-smith": "swe_smith",
    "swesmith": "swe_smith",
    "r2e": "r2e_gym",
    "swe-rebench": "swe_rebench",
    "swerebench": "swe_rebench",
    "swe-bench": "swebench",
    "swebench": "swebench",
}

_LOG_REPOS = frozenset({"django/django", "sympy/sympy"})
"""SWE-bench's Python repositories whose tests are not pytest's."""


def family_of(row: Mapping[str, object], root: str) -> Family:
    """The dataset, from fields that only it has, then from the names that a row may give. Raises RequestError."""
    if isinstance(row.get("environment"), Mapping) or ("base" in row and "install" in row):
        return "own"
    if "expected_output_json" in row:
        return "r2e_gym"
    for name in ("dataset_name", "dataset", *_IMAGE_FIELDS):
        value = row.get(name)
        known = (family for part, family in _BY_NAME.items() if isinstance(value, str) and part in value.lower())
        family = next(known, None)
        if family is not None:
            return family
    if text(row, "repo", root).startswith("swesmith/"):
        return "swe_smith"
    if isinstance(row.get("install_config"), Mapping):
        return "swe_rebench"
    if row.get("subset") == "gym":
        return "swe_gym"
    return "swebench"


def image_of(row: Mapping[str, object], family: Family, instance_id: str, root: str) -> str:
    """The image the row names, or the one its dataset publishes for the instance. Raises RequestError."""
    for name in _IMAGE_FIELDS:
        given = text(row, name, root, remedy="give an image's name")
        if given:
            if not _IMAGE.fullmatch(given):
                raise wrong(f"{root}.{name}", given, "give an image's name such as registry/name:tag")
            return _published(given) if family == "swe_smith" else given
    slug = instance_id.lower()
    if family == "swe_gym":
        return f"xingyaoww/sweb.eval.x86_64.{slug.replace('__', '_s_')}:latest"
    if family == "swe_rebench":
        return f"swerebench/sweb.eval.x86_64.{slug.replace('__', '_1776_')}:latest"
    if family == "swe_smith":
        return f"swebench/swesmith.x86_64.{_smith_slug(text(row, 'repo', root), instance_id, root)}:latest"
    if family == "swebench":
        return f"swebench/sweb.eval.x86_64.{slug.replace('__', '_1776_')}:latest"
    raise RequestError(f"{root}.docker_image", "is missing", "give the image that the row's tests run in")


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
    """Where the image has the repository: /testbed, but for rows that say otherwise and SWE-rebench's second version,
    whose rows name their language."""
    given = text(row, "workdir", root, remedy="give an absolute path")
    if given:
        if not given.startswith("/") or ".." in given.split("/") or "\0" in given:
            raise wrong(f"{root}.workdir", given, "give an absolute path without ..")
        return given.rstrip("/") or "/"
    if family == "swe_rebench" and "language" in row:
        return "/" + repo.rpartition("/")[2]
    return "/testbed"


def runner_of(row: Mapping[str, object], ids: tuple[str, ...], parser: str, repo: str, root: str) -> Runner:
    """pytest where the ids are its own (`file::test`); unittest where the row says so; else the command's log."""
    given = row.get("runner")
    if given is not None:
        if given not in ("pytest", "unittest", "log"):
            raise wrong(f"{root}.runner", given, "give pytest, unittest or log, or leave it out")
        return given
    if repo in _LOG_REPOS or (parser and parser not in PYTEST_PARSERS):
        return "log"
    return "pytest" if all(".py::" in test for test in ids) else "log"
