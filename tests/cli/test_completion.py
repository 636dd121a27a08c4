"""Completion in the shells themselves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import Terminal, command


@pytest.fixture
def path() -> str:
    """A PATH with the command on it."""
    folder = str(Path(sys.executable).parent)
    assert os.access(f"{folder}/sandbox-gym", os.X_OK)
    return f"{folder}:{os.environ['PATH']}"


@pytest.fixture(scope="module")
def scripts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the command prints for each shell."""
    folder = tmp_path_factory.mktemp("completion")
    for shell in ("bash", "fish"):
        (folder / shell).write_text(command("completion", shell).stdout)
    return folder


EXPECTED = {
    "sandbox-gym ver": {"verify", "verdicts"},
    "sandbox-gym verify --re": {"--resume", "--retry-no-verdict"},
    "sandbox-gym serve po": {"pool"},
    "sandbox-gym serve coding --provider d": {"docker"},
    "sandbox-gym pool g": {"gc"},
    "sandbox-gym completion ": {"bash", "zsh", "fish"},
}


@pytest.mark.parametrize("words", EXPECTED)
def test_bash(words: str, path: str, scripts: Path) -> None:
    count = len(words.split(" ")) - 1
    array = " ".join(f"'{word}'" for word in words.split(" "))
    script = f"""source {scripts}/bash
COMP_WORDS=({array}); COMP_CWORD={count}; _sandbox_gym_completion sandbox-gym
printf '%s\\n' "${{COMPREPLY[@]}}" """
    bash = subprocess.run(["bash", "-c", script], env={**os.environ, "PATH": path}, capture_output=True, text=True)
    assert set(bash.stdout.split()) == EXPECTED[words], bash.stderr


@pytest.mark.parametrize("words", EXPECTED)
def test_fish(words: str, path: str, scripts: Path) -> None:
    script = f"source {scripts}/fish\ncomplete -C '{words}'"
    environment = {**os.environ, "PATH": path, "HOME": "/nonexistent"}
    fish = subprocess.run(["fish", "--no-config", "-c", script], env=environment, capture_output=True, text=True)
    assert {line.split("\t")[0] for line in fish.stdout.splitlines()} == EXPECTED[words], fish.stderr


def test_zsh_on_a_terminal(path: str) -> None:
    shell = Terminal(["zsh", "-f", "-i"], PATH=path, TERM="dumb", ZDOTDIR="/nonexistent")
    try:
        shell.type(b"unsetopt zle_bracketed_paste; autoload -U compinit && compinit -u -D\n")
        shell.type(b"source <(sandbox-gym completion zsh); echo re''ady\n")
        assert b"\nready" in shell.read(b"\nready"), shell.seen
        shell.type(b"sandbox-gym verd\t")
        assert b"verdicts" in shell.read(b"verdicts"), shell.seen
        shell.type(b"\x15sandbox-gym serve coding --provider dock\t")
        assert b"docker " in shell.read(b"docker "), shell.seen
    finally:
        shell.process.kill()
        shell.close()


def test_a_shell_that_is_unknown_is_wrong_usage() -> None:
    done = command("completion", "tcsh")
    assert (done.returncode, "tcsh" in done.stderr) == (2, True)
