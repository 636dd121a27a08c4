"""What a command does not import, since its user would wait for it."""

from __future__ import annotations

import subprocess
import sys

import pytest

SERVED = """
from sandbox_gym.config import Settings
from sandbox_gym.server.app import build_app
from sandbox_gym.server.registry import SERVERS
import sandbox_gym.server.launch
build_app(SERVERS["{}"](Settings(provider="fake"), "x"), lambda: None, Settings(provider="fake"))
"""
DATABASE = {"sqlalchemy"}
VERIFIERS = {f"sandbox_gym.verifiers.{kind}" for kind in ("coding", "math", "swe")}


def _imported(script: str, *words: str) -> set[str]:
    """The modules that a script, which may exit, has imported."""
    whole = f"import sys\ntry:\n    exec({script!r})\nexcept SystemExit: pass\nprint('modules:', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", whole, *words], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.rpartition("modules:")[2].split())


@pytest.mark.parametrize("words", [("completion", "bash"), ("verify", "--no-such-option"), ("no-such-command",)])
def test_one_command_does_not_import_the_others(words: tuple[str, ...]) -> None:
    script = "from sandbox_gym.cli import main; main()"
    imported = _imported(script, *words)
    assert "sandbox_gym.cli" in imported
    others = {"sandbox_gym.cli.audit", "sandbox_gym.cli.swe", "sandbox_gym.cli.packages", "fastapi"}
    assert imported & (others | VERIFIERS | DATABASE) == set()


@pytest.mark.parametrize("kind", ["coding", "math", "swe"])
def test_a_server_imports_its_own_kind_and_no_database_library(kind: str) -> None:
    imported = _imported(SERVED.format(kind))
    assert f"sandbox_gym.verifiers.{kind}" in imported
    assert f"sandbox_gym.server.{kind}.server" in imported
    others = {name for name in imported if name.startswith("sandbox_gym.server.") and name.endswith(".server")}
    assert others == {f"sandbox_gym.server.{kind}.server"}
    assert imported & DATABASE == set()
