"""A row from two releases of a package on the index: `python -m tests.swe_full.make_row NAME BASE FIXED [PACKAGE ...]`.

The patch is what differs in Python files beside the tests, the test patch what differs in the tests. Both lists are
measured: the changed test files are run at the base with the test patch, then with the patch too. Prints the row, which
is made of nothing but the two sdists. `--python 3.8`, `--unittest` and `--env NAME=VALUE` hold for the measure and the
row; `--drop TEXT` leaves tests out whose id has it, as those that read the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sandbox_gym.guest import sdist
from sandbox_gym.sandbox.pythons import ready
from sandbox_gym.verifiers.swe.ids import dotted

TESTS = (":(glob)tests/**", ":(glob)test/**", ":(glob)*/tests/**", ":(glob)*/test/**", ":(glob)**/test_*.py")
NEITHER = (":(exclude,glob)**/__pycache__/**",)
CODE = (":(glob)**/*.py", *(f":(exclude,glob){one.removeprefix(':(glob)')}" for one in TESTS))
RUN = ("-m", "pytest", "-rA", "-p", "no:cacheprovider", "--color=no", "-q", "--continue-on-collection-errors")
UNITTEST = ("-m", "unittest", "-v")


@dataclass(frozen=True)
class Wanted:
    """What the command line says."""

    name: str
    base: str
    fixed: str
    packages: list[str]
    python: str
    unittest: bool
    env: dict[str, str]
    drop: list[str]


def row(wanted: Wanted) -> dict[str, object]:
    """The row of a package's fix between two releases."""
    name, base, fixed = wanted.name, wanted.base, wanted.fixed
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        repository, patch, test_patch = _patches(at, name, base, fixed)
        if not patch or not test_patch:
            raise SystemExit(f"{name} {base} and {fixed} have the same {'tests' if patch else 'code'} in their sdists")
        changed = re.findall(r"(?m)^\+\+\+ b/(\S*test\S*\.py)$", test_patch)
        files = [file for file in changed if re.match(r"test_|.*_test\.py", Path(file).name)]
        before, after = _measured(wanted, at, repository, (test_patch, patch), files)
    environment = {
        "source": f"{name}=={base}",
        "python": wanted.python,
        "packages": wanted.packages,
        "install": ["pip install -e ."],
        "env": {"SETUPTOOLS_SCM_PRETEND_VERSION": base, **wanted.env},
    }
    ran = (*UNITTEST, *_modules(files)) if wanted.unittest else (*RUN[:-1], *files)
    return {
        "instance_id": f"{name}__{name}-{fixed}",
        "repo": name,
        "problem_statement": f"What {name} {fixed} mends of {base}.",
        "environment": environment,
        "patch": patch,
        "test_patch": test_patch,
        "test_files": files,
        "test_command": " ".join(("python", *ran)),
        **({"runner": "unittest"} if wanted.unittest else {}),
        "FAIL_TO_PASS": sorted(after - before),
        "PASS_TO_PASS": sorted(after & before),
    }


def _patches(at: Path, name: str, base: str, fixed: str) -> tuple[Path, str, str]:
    """(a repository at the base, the patch, the test patch)."""
    repository, other = _unpacked(at, name, base), _unpacked(at, name, fixed)
    _git(repository, "init", "-q")
    _git(repository, "add", "-Af", ".")
    _git(repository, "-c", "user.name=x", "-c", "user.email=x@localhost", "commit", "-qm", "base")
    shutil.move(repository / ".git", other / ".git")
    _git(other, "add", "-Af", ".")
    code, tests = (
        _git(other, "diff", "--cached", "--binary", "HEAD", "--", *which, *NEITHER) for which in (CODE, TESTS)
    )
    shutil.move(other / ".git", repository / ".git")
    _git(repository, "reset", "-q", "--hard")
    return repository, code, tests


def _unpacked(at: Path, name: str, version: str) -> Path:
    folder = at / version
    folder.mkdir()
    if sdist.main([f"{name}=={version}", str(folder)]):
        raise SystemExit(1)
    (archive,) = folder.iterdir()
    if archive.suffix == ".zip":
        shutil.unpack_archive(archive, folder)
    else:
        shutil.unpack_archive(archive, folder, filter="data")
    archive.unlink()
    return next(folder.iterdir())


def _git(repository: Path, *arguments: str, given: str = "") -> str:
    """Bytes all the way: some repositories' files end their lines as Windows does."""
    done = subprocess.run(["git", *arguments], cwd=repository, input=given.encode(), capture_output=True, check=True)
    return done.stdout.decode("utf-8")


def _measured(
    wanted: Wanted, at: Path, repository: Path, changes: tuple[str, str], files: list[str]
) -> tuple[set[str], set[str]]:
    """Tests that pass before the patch, and after it."""
    python = at / "env" / "bin" / "python"
    subprocess.run([ready(wanted.python) / "bin" / f"python{wanted.python}", "-m", "venv", at / "env"], check=True)
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    env = {**os.environ, "SETUPTOOLS_SCM_PRETEND_VERSION": wanted.base, **wanted.env}
    # stdout is the row's
    subprocess.run([*pip, "setuptools", "wheel", *wanted.packages], check=True, stdout=sys.stderr)
    subprocess.run([*pip, "-e", "."], cwd=repository, env=env, check=True, stdout=sys.stderr)
    found = []
    for change in changes:
        _git(repository, "apply", "--whitespace=nowarn", given=change)
        there = [file for file in files if (repository / file).exists()]
        argv = (*UNITTEST, *_modules(there)) if wanted.unittest else (*RUN, *there)
        done = subprocess.run([python, *argv], cwd=repository, env=env, capture_output=True, text=True, check=False)
        sys.stderr.write((done.stdout + done.stderr)[-600:])
        found.append(
            {test for test in _passed(done.stdout + done.stderr) if not any(one in test for one in wanted.drop)}
        )
    return found[0], found[1]


def _modules(files: list[str]) -> list[str]:
    """Test files as unittest names them; those of a src layout by what is importable."""
    return [file.removesuffix(".py").removeprefix("src/").replace("/", ".") for file in files]


def _passed(log: str) -> set[str]:
    """pytest's ids, or unittest's, which has a docstring's first line below."""
    ids = set(re.findall(r"(?m)^PASSED (\S.*?)$", log))
    return ids | {
        dotted(f"{name} ({of})") for name, of in re.findall(r"(?m)^(\w+) \(([\w.]+)\)(?:\n.*?)? \.\.\. ok$", log)
    }


def _wanted() -> Wanted:
    parser = argparse.ArgumentParser()
    for name in ("name", "base", "fixed"):
        parser.add_argument(name)
    parser.add_argument("packages", nargs="*")
    parser.add_argument("--python", default="3.12")
    parser.add_argument("--unittest", action="store_true")
    parser.add_argument("--env", action="append", default=[])
    parser.add_argument("--drop", action="append", default=[])
    given = parser.parse_intermixed_args()
    env = dict(one.split("=", 1) for one in given.env)
    packages = given.packages or ([] if given.unittest else ["pytest<8.4"])
    return Wanted(given.name, given.base, given.fixed, packages, given.python, given.unittest, env, given.drop)


if __name__ == "__main__":
    sys.stdout.write(json.dumps(row(_wanted())) + "\n")
