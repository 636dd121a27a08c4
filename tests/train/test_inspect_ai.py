"""inspect_ai's own evaluation with a scripted model and our scorer."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from tests.trainers.rows import LOST, METADATA, RIGHT, WRONG

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("server")]


def test_a_lost_verdict_is_unscored(tmp_path: Path) -> None:
    from inspect_ai import Task
    from inspect_ai import eval as evaluate
    from inspect_ai.dataset import Sample
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from sandbox_gym.trainers.inspect_ai import verdict

    pairs = [(RIGHT, METADATA), (WRONG, METADATA), (RIGHT, METADATA), (RIGHT, LOST)]
    outputs = [ModelOutput.from_content("mockllm/model", answer) for answer, _ in pairs]
    for output in outputs:
        output.usage = ModelUsage(input_tokens=1, output_tokens=1)  # else counted by a table from the network
    samples = [
        Sample(input="double", id=number, metadata={"verifier_metadata": metadata})
        for number, (_, metadata) in enumerate(pairs)
    ]
    (log,) = evaluate(
        Task(dataset=samples, scorer=verdict()),
        model=get_model("mockllm/model", custom_outputs=outputs),
        max_samples=1,
        log_dir=str(tmp_path),
        display="none",
    )
    assert log.status == "success"
    assert log.samples is not None
    values = [sample.scores["verdict"].value for sample in log.samples if sample.scores]
    assert values[:3] == [1.0, 0.0, 1.0]
    assert math.isnan(float(str(values[3])))
    assert log.results is not None
    (scores,) = log.results.scores
    assert scores.metrics["mean"].value == pytest.approx(2 / 3)
    assert (scores.scored_samples, scores.unscored_samples) == (3, 1)
