"""`sandbox-gym images plan`: which images rows need, and what they weigh, before anything is pulled."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import anyio
import typer
from rich.console import Console
from rich.table import Table

from sandbox_gym.cli.rows import lines
from sandbox_gym.cli.swe import RowsArgument
from sandbox_gym.cli.swe import images as images
from sandbox_gym.cli.terminal.options import JsonLinesOption, ProviderOption
from sandbox_gym.cli.terminal.progress import progress
from sandbox_gym.cli.terminal.screen import print_json, say, visible
from sandbox_gym.cli.terminal.settings import settings_with
from sandbox_gym.config import Settings
from sandbox_gym.errors import ConfigurationError, ProviderDown, RequestError
from sandbox_gym.limits import MIB
from sandbox_gym.sandbox.images.name import is_foreign
from sandbox_gym.sandbox.images.plan import ImagePlan, PlannedImage, plan_images
from sandbox_gym.sandbox.images.store import PullsImages
from sandbox_gym.sandbox.registry import make_provider
from sandbox_gym.server.protocol.wire import Document, loads
from sandbox_gym.swe.instances import image_of
from sandbox_gym.verifiers.swe import parse_task

MAX_REASON = 300


@images.command()
def plan(file: RowsArgument, provider: ProviderOption = None, as_json: JsonLinesOption = False) -> None:
    """Show which images rows need: which are here, what registries say of the others, and the disk for all of them.

    Nothing is pulled.

    Exit: 0 all are here or can be pulled within the disk budget, 1 some can not or a row is wrong, 2 wrong usage.
    """
    settings = settings_with({"provider": provider})
    needed, wrong = _needed(file)
    found = anyio.run(_plan, settings, needed)
    if as_json:
        for one in found.images:
            print_json(_row(one))
        print_json(_sum(found, len(wrong)))
    else:
        _show(Console(), found)
    for reason in wrong:
        say(f"[yellow]{visible(reason[:MAX_REASON])}[/]")
    raise typer.Exit(1 if wrong or found.unknown or not found.fits else 0)


def _needed(file: Path) -> tuple[Counter[str], list[str]]:
    """How many rows name each image, and what is wrong with the others."""
    needed: Counter[str] = Counter()
    wrong: list[str] = []
    for row, line in lines(file):
        try:
            image = image_of(parse_task(loads(line)))
        except RequestError as error:
            wrong.append(f"line {row + 1}: {error}")
            continue
        if is_foreign(image):
            needed[image] += 1
    return needed, wrong


async def _plan(settings: Settings, needed: Counter[str]) -> ImagePlan:
    provider = make_provider(settings)
    try:
        if not isinstance(provider, PullsImages):
            raise ConfigurationError(f"provider {provider.name} pulls no images; use --provider docker")
        with progress("plan", len(needed)) as advance:
            return await plan_images(provider.images, needed, advance)
    except* ProviderDown as errors:
        raise ConfigurationError(str(errors.exceptions[0])) from None
    finally:
        await provider.aclose()


def _row(one: PlannedImage) -> Document:
    known = {"here": one.here_bytes is not None, "bytes": one.here_bytes}
    fetched = None if one.problem or one.here_bytes is not None else one.download_bytes
    return {"image": one.name, "rows": one.rows, **known, "download_bytes": fetched, "error": one.problem or None}


def _sum(found: ImagePlan, wrong: int) -> Document:
    return {
        "images": len(found.images), "here": len(found.images) - len(found.missing), "missing": len(found.missing),
        "unknown": found.unknown, "download_bytes": found.download_bytes, "disk_bytes_estimate": found.disk_bytes,
        "kept_bytes": found.kept_bytes, "budget_bytes": found.budget_bytes, "fits": found.fits, "wrong_rows": wrong,
    }  # fmt: skip


def _show(console: Console, found: ImagePlan) -> None:
    table = Table(title=f"{len(found.images)} images, {len(found.missing)} missing", title_justify="left")
    table.add_column("image", overflow="fold", min_width=30)
    for column in ("rows", "here, MiB", "to fetch, MiB"):
        table.add_column(column, no_wrap=True, justify="right")
    for one in found.images:
        here = f"{one.here_bytes / MIB:.1f}" if one.here_bytes is not None else "-"
        fetched = (
            "[red]?[/]" if one.problem else "-" if one.here_bytes is not None else f"{one.download_bytes / MIB:.1f}"
        )
        table.add_row(visible(one.name), str(one.rows), here, fetched)
    console.print(table)
    for one in found.images:
        if one.problem:
            console.print(f"[yellow]{visible(one.name)}[/]: {visible(one.problem[:MAX_REASON])}", highlight=False)
    missing, disk = found.download_bytes / MIB, found.disk_bytes / MIB
    kept, budget = found.kept_bytes / MIB, found.budget_bytes / MIB
    fits = "[green]fits[/]" if found.fits else "[red]does not fit[/]; those unused for longest would go meanwhile"
    console.print(f"to fetch: {missing:.1f} MiB, shared layers once; on disk about {disk:.1f} MiB", highlight=False)
    console.print(
        f"pulled before: {kept:.1f} MiB; budget (docker_images_disk_mb): {budget:.1f} MiB: {fits}", highlight=False
    )
