"""TRL's own GRPOTrainer on the CPU: what a reward and a lost verdict become in it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from tests.train.example import runs
from tests.trainers.rows import LOST, METADATA, RIGHT, WRONG

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("server")]


def trained(tmp_path: Path, completions: list[str], metadata: list[object], **more: Any) -> Any:
    """A trainer after one step in which the answers to its one prompt were these."""
    from datasets import Dataset
    from trl import GRPOConfig, GRPOTrainer

    from sandbox_gym.trainers.trl import rewards

    policy = runs().Policy(*made())

    def scored(prompts: list[str], log_metric: Any, **_: Any) -> list[float]:
        return rewards(prompts, completions, metadata, log_metric)

    config = GRPOConfig(
        output_dir=str(tmp_path), use_cpu=True, bf16=False, max_steps=1, per_device_train_batch_size=4,
        num_generations=4, max_completion_length=4, report_to="none", save_strategy="no", logging_steps=1,
        disable_tqdm=True, log_completions=False,
    )  # fmt: skip
    rows = Dataset.from_list([{"prompt": "Print n plus 3.\n"}] * 4)
    trainer = GRPOTrainer(
        model=policy.model, processing_class=policy.words, reward_funcs=scored, args=config, train_dataset=rows, **more
    )
    trainer.train()
    return trainer


def made() -> tuple[Any, Any]:
    from policy import model, tokenizer

    words = tokenizer()
    return model(words), words


def test_a_lost_verdict_has_no_advantage(tmp_path: Path) -> None:
    trainer = trained(tmp_path, [RIGHT, WRONG, RIGHT, RIGHT], [METADATA, METADATA, METADATA, LOST])
    advantages = list(trainer._logs["advantages"])
    assert advantages[3] == pytest.approx(0.0, abs=1e-6)
    assert advantages[0] == advantages[2] > 0 > advantages[1]
    (logged,) = [entry for entry in trainer.state.log_history if "no_verdict" in entry]
    assert float(logged["no_verdict"]) == 0.25


def test_a_group_without_any_moves_nothing(tmp_path: Path) -> None:
    trainer = trained(tmp_path, [RIGHT] * 4, [LOST] * 4)
    assert list(trainer._logs["advantages"]) == [0.0] * 4
    (logged,) = [entry for entry in trainer.state.log_history if "grad_norm" in entry]
    assert math.isclose(float(logged["grad_norm"]), 0.0, abs_tol=1e-9)
