"""Our `/aggregate_metrics` beside NeMo Gym's own functions, on rollouts of every kind by chance: number for number."""

from __future__ import annotations

import importlib
import random
from collections.abc import Mapping
from types import SimpleNamespace

import pytest

from sandbox_gym.config import Settings
from sandbox_gym.server.protocol.wire import Document
from sandbox_gym.server.registry import SERVERS
from tests.gym.running import figure, installed

pytestmark = pytest.mark.filterwarnings("ignore")  # their imports warn
KINDS = ("coding", "math", "swe")
THEIR_KEYS = {"coding": "extracted_model_code", "math": "extracted_answer", "swe": "model_patch"}


def rollouts(kind: str, seed: int) -> list[Document]:
    """Up to 12 tasks of up to 6 rollouts, not equally many: answers that agree and differ, scores that are missing."""
    chance = random.Random(seed)
    rows: list[Document] = []
    for task in range(chance.randint(1, 12)):
        subset = chance.choice(["easy", "medium", "hard", None])
        for rollout in range(chance.randint(1, 6)):
            reward = float(chance.random() < 0.5)
            answer = chance.choice([None, "a", "b", "c"])
            row: Document = {"_ng_task_index": task, "_ng_rollout_index": rollout, "reward": reward}
            row[THEIR_KEYS[kind]] = answer
            usage = {"input_tokens": chance.randint(1, 99), "output_tokens": chance.randint(1, 99)}
            row["response"] = {"usage": usage}
            if kind == "coding":
                row |= {"difficulty": subset, "unit_tests_time_taken": chance.random()}
            if kind == "math":
                row |= {"library_reward": float(chance.random() < 0.5)}
                row["judge_evaluations"] = [{"verdict": "A=B"}] if chance.random() < 0.4 else None
            rows.append(row)
    return rows


def theirs(kind: str, rows: list[Document]) -> Mapping[str, Document]:
    """By code_gen's and math_with_judge's own methods; swe's has none of its own in 0.4.0."""
    profile = importlib.import_module("nemo_gym.reward_profile")
    if kind == "swe":
        found = profile.compute_aggregate_metrics(
            rows,
            lambda tasks: profile.compute_pass_majority_metrics(tasks, None, "model_patch")[0],
        )
    else:
        name, server = {
            "coding": ("code_gen", "CompCodingResourcesServer"),
            "math": ("math_with_judge", "LibraryJudgeMathResourcesServer"),
        }[kind]
        cls = getattr(importlib.import_module(f"resources_servers.{name}.app"), server)
        itself = SimpleNamespace(**{each: getattr(cls, each) for each in dir(cls) if each.endswith("_score_fn")})
        found = profile.compute_aggregate_metrics(
            rows,
            lambda tasks: cls.compute_metrics(itself, tasks),
            lambda metrics: cls.get_key_metrics(itself, metrics),
        )
    return {"agent_metrics": found.agent_metrics, "key_metrics": found.key_metrics}


def ours(kind: str, rows: list[Document]) -> Document:
    settings = Settings.model_validate({})
    return SERVERS[kind](settings, kind).aggregate(rows)


def flat(metrics: Mapping[str, object]) -> dict[str, float]:
    """Numbers by name, those of lists too."""
    numbers: dict[str, float] = {}
    for name, value in metrics.items():
        if isinstance(value, Mapping):
            lists = {f"{name}/{key}/{i}": each for key, values in value.items() for i, each in enumerate(values)}
            numbers.update(lists)
        elif isinstance(value, int | float):
            numbers[name] = float(value)
    return numbers


@pytest.mark.parametrize("kind", KINDS)
def test_every_number_of_theirs(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(installed("resources_servers/code_gen")))  # as NeMo Gym starts it
    compared = 0
    for seed in range(60):
        rows = rollouts(kind, seed)
        other, own = theirs(kind, rows), ours(kind, rows)
        for part in ("agent_metrics", "key_metrics") if kind != "swe" else ("agent_metrics",):
            mine = own[part]
            assert isinstance(mine, dict)
            numbers = flat(other[part])
            found = flat(mine)
            assert set(numbers) <= set(found), (seed, part, set(numbers) - set(found))
            assert {name: found[name] for name in numbers} == pytest.approx(numbers), (seed, part)
            compared += len(numbers)
    figure(f"{kind}: {compared} numbers of 60 sets of rollouts are NeMo Gym's own")
    assert compared > 4_000
