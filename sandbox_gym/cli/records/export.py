"""`sandbox-gym export`: writes recorded verdicts as complete JSON lines, or rows for NeMo Gym and NeMo Evaluator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sandbox_gym.cli.records import journal as options
from sandbox_gym.cli.records.journal import filter_of, opened, summary_document
from sandbox_gym.cli.rows import Lines
from sandbox_gym.cli.terminal.options import JsonOption
from sandbox_gym.cli.terminal.screen import print_json, say, visible
from sandbox_gym.codec import CodecError
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.journal import Filter, Stored
from sandbox_gym.server.protocol.wire import Document

if TYPE_CHECKING:
    from sandbox_gym.journal.store import Store
from typing import Final

from sandbox_gym.cli.rows import lines
from sandbox_gym.errors import RequestError
from sandbox_gym.server.nemo_evaluator import ROW, TASK, task_digest
from sandbox_gym.server.protocol.envelope import messages_of, params_of
from sandbox_gym.server.protocol.resources import ResourcesServer
from sandbox_gym.server.protocol.wire import loads
from sandbox_gym.server.registry import kind_of


def export(
    out: Annotated[
        Path | None, typer.Option("--out", "-o", dir_okay=False, help="File to write; standard output unless given.")
    ] = None,
    states: Annotated[
        bool,
        typer.Option("--states/--no-states", help="Include what each program did and printed: megabytes for some."),
    ] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace OUT.")] = False,
    reward: options.RewardOption = None,
    reason: options.ReasonOption = "",
    task: options.TaskOption = "",
    since: options.SinceOption = "",
    server: options.ServerOption = "",
    request_id: options.RequestOption = "",
    journal: options.JournalOption = None,
    rows: Annotated[
        Path | None,
        typer.Option(
            exists=True, dir_okay=False, help="Export this file's rows for ng_collect_rollouts, instead of verdicts."
        ),
    ] = None,
    agent: Annotated[
        str, typer.Option(help="With --rows: the agent's name; coding_simple_agent or the like unless given.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Write verdicts as JSON lines, the earliest first; with --rows, tasks for NeMo Gym and NeMo Evaluator.

    --json, with --out: how many were written and what is damaged.

    Exit: 0 written; 1 a record or row is damaged; 2 wrong usage or no journal.
    """
    if as_json and out is None:
        raise ConfigurationError("--json needs --out: without it the verdicts themselves are JSON on stdout")
    if rows is not None:
        if any((reward is not None, reason, task, since, server, request_id, journal)):
            raise ConfigurationError("--rows can't be combined with options that select verdicts")
        return _export_rows(rows, out, agent, overwrite=overwrite, as_json=as_json)
    wanted = filter_of(reward, reason, task, since, server, request_id)
    errors: list[str] = []
    with opened(journal) as store:
        documents = _documents(store, wanted, errors, states=states)
        count = _to_screen(documents) if out is None else _to_file(out, documents, overwrite=overwrite)
    _finish("verdicts", count, "damaged", errors, out, as_json=as_json)


def _finish(what: str, count: int, wrong: str, errors: list[str], out: Path | None, *, as_json: bool) -> None:
    """Report what was written, and exit: 1 where something was left out."""
    if as_json:
        print_json({"out": str(out), what: count, wrong: errors})
    else:
        for error in errors:
            say(f"[red]{wrong}:[/] {visible(error)}")
        say(f"{count} {what}")
    raise typer.Exit(1 if errors else 0)


def _export_rows(rows: Path, out: Path | None, agent: str, *, overwrite: bool, as_json: bool) -> None:
    from sandbox_gym.cli.records.export import exported_rows
    from sandbox_gym.config import Settings
    from sandbox_gym.server.registry import SERVERS

    settings, errors = Settings.model_validate({}), list[str]()
    servers = {kind: make(settings, kind) for kind, make in SERVERS.items()}
    documents = exported_rows(rows, servers, agent, errors)
    count = _to_screen(documents) if out is None else _to_file(out, documents, overwrite=overwrite)
    _finish("rows", count, "left out", errors, out, as_json=as_json)


def _documents(store: Store, wanted: Filter, errors: list[str], *, states: bool) -> Iterator[Document]:
    for number in store.ids(wanted):
        try:
            stored = store.get(number)
        except CodecError as error:
            errors.append(f"row {number}: {error}")
            continue
        if stored is not None:
            yield document(stored, states=states)


def document(stored: Stored, *, states: bool) -> Document:
    """A complete recorded verify. Bytes are {"utf8": text} or {"b64": text}."""
    source = stored.source
    shown: Document = {
        **summary_document(stored.summary),
        "settings": source.settings,
        **({"verifier_metadata": source.row} if source.verifier == "coding" else source.row),
        "answer": source.answer,
        "reasoning": source.reasoning,
        "reply": stored.reply,
    }
    if states:
        from sandbox_gym.journal.rows import state_document

        judgements = stored.judgements
        shown["states"] = None if judgements is None else [state_document(each.state) for each in judgements]
    return shown


def _to_screen(documents: Iterator[Document]) -> int:
    count = 0
    for each in documents:
        print_json(each)
        count += 1
    return count


def _to_file(out: Path, documents: Iterator[Document], *, overwrite: bool) -> int:
    """Raises ConfigurationError when OUT exists or can't be written."""
    count = 0
    try:
        if overwrite:
            out.unlink(missing_ok=True)
        elif out.exists() and out.stat().st_size:
            raise ConfigurationError(f"{out} exists already: --overwrite replaces it")
        with Lines(out) as lines:
            for each in documents:
                lines.write(each)
                count += 1
    except OSError as error:
        raise ConfigurationError(f"--out {out}: {error.strerror}") from None
    return count


_ANSWERS: Final = ("response", "answer")
_EVALUATORS: Final = ("expected", "sandbox")
"""Arguments of NeMo Evaluator's own call of verify, which a row's fields must not shadow."""


def exported_rows(path: Path, servers: dict[str, ResourcesServer], agent: str, errors: list[str]) -> Iterator[Document]:
    """Each row of the file in a form that both accept; a line that is not a row goes into `errors`."""
    for index, (number, line) in enumerate(lines(path)):
        try:
            row = loads(line)
            kind = kind_of(row)
            yield exported(row, index, f"{path.stem}-{index}", servers[kind], agent or f"{kind}_simple_agent")
        except RequestError as error:
            errors.append(f"line {number + 1}: {error}")


def exported(row: Document, index: int, uuid: str, resources: ResourcesServer, agent: str) -> Document:
    """One row. Raises RequestError for a row without a prompt, or with a reserved field name."""
    for name in _EVALUATORS:
        if name in row:
            raise RequestError(name, "is a name that NeMo Evaluator uses itself", "rename it")
    params = params_of(row)
    own = messages_of({**params, "instructions": None})
    fields = {key: value for key, value in row.items() if key not in _ANSWERS}
    task = resources.row(row)
    return {
        **fields,
        "responses_create_params": {**params, "input": own},
        # NeMo Evaluator's native protocol forwards a row by problem_idx and leaves out expected_answer
        "verifier_metadata": row.get("verifier_metadata") or task,
        "uuid": row.get("uuid") or uuid,
        "problem_idx": index,
        ROW: index,
        TASK: task_digest(resources, row),
        "agent_ref": row.get("agent_ref") or {"type": "responses_api_agents", "name": agent},
    }
