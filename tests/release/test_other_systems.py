"""What runs on macOS and Windows, which make no sandboxes, imports no module of Unix alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.documented import ROOT

UNIX: Final = ("fcntl", "grp", "pwd", "resource", "termios", "tty", "pty")
_WITHOUT: Final = f"""
import builtins, sys

imported = builtins.__import__


def refuse(name, *rest, **more):
    space = rest[0] if rest else more.get("globals") or {{}}
    if name in {UNIX!r} and str(space.get("__name__", "")).startswith("sandbox_gym"):
        raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
    return imported(name, *rest, **more)


builtins.__import__ = refuse
"""
_IMPORTS: Final = """
import importlib, json, pkgutil, sandbox_gym

found = {}
for name in ("agents", "cli", "client", "clients", "trainers"):
    package = importlib.import_module(f"sandbox_gym.{name}")
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        try:
            importlib.import_module(module.name)
        except ImportError as error:
            found[module.name] = error.name
print(json.dumps(found))
"""
_COMMAND: Final = """
import sandbox_gym.cli, sandbox_gym.cli.verify, sandbox_gym.engine

sys.platform, sys.argv = {platform!r}, ["sandbox-gym", *{words!r}]
sandbox_gym.cli.main()
"""
TYPED: Final = (
    *("agents", "cli", "client", "clients", "codec.py", "config.py", "contract", "errors.py", "journal", "judging.py"),
    *("private.py", "server/rejudge.py", "settings", "trainers", "verifiers"),
)
"""What the page says of those systems, and what stands behind it: records and their verdicts."""
LINUX: Final = r"sandbox_gym/cli/load\.py|/(boxed|channel)/"
"""What makes sandboxes, and what runs in them."""
EXTRAS: Final = {"inspect_ai", "minisweagent", "nemo_gym", "swerex", "verifiers.v1"}


def run(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _WITHOUT + script],
        cwd=folder,
        env={"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "HOME": str(folder), "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_commands_and_clients_are_imported_without_modules_of_unix(tmp_path: Path) -> None:
    done = run(_IMPORTS, tmp_path)
    assert done.returncode == 0, done.stderr
    assert {name: why for name, why in json.loads(done.stdout).items() if why not in EXTRAS} == {}


@pytest.mark.extended
@pytest.mark.timeout(900)
@pytest.mark.parametrize("platform", ["win32", "darwin"])
def test_types_hold(platform: str, tmp_path: Path) -> None:
    """What is asked of a module that such a system has is there, too: `os.geteuid` is not on Windows."""
    command = [sys.executable, "-m", "mypy", "--platform", platform, "--follow-imports=silent", "--no-error-summary"]
    command += ["--cache-dir", str(tmp_path), "--exclude", LINUX, *(f"sandbox_gym/{name}" for name in TYPED)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=800, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_check_itself_finds_one(tmp_path: Path) -> None:
    done = run("import sandbox_gym.sandbox.users", tmp_path)
    assert "No module named 'fcntl'" in done.stderr


@pytest.mark.parametrize("platform", ["win32", pytest.param("darwin", marks=pytest.mark.extended)])
def test_a_command_that_makes_sandboxes_says_where_they_are_made(platform: str, tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"verifier_metadata": {}, "answer": ""}\n')
    words = ["verify", "rows.jsonl", "--out", "out.jsonl", "--provider", "e2b"]
    done = run(_COMMAND.format(platform=platform, words=words), tmp_path)
    assert (done.returncode, done.stderr.strip()) == (
        2,
        f"error: sandboxes are made on Linux, and this is {platform}; ask a server on Linux",
    )
