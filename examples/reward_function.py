"""Reward functions for trainers that take a Python function: TRL, verl, a loop of your own. Copy it into your project.

`SANDBOX_GYM_URL` names a running server (`sandbox-gym serve coding`), or several. Needs sandbox_gym's client.
"""

import json

from sandbox_gym.client import Client

AT_ONCE = 32
CLIENT = Client()

Json = dict[str, object]


def reward(row: Json, answer: str) -> float | None:
    """0 to 1; None where there is no verdict after ten minutes: such a sample must not be trained on."""
    verdict = CLIENT.verify(row, answer, on_no_verdict="none")
    return None if verdict is None else verdict.reward


def rewards(
    prompts: list[object], completions: list[object], verifier_metadata: list[Json], **_: object
) -> list[float]:
    """TRL's form: `GRPOTrainer(reward_funcs=rewards)`; `verifier_metadata` is a column of the dataset.

    TRL would count a missing reward as 0. A sample without a verdict gets the mean of its group instead (the samples of
    the same prompt), so that its advantage is 0.
    """
    rows = [{"verifier_metadata": metadata} for metadata in verifier_metadata]
    asked = list(zip(rows, map(_text, completions), strict=True))
    found = [each.reward for each in CLIENT.verify_many(asked, at_once=AT_ONCE)]
    groups: dict[str, list[float]] = {}
    for prompt, value in zip(prompts, found, strict=True):
        groups.setdefault(json.dumps(prompt), []).extend([] if value is None else [value])
    means = {prompt: sum(values) / len(values) if values else 0.0 for prompt, values in groups.items()}
    return [means[json.dumps(prompt)] if value is None else value for prompt, value in zip(prompts, found, strict=True)]


def _text(completion: object) -> str:
    """A completion as TRL gives it: a text, or a list of messages."""
    return completion if isinstance(completion, str) else str(completion[-1]["content"])  # type: ignore[index]


def compute_score(data_source: str, solution_str: str, ground_truth: str, extra_info: object = None) -> float:
    """verl's form (`custom_reward_function.path`); `ground_truth` is the row's `verifier_metadata` as JSON.

    verl has no masked samples: an answer without a verdict raises, so that it is not scored as wrong.
    """
    found = reward({"verifier_metadata": json.loads(ground_truth)}, solution_str)
    if found is None:
        raise RuntimeError("no verdict: retry the batch")
    return found
