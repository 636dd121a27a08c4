"""`sandbox-gym verdicts`: lists recorded verdicts, the latest first."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console, JustifyMethod
from rich.table import Table

from sandbox_gym.cli.records.journal import (
    JournalOption,
    ReasonOption,
    RequestOption,
    RewardOption,
    ServerOption,
    SinceOption,
    TamperedOption,
    TaskOption,
    TenantOption,
    filter_of,
    opened,
    summary_document,
)
from sandbox_gym.cli.terminal.options import JsonLinesOption
from sandbox_gym.cli.terminal.screen import print_json, say, visible
from sandbox_gym.cli.terminal.settings import settings_with
from sandbox_gym.journal import Summary
from sandbox_gym.limits import MIB

_EVIDENCE = 160

if TYPE_CHECKING:
    from sandbox_gym.journal.store import Pruned, Store


def verdicts(
    reward: RewardOption = None,
    reason: ReasonOption = "",
    task: TaskOption = "",
    since: SinceOption = "",
    server: ServerOption = "",
    request_id: RequestOption = "",
    tampered: TamperedOption = False,
    tenant: TenantOption = "",
    limit: Annotated[int, typer.Option(min=0, help="Show at most this many; 0 for all.")] = 50,
    as_json: JsonLinesOption = False,
    prune: Annotated[
        bool, typer.Option("--prune", help="First delete verdicts beyond journal_max_mb and journal_days.")
    ] = False,
    journal: JournalOption = None,
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
        Console().print(tampered_table(found, signs) if tampered else table(found))
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


def tampered_table(found: Sequence[Summary], signs: Mapping[int, Mapping[str, str]]) -> Table:
    """One line for each sign: time, request, tenant, task, evidence."""
    shown = Table(title=f"{len(found)} verdicts with signs of tampering", title_justify="left")
    for name in ("finished", "request", "tenant", "task", "reward", "sign", "evidence"):
        shown.add_column(name, overflow="fold", no_wrap=name in ("finished", "request", "task", "reward"))
    for each in found:
        when = datetime.fromtimestamp(each.finished_at).strftime("%m-%d %H:%M:%S")
        reward = "none" if each.reward is None else f"{each.reward:g}"
        for sign, evidence in signs[each.id].items():
            cells = (when, each.request_id[:12], each.tenant, each.task_digest[:8], reward, sign, evidence[:_EVIDENCE])
            shown.add_row(*map(visible, cells))
    return shown


def table(found: Sequence[Summary]) -> Table:
    """The columns that fit a terminal, with ids as prefixes that the filters accept; --json has everything."""
    shown = Table(title=f"{len(found)} verdicts", title_justify="left")
    for name in ("finished", "request", "server", "reward", "reason", "task", "provider", "seconds"):
        justify: JustifyMethod = "right" if name in ("reward", "seconds") else "left"
        shown.add_column(name, overflow="fold", justify=justify, no_wrap=name not in ("server", "reason"))
    for each in found:
        when = datetime.fromtimestamp(each.finished_at).strftime("%m-%d %H:%M:%S")
        reward = "none" if each.reward is None else f"{each.reward:g}"
        reason = each.failure_kind or each.failure_reason
        took = f"{each.finished_at - each.started_at:.2f}"
        request, task = each.request_id[:12], each.task_digest[:8]
        cells = (when, request, each.server, reward, reason, task, each.provider, took)
        shown.add_row(*map(visible, cells))
    return shown
