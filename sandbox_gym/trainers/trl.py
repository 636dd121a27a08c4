"""TRL: `GRPOTrainer(reward_funcs=rewards)`, and any trainer of TRL's with advantages over a prompt's completions.

A completion without a verdict gets the mean of its prompt's completions in this process: its advantage is 0. None would
do the same in TRL 1.16 where this is the only reward function; beside others, and in older versions, None is summed up
as 0, and TRL logs the row with its tests. How many there were is TRL's metric `no_verdict`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from itertools import zip_longest

from sandbox_gym.trainers.scores import filled, rewards_of, row_of


def rewards(
    prompts: Sequence[object],
    completions: Sequence[object],
    verifier_metadata: Sequence[object] = (),
    log_metric: Callable[[str, float], None] | None = None,
    expected_answer: Sequence[object] = (),
    **columns: object,
) -> list[float]:
    """`verifier_metadata` and `expected_answer` are the data set's columns, a coding problem's tests and a math
    problem's gold, as `row_of` reads them; where it has both, one is None."""
    labels = zip_longest(verifier_metadata, expected_answer)
    rows = [row_of(tests if tests is not None else gold) for tests, gold in labels]
    found = rewards_of(rows, [text_of(completion) for completion in completions])
    if log_metric is not None:
        log_metric("no_verdict", found.count(None) / max(len(found), 1))
    return filled([json.dumps(prompt, sort_keys=True) for prompt in prompts], found)


def text_of(completion: object) -> str:
    """A completion as TRL gives it: a text, or a list of messages of which the last is the answer."""
    if isinstance(completion, str):
        return completion
    if isinstance(completion, Sequence) and completion and isinstance(completion[-1], dict):
        return str(completion[-1].get("content") or "")
    return ""
