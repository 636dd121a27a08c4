"""OpenRLHF with `--algo.dynamic_filtering_enable`: as `openrlhf.py`, but a lost verdict costs its group and no more.

The answer's score is NaN then. No NaN lies within the filter's range, so OpenRLHF drops the group and takes another
prompt in its place. Without the filter NaN would reach the gradient: never use this file then.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from sandbox_gym.client import NoVerdict
from sandbox_gym.trainers import openrlhf


def reward_func(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[str]) -> dict[str, object]:
    """See openrlhf.reward_func. Raises RequestRefused."""
    try:
        return openrlhf.reward_func(queries, prompts, labels)
    except NoVerdict:
        return {"rewards": math.nan, "scores": math.nan, "extra_logs": {"no_verdict": 1.0}}
