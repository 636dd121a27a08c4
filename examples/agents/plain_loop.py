"""An agent in forty lines, with what the server and a Responses API give: seed, tools, verify, in one cookie's session.

It is what NeMo Gym's simple_agent does. Knows nothing of scripts; the model may be any.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence

import anyio
import httpx2 as httpx

from examples.agents.instances import Document, Task
from examples.agents.rollouts import Rollout

TRIES = 2
CALL_S = 900.0
ROWS = {"X-Sandbox-Gym-No-Verdict": "body"}
"""A failure of the server's own is a masked answer, no error."""


async def run_all(url: str, model_url: str, tasks: Sequence[Task], at_once: int) -> list[Rollout]:
    """Every task, so many at once, and each a second time where the first has no verdict."""
    found: list[Rollout] = []
    places = anyio.CapacityLimiter(at_once)

    async def one(task: Task) -> None:
        async with places:
            began, answers = time.monotonic(), [await _attempt(url, model_url, task)]
            while answers[-1].get("mask_sample") and len(answers) < TRIES:
                answers.append(await _attempt(url, model_url, task))
            found.append(Rollout.of_answers(task.name, answers, time.monotonic() - began))

    async with anyio.create_task_group() as group:
        for task in tasks:
            group.start_soon(one, task)
    return found


async def _attempt(url: str, model_url: str, task: Task) -> Document:
    """What the verify answered; of a server that gives no answer, a masked one."""
    async with httpx.AsyncClient(base_url=url, timeout=CALL_S, headers=ROWS) as server:
        try:
            seeded = await server.post("/seed_session", json=task.row)
            if "X-Sandbox-Gym-No-Verdict" in seeded.headers:
                return {"mask_sample": True, "failure_kind": seeded.headers["X-Sandbox-Gym-No-Verdict"]}
            seeded.raise_for_status()
            output = await _converse(server, model_url, task.prompt)
            asked: Document = {"responses_create_params": {"input": []}, "response": {"output": output}}
            verified = await server.post("/verify", json={**task.row, **asked})
            return dict(verified.json())
        except (httpx.HTTPError, ValueError) as error:
            return {"mask_sample": True, "failure_kind": f"no answer ({type(error).__name__})"}


async def _converse(server: httpx.AsyncClient, model_url: str, prompt: str) -> list[Document]:
    items: list[Document] = [{"role": "user", "content": prompt}]
    async with httpx.AsyncClient(timeout=CALL_S) as model:
        while True:
            answered = await model.post(f"{model_url}/responses", json={"model": "scripted", "input": items})
            output: list[Document] = answered.raise_for_status().json()["output"]
            items += output
            calls = [item for item in output if item["type"] == "function_call"]
            for call in calls:
                told = await server.post(f"/{call['name']}", json=json.loads(str(call["arguments"])))
                items.append({"type": "function_call_output", "call_id": call["call_id"], "output": told.text})
            if not calls:
                return items[1:]
