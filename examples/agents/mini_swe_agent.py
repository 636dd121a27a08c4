"""mini-swe-agent's own agent and model client, on sessions of a server. Runs in the environment that has its package.

`python mini_swe_agent.py < job.json`: one line of JSON for each task that ended. A verdict is asked for with what the
agent handed in; an agent that ended without is no verdict.
"""

from __future__ import annotations

import json
import os
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

os.environ.setdefault("MSWEA_SILENT_STARTUP", "1")
os.environ.setdefault("MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT", "2")  # the model is on this machine
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network for prices

import httpx2 as httpx
from minisweagent.agents.default import DefaultAgent
from minisweagent.environments import get_environment
from minisweagent.models import get_model

TRIES = 2
VERIFY_S = 900.0
KEPT = ("reward", "mask_sample", "failure_kind", "detail")


def main() -> None:
    job = json.load(sys.stdin)
    with ThreadPoolExecutor(job["at_once"]) as pool:
        for line in pool.map(lambda task: json.dumps(run_task(job, task)), job["tasks"]):
            sys.stdout.write(line + "\n")
            sys.stdout.flush()


def run_task(job: dict[str, Any], task: dict[str, Any]) -> dict[str, Any]:
    """What each try's verify answered, until one is a verdict, and how long it took."""
    began, answers = time.monotonic(), [attempt(job, task)]
    while answers[-1].get("mask_sample") and len(answers) < TRIES:
        answers.append(attempt(job, task))
    kept = [{name: answer.get(name) for name in KEPT} for answer in answers]
    return {"name": task["name"], "seconds": time.monotonic() - began, "answers": kept}


def attempt(job: dict[str, Any], task: dict[str, Any]) -> dict[str, Any]:
    """The verify's answer, or why it was not asked."""
    try:
        return judged(job["url"], task["row"], handed_in(job, task))
    except Exception as error:  # as mini-swe-agent's batch runner does: its instance ends, the others go on
        return {"mask_sample": True, "failure_kind": f"{type(error).__name__}: {error}"}


def handed_in(job: dict[str, Any], task: dict[str, Any]) -> str:
    """The agent's submission. Raises NoSandbox, and RuntimeError for an agent that hands nothing in."""
    environment: Any = get_environment(
        {
            "environment_class": "sandbox_gym.agents.mini_swe_agent.SandboxGymEnvironment",
            "url": job["url"],
            "row": task["row"],
            "cwd": job["workdir"],
            "timeout": 120,
        }
    )
    model = get_model(
        config={
            "model_name": "openai/scripted",
            "cost_tracking": "ignore_errors",
            "model_kwargs": {"api_base": job["model_url"], "api_key": "none", "drop_params": True},
        }
    )
    try:
        agent = DefaultAgent(
            model,
            environment,
            system_template="You mend repositories on {{system}} {{machine}}.",
            instance_template="{{task}}",
            cost_limit=0.0,
            step_limit=100,
        )
        result: dict[str, Any] = agent.run(task["prompt"])
    finally:
        environment.cleanup()
    if result.get("exit_status") != "Submitted":
        raise RuntimeError(f"the agent ended with {result.get('exit_status')}")
    return str(result["submission"])


def judged(url: str, row: dict[str, Any], patch: str) -> dict[str, Any]:
    """The verify's answer on a patch, in a sandbox of its own."""
    body = {**row, "model_patch": patch, "responses_create_params": {"input": []}, "response": {"output": []}}
    headers = {"X-Sandbox-Gym-No-Verdict": "body"}
    answer: dict[str, Any] = httpx.post(f"{url}/verify", json=body, headers=headers, timeout=VERIFY_S).json()
    return answer


if __name__ == "__main__":
    main()
