"""A recipe from a harness's spec: SWE-bench's (`spec`, as swebench 4 has one for each repository and version) or
SWE-rebench's (`install_config`).

Such specs are written for conda, a clone and root. What they ask for is had from an index of Python packages, an sdist
and Debian; what can't be is refused by its name.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Mapping
from typing import Final

from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.coding.fields import mapping, text, texts, wrong

PLACES: Final = ("spec", "install_config")
_CONDA: Final = re.compile(r"(?:^|[\s;&|(])(?:conda|mamba|micromamba)\s+(?!activate\b)")
_CONDA_PIN: Final = re.compile(r"[A-Za-z0-9._-]+=[^=].*")
_APT: Final = re.compile(r"(?:^|[\s;&|(])(?:apt|apt-get|aptitude|dpkg)\s")
_VARIABLE: Final = re.compile(r"[A-Za-z_]\w*=.*", re.DOTALL)
_NOT_HAD: Final = "there are no conda channels; give pip_packages, a base_image, or the row's image"


def spec_of(row: Mapping[str, object], root: str) -> tuple[Mapping[str, object], str]:
    """The row's spec and where it stands; empty where it has none. Raises RequestError."""
    for place in PLACES:
        value = row.get(place)
        if place == "spec" and isinstance(value, str) and not value.lstrip().startswith("{"):
            continue  # a text of another dataset's
        if isinstance(value, str) and value:
            try:
                value = json.loads(value)
            except (ValueError, RecursionError):
                raise wrong(f"{root}.{place}", value, "give an object, or one as JSON") from None
        if isinstance(value, Mapping) and value:
            return value, f"{root}.{place}"
    return {}, f"{root}.{PLACES[0]}"


def environment_of_spec(spec: Mapping[str, object], field: str, source: str) -> Mapping[str, object]:
    """The spec in the words of an `environment`. `source`: the release that the repository is had from, whose version
    replaces what tools read from a clone. Raises RequestError."""
    packages, requirements = _packages(spec, field)
    debian, before = _pre_install(spec, field)
    install = [*requirements, *before, *_commands(spec, "install", field)]
    for command in install:
        if _CONDA.search(command):
            raise RequestError(f"{field}.install", f"runs {command[:120]!r}", _NOT_HAD)
    variables = mapping(spec.get("env_vars") or {}, f"{field}.env_vars", "give an object of strings")
    return {
        "python": text(spec, "python", field),
        "source": source,
        "packages": [*packages, *texts(spec.get("pip_packages") or [], f"{field}.pip_packages")],
        "system_packages": debian,
        "install": install,
        "env": {"SETUPTOOLS_SCM_PRETEND_VERSION": source.partition("==")[2], **variables},
    }


def _packages(spec: Mapping[str, object], field: str) -> tuple[list[str], list[str]]:
    """(requirements, commands that install the repository's own files of requirements)."""
    given = spec.get("packages") or ""
    words = _words(given, f"{field}.packages") if isinstance(given, str) else list(texts(given, f"{field}.packages"))
    files = [word for word in words if word.endswith(".txt")]
    named = texts(spec.get("reqs_path") or [], f"{field}.reqs_path")
    wanted = [word for word in words if word not in files and word.partition("=")[0] != "python"]
    for word in wanted:
        if word.endswith((".yml", ".yaml")) or word.startswith("-") or _CONDA_PIN.fullmatch(word):
            raise RequestError(f"{field}.packages", f"asks conda for {word[:120]!r}", _NOT_HAD)
    commands = [f"python -m pip install -r {shlex.quote(file)}" for file in (named or files)]
    return wanted, commands


def _pre_install(spec: Mapping[str, object], field: str) -> tuple[list[str], list[str]]:
    """(Debian packages, the commands that are left)."""
    packages: list[str] = []
    left = []
    for command in _commands(spec, "pre_install", field):
        if not _APT.search(command):
            left.append(command)
            continue
        for part in re.split(r"\s*(?:&&|;)\s*", command.strip().rstrip(";&")):
            if _APT.search(part):
                packages += _debian(part, f"{field}.pre_install")
            else:
                left.append(part)
    return list(dict.fromkeys(packages)), left


def _debian(command: str, field: str) -> list[str]:
    """What one command of apt installs; nothing for one that only brings its lists up to date."""
    words = [word for word in _words(command, field) if word != "sudo" and not _VARIABLE.fullmatch(word)]
    verb, *names = [word for word in words[1:] if not word.startswith("-")] or [""]
    if words[:1] not in (["apt"], ["apt-get"]) or verb not in ("update", "install", "clean", "autoremove"):
        remedy = "name Debian packages by apt-get install, or in an environment's system_packages"
        raise RequestError(field, f"runs {command[:120]!r} as root", remedy)
    return names if verb == "install" else []


def _words(value: str, field: str) -> list[str]:
    try:
        return shlex.split(value)
    except ValueError as error:
        raise wrong(field, value, f"write words as a shell reads them ({error})") from None


def _commands(spec: Mapping[str, object], name: str, field: str) -> list[str]:
    value = spec.get(name) or []
    return [value] if isinstance(value, str) else list(texts(value, f"{field}.{name}"))
