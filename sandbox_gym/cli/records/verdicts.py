"""`sandbox-gym verdicts`: lists recorded verdicts, the latest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from sandbox_gym.cli.records import journal as options
from sandbox_gym.cli.records.journal import filter_of, opened, summary_document
from sandbox_gym.cli.terminal.options import JsonLinesOption, settings_with
from sandbox_gym.cli.terminal.screen import print_json, say
from sandbox_gym.cli.terminal.tables import Column, print_table
from sandbox_gym.journal import Summary
from sandbox_gym.limits import MIB

_EVIDENCE = 160

if TYPE_CHECKING:
    from sandbox_gym.journal.store import Pruned, Store


def verdicts(
    reward: options.RewardOption = None,
    reason: options.ReasonOption = "",
    task: options.TaskOption = "",
    since: options.SinceOption = "",
    server: options.ServerOption = "",
    request_id: options.RequestOption = "",
    tampered: options.TamperedOption = False,
    tenant: options.TenantOption = "",
    limit: Annotated[int, typer.Option(min=0, help="Show at most this many; 0 for all.")] = 50,
    as_json: JsonLinesOption = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="First delete verdicts beyond journal_max_mb and journal_days.")
    ] = False,
    journal: options.JournalOption = None,
) -> None:
    """List verdicts, the latest first.

    Exit: 0, also when none matches; 2 wrong usage or no journal.
    """
    wanted = replace(filter_of(reward, reason, task, since, server, request_id), tampered=tampered, tenant=tenant)
    with opened(journal) as store:
        if prune:
            _say(_prune(store))
        found = store.summaries(wanted, limit=limit or None)
        signs = {summary.id: _signs(store, summary) for summary in found} if tampered else {}
    if as_json:
        for summary in found:
            print_json({**summary_document(summary), **({"signs": dict(signs[summary.id])} if tampered else {})})
    else:
        if tampered:
            _print_tampered(found, signs)
        else:
            _print(found)
        if limit and len(found) == limit:
            say(f"The latest {limit}; --limit 0 shows all.")


def _prune(store: Store) -> Pruned:
    settings = settings_with({})
    return store.prune(max_bytes=settings.journal.max_mb * MIB, max_age_s=settings.journal.age_s)


def _say(pruned: Pruned) -> None:
    left = f"{pruned.size_bytes / MIB:.1f} MiB remain"
    say(f"Deleted {pruned.verdicts} verdicts and {pruned.tasks} tasks; {left}.")


def _signs(store: Store, summary: Summary) -> Mapping[str, str]:
    """Evidence by the sign's name; empty where only the name is recorded."""
    stored = store.get(summary.id)
    judgements = (stored.judgements or ()) if stored is not None else ()
    evidence = {name: text for judged in judgements for name, text in judged.verdict.evidence.items()}
    return {sign: evidence.get(sign, "") for sign in summary.tamper}


def _print_tampered(found: Sequence[Summary], signs: Mapping[int, Mapping[str, str]]) -> None:
    """One line for each sign."""
    columns = (
        Column("finished", rank=1),
        Column("request", rank=3),
        Column("tenant", least=8, rank=2),
        Column("task"),
        Column("reward", rank=4),
        Column("sign", least=14),
        Column("evidence", least=24),
    )
    rows = [
        (_when(each), each.request_id[:12], each.tenant, each.task_digest[:8], _reward(each), sign, said[:_EVIDENCE])
        for each in found
        for sign, said in signs[each.id].items()
    ]
    print_table(f"{len(found)} verdicts with signs of tampering", columns, rows)


def _print(found: Sequence[Summary]) -> None:
    """Ids are prefixes that the filters accept."""
    columns = (
        Column("finished"),
        Column("request", rank=2),
        Column("server", least=8),
        Column("reward", justify="right"),
        Column("reason", least=16),
        Column("task"),
        Column("provider", rank=3),
        Column("seconds", rank=1, justify="right"),
    )
    rows = [
        (
            *(_when(each), each.request_id[:12], each.server, _reward(each)),
            *((each.failure_kind or each.failure_reason or "")[:_EVIDENCE], each.task_digest[:8], each.provider),
            f"{each.finished_at - each.started_at:.2f}",
        )
        for each in found
    ]
    print_table(f"{len(found)} verdicts", columns, rows)


def _when(summary: Summary) -> str:
    return datetime.fromtimestamp(summary.finished_at).strftime("%m-%d %H:%M:%S")


def _reward(summary: Summary) -> str:
    return "none" if summary.reward is None else f"{summary.reward:g}"
