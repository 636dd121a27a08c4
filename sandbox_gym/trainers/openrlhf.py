"""OpenRLHF: `--reward.remote_url` with this file's path. A row's `label` is what `row_of` reads: a coding row's
`verifier_metadata` as JSON, a math problem's expected answer, or a whole row as JSON.

OpenRLHF has no masked samples, and takes an exception for an answer without a reward, on which its experience maker
ends the run. `openrlhf_filtered.py` is for runs with dynamic filtering, which can do better.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sandbox_gym.trainers.scores import reward, row_of

_END = re.compile(r"(?:<\|[^|<>]*\|>|</s>|<eos>|<end_of_turn>|\s)+$")


def reward_func(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[str]) -> dict[str, object]:
    """OpenRLHF asks for one answer at a time. Raises NoVerdict after all patience, RequestRefused for a wrong row."""
    (query,), (prompt,), (label,) = queries, prompts, labels
    found = reward(row_of(label), answer_of(query, prompt))
    return {"rewards": found, "scores": found, "extra_logs": {"no_verdict": 0.0}}


def answer_of(query: str, prompt: str) -> str:
    """What follows the prompt, without the tokens that end it: OpenRLHF decodes both together, special tokens too."""
    return _END.sub("", query.removeprefix(prompt))
