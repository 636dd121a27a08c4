"""A row from two releases of a package on the index: `python -m tests.swe_full.make_row NAME BASE FIXED [PACKAGE ...]`.

The patch is what differs in Python files beside the tests, the test patch what differs in the tests. Both lists are
measured: the changed test files are run at the base with the test patch, then with the patch too. Prints the row, which
is made of nothing but the two sdists.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from sandbox_gym.guest import sdist

PYTHON = "3.12"
TESTS = (":(glob)tests/**", ":(glob)test/**", ":(glob)*/tests/**")
CODE = (":(glob)**/*.py", *(f":(exclude,glob){one.removeprefix(':(glob)')}" for one in TESTS))
RUN = ("-m", "pytest", "-rA", "-p", "no:cacheprovider", "--color=no", "-q", "--continue-on-collection-errors")


def row(name: str, base: str, fixed: str, packages: list[str]) -> dict[str, object]:
    """The row of NAME's fix between two releases."""
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        repository, patch, test_patch = _patches(at, name, base, fixed)
        if not patch or not test_patch:
            raise SystemExit(f"{name} {base} and {fixed} have the same {'tests' if patch else 'code'} in their sdists")
        changed = re.findall(r"(?m)^\+\+\+ b/(\S*test\S*\.py)$", test_patch)
        files = [file for file in changed if re.match(r"test_|.*_test\.py", Path(file).name)]
        before, after = _measured(at, repository, patch, test_patch, files, packages)
    environment = {
        "source": f"{name}=={base}",
        "python": PYTHON,
        "packages": packages,
        "install": ["pip install -e ."],
        "env": {"SETUPTOOLS_SCM_PRETEND_VERSION": base},
    }
    return {
        "instance_id": f"{name}__{name}-{fixed}",
        "repo": name,
        "problem_statement": f"What {name} {fixed} mends of {base}.",
        "environment": environment,
        "patch": patch,
        "test_patch": test_patch,
        "test_files": files,
        "test_command": " ".join(("python", *RUN[:-1], *files)),
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
    code, tests = (_git(other, "diff", "--cached", "--binary", "HEAD", "--", *which) for which in (CODE, TESTS))
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
    at: Path, repository: Path, patch: str, test_patch: str, files: list[str], packages: list[str]
) -> tuple[set[str], set[str]]:
    """Tests that pass before the patch, and after it."""
    python = at / "env" / "bin" / "python"
    subprocess.run([f"python{PYTHON}", "-m", "venv", at / "env"], check=True)
    pip = [str(python), "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    # stdout is the row's
    subprocess.run([*pip, "setuptools", "wheel", *packages], check=True, stdout=sys.stderr)
    subprocess.run([*pip, "-e", "."], cwd=repository, check=True, stdout=sys.stderr)
    found = []
    for change in (test_patch, patch):
        _git(repository, "apply", "--whitespace=nowarn", given=change)
        there = [file for file in files if (repository / file).exists()]
        done = subprocess.run([python, *RUN, *there], cwd=repository, capture_output=True, text=True, check=False)
        found.append(set(re.findall(r"(?m)^PASSED (\S.*?)$", done.stdout)))
    return found[0], found[1]


if __name__ == "__main__":
    os.environ.setdefault("PYENV_VERSION", "")
    name, base, fixed, *packages = sys.argv[1:]
    sys.stdout.write(json.dumps(row(name, base, fixed, packages or ["pytest<8.4"])) + "\n")
