"""`sandbox-gym rejudge`: judges recorded verdicts again from their states."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

import typer
from anyio.from_thread import start_blocking_portal
from rich.console import Console

from sandbox_gym.cli.records import journal as options
from sandbox_gym.cli.records.journal import filter_of, opened
from sandbox_gym.cli.terminal.options import JsonLinesOption
from sandbox_gym.cli.terminal.progress import progress
from sandbox_gym.cli.terminal.screen import print_json, visible
from sandbox_gym.codec import CodecError
from sandbox_gym.journal import Filter

if TYPE_CHECKING:
    from sandbox_gym.journal.store import Store
    from sandbox_gym.server.rejudge import Rejudgement


def rejudge(
    reward: options.RewardOption = None,
    reason: options.ReasonOption = "",
    task: options.TaskOption = "",
    since: options.SinceOption = "",
    server: options.ServerOption = "",
    request_id: options.RequestOption = "",
    as_json: JsonLinesOption = False,
    journal: options.JournalOption = None,
) -> None:
    """Judge verdicts again from the recorded states, without a sandbox, and show verdicts that differ now.

    Exit: 0 all agree, 1 some don't, 2 wrong usage or no journal.
    """
    from sandbox_gym.server.rejudge import Agreement  # importing verifiers takes time, which other commands save

    wanted = filter_of(reward, reason, task, since, server, request_id)
    console, counts, otherwise = Console(), Counter[Agreement](), 0
    with opened(journal) as store, progress("rejudge", sum(1 for _ in store.ids(wanted))) as advance:
        for finding in findings(store, wanted):
            advance()
            counts[finding.agreement] += 1
            otherwise += finding.planned_otherwise
            if as_json:
                print_json(asdict(finding))
            elif finding.agreement is Agreement.DISAGREES:
                console.print(f"[red]disagrees[/] {finding.request_id}  {visible(finding.what)}", highlight=False)
    said = Console(stderr=True) if as_json else console
    said.print(
        f"{counts[Agreement.AGREES]} agree, {counts[Agreement.DISAGREES]} disagree,"
        f" {counts[Agreement.NO_STATE]} without a recorded state"
        + (f"; {otherwise} would be planned differently now" if otherwise else ""),
        highlight=False,
    )
    raise typer.Exit(1 if counts[Agreement.DISAGREES] else 0)


def findings(store: Store, wanted: Filter) -> Iterator[Rejudgement]:
    """One by one, the earliest first. A damaged record counts as disagreeing."""
    from sandbox_gym.server.registry import SERVERS
    from sandbox_gym.server.rejudge import Agreement, Rejudgement, rejudge_one

    with start_blocking_portal() as portal:
        for number in store.ids(wanted):
            try:
                stored = store.get(number)
            except CodecError as error:
                yield Rejudgement(f"row {number}", Agreement.DISAGREES, str(error))
                continue
            if stored is not None:
                yield portal.call(rejudge_one, stored, SERVERS)
