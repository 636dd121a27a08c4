"""The numbers of /aggregate_metrics, against ones worked out by hand from NeMo Gym's definitions."""

from __future__ import annotations

import json
import math
import random
from typing import cast

import pytest

from sandbox_gym.errors import RequestError
from sandbox_gym.server.metrics.aggregate import aggregate_metrics
from sandbox_gym.server.protocol.wire import Document


def row(task: int, rollout: int, reward: float, code: str | None = "c", **more: object) -> Document:
    return {
        "_ng_task_index": task,
        "_ng_rollout_index": rollout,
        "reward": reward,
        "extracted_model_code": code,
        "response": {"usage": {"input_tokens": 10 * (task + 1), "output_tokens": 5}},
        **more,
    }


ROWS = [
    row(0, 0, 1.0, "a", difficulty="easy"),
    row(0, 1, 0.0, "b", difficulty="easy"),
    row(0, 2, 1.0, "a", difficulty="easy"),
    row(1, 0, 0.0, None, difficulty="hard"),
    row(1, 1, 0.0, "x", difficulty="hard"),
    row(1, 2, 1.0, "y", difficulty="hard"),
]


def aggregated(rows: list[Document]) -> tuple[list[Document], Document, Document]:
    document = aggregate_metrics(rows, answer_key="extracted_model_code", subset_key="difficulty")
    groups, agent, key = (document[k] for k in ("group_level_metrics", "agent_metrics", "key_metrics"))
    assert isinstance(groups, list)
    assert isinstance(agent, dict)
    assert isinstance(key, dict)
    return groups, agent, key


def test_pass_and_majority() -> None:
    _, agent, key = aggregated(ROWS)
    assert agent["pass@1/accuracy"] == pytest.approx(50.0)  # (2/3 + 1/3) / 2
    assert agent["pass@2/accuracy"] == pytest.approx(100 * (1 + (1 - 1 / 3)) / 2)
    assert agent["pass@3/accuracy"] == 100.0
    assert agent["pass@1[avg-of-1]/accuracy"] == 50.0
    assert agent["pass@1[avg-of-3]/accuracy"] == pytest.approx(50.0)
    assert agent["majority@1/accuracy"] == 50.0  # task 0: a; task 1: no answer yet
    assert agent["majority@2/accuracy"] == pytest.approx(25.0)  # a ties with b; x alone
    assert agent["majority@3/accuracy"] == pytest.approx(75.0)  # a wins; x ties with y
    assert agent["pass@1/no_answer"] == pytest.approx(100 / 6)
    assert agent["easy/pass@1/accuracy"] == pytest.approx(200 / 3)
    assert agent["per_sample_aggregate"]["accuracy"] == [50.0, 0.0, 100.0]  # type: ignore[index]
    assert agent["pass@1[avg-of-2]/accuracy/std_dev_across_runs"] == pytest.approx(math.sqrt(1250))
    assert agent["pass@1[avg-of-3]/accuracy/avg_sample_std_dev"] == pytest.approx(math.sqrt(1 / 3))
    assert key["pass@3/accuracy"] == 100.0
    assert set(key) == {
        "mean/input_tokens", "mean/output_tokens", "pass@3/accuracy", "majority@3/accuracy",
        "pass@1[avg-of-3]/accuracy", "easy/pass@1[avg-of-3]/accuracy", "hard/pass@1[avg-of-3]/accuracy",
    }  # fmt: skip


def test_statistics_of_numeric_columns() -> None:
    groups, agent, _ = aggregated(ROWS)
    assert [agent[f"{stat}/reward"] for stat in ("mean", "max", "min", "median")] == [0.5, 1.0, 0.0, 0.5]
    assert agent["std/reward"] == pytest.approx(math.sqrt(0.3))
    assert agent["mean/input_tokens"] == 15.0
    assert [group["mean/reward"] for group in groups] == [pytest.approx(2 / 3), pytest.approx(1 / 3)]
    assert groups[1]["_ng_task_index"] == 1
    assert groups[1]["num_rollouts"] == 3
    infos = groups[1]["rollout_infos"]
    assert isinstance(infos, list)
    assert infos[2]["rollout_id"] == "1:2"
    assert infos[2]["reward"] == 1.0


def test_masked_rows_are_left_out_and_counted() -> None:
    masked = [row(0, 3, 0.0, None, mask_sample=True), row(2, 0, 0.0, None, mask_sample=True)]
    _, clean, clean_key = aggregated(ROWS)
    groups, agent, key = aggregated(ROWS + masked)
    assert agent == {**clean, "masked": 2}
    assert key == clean_key
    assert [group["masked"] for group in groups] == [0 + 1, 0, 1]
    assert "mean/reward" not in groups[2]


def test_no_rows_and_only_masked_rows() -> None:
    assert aggregated([]) == ([], {}, {})
    _, agent, key = aggregated([row(0, 0, 0.0, mask_sample=True)])
    assert (agent, key) == ({"masked": 1}, {})


def test_single_rollouts_have_deviation_zero_and_unequal_tasks_work() -> None:
    groups, agent, _ = aggregated([row(0, 0, 1.0)])
    assert agent["std/reward"] == 0
    groups, agent, _ = aggregated([row(0, 0, 1.0), row(0, 1, 0.0), row(1, 0, 1.0)])
    assert agent["pass@2/accuracy"] == 100.0
    assert agent["pass@1[avg-of-2]/accuracy"] == 75.0
    assert groups[1]["std/reward"] == 0


def test_rows_without_indices_are_numbered_and_repeats_refused() -> None:
    groups, _, _ = aggregated([{"reward": 1.0}, {"reward": 0.0}])
    assert groups[0]["num_rollouts"] == 2
    with pytest.raises(RequestError, match=r"verify_responses\[1\]._ng_rollout_index"):
        aggregated([row(0, 0, 1.0), row(0, 0, 1.0)])
    with pytest.raises(RequestError, match="_ng_task_index"):
        aggregated([{"reward": 1.0, "_ng_task_index": "a"}])


NUMBERS = [
    0,
    1,
    -1,
    0.1,
    1e100,
    -1e100,
    5e-324,
    10**100,
    1.1e100,
    1e154,
    1e200,
    1.7976931348623157e308,
    10**308,
    10**400,
]


@pytest.mark.parametrize("seed", range(40))
def test_every_number_of_json_has_statistics_or_is_refused_by_name(seed: int) -> None:
    chance = random.Random(seed)
    rows: list[Document] = [
        {"reward": chance.choice(NUMBERS), "seconds": chance.choice(NUMBERS), "response": {"usage": {"n": 10**400}}}
        for _ in range(chance.randrange(1, 6))
    ]
    too_large = [number for number, row in enumerate(rows) if abs(cast(float, row["reward"])) > 1e100]
    if too_large:
        with pytest.raises(RequestError, match=rf"verify_responses\[{too_large[0]}\]\.reward"):
            aggregate_metrics(rows, answer_key="answer", subset_key="subset")
        return
    found = aggregate_metrics(rows, answer_key="answer", subset_key="subset")
    assert "mean/n" not in json.dumps(found, allow_nan=False)
