"""`sandbox-gym doctor`: which providers and caps work on this machine, and what to do about the rest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import anyio
import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from sandbox_gym.cli.settings import settings_with
from sandbox_gym.config import Settings
from sandbox_gym.errors import SandboxGymError
from sandbox_gym.sandbox.api import Capability, Provider
from sandbox_gym.sandbox.registry import PROVIDERS, make_provider

START_DEADLINE_S = 60.0
STARTS = "starts a sandbox"


def doctor(
    provider: Annotated[str | None, typer.Option(help="Look at this provider only.")] = None,
) -> None:
    """Probe every provider. Exit: 0 the default one (or --provider) works, 1 it doesn't, 2 wrong usage."""
    settings = settings_with({"provider": provider})
    names = [provider] if provider else list(PROVIDERS)
    console = Console()
    works = False
    for name in names:
        rows = anyio.run(probe, settings.model_copy(update={"provider": name}))
        console.print(table(name, rows, is_default=name == settings.provider))
        if name == settings.provider:
            works = any(row.name == STARTS and row.works for row in rows)
    verdict = "[green]works[/]" if works else "[red]doesn't work[/] (see the remedies above)"
    console.print(f"The default provider, [bold]{settings.provider}[/], {verdict}.")
    raise typer.Exit(0 if works else 1)


async def probe(settings: Settings) -> Sequence[Capability]:
    """The provider's own findings, and the one that counts: whether a box comes up."""
    try:
        provider = make_provider(settings)
    except (SandboxGymError, ImportError) as error:
        return (Capability(STARTS, False, str(error), "install what the message names"),)
    try:
        return (await _start(provider), *await provider.doctor())
    finally:
        with anyio.CancelScope(shield=True):
            await provider.aclose()


async def _start(provider: Provider) -> Capability:
    try:
        with anyio.fail_after(START_DEADLINE_S):
            box = await provider.start("python")
            isolation = box.isolation
            await box.aclose()
    except TimeoutError:
        return Capability(STARTS, False, f"not within {START_DEADLINE_S:.0f} s", "see the rows below")
    except (SandboxGymError, OSError) as error:
        return Capability(STARTS, False, str(error), "see the rows below")
    return Capability(STARTS, True, f"isolation: {isolation}")


def table(name: str, rows: Sequence[Capability], *, is_default: bool) -> Table:
    """One provider's findings."""
    shown = Table(title=f"{name} (default)" if is_default else name, title_justify="left")
    shown.add_column("capability", no_wrap=True)
    shown.add_column("works")
    shown.add_column("detail", overflow="fold")
    shown.add_column("remedy", overflow="fold")
    for row in rows:
        mark = "[green]yes[/]" if row.works else "[red]no[/]"
        shown.add_row(escape(row.name), mark, escape(row.detail), escape(row.remedy))
    return shown
