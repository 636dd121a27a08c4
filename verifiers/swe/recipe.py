"""An `environment` recipe read from a row: from what the instance's image is built when none is published.

`{"base_image", "python", "source", "sdist", "files", "packages", "system_packages", "install", "env"}`, all optional
but that it must say where the repository comes from. Rows of a release's sdist with `base` and `install` beside the
tests are read too: there the `pip install` lines of requirements become packages, and what downloads or unpacks is the
source. So are rows with a harness's spec and a `source` (spec.py).
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import PurePosixPath

from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.coding.fields import mapping, text, texts, wrong
from sandbox_gym.verifiers.swe.patches.paths import refusal
from sandbox_gym.verifiers.swe.spec import environment_of_spec, spec_of
from sandbox_gym.verifiers.swe.task import Recipe

_PYTHON = re.compile(r"3\.\d{1,2}(?:\.\d{1,2})?")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_REQUIREMENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(?:\[[A-Za-z0-9._, -]+\])?[^\s;&|`$\0\n-]?[^;&|`$\0\n]*")
_DISTRIBUTION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[A-Za-z0-9][A-Za-z0-9._+!-]*")
_PACKAGE = re.compile(r"[a-z0-9][a-z0-9+.-]*[a-z0-9+.]")  # a dash at its end asks apt to remove it
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,499}")
_SURROGATE = re.compile("[\ud800-\udfff]")
_FIELDS = {
    "base_image", "python", "source", "sdist", "files", "packages", "system_packages", "install", "env", "test_command"
}  # fmt: skip
MAX_FILES = 1000


def parse_recipe(row: Mapping[str, object], root: str) -> Recipe | None:
    """The row's recipe, or None where it has none. Raises RequestError."""
    given = row.get("environment")
    if isinstance(given, Mapping):
        return _environment(given, f"{root}.environment")
    if "base" in row and "install" in row:
        return _release(row, root)
    source = row.get("source")
    if isinstance(source, str) and _DISTRIBUTION.fullmatch(source):  # else it is another dataset's column
        spec, field = spec_of(row, root)
        return _environment(environment_of_spec(spec, field, source), field) if spec else None
    return None


def _environment(spec: Mapping[str, object], field: str) -> Recipe:
    unknown = sorted(str(name) for name in spec if name not in _FIELDS)
    if unknown:
        raise RequestError(f"{field}.{unknown[0]}", "is unknown", f"give only {', '.join(sorted(_FIELDS))}")
    recipe = Recipe(
        base_image=_matching(text(spec, "base_image", field), f"{field}.base_image", _IMAGE, "give an image's name"),
        python=_python(spec, field),
        source=_matching(text(spec, "source", field), f"{field}.source", _DISTRIBUTION, "give name==version"),
        sdist=_file_name(text(spec, "sdist", field), f"{field}.sdist"),
        packages=_each(spec, "packages", field, _REQUIREMENT, "give a requirement such as pytest<8.4"),
        system_packages=_each(spec, "system_packages", field, _PACKAGE, "give a Debian package's name"),
        install=_each(spec, "install", field, None, ""),
        env=_env(spec.get("env"), f"{field}.env"),
        files=_files(spec.get("files"), f"{field}.files"),
    )
    if not (recipe.source or recipe.files or recipe.base_image):
        remedy = "give source as name==version, files, or a base_image that holds it"
        raise RequestError(field, "names no repository", remedy)
    if recipe.source and recipe.files:
        raise RequestError(f"{field}.files", "are given beside a source", "give one of them: it is the repository")
    return recipe


def _release(row: Mapping[str, object], root: str) -> Recipe:
    packages: list[str] = []
    install: list[str] = []
    for index, command in enumerate(texts(row["install"], f"{root}.install")):
        if command.startswith("pip download "):
            continue  # how the source is had: `base` says it
        wanted = _requirements(command, f"{root}.install[{index}]")
        packages += wanted
        if not wanted:
            install.append(command)
    source = text(row, "base", root)
    return Recipe(
        python=_python(row, root),
        source=_matching(source, f"{root}.base", _DISTRIBUTION, "give name==version of the release to begin from"),
        sdist=_file_name(text(row, "sdist", root), f"{root}.sdist"),
        packages=tuple(packages),
        install=tuple(install),
        env=_env(row.get("env"), f"{root}.env"),
    )


def _requirements(command: str, field: str) -> list[str]:
    """What a `pip install` of requirements alone installs; nothing for any other command."""
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise wrong(field, command, f"write a shell command ({error})") from None
    if words[:2] != ["pip", "install"] or any(not _REQUIREMENT.fullmatch(word) for word in words[2:]):
        return []
    return words[2:]


def _python(spec: Mapping[str, object], field: str) -> str:
    return _matching(text(spec, "python", field), f"{field}.python", _PYTHON, "give a version such as 3.12")


def _matching(value: str, field: str, pattern: re.Pattern[str], remedy: str) -> str:
    if value and not pattern.fullmatch(value):
        raise wrong(field, value, remedy)
    return value


def _each(
    spec: Mapping[str, object], name: str, field: str, pattern: re.Pattern[str] | None, remedy: str
) -> tuple[str, ...]:
    items = texts(spec.get(name, []), f"{field}.{name}")
    for index, item in enumerate(items):
        if pattern is not None and not pattern.fullmatch(item):
            raise wrong(f"{field}.{name}[{index}]", item, remedy)
    return items


def _file_name(value: str, field: str) -> str:
    if value and ("/" in value or "\0" in value or value.startswith((".", "-"))):
        raise wrong(field, value, "give a file name without a folder")
    return value


def _env(value: object, field: str) -> dict[str, str]:
    if value is None:
        return {}
    env: dict[str, str] = {}
    for name, item in mapping(value, field, "give an object of strings").items():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise wrong(field, name, "give names of letters, digits and underscores")
        if not isinstance(item, str) or "\0" in item:
            raise wrong(f"{field}.{name}", item, "give a string")
        env[name] = item
    return env


def _files(value: object, field: str) -> dict[str, str]:
    """Texts by path: what a patch may create (patches/paths.py)."""
    if value is None:
        return {}
    files: dict[str, str] = {}
    for path, content in mapping(value, field, "give an object of texts by path").items():
        if not isinstance(path, str) or not path or refusal(path):
            raise wrong(field, path, "give paths inside the repository, and none in .git")
        if not isinstance(content, str) or _SURROGATE.search(path + content):
            raise wrong(f"{field}.{path[:80]!a}", content, "give a text that is UTF-8")
        files[path] = content
    folders = {str(folder) for path in files for folder in PurePosixPath(path).parents}
    if clash := sorted(folders.intersection(files)):
        raise wrong(field, clash[0], "give it as a file or as a folder of files")
    if len(files) > MAX_FILES:
        raise RequestError(field, f"are {len(files)}", f"give at most {MAX_FILES}")
    return files
