"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from sandbox_gym.cli.terminal.completion import providers
from sandbox_gym.config import Settings
from sandbox_gym.sandbox.registry import PROVIDERS

ProviderOption = Annotated[
    str | None, typer.Option(help=f"Sandbox provider: {', '.join(PROVIDERS)}.", autocompletion=providers)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object on stdout.")]
JsonLinesOption = Annotated[bool, typer.Option("--json", help="Print results as JSON lines on stdout.")]


def settings_with(options: dict[str, object]) -> Settings:
    """Settings with every option that is not None on top, by flat name. Raises ConfigurationError."""
    return Settings.from_flat({name: value for name, value in options.items() if value is not None})
