"""`sandbox-gym verify`: a file of answers in, a file of verify responses out, and the sums on the screen."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Protocol

import anyio
import typer
from anyio.abc import ObjectReceiveStream, TaskStatus
from rich.console import Console

from sandbox_gym.cli.rows import Lines, as_request, lines, take_up
from sandbox_gym.cli.tally import Tally
from sandbox_gym.cli.terminal.options import JsonOption, ProviderOption, settings_with
from sandbox_gym.cli.terminal.progress import progress
from sandbox_gym.cli.terminal.screen import print_json, say, visible
from sandbox_gym.cli.terminal.signals import interrupted_code, note_signal
from sandbox_gym.config import Settings
from sandbox_gym.engine import Engine
from sandbox_gym.errors import ConfigurationError, RequestError, Unavailable
from sandbox_gym.observe.traces import NOTHING, RootTracer, Span
from sandbox_gym.observe.tracing import close_tracing, open_tracing
from sandbox_gym.plans.runner import ANYONE, Caller
from sandbox_gym.server.protocol.resources import no_verdict
from sandbox_gym.server.protocol.wire import Document, VerifyFields, VerifyRequest, loads, request_error_document
from sandbox_gym.server.registry import kind_of


def verify(
    file: Annotated[
        Path,
        typer.Argument(exists=True, dir_okay=False, readable=True, help="Rows, one JSON object a line; may be a pipe."),
    ],
    out: Annotated[Path, typer.Option("--out", "-o", dir_okay=False, help="Verify responses, one a line.")],
    provider: ProviderOption = None,
    concurrency: Annotated[
        int | None, typer.Option(min=1, help="Rows in flight; as many as sandboxes unless set.")
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on: skip the rows that OUT answers already.")] = False,
    retry: Annotated[
        bool, typer.Option("--retry-no-verdict", help="With --resume: ask again for rows that got no verdict.")
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT.")] = False,
    all_tests: Annotated[bool, typer.Option("--all-tests", help="Don't stop at a row's first failing test.")] = False,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first so many rows.")] = None,
    journal: Annotated[
        str | None, typer.Option(help="Keep a journal too: `default` for the server's own, or a path or URL.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Verify rows that have a `response`, or a plain `answer` text, beside what they are judged by.

    Coding rows have `verifier_metadata` or tests of their own, math rows `expected_answer` or `expected_result`, SWE
    rows FAIL_TO_PASS and a `model_patch` or a diff in the answer.

    Exit: 0 every row got a verdict, 1 some got none or are invalid, 2 wrong usage, 130 or 143 interrupted (OUT is
    valid as it is; --resume goes on).
    """
    early_stop = False if all_tests else None
    settings = settings_with({"provider": provider, "early_stop": early_stop, "journal_url": journal or "off"})
    done = prepare(out, resume=resume, overwrite=overwrite, retry=retry)
    job = VerifyRun(file, out, done, concurrency or settings.boxes, limit)
    if not job.todo and done:
        say(f"{visible(str(out))} answers every row already.")
    interrupted = anyio.run(_run, job, settings, Console(stderr=True)) if job.todo else False
    if as_json:
        more = {"out": str(out), "from_before": len(done), "interrupted": interrupted}
        print_json({**job.tally.document(), **more})
    else:
        title = f"{job.tally.rows} rows" + (f", {len(done)} more from before" if done else "")
        console = Console()
        console.print(job.tally.table(title=title))
        for reason in job.tally.reasons(str(out)):
            console.print(reason, highlight=False, soft_wrap=True)
    if interrupted:
        say(f"[yellow]Interrupted.[/] {visible(str(out))} is valid as it is; --resume goes on.")
        raise typer.Exit(interrupted_code())
    raise typer.Exit(0 if job.tally.clean else 1)


def prepare(out: Path, *, resume: bool, overwrite: bool, retry: bool = False) -> set[int]:
    """The rows to skip. Raises ConfigurationError when OUT can't be, or should not be, written."""
    if resume and overwrite:
        raise ConfigurationError("--resume and --overwrite exclude each other")
    if retry and not resume:
        raise ConfigurationError("--retry-no-verdict goes with --resume")
    try:
        if resume:
            return take_up(out, retry=retry)
        if overwrite:
            out.unlink(missing_ok=True)
        elif out.exists() and out.stat().st_size:
            raise ConfigurationError(f"{out} has answers already: --resume goes on, --overwrite starts again")
        with Lines(out):
            return set()
    except OSError as error:
        raise ConfigurationError(f"--out {out}: {error.strerror}") from None


@dataclass
class VerifyRun:
    """One run of the command: what to do, and how far it got."""

    file: Path
    out: Path
    done: set[int]
    concurrency: int
    limit: int | None = None
    tally: Tally = field(default_factory=Tally)
    todo: int = field(init=False)

    def __post_init__(self) -> None:
        """Raises ConfigurationError when OUT has rows that FILE has not."""
        self.todo = sum(1 for _ in self.rows())
        if not self.todo and not self.done:
            raise ConfigurationError(f"{self.file} has no rows: give one JSON object a line")
        last = max(self.done, default=-1)
        if self.done and not any(row == last for row, _line in lines(self.file)):
            raise ConfigurationError(
                f"{self.out} answers line {last + 1}, which {self.file} has not: is it of another file?"
            )

    def kinds(self) -> set[str]:
        """The kinds of the rows to come; few of them are read for it."""
        found: set[str] = set()
        for _row, line in self.rows():
            if _kind_at_sight(line) not in found:
                with suppress(RequestError):
                    found.add(kind_of(loads(line)))
        return found

    def rows(self) -> Iterator[tuple[int, bytes]]:
        """The rows to verify, read as they are asked for."""
        for position, (row, line) in enumerate(lines(self.file)):
            if self.limit is not None and position >= self.limit:
                return
            if row not in self.done:
                yield row, line


def _kind_at_sight(line: bytes) -> str:
    """What `kind_of` may say of a row."""
    if any(name in line for name in (b'"FAIL_TO_PASS"', b'"expected_output_json"', b'"instance"')):
        return "swe"
    return "math" if b'"expected_answer"' in line or b'"expected_result"' in line else "coding"


async def _run(job: VerifyRun, settings: Settings, console: Console) -> bool:
    from sandbox_gym.engine import open_engine
    from sandbox_gym.journal.journal import open_journal
    from sandbox_gym.server.nemo_gym.verify_recorder import VerifyRecorder
    from sandbox_gym.server.readiness import check_ready
    from sandbox_gym.server.registry import SERVERS

    kinds = job.kinds()
    await check_ready(settings, kinds)  # better now than once a row
    url = settings.journal_url()
    async with nullcontext() if url is None else open_journal(url, settings.journal) as journal:
        recorders = {kind: VerifyRecorder(make(settings, kind), journal, settings) for kind, make in SERVERS.items()}
        # repositories are built in, and judged from, stateful sandboxes
        sessions = "verify" if "swe" in kinds else ""
        tracing = open_tracing(settings.traces, "sandbox-gym-verify")
        try:
            return await verify_file(
                job,
                lambda request: recorders[kind_of(request.body)],
                lambda: open_engine(settings, sessions=sessions),
                console,
                tracing,
            )
        finally:
            if tracing is not None:
                await close_tracing(tracing)


class Verifying(Protocol):
    """A resources server's recorder, or the like. `verify` raises RequestError and Unavailable."""

    @property
    def name(self) -> str: ...

    async def verify(self, engine: Engine, request: VerifyRequest, caller: Caller = ANYONE) -> VerifyFields: ...


async def verify_file(
    job: VerifyRun,
    server_of: Callable[[VerifyRequest], Verifying],
    engine_factory: Callable[[], AbstractAsyncContextManager[Engine]],
    console: Console,
    tracing: RootTracer | None = None,
) -> bool:
    """Verify the job's rows, at most `concurrency` in memory at once; True when a signal ended it early."""
    interrupted = False

    async def watch_signals(*, task_status: TaskStatus[None]) -> None:
        nonlocal interrupted
        with anyio.open_signal_receiver(signal.SIGINT, signal.SIGTERM) as signals:
            task_status.started()
            async for number in signals:
                note_signal(number)
                interrupted = True
                group.cancel_scope.cancel()
                return

    async with anyio.create_task_group() as group:
        await group.start(watch_signals)
        async with engine_factory() as engine:
            with Lines(job.out) as out, progress("verify", job.todo, console) as advance:
                await _verify_rows(job, _Worker(server_of, engine, out, job.tally, advance, tracing))
        group.cancel_scope.cancel()
    return interrupted


async def _verify_rows(job: VerifyRun, worker: _Worker) -> None:
    send, receive = anyio.create_memory_object_stream[tuple[int, bytes]](0)
    async with anyio.create_task_group() as workers:
        for _ in range(min(job.concurrency, max(1, job.todo))):
            workers.start_soon(worker.work, receive.clone())
        receive.close()
        async with send:
            for row in job.rows():
                await send.send(row)


@dataclass(frozen=True)
class _Worker:
    server_of: Callable[[VerifyRequest], Verifying]
    engine: Engine
    out: Lines
    tally: Tally
    advance: Callable[[], None]
    tracing: RootTracer | None = None

    async def work(self, rows: ObjectReceiveStream[tuple[int, bytes]]) -> None:
        async with rows:
            async for row, line in rows:
                with self._traced(row):
                    answer = await self._answer(row, line)
                self.out.write(answer)
                self.advance()

    def _traced(self, row: int) -> AbstractContextManager[Span]:
        return NOTHING if self.tracing is None else self.tracing.root("verify row", {}, {"row": row})

    async def _answer(self, row: int, line: bytes) -> Document:
        started = time.monotonic()
        try:
            request = VerifyRequest.parse(as_request(row, line))
            server = self.server_of(request)
            try:
                fields = await server.verify(self.engine, request)
            except Unavailable as error:
                fields = no_verdict(server.name, error)
        except RequestError as error:
            self.tally.add_invalid(row, error)
            return {"row": row, "line": row + 1, **request_error_document(error)}
        self.tally.add(fields, time.monotonic() - started)
        return {**fields.answer(request), "row": row}
