"""Before a run: `images plan` says what rows need, `images prefetch` and `swe build` have it built."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import anyio
import typer
from rich.console import Console
from rich.table import Table

from sandbox_gym.cli.rows import lines
from sandbox_gym.cli.swe import STORE, RowsArgument, StoreOption, each_row
from sandbox_gym.cli.swe import images as images
from sandbox_gym.cli.swe import swe as swe
from sandbox_gym.cli.terminal.options import JsonLinesOption, ProviderOption, settings_with
from sandbox_gym.cli.terminal.progress import progress
from sandbox_gym.cli.terminal.screen import print_json, say, visible
from sandbox_gym.config import Settings
from sandbox_gym.engine import Engine
from sandbox_gym.errors import ConfigurationError, ProviderDown, RequestError, Unavailable
from sandbox_gym.limits import MIB
from sandbox_gym.sandbox.images.name import is_foreign
from sandbox_gym.sandbox.images.plan import ImagePlan, PlannedImage, plan_images
from sandbox_gym.sandbox.images.store import PullsImages
from sandbox_gym.sandbox.registry import make_provider
from sandbox_gym.server.protocol.wire import Document, loads
from sandbox_gym.swe.building import image_of
from sandbox_gym.swe.instances import Instances
from sandbox_gym.verifiers.swe import Reference, SweJob, SweTask, parse_task

MAX_REASON = 300
AtOnceOption = Annotated[
    int | None, typer.Option("--concurrency", min=1, help="Rows at once; by default half of `boxes`.")
]


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


@swe.command("build")
def build(
    file: RowsArgument,
    provider: ProviderOption = None,
    store: StoreOption = STORE,
    at_once: AtOnceOption = None,
    logs: Annotated[
        Path | None, typer.Option(file_okay=False, help="Folder for what builds print; unless given, in the store.")
    ] = None,
    as_json: JsonLinesOption = False,
) -> None:
    """Build each row's instance from its recipe or its harness's spec, of Python packages and Debian's alone.

    No registry of images is asked. What an earlier, interrupted or failed run has built is used.

    Exit: 0 every instance is built, 1 some could not be built, 2 wrong usage.
    """

    def check(task: SweTask) -> None:
        if task.recipe is None:
            commit = task.base_commit[:12] or "its commit"
            what = f"is missing: no index of packages has {task.repo or 'the repository'} at {commit}"
            remedy = "give source as name==version of an sdist beside spec or install_config, or an environment;"
            raise RequestError("row.source", what, f"{remedy} rows with images are for `images prefetch`")

    async def more(job: Callable[[], Awaitable[SweJob]]) -> Document:
        return {}

    _build_each(
        "build", _Builds(settings_with({"provider": provider}), store, at_once, logs, as_json), file, check, more
    )


@images.command()
def prefetch(
    file: RowsArgument,
    provider: ProviderOption = None,
    store: StoreOption = STORE,
    at_once: AtOnceOption = None,
    as_json: JsonLinesOption = False,
) -> None:
    """Pull each row's image, build its instance and run its own fix in it now, so that no verify waits for that later.

    What an earlier, interrupted or failed run has built is used, so that the same command goes on with the rest.

    Exit: 0 every instance is built, 1 some could not be built, 2 wrong usage.
    """

    async def more(job: Callable[[], Awaitable[SweJob]]) -> Document:
        known = (await job()).reference or Reference()
        return {"invertible": sum(test.decides for test in known.tests), "not_inverted": known.why_none}

    given = _Builds(settings_with({"provider": provider}), store, at_once, None, as_json)
    _build_each("prefetch", given, file, lambda task: None, more)


@dataclass(frozen=True, slots=True)
class _Builds:
    """What is to be built where, and what is said of it."""

    settings: Settings
    store: str
    at_once: int | None
    logs: Path | None
    as_json: bool


def _build_each(
    what: str,
    given: _Builds,
    file: Path,
    check: Callable[[SweTask], None],
    more: Callable[[Callable[[], Awaitable[SweJob]]], Awaitable[Document]],
) -> None:
    """Every row's instance, a line for each. `check` raises RequestError for a row that is not to be built; `more`:
    what else is to be had of a row's job. Exits."""
    from sandbox_gym.server.swe.server import SweResources  # a server's imports take time, which `--help` saves

    failed, before, console, resources = 0, 0, Console(), SweResources(given.settings)

    async def one(engine: Engine, row: Document) -> None:
        nonlocal failed, before
        shown: Document = {"instance_id": row.get("instance_id")}
        try:
            task, instances = resources.task(row), resources.instances(engine)
            check(task)
            assert isinstance(instances, Instances)
            instances.allow(given.at_once or 0)
            instances.logs = given.logs or instances.logs
            was_there = instances.is_built(task)
            built = await instances.ensure(task)
            shown |= {"key": built.key, "bytes": built.size_bytes, "build_s": round(built.build_s, 1)}
            shown |= {"image": image_of(task), "was_there": was_there}
            shown |= await more(lambda: resources.job(engine, task))
            before += was_there
        except (RequestError, Unavailable) as error:
            failed += 1
            shown = {"instance_id": row.get("instance_id"), "error": str(error)}
            shown |= {"log": error.log} if isinstance(error, Unavailable) and error.log else {}
        if given.as_json:
            print_json(shown)
        else:
            console.print(visible(", ".join(f"{name} {value}" for name, value in shown.items())), highlight=False)

    anyio.run(each_row, file, given.settings, given.store, one, what, given.at_once)
    again = "; run the same again for these" if failed else ""
    say(f"{what}: {before} were there, {failed} failed{again}")
    raise typer.Exit(1 if failed else 0)


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
