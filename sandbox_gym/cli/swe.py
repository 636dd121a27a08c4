"""`sandbox-gym swe validate` and `swe template`, and what every command over rows of repositories has in common."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import anyio
import typer
from rich.console import Console
from rich.table import Table

from sandbox_gym.cli.rows import lines
from sandbox_gym.cli.terminal.options import JsonLinesOption, ProviderOption, settings_with
from sandbox_gym.cli.terminal.progress import progress
from sandbox_gym.cli.terminal.screen import print_json, visible
from sandbox_gym.config import Settings
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.errors import ConfigurationError, ProviderDown, RequestError, Unavailable
from sandbox_gym.server.protocol.wire import Document, loads
from sandbox_gym.swe.instances import FOLDER
from sandbox_gym.swe.published import template_dockerfile
from sandbox_gym.swe.store_lock import take
from sandbox_gym.swe.validate import Validation, validate
from sandbox_gym.verifiers.swe import parse_task

if TYPE_CHECKING:
    from sandbox_gym.server.swe.server import SweResources

swe = typer.Typer(name="swe", no_args_is_help=True, help="Rows of repositories.")
images = typer.Typer(name="images", no_args_is_help=True, help="Images that rows need, and what is built on them.")
STORE = "swe-8080"
"""The instance store of `serve swe` at its default port."""
StoreOption = Annotated[
    str,
    typer.Option(
        "--for", help="Whose instance store: a server's name and port (it must not run meanwhile), or `verify`."
    ),
]
MAX_REASON = 1000
RowsArgument = Annotated[
    Path, typer.Argument(exists=True, dir_okay=False, readable=True, help="JSON lines, one row each.")
]


@swe.callback()
def _swe() -> None:
    """Rows of repositories."""


@images.callback()
def _images() -> None:
    """Images that rows need, and what is built on them."""


@swe.command("template")
def template(
    rows: RowsArgument,
    instance_id: Annotated[str, typer.Option("--id", help="Whose image; the first row's unless given.")] = "",
    uid: Annotated[int, typer.Option(min=1, help="The user of the service's sandboxes; E2B's own have 1000.")] = 20_001,
) -> None:
    """Print the Dockerfile of an E2B template for a row's image. Build it where the image sandbox-gym/guest is.

    Exit: 0 printed, 2 no such row, or one without an image.
    """
    tasks = (parse_task(loads(line)) for _, line in lines(rows))
    try:
        task = next(one for one in tasks if instance_id in ("", one.instance_id))
    except StopIteration:
        raise typer.BadParameter(f"no row is {instance_id!r}") from None
    except RequestError as error:
        raise typer.BadParameter(str(error)) from None
    if not task.image:
        raise typer.BadParameter(f"{task.instance_id} is built from a recipe and needs no image")
    typer.echo(template_dockerfile(task, uid), nl=False)


@swe.command("validate")
def validate_rows(
    file: RowsArgument,
    provider: ProviderOption = None,
    runs: Annotated[int, typer.Option(min=1, help="How often each patch is run, to find flaky tests.")] = 2,
    store: StoreOption = STORE,
    as_json: JsonLinesOption = False,
) -> None:
    """Run each row's own patch and an empty one: the first must resolve the row, the second must not.

    Instances are shared with `images prefetch` and the server.

    Exit: 0 every row is sound, 1 some are not, 2 wrong usage.
    """
    from sandbox_gym.server.swe.server import SweResources  # a server's imports take time, which `--help` saves

    settings = settings_with({"provider": provider})
    found: list[Validation] = []
    resources = SweResources(settings)

    async def one(engine: Engine, row: Document) -> None:
        finding = await _validated(engine, resources, row, runs)
        found.append(finding)
        if as_json:
            print_json({**asdict(finding), "sound": finding.sound})

    anyio.run(each_row, file, settings, store, one, "validate")
    if not as_json:
        _show(Console(), found)
    raise typer.Exit(0 if all(each.sound for each in found) else 1)


async def _validated(engine: Engine, resources: SweResources, row: Document, runs: int) -> Validation:
    name = str(row.get("instance_id"))[:200]
    try:
        job = replace(await resources.job(engine, resources.task(row)), run_empty=True)
    except (RequestError, Unavailable) as error:
        return Validation(name, str(error)[:1000])
    return await validate(engine, job, runs=runs)


async def each_row(
    file: Path,
    settings: Settings,
    store: str,
    do: Callable[[Engine, Document], Awaitable[None]],
    what: str,
    at_once: int | None = None,
) -> None:
    """All rows, `settings.boxes` / 2 at once unless told otherwise. Raises RequestError for a line that is not a row,
    before any is run."""
    total = sum(1 for row, line in lines(file) if _is_row(row, line))
    with _alone(settings, store), progress(what, total) as advance:
        async with (
            open_engine(settings, sessions=store) as engine,
            _limited(at_once or max(1, settings.boxes // 2)) as start,
        ):

            async def one(row: Document) -> None:
                await do(engine, row)
                advance()

            for _number, line in lines(file):
                row = loads(line)
                await start(lambda row=row: one(row))  # type: ignore[misc]


@contextmanager
def _alone(settings: Settings, store: str) -> Iterator[None]:
    """Hold the store's lock, which a running server holds too. Raises ConfigurationError."""
    folder = settings.state_dir / "sessions" / store / FOLDER
    try:
        lock = take(folder)
    except OSError as error:
        raise ConfigurationError(f"state_dir {settings.state_dir}: {error.strerror}; name another folder") from None
    except ProviderDown as error:
        raise ConfigurationError(f"{error}; stop it, or name another store with --for") from None
    with lock:
        yield


def _is_row(row: int, line: bytes) -> bool:
    try:
        loads(line)
    except RequestError as error:
        raise RequestError(f"line {row + 1}", error.problem, error.remedy) from None
    return True


@asynccontextmanager
async def _limited(count: int) -> AsyncIterator[Callable[[Callable[[], Awaitable[None]]], Awaitable[None]]]:
    """Starts tasks, at most `count` at once."""
    slots = anyio.Semaphore(count)

    async def run(work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        finally:
            slots.release()

    async with anyio.create_task_group() as tasks:

        async def start(work: Callable[[], Awaitable[None]]) -> None:
            await slots.acquire()
            tasks.start_soon(run, work)

        yield start


def _show(console: Console, found: list[Validation]) -> None:
    """A line for each row, and below them the remarks on rows, over the screen's whole width."""
    console.print(_table(found))
    for each in sorted(found, key=lambda one: one.instance_id):
        for reason in _reasons(each):
            console.print(f"[yellow]{visible(each.instance_id)}[/]: {visible(reason)}", highlight=False)


def _table(found: list[Validation]) -> Table:
    table = Table(title=f"{len(found)} rows, {sum(each.sound for each in found)} sound", title_justify="left")
    table.add_column("instance", overflow="fold", min_width=20)
    for column in ("own patch", "empty patch", "weak", "flaky", "inverted", "s"):
        table.add_column(column, no_wrap=True)
    for each in sorted(found, key=lambda one: one.instance_id):
        if each.problem:
            table.add_row(visible(each.instance_id), "[yellow]not run[/]", "-", "-", "-", "-", "-")
            continue
        gold = "[green]resolves[/]" if each.gold_resolves else "[red]does not[/]"
        empty = "[red]resolves[/]" if each.empty_resolves else "[green]does not[/]"
        counts = (str(len(each.weak)), str(len(each.flaky)), str(each.invertible), f"{each.gold_s:.1f}")
        table.add_row(visible(each.instance_id), gold, empty, *counts)
    return table


def _reasons(each: Validation) -> list[str]:
    found = [each.problem, each.gold_reason and f"its own patch does not resolve it: {each.gold_reason}"]
    for what, tests in (("weak", each.weak), ("flaky", each.flaky), ("signs of its own patch", each.signs)):
        found.append(f"{what}: {', '.join(tests)}" if tests else "")
    found.append(f"no inverted test can be made of its passing tests: {each.not_inverted}" if each.not_inverted else "")
    return [reason[:MAX_REASON] for reason in found if reason]
