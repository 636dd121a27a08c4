"""inspect_ai: a scorer that asks a server. `Task(dataset=..., scorer=verdict())`.

A sample's `metadata` holds the fields of its row (`verifier_metadata`, `expected_answer`). Without a verdict the sample
is unscored, inspect_ai's own term: NaN, which its metrics leave out and count.
"""

from __future__ import annotations

from inspect_ai.scorer import Score, Scorer, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState

from sandbox_gym.client import NoVerdict
from sandbox_gym.trainers.scores import reward_soon


@scorer(metrics=[mean(), stderr()])
def verdict() -> Scorer:
    """Raises RequestRefused where a row is wrong, which is the sample's error."""

    async def score(state: TaskState, target: Target) -> Score:
        answer = state.output.completion
        try:
            return Score(value=await reward_soon(state.metadata, answer), answer=answer)
        except NoVerdict as error:
            return Score.unscored(answer=answer, reason=f"no verdict: {error}")

    return score
