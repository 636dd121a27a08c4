"""Options that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

from sandbox_gym.cli.terminal.completion import providers

ProviderOption = Annotated[
    str | None, typer.Option(help="Sandbox provider: local, docker, podman, e2b or fake.", autocompletion=providers)
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as one JSON object on stdout.")]
JsonLinesOption = Annotated[bool, typer.Option("--json", help="Print results as JSON lines on stdout.")]
