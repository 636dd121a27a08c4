"""What came of a rollout, and what all of them cost: the table."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table

from examples.agents.instances import PLAYED, Document, Task
from examples.agents.model import Conversation


@dataclass(frozen=True)
class Rollout:
    """The last attempt at a task. `none`: why there is no verdict; empty where there is one."""

    name: str
    reward: float = 0.0
    none: str = ""
    seconds: float = 0.0
    before: Sequence[str] = ()
    """Why earlier tries had no verdict."""

    @classmethod
    def of_answers(cls, name: str, answers: Sequence[Document], seconds: float) -> Rollout:
        """Of what verifies answered, masked or not; the last one stands."""
        *before, none = [_none(answer) for answer in answers]
        reward = 0.0 if none else float(str(answers[-1]["reward"]))
        return cls(name, reward, none, seconds, before)


def _none(answer: Document) -> str:
    """Why an answer is no verdict; empty for one."""
    if not answer.get("mask_sample") and "reward" in answer:
        return ""
    return str(answer.get("failure_kind") or answer.get("detail") or "no answer")[:200]


@dataclass(frozen=True)
class Cost:
    """Of the whole run, on the server's side."""

    server_cpu_s: float
    sandboxes: int
    killed: int


@dataclass(frozen=True)
class Summary:
    """What a run must be: every task ended, and no verdict is wrong."""

    masked: int
    tried_again: int
    losses: int
    missing: Sequence[str]
    wrong: Sequence[str]

    @property
    def fine(self) -> bool:
        return not (self.missing or self.wrong)


def summed(
    tasks: Sequence[Task], rollouts: Sequence[Rollout], conversations: Mapping[str, Sequence[Conversation]]
) -> Summary:
    """Over all tasks."""
    found = {one.name: one for one in rollouts}
    return Summary(
        masked=sum(bool(one.none) for one in rollouts),
        tried_again=sum(len(one.before) for one in rollouts),
        losses=sum(one.losses for attempts in conversations.values() for one in attempts),
        missing=[task.name for task in tasks if task.name not in found],
        wrong=[
            task.name for task in tasks if (one := found.get(task.name)) and not one.none and one.reward != task.reward
        ],
    )


def show(
    title: str,
    tasks: Sequence[Task],
    rollouts: Sequence[Rollout],
    conversations: Mapping[str, Sequence[Conversation]],
    cost: Cost,
    wall_s: float,
) -> Summary:
    """Print the table, and what it comes to."""
    table = Table("instance", "the agent", "steps", "lost", "verdict", "seconds", title=title)
    found = {one.name: one for one in rollouts}
    for task in tasks:
        one, attempts = found.get(task.name), conversations.get(task.name, [])
        if one is None:
            table.add_row(task.name, task.plan, "", "", "[red]it did not end[/]", "")
            continue
        verdict = f"none: {one.none}" if one.none else f"{one.reward:g}"
        verdict += "".join(f", at first none: {why}" for why in one.before)
        colour = "cyan" if one.none else "green" if one.reward == task.reward else "red"
        steps, lost = sum(each.steps for each in attempts), sum(each.losses for each in attempts)
        cells = (task.name, task.plan, str(steps), str(lost), f"[{colour}]{verdict}[/]")
        talked_s = attempts[-1].answered_at - attempts[0].began_at if attempts else 0.0
        table.add_row(*cells, f"{one.seconds or talked_s:.1f}")
    console, summary = Console(width=100), summed(tasks, rollouts, conversations)
    console.print(table)
    waits = sorted(1000 * wait for attempts in conversations.values() for each in attempts for wait in each.waits)
    steps = max(1, len(waits))
    p50, p95 = (statistics.quantiles(waits, n=20)[at] if len(waits) > 1 else 0.0 for at in (9, 18))
    verdicts = len(rollouts) - summary.masked
    console.print(
        f"a step: {p50:.0f} ms p50, {p95:.0f} ms p95 from the model's answer to its next request;"
        f" {1000 * cost.server_cpu_s / steps:.0f} ms of the server's CPU, seeds and verdicts included\n"
        f"in all: {len(waits)} steps, {verdicts} verdicts, {cost.sandboxes} sandboxes for sessions, {wall_s:.0f} s\n"
        f"sandboxes killed {cost.killed}, notices of a loss {summary.losses}, tried again"
        f" {summary.tried_again}, without a verdict {summary.masked}, wrong verdicts {len(summary.wrong)}\n\n"
        + "\n".join(f"{plan:8} {what}" for plan, what in PLAYED.items() if plan in {task.plan for task in tasks}),
        highlight=False,
    )
    for name in (*summary.missing, *summary.wrong):
        console.print(f"[red]{name} is not as it must be.[/]")
    return summary
