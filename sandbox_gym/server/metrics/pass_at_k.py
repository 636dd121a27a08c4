"""pass@k, pass@1 averaged over k, majority@k and their spread, in percent, under NeMo Gym's names."""

from __future__ import annotations

import math
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from sandbox_gym.server.protocol.wire import Document

_HEADLINE = re.compile(r"(?:(?P<subset>.+)/)?(?P<kind>pass@1\[avg-of-|pass@|majority@)(?P<k>\d+)\]?/(?P<name>[^/]+)")
_NO_ANSWER = "no_answer"

_Scores = Mapping[str, float]
_Rollouts = Sequence[tuple[str | None, _Scores]]
Score = Callable[[Document], Mapping[str, float]]


def accuracy(row: Document) -> Mapping[str, float]:
    """Any reward above 0 is a right answer, as in NeMo Gym's code_gen."""
    reward = row.get("reward")
    return {"accuracy": float(isinstance(reward, int | float) and reward > 0)}


def pass_metrics(tasks: Sequence[Sequence[Document]], *, answer_key: str, score: Score = accuracy) -> dict[str, object]:
    """`pass@k/x`, `pass@1[avg-of-k]/x`, `majority@k/x` over tasks of rollouts, x each score and no_answer.

    Rows without a score are left out of that score's metrics.
    """
    if not tasks:
        return {}
    scored = [[_scored(row, answer_key, score) for row in rollouts] for rollouts in tasks]
    longest = max(map(len, scored))
    metrics: dict[str, object] = {}
    runs: dict[str, list[float]] = {}
    for name in sorted({name for rollouts in scored for _, scores in rollouts for name in scores}):
        sums: dict[str, list[float]] = defaultdict(list)
        for rollouts in scored:
            for key, value in _task_values(rollouts, name, longest):
                sums[key].append(value)
        metrics.update({key: 100.0 * statistics.fmean(values) for key, values in sums.items()})
        runs[name] = _runs(scored, name, longest)
        metrics.update(_spread(scored, name, runs[name], longest))
    metrics["per_sample_aggregate"] = runs
    return metrics


def _runs(scored: Sequence[_Rollouts], name: str, longest: int) -> list[float]:
    """The mean over tasks of the first rollout, of the second, ..."""
    columns = [[r[i][1][name] for r in scored if i < len(r) and name in r[i][1]] for i in range(longest)]
    return [100.0 * statistics.fmean(column) for column in columns if column]


def headline(metrics: Mapping[str, object], names: Collection[str] | None = ("accuracy",)) -> Document:
    """The most important numbers: scores of each kind at its highest k, and token means.

    `names`: those scores. None: all, and of `no_answer` the means only.
    """
    found: dict[tuple[str, str], tuple[int, list[str]]] = {}
    for key in metrics:
        match = _HEADLINE.fullmatch(key)
        if match is None or not _leads(match, names):
            continue
        group, k = (match["subset"] or "", match["kind"]), int(match["k"])
        highest, keys = found.get(group, (0, []))
        if k >= highest:
            found[group] = (k, [*keys, key] if k == highest else [key])
    tokens = [key for key in ("mean/input_tokens", "mean/output_tokens") if key in metrics]
    return {key: metrics[key] for key in (*tokens, *(key for _, keys in found.values() for key in keys))}


def _leads(match: re.Match[str], names: Collection[str] | None) -> bool:
    mean = "avg-of" in match["kind"]
    if match["subset"] and not mean:
        return False
    return match["name"] in names if names is not None else mean or match["name"] != _NO_ANSWER


def _scored(row: Document, answer_key: str, score: Score) -> tuple[str | None, _Scores]:
    answer = row.get(answer_key)
    return None if answer is None else str(answer), {**score(row), _NO_ANSWER: float(answer is None)}


def _task_values(rollouts: _Rollouts, name: str, longest: int) -> list[tuple[str, float]]:
    """One task's part in every metric of `name`; a task with fewer than k rollouts has no pass@k, but the rest."""
    values: list[tuple[str, float]] = []
    known = [scores[name] for _, scores in rollouts if name in scores]
    running, seen, majority = 0.0, 0, 0.0
    vote = _vote()
    for k in range(1, longest + 1):
        if k <= len(rollouts) and name in rollouts[k - 1][1]:
            answer, scores = rollouts[k - 1]
            running, seen = running + scores[name], seen + 1
            majority = vote(answer, scores[name])
        if k <= len(known):
            values.append((f"pass@{k}/{name}", _passed(known, k)))
        if seen:
            values.append((f"pass@1[avg-of-{k}]/{name}", running / seen))
        values.append((f"majority@{k}/{name}", majority))
    return values


def _passed(scores: Sequence[float], k: int) -> float:
    """The probability that one of k is right; for scores between 0 and 1 the best of the first k."""
    if any(score not in (0, 1) for score in scores):
        return max(scores[:k])
    wrong = sum(not score for score in scores)
    return 1.0 - math.comb(wrong, k) / math.comb(len(scores), k)


def _vote() -> Callable[[str | None, float], float]:
    """A running majority vote over (answer, score) pairs: the mean score of the most frequent pairs."""
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


def _spread(scored: Sequence[_Rollouts], name: str, runs: Sequence[float], longest: int) -> dict[str, object]:
    """The deviation between runs (of 100), and between rollouts of one task (of 1)."""
    metrics: dict[str, object] = {}
    for k in range(2, longest + 1):
        first = runs[:k]
        if len(first) > 1:
            deviation = statistics.stdev(first)
            metrics[f"pass@1[avg-of-{k}]/{name}/std_dev_across_runs"] = deviation
            metrics[f"pass@1[avg-of-{k}]/{name}/std_err_across_runs"] = deviation / math.sqrt(len(first))
    deviations: dict[int, list[float]] = defaultdict(list)
    for rollouts in scored:
        for k, deviation in _deviations(rollouts, name, longest):
            deviations[k].append(deviation)
    for k, values in sorted(deviations.items()):
        metrics[f"pass@1[avg-of-{k}]/{name}/avg_sample_std_dev"] = statistics.fmean(values)
    return metrics


def _deviations(rollouts: _Rollouts, name: str, longest: int) -> Iterator[tuple[int, float]]:
    """(k, the sample deviation of the first k rollouts' scores), where at least two have a score."""
    seen, total, squares = 0, 0.0, 0.0
    for k in range(1, longest + 1):
        if k <= len(rollouts) and name in rollouts[k - 1][1]:
            value = rollouts[k - 1][1][name]
            seen, total, squares = seen + 1, total + value, squares + value * value
        if k > 1 and seen > 1:
            yield k, math.sqrt(max(0.0, (squares - total * total / seen) / (seen - 1)))
