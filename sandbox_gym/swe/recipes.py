"""The shell commands that make an instance from its recipe, in order. Pure text; runs nothing.

Everything is made below WORK, so that one snapshot holds it: the repository as a single commit, without the history
that would show the fix, and an environment of its own, installed with pip and without a cache that could hold a later
release.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from sandbox_gym.errors import RequestError
from sandbox_gym.sandbox.driver import WORK
from sandbox_gym.sandbox.local.pythons import in_box
from sandbox_gym.verifiers.swe import Recipe

REPOSITORY: Final = f"{WORK}/testbed"
ENVIRONMENT: Final = f"{WORK}/env"
_AUTHOR = "-c user.name=sandbox_gym -c user.email=sandbox_gym@localhost -c init.defaultBranch=main"


@dataclass(frozen=True, slots=True)
class BuildStep:
    """One command of a build, what it is for, and its wall seconds."""

    name: str
    command: str
    timeout_s: float = 600.0


def recipe_steps(recipe: Recipe, pip: Mapping[str, str]) -> tuple[BuildStep, ...]:
    """The steps for a recipe. `pip`: settings of this machine's pip, given to each command and kept nowhere."""
    if recipe.system_packages:
        remedy = "name a base_image that has them"
        raise RequestError("environment.system_packages", "can't be installed: builds have no root", remedy)
    settings = " ".join(f"{name}={shlex.quote(value)}" for name, value in {**recipe.env, **pip}.items())
    inside = f"cd {REPOSITORY} && export PATH={ENVIRONMENT}/bin:$PATH"
    python = f"{settings} {ENVIRONMENT}/bin/python -m pip --no-input install --no-cache-dir -q"
    steps = [BuildStep("python", f"{in_box(recipe.python)} -m venv {ENVIRONMENT}")]
    wanted = " ".join(shlex.quote(each) for each in ("setuptools", "wheel", *recipe.packages))
    steps.append(BuildStep("packages", f"{python} {wanted}", 1800.0))
    steps += _source_steps(recipe, settings)
    for number, command in enumerate(recipe.install):
        steps.append(BuildStep(f"install[{number}]", f"{inside} && {settings} bash -c {shlex.quote(command)}", 1800.0))
    steps.append(BuildStep("clean", _clean()))
    return tuple(steps)


def _source_steps(recipe: Recipe, settings: str) -> list[BuildStep]:
    if not recipe.source:
        return []
    folder = f"{WORK}/sdist"
    fetch = f"{settings} {ENVIRONMENT}/bin/python -m pip --no-input download --no-deps --no-binary :all:"
    fetch += f" --no-cache-dir -q -d {folder} {shlex.quote(recipe.source)}"
    unpack = (
        f'mkdir -p {folder}/x && for f in {folder}/*.tar.gz {folder}/*.zip; do [ -e "$f" ] || continue;'
        f' case "$f" in *.zip) {ENVIRONMENT}/bin/python -m zipfile -e "$f" {folder}/x;;'
        f' *) tar --no-same-owner -xf "$f" -C {folder}/x;; esac; done;'
        f" mv {folder}/x/* {REPOSITORY} && rm -rf {folder}"
    )
    return [BuildStep("download", fetch), BuildStep("unpack", unpack), BuildStep("commit", first_commit(REPOSITORY))]


def first_commit(folder: str) -> str:
    """Make what a folder holds the only commit there is: no history, no later objects, no remotes, no reflog."""
    where = shlex.quote(folder)
    return (
        f"cd {where} && rm -rf .git && git {_AUTHOR} init -q && git add -Af . && git {_AUTHOR} commit -q -m base"
        " && rm -rf .git/logs .git/hooks && git config core.logAllRefUpdates false && git config gc.auto 0"
    )


def _clean() -> str:
    """What installing left in and beside the repository's own files is no part of anybody's patch; compiled files are
    no part of a repository that brings some."""
    return (
        f"cd {REPOSITORY} && find . -name __pycache__ -type d -prune -exec rm -rf {{}} +"
        f" && git {_AUTHOR} commit -q -a --amend --no-edit && git gc -q --prune=now"
        f" && printf '%s\\n' __pycache__/ '*.pyc' .pytest_cache/ >> .git/info/exclude"
        f" && git ls-files --others --exclude-standard | sed 's#^#/#' >> .git/info/exclude"
        # every candidate begins from here: what it does not touch is compiled once
        f"; {ENVIRONMENT}/bin/python -I -m compileall -q {REPOSITORY} >/dev/null 2>&1; rm -rf ~/.cache /tmp/*; true"
    )


def image_steps(workdir: str) -> Sequence[BuildStep]:
    """A dataset's image holds the repository and its environment; only its history goes."""
    return (BuildStep("commit", first_commit(workdir)),)
