"""The shell commands that make an instance from its recipe, in order. Pure text; runs nothing.

Everything is made below WORK, so that snapshots hold it: first an environment, which recipes with equal needs share, in
it the repository as a single commit, without the history that would show the fix. What is installed is installed with
pip, without a cache that could hold a later release.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Final

from sandbox_gym.sandbox.channel.driver import WORK
from sandbox_gym.sandbox.pythons import PLACE, in_box, minor
from sandbox_gym.verifiers.swe import Recipe

REPOSITORY: Final = f"{WORK}/testbed"
ENVIRONMENT: Final = f"{WORK}/env"
PIP_S: Final = 2700.0
_SDIST: Final = f"{WORK}/sdist"
_OWN_VERSION: Final = ("SETUPTOOLS_SCM_PRETEND_VERSION", "PBR_VERSION", "PDM_BUILD_SCM_VERSION", "POETRY_DYNAMIC_")
_AUTHOR = "-c user.name=sandbox_gym -c user.email=sandbox_gym@localhost -c init.defaultBranch=main"


@dataclass(frozen=True, slots=True)
class BuildStep:
    """One command of a build. `timeout_s` is long enough for a busy machine; a command that hangs takes all of it."""

    name: str
    command: str
    timeout_s: float = 900.0
    shown: str = ""
    """What it does, for people; the command has this machine's settings in it."""


def environment_of(recipe: Recipe) -> Recipe:
    """What of a recipe its environment is made of: recipes that share it share a layer. Variables that tell a build the
    repository's own version mean nothing to its environment."""
    env = {name: value for name, value in recipe.env.items() if not name.startswith(_OWN_VERSION)}
    bare = recipe.files and not (recipe.packages or recipe.install)  # then no index is needed
    packages = () if bare else ("setuptools", "wheel", *recipe.packages)
    return replace(recipe, source="", sdist="", files={}, packages=packages, install=(), env=env)


def environment_steps(recipe: Recipe, pip: Mapping[str, str], *, check_packages: bool) -> tuple[BuildStep, ...]:
    """The steps of the environment's layer. `pip`: settings of this machine's pip, given to each command and kept
    nowhere. `check_packages`: whoever makes the box installs no Debian packages, so that it must have them."""
    recipe = environment_of(recipe)
    steps = []
    if recipe.system_packages and check_packages:
        packages = " ".join(recipe.system_packages)
        steps.append(BuildStep("system_packages", _packages_there(packages), shown=f"find {packages}"))
    options = "" if recipe.packages else "--without-pip "
    made = f"{in_box(recipe.python)} -m venv {options}{ENVIRONMENT}"
    steps.append(BuildStep("python", _made(recipe.python, options), shown=made))
    if not recipe.packages:
        return tuple(steps)
    wanted = shlex.join(recipe.packages)
    install = f"{ENVIRONMENT}/bin/python -m pip --no-input install --no-cache-dir --progress-bar off {wanted}"
    steps.append(BuildStep("packages", f"{_settings(recipe, pip)} {install}", PIP_S, f"pip install {wanted}"))
    return tuple(steps)


def repository_steps(recipe: Recipe, pip: Mapping[str, str]) -> tuple[BuildStep, ...]:
    """The steps that put the repository into its environment."""
    settings = _settings(recipe, pip)
    inside = f"cd {REPOSITORY} && export PATH={ENVIRONMENT}/bin:$PATH"
    steps = _source_steps(recipe, settings)
    for number, command in enumerate(recipe.install):
        run = f"{inside} && {settings} bash -c {shlex.quote(command)}"
        steps.append(BuildStep(f"install[{number}]", run, PIP_S, command))
    steps.append(BuildStep("clean", _clean()))
    return tuple(steps)


def _settings(recipe: Recipe, pip: Mapping[str, str]) -> str:
    return " ".join(f"{name}={shlex.quote(value)}" for name, value in {**recipe.env, **pip}.items())


def _made(version: str, options: str) -> str:
    """With a Python of the box's own version where it has that one; a box that has none says which it has."""
    own = f"/usr/bin/python{minor(version) or '3'}"
    there = f"$(ls {PLACE} 2>/dev/null | tr '\\n' ' ')$(/usr/bin/python3 -V 2>&1)"
    lacks = f'echo "error: no Python {version} in the box; there are: {there}"; exit 1'
    return f"p={in_box(version)}; [ -x $p ] || p={own}; [ -x $p ] || {{ {lacks}; }}; $p -m venv {options}{ENVIRONMENT}"


def _packages_there(packages: str) -> str:
    """Each Debian package has a folder there; a box shows the rest of dpkg's to nobody."""
    missing = f'for p in {packages}; do [ -e /usr/share/doc/$p ] || echo "$p"; done'
    remedy = "apt-get install them on the machine of the boxes, or build with provider docker"
    return f'm=$({missing}); [ -z "$m" ] || {{ echo "error: Debian packages are not here: "$m"; {remedy}"; exit 1; }}'


def _source_steps(recipe: Recipe, settings: str) -> list[BuildStep]:
    commit = BuildStep("commit", first_commit(REPOSITORY))
    if not recipe.source:
        return [commit] if recipe.files else []
    unpack = (
        f'mkdir -p {_SDIST}/x && for f in {_SDIST}/*.*; do case "$f" in'
        f' *.zip) {ENVIRONMENT}/bin/python -m zipfile -e "$f" {_SDIST}/x;;'
        f' *) tar --no-same-owner -xf "$f" -C {_SDIST}/x;; esac; done;'
        f" mv {_SDIST}/x/* {REPOSITORY} && rm -rf {_SDIST}"
    )
    return [
        BuildStep("download", _fetch(recipe, settings), PIP_S, f"fetch the sdist of {recipe.source}"),
        BuildStep("unpack", unpack),
        commit,
    ]


def _fetch(recipe: Recipe, settings: str) -> str:
    """The sdist as a file; where that can't be, by pip, which builds this one release's metadata and no other's."""
    python, name = f"{ENVIRONMENT}/bin/python", recipe.source.partition("==")[0]
    wanted = shlex.join((recipe.source, _SDIST, *([recipe.sdist] if recipe.sdist else [])))
    download = f"-m pip --no-input download --no-deps --no-binary {name} --no-cache-dir -q -d {_SDIST} {recipe.source}"
    script = shlex.quote(_sdist_script())
    return f"mkdir -p {_SDIST} && {{ {settings} {python} -I -c {script} {wanted} || {settings} {python} {download}; }}"


@cache
def _sdist_script() -> str:
    return files("sandbox_gym.guest").joinpath("sdist.py").read_text(encoding="utf-8")


def first_commit(folder: str) -> str:
    """Make what a folder holds the only commit there is: no history, no later objects, no remotes, no reflog."""
    where = shlex.quote(folder)
    return (
        f"cd {where} && rm -rf .git && git {_AUTHOR} init -q && git add -Af . && git {_AUTHOR} commit -q -m base"
        " && rm -rf .git/logs .git/hooks && git config core.logAllRefUpdates false && git config gc.auto 0"
    )


def _clean() -> str:
    """Files that installing left in the repository belong to no answer's patch; compiled files are removed from a
    repository that comes with some."""
    return (
        f"cd {REPOSITORY} && find . -name __pycache__ -type d -prune -exec rm -rf {{}} +"
        f" && git {_AUTHOR} commit -q -a --amend --no-edit && git gc -q --prune=now"
        f" && printf '%s\\n' __pycache__/ '*.pyc' .pytest_cache/ >> .git/info/exclude"
        f" && git ls-files --others --exclude-standard | sed 's#^#/#' >> .git/info/exclude"
        # every session and verify begins from this snapshot: files that an answer does not change are compiled once
        f"; {ENVIRONMENT}/bin/python -I -m compileall -q {REPOSITORY} >/dev/null 2>&1; rm -rf ~/.cache /tmp/*; true"
    )


def where_sessions_begin(workdir: str, recipe: Recipe | None) -> str:
    """For the shell that the snapshot keeps: sessions begin in the repository, with its environment's programs."""
    own = f" && export PATH={ENVIRONMENT}/bin:$PATH" if recipe is not None else ""
    return f"cd {shlex.quote(workdir)}{own}"
