"""`sandbox-gym completion`: prints a shell's completion script for commands, options and values."""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import Annotated

import typer
from typer.completion import get_completion_script  # type: ignore[attr-defined]  # what --show-completion prints

from sandbox_gym.sandbox.registry import PROVIDERS

PROGRAM = "sandbox-gym"


class Shell(StrEnum):
    """Shells whose completion is tested."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(shell: Annotated[Shell, typer.Argument(help="Whose script.")]) -> None:
    """Print a shell's completion script: `source <(sandbox-gym completion bash)`.

    Exit: 0 printed, 2 wrong usage.
    """
    script = get_completion_script(prog_name=PROGRAM, complete_var="_SANDBOX_GYM_COMPLETE", shell=shell.value)
    sys.stdout.write(script.strip() + "\n")


def providers(incomplete: str) -> list[str]:
    """The values of --provider."""
    return [name for name in PROVIDERS if name.startswith(incomplete)]
