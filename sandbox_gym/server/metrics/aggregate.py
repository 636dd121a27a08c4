"""NeMo Gym's `/aggregate_metrics` over verify responses: the same numbers, without pandas.

Masked rows have no verdict: they are left out of every statistic and counted as `masked`.
"""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from typing import TypeGuard

from sandbox_gym.errors import RequestError, wrong
from sandbox_gym.server.metrics.pass_at_k import Score, accuracy, headline, pass_metrics
from sandbox_gym.server.protocol.wire import Document

TASK = "_ng_task_index"
ROLLOUT = "_ng_rollout_index"
_NO_STATISTIC = frozenset({TASK, ROLLOUT, "mask_sample"})
MOST = 1e100
"""The largest value that statistics are made of. JSON has larger numbers, whose sums overflow."""
_AGENT = {"agent_ref": {"name": "agent"}}


def aggregate_metrics(
    rows: Sequence[Document],
    *,
    answer_key: str,
    subset_key: str,
    score: Score = accuracy,
    key_names: Collection[str] | None = ("accuracy",),
) -> Document:
    """`{group_level_metrics, agent_metrics, key_metrics}`; majority votes are on `answer_key`, subsets by `subset_key`.

    `score`: a row's scores by name; `key_names`: the scores among the key metrics, None for all.

    Raises RequestError: a reward that is not a number, an index that is not an integer, a repeated rollout.
    """
    if not rows:
        return {"group_level_metrics": [], "agent_metrics": {}, "key_metrics": {}}
    tasks = _by_task(rows)
    agent: Document = _describe([row for row in rows if not _masked(row)])
    scored = [live for _, rollouts in tasks if (live := [row for row in rollouts if not _masked(row)])]
    agent.update(pass_metrics(scored, answer_key=answer_key, score=score))
    subsets: dict[str, list[list[Document]]] = defaultdict(list)
    for rollouts in scored:
        subset = rollouts[0].get(subset_key)
        if isinstance(subset, str) and subset:
            subsets[subset].append(rollouts)
    for subset, members in subsets.items():
        numbers = pass_metrics(members, answer_key=answer_key, score=score)
        agent.update({f"{subset}/{k}": v for k, v in numbers.items() if _belongs_to_subset(k)})
    agent["masked"] = sum(map(_masked, rows))
    groups = [_group(index, rollouts) for index, rollouts in tasks]
    return {"group_level_metrics": groups, "agent_metrics": agent, "key_metrics": headline(agent, key_names)}


def _belongs_to_subset(key: str) -> bool:
    return key != "per_sample_aggregate" and not key.endswith("/avg_sample_std_dev")


def _masked(row: Mapping[str, object]) -> bool:
    return row.get("mask_sample") is True


def _by_task(rows: Sequence[Document]) -> list[tuple[int, list[Document]]]:
    """Rows by task index, in order; a row without a rollout index gets the next free one."""
    tasks: dict[int, dict[int, Document]] = defaultdict(dict)
    for position, row in enumerate(rows):
        field = f"verify_responses[{position}]"
        reward = row.get("reward")
        if isinstance(reward, bool) or not _has_statistics(reward):
            said = f"is no number of at most {MOST:g}"
            raise RequestError(f"{field}.reward", said, "send verify responses unchanged")
        rollouts = tasks[_index(row, TASK, field, 0)]
        rollout = _index(row, ROLLOUT, field, len(rollouts))
        if rollout in rollouts:
            raise RequestError(f"{field}.{ROLLOUT}", f"repeats rollout {rollout}", "send each rollout once")
        rollouts[rollout] = row
    return [(task, list(tasks[task].values())) for task in sorted(tasks)]


def _index(row: Document, key: str, field: str, default: int) -> int:
    value = row.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int):
        raise wrong(f"{field}.{key}", value, "send an integer")
    return value


def _numbers(row: Document) -> dict[str, int | float]:
    """A row's numeric fields, and those of its response's usage."""
    response = row.get("response")
    usage = response.get("usage") if isinstance(response, dict) else None
    columns = {**row, **usage} if isinstance(usage, dict) else row
    return {
        key: int(value) if isinstance(value, bool) else value
        for key, value in columns.items()
        if key not in _NO_STATISTIC and _has_statistics(value)
    }


def _has_statistics(value: object) -> TypeGuard[int | float]:
    """Whether sums and squares of many such values are numbers. Compared, not converted: an integer of 400 digits has
    no float, and NaN is no less than anything."""
    return isinstance(value, int | float) and abs(value) <= MOST


def _describe(rows: Sequence[Document]) -> Document:
    """`mean/x`, `max/x`, `min/x`, `median/x` and `std/x` of every numeric column.

    As in NeMo Gym: the sample deviation is 0 where no column has two values; else a column with one value has none.
    """
    columns: dict[str, list[int | float]] = defaultdict(list)
    for row in rows:
        for key, value in _numbers(row).items():
            columns[key].append(value)
    described: Document = {f"mean/{key}": statistics.fmean(values) for key, values in columns.items()}
    described.update({f"max/{key}": max(values) for key, values in columns.items()})
    described.update({f"min/{key}": min(values) for key, values in columns.items()})
    described.update({f"median/{key}": statistics.median(values) for key, values in columns.items()})
    no_spread = all(len(values) < 2 for values in columns.values())
    for key, values in columns.items():
        if len(values) > 1:
            described[f"std/{key}"] = statistics.stdev(map(float, values))
        elif no_spread and len(values) == len(rows):
            described[f"std/{key}"] = 0
    return described


def _group(task: int, rollouts: Sequence[Document]) -> Document:
    group: Document = {TASK: task, **_describe([row for row in rollouts if not _masked(row)])}
    infos: list[tuple[int, Document]] = []
    for position, row in enumerate(rollouts):
        rollout = _index(row, ROLLOUT, "verify_responses", position)
        info: Document = {"rollout_id": f"{task}:{rollout}", TASK: task, ROLLOUT: rollout, **_numbers(row)}
        infos.append((rollout, info))
    group["sample"] = _AGENT
    group["num_rollouts"] = len(rollouts)
    group["expected_num_rollouts"] = len(rollouts)
    group["missing_num_rollouts"] = 0
    group["reward_profile_completion_pct"] = 100.0
    group["masked"] = sum(map(_masked, rollouts))
    group["rollout_infos"] = [info for _, info in sorted(infos, key=lambda pair: pair[0])]
    return group
