"""A reward function over `POST /verify`, for trainers that take a Python function: TRL, verl, a loop of your own.

`URL` is a running server (`sandbox-gym serve coding`). Standard library only: copy the file into your project.
"""

import json
import os
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

URL = os.environ.get("SANDBOX_GYM_URL", "http://127.0.0.1:8080")
TOKEN = os.environ.get("SANDBOX_GYM_TOKEN", "")
AT_ONCE = 32
GIVE_UP_S = 600.0

Json = dict[str, object]


def verify(row: Json, answer: str) -> Json:
    """The verify response for one answer to one row. Waits and asks again where there is no verdict yet (429, 503).

    Raises urllib.error.HTTPError where the row is wrong (422) or the token (401).
    """
    text = {"type": "output_text", "text": answer, "annotations": []}
    message = {"type": "message", "role": "assistant", "content": [text]}
    body = json.dumps({"responses_create_params": {"input": ""}, **row, "response": {"output": [message]}})
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {TOKEN}"} if TOKEN else {})
    request = urllib.request.Request(f"{URL}/verify", body.encode(), headers)
    give_up_at = time.monotonic() + GIVE_UP_S
    while True:
        try:
            with urllib.request.urlopen(request, timeout=GIVE_UP_S) as reply:
                response: Json = json.load(reply)
                return response
        except urllib.error.HTTPError as error:
            wait_s = float(error.headers.get("Retry-After") or 1)
            if error.code not in (429, 503) or time.monotonic() + wait_s > give_up_at:
                raise
        time.sleep(wait_s)


def reward(row: Json, answer: str) -> float | None:
    """0 to 1; None where there is no verdict: such a sample must not be trained on."""
    try:
        response = verify(row, answer)
    except urllib.error.HTTPError as error:
        if error.code in (429, 503):
            return None
        raise
    return None if response["mask_sample"] else float(str(response["reward"]))


def rewards(
    prompts: list[object], completions: list[object], verifier_metadata: list[Json], **_: object
) -> list[float]:
    """TRL's form: `GRPOTrainer(reward_funcs=rewards)`; `verifier_metadata` is a column of the dataset.

    TRL would count a missing reward as 0. A sample without a verdict gets the mean of its group instead (the samples of
    the same prompt), so that its advantage is 0.
    """
    answers = [_text(completion) for completion in completions]
    rows: list[Json] = [{"verifier_metadata": metadata} for metadata in verifier_metadata]
    with ThreadPoolExecutor(AT_ONCE) as threads:
        found = list(threads.map(reward, rows, answers))
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
