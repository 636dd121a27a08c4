"""`sandbox-gym pool gc`: lists and removes what dead servers and commands left behind on this machine."""

from __future__ import annotations

from collections.abc import Set
from contextlib import AsyncExitStack
from typing import Annotated

import anyio
import typer
from rich.console import Console
from rich.table import Table

from sandbox_gym.cli.terminal.options import JsonOption, settings_with
from sandbox_gym.cli.terminal.screen import print_json, visible
from sandbox_gym.config import Settings
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.sandbox.api import Provider
from sandbox_gym.sandbox.cleanup.reaper import Failure, Reaper, Swept
from sandbox_gym.sandbox.registry import PROVIDERS, make_provider, orphan_sources

pool = typer.Typer(name="pool", no_args_is_help=True, help="Resources of sandboxes on this machine.")


@pool.callback()
def _root() -> None:
    """Resources of sandboxes on this machine."""


@pool.command()
def gc(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List only; remove nothing.")] = False,
    store: Annotated[
        list[str] | None,
        typer.Option(metavar="KEEPER", help="Also the snapshots of a state folder that can't be seen from here."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Remove containers, cgroups, mounts, folders and jails whose owner process is dead.

    Servers do the same at their start and every minute. Snapshots' images whose state folder is gone are removed by
    this command alone. Exit: 0 nothing is left (or --dry-run listed it), 1 something
    could not be removed or the default provider could not be asked, 2 wrong settings.
    """
    settings = settings_with({})
    swept = anyio.run(collect, settings, dry_run, frozenset(store or ()))
    if as_json:
        print_json(as_document(swept, dry_run=dry_run))
    else:
        console = Console()
        console.print(table(swept, dry_run=dry_run))
        for failure in swept.failures:
            console.print(f"[yellow]{visible(failure.source)}:[/] {visible(failure.why)}", highlight=False)
    wrong = any(failure.orphan or failure.source in (settings.provider, "state folder") for failure in swept.failures)
    raise typer.Exit(1 if wrong else 0)


async def collect(settings: Settings, dry_run: bool, stores: Set[str] = frozenset()) -> Swept:
    """One sweep over every provider that works here; the others are among the failures."""
    from sandbox_gym.sandbox.containers.snapshots import AbandonedSnapshots  # which is of Unix

    providers: list[Provider] = []
    missing: list[Failure] = []
    async with AsyncExitStack() as stack:
        for name in PROVIDERS:
            try:
                provider = make_provider(settings.model_copy(update={"provider": name}))
            except ConfigurationError as error:
                missing.append(Failure(name, str(error)))
                continue
            stack.push_async_callback(provider.aclose)
            providers.append(provider)
        sources = orphan_sources(settings, providers)
        for source in sources.values():
            if isinstance(source, AbandonedSnapshots):
                source.asked = stores
        swept = await Reaper(sources).sweep(dry_run=dry_run)
    for unknown in stores - {one.name for one in swept.found}:
        missing.append(Failure(f"--store {unknown}", "no image has this keeper"))
    return Swept(swept.found, swept.removed, (*missing, *swept.failures))


def as_document(swept: Swept, *, dry_run: bool) -> dict[str, object]:
    """The `--json` result: every orphan with `removed`, and the failures."""
    removed = set(swept.removed)
    return {
        "dry_run": dry_run,
        "orphans": [
            {"kind": one.kind, "name": one.name, "owner": one.owner, "why": one.why, "removed": one in removed}
            for one in swept.found
        ],
        "failures": [
            {
                "source": failure.source,
                "kind": failure.orphan.kind if failure.orphan else None,
                "name": failure.orphan.name if failure.orphan else None,
                "why": failure.why,
            }
            for failure in swept.failures
        ],
    }


def table(swept: Swept, *, dry_run: bool) -> Table:
    """The orphans, one per row."""
    shown = Table(title=f"{len(swept.found)} orphans, {len(swept.removed)} removed", title_justify="left")
    for column in ("kind", "name", "why", "removed"):
        shown.add_column(column, overflow="fold")
    removed = set(swept.removed)
    for one in swept.found:
        mark = "[green]yes[/]" if one in removed else "dry run" if dry_run else "[red]no[/]"
        shown.add_row(visible(one.kind), visible(one.name), visible(one.why), mark)
    return shown
