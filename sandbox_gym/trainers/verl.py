"""verl: `reward.custom_reward_function` with this file as `path` and `compute_score` as `name`.

`reward_model.ground_truth` of a row is what `row_of` reads: a coding row's `verifier_metadata` as JSON, a math
problem's expected answer, or a whole row as JSON. verl has no masked samples: without a verdict
the function raises, which ends the run, so that it goes on from its last checkpoint. The reward manager `rate_limited`
makes a reward of 0 of an exception: use another one.
"""

from __future__ import annotations

from sandbox_gym.trainers.scores import reward_soon, row_of


async def compute_score(
    data_source: str, solution_str: str, ground_truth: str, extra_info: object = None, **_: object
) -> float:
    """From 0 to 1. Raises NoVerdict after all patience, RequestRefused where the row is wrong."""
    return await reward_soon(row_of(ground_truth), solution_str)
