"""verl's own reward managers of its wheel, with our function loaded as verl loads it."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from sandbox_gym.client import NoVerdict
from tests.trainers.rows import LOST, METADATA, RIGHT, WRONG

pytestmark = [pytest.mark.timeout(600), pytest.mark.usefixtures("server")]


class Words:
    """A tokenizer whose tokens are characters."""

    def decode(self, ids: Any, skip_special_tokens: bool) -> str:
        return "".join(map(chr, ids.tolist()))


def scored(manager: str, answer: str, metadata: object) -> Any:
    """What the reward manager of that name makes of one answer."""
    import torch
    from omegaconf import OmegaConf
    from verl import DataProto
    from verl.experimental.reward_loop.reward_manager import get_reward_manager_cls
    from verl.trainer.ppo.reward import get_custom_reward_fn

    function = {"path": "pkg://sandbox_gym.trainers.verl", "name": "compute_score", "reward_kwargs": {}}
    config = OmegaConf.create({"reward": {"custom_reward_function": function}})
    ids = torch.tensor([[ord(sign) for sign in answer]])
    data = DataProto.from_single_dict(
        {
            "responses": ids,
            "attention_mask": torch.ones_like(ids),
            "data_source": _array("mine"),
            "reward_model": _array({"ground_truth": json.dumps(metadata)}),
            "extra_info": _array({}),
        }
    )

    async def run() -> Any:
        made = get_reward_manager_cls(manager)(config, Words(), get_custom_reward_fn(config))
        return await made.run_single(data)

    return asyncio.run(run())


def _array(value: object) -> Any:
    import numpy

    made = numpy.empty(1, dtype=object)
    made[0] = value
    return made


@pytest.mark.parametrize(
    ("truth", "answer", "reward"),
    [(METADATA, RIGHT, 1.0), (METADATA, WRONG, 0.0), (r"\frac12", r"\boxed{0.5}", 1.0), (42, r"\boxed{41}", 0.0)],
)
def test_a_reward(truth: object, answer: str, reward: float) -> None:
    assert scored("naive", answer, truth)["reward_score"] == reward


def test_a_lost_verdict_raises() -> None:
    with pytest.raises(NoVerdict):
        scored("naive", RIGHT, LOST)


def test_the_rate_limited_manager_makes_a_zero_of_it_as_the_page_warns() -> None:
    assert scored("rate_limited", RIGHT, METADATA)["reward_score"] == 1.0
    assert scored("rate_limited", RIGHT, LOST)["reward_score"] == 0.0
