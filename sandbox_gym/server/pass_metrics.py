"""pass@k, pass@1 averaged over k, majority@k and their spread, in percent, under NeMo Gym's names."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence

from sandbox_gym.server.wire import Document

_HEADLINE = re.compile(r"(?:(?P<subset>.+)/)?(?P<kind>pass@1\[avg-of-|pass@|majority@)(?P<k>\d+)\]?/accuracy")

_Scores = Mapping[str, float]
_Rollouts = Sequence[tuple[str | None, _Scores]]


def pass_metrics(tasks: Sequence[Sequence[Document]], *, answer_key: str) -> dict[str, object]:
    """`pass@k/x`, `pass@1[avg-of-k]/x`, `majority@k/x` over tasks of rollouts, x accuracy and no_answer."""
    if not tasks:
        return {}
    scored = [[_score(row, answer_key) for row in rollouts] for rollouts in tasks]
    longest = max(map(len, scored))
    metrics: dict[str, object] = {}
    runs: dict[str, list[float]] = {}
    for name in ("accuracy", "no_answer"):
        sums: dict[str, list[float]] = defaultdict(list)
        for rollouts in scored:
            for key, value in _task_values(rollouts, name, longest):
                sums[key].append(value)
        metrics.update({key: 100.0 * statistics.fmean(values) for key, values in sums.items()})
        runs[name] = [100.0 * statistics.fmean(r[i][1][name] for r in scored if i < len(r)) for i in range(longest)]
        metrics.update(_spread(scored, name, runs[name]))
    metrics["per_sample_aggregate"] = runs
    return metrics


def headline(metrics: Mapping[str, object]) -> Document:
    """The numbers to look at first: accuracy of each kind at its highest k, and token means."""
    best: dict[tuple[str, str], tuple[int, str]] = {}
    for key in metrics:
        if match := _HEADLINE.fullmatch(key):
            subset, kind = match["subset"] or "", match["kind"]
            if subset and "avg-of" not in kind:
                continue
            best[subset, kind] = max(best.get((subset, kind), (0, "")), (int(match["k"]), key))
    tokens = [key for key in ("mean/input_tokens", "mean/output_tokens") if key in metrics]
    return {key: metrics[key] for key in (*tokens, *(key for _, key in best.values()))}


def _score(row: Document, answer_key: str) -> tuple[str | None, _Scores]:
    reward, answer = row.get("reward"), row.get(answer_key)
    accuracy = float(isinstance(reward, int | float) and reward > 0)
    return (
        None if answer is None else str(answer),
        {"accuracy": accuracy, "no_answer": float(answer is None)},
    )


def _task_values(rollouts: _Rollouts, name: str, longest: int) -> list[tuple[str, float]]:
    """One task's share in every metric of `name`: one short of k rollouts has no pass@k but the rest."""
    values: list[tuple[str, float]] = []
    total, wrong = len(rollouts), sum(not scores[name] for _, scores in rollouts)
    running = 0.0
    vote = _vote()
    for k in range(1, longest + 1):
        if k <= total:
            answer, scores = rollouts[k - 1]
            running += scores[name]
            majority = vote(answer, scores[name])
            none_right = math.comb(wrong, k) / math.comb(total, k)
            values.append((f"pass@{k}/{name}", 1.0 - none_right))
        values.append((f"pass@1[avg-of-{k}]/{name}", running / min(k, total)))
        values.append((f"majority@{k}/{name}", majority))
    return values


def _vote() -> Callable[[str | None, float], float]:
    """A running vote: takes an answer and its score, gives the mean score of the most frequent pairs."""
    votes: Counter[tuple[str, float]] = Counter()
    ranks: dict[int, list[float]] = defaultdict(lambda: [0.0, 0.0])  # votes -> [sum of scores, how many pairs]

    def cast(answer: str | None, score: float) -> float:
        if answer is not None:
            pair = (answer, score)
            if votes[pair]:
                ranks[votes[pair]][0] -= score
                ranks[votes[pair]][1] -= 1
            votes[pair] += 1
            ranks[votes[pair]][0] += score
            ranks[votes[pair]][1] += 1
        if not ranks:
            return 0.0
        total, pairs = ranks[max(rank for rank, entry in ranks.items() if entry[1])]
        return total / pairs

    return cast


def _spread(scored: Sequence[_Rollouts], name: str, runs: Sequence[float]) -> dict[str, object]:
    """How far runs lie apart (of 100), and rollouts of one task (of 1)."""
    metrics: dict[str, object] = {}
    for k in range(2, len(runs) + 1):
        deviation = statistics.stdev(runs[:k])
        metrics[f"pass@1[avg-of-{k}]/{name}/std_dev_across_runs"] = deviation
        metrics[f"pass@1[avg-of-{k}]/{name}/std_err_across_runs"] = deviation / math.sqrt(k)
    moments: dict[int, list[float]] = defaultdict(list)
    for rollouts in scored:
        ones = 0.0
        for seen, (_, scores) in enumerate(rollouts, start=1):
            ones += scores[name]
            if seen > 1:  # scores are 0 or 1, so their sum is also the sum of their squares
                moments[seen].append(math.sqrt(max(0.0, (ones - ones * ones / seen) / (seen - 1))))
        for k in range(max(2, len(rollouts) + 1), len(runs) + 1):
            if len(rollouts) > 1:
                moments[k].append(moments[len(rollouts)][-1])
    for k, values in sorted(moments.items()):
        metrics[f"pass@1[avg-of-{k}]/{name}/avg_sample_std_dev"] = statistics.fmean(values)
    return metrics
