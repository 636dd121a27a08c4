"""What the dashboard's tests share: a coding server over fake boxes, and words for what they ask of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx2 as httpx
from fastapi.testclient import TestClient

from sandbox_gym.contract import Run
from sandbox_gym.sandbox.fake import Behaviour
from sandbox_gym.server.dashboard.operator_auth import ACTION_HEADER
from sandbox_gym.server.dashboard.recent import Recent
from tests.server.fakes import verify_body

TOKEN = "an operator's token, é"
ANSWER = "```python\nprint(2 * int(input()))\n```"
HOSTILE = "<img src=x onerror=alert(1)>\x1b[31m\u202e"
Opening = Callable[..., TestClient]


def doubled(run: Run) -> Behaviour:
    """What the answer of these tests prints, and what a hostile one does."""
    number = int(run.stdin or b"0")
    if number == 13:
        return Behaviour(stdout=HOSTILE.encode() + b"\xff" + b"x" * 100_000, stderr=b"\x1b]0;gone\x07")
    return Behaviour(stdout=b"%d\n" % (2 * number))


def row(*numbers: int, name: str = "doubling/1", **more: object) -> dict[str, object]:
    outputs = [str(2 * number) for number in numbers]
    return {"task_id": name, "unit_tests": {"inputs": [str(number) for number in numbers], "outputs": outputs}, **more}


def verify(client: TestClient, *numbers: int, headers: dict[str, str] | None = None, **more: Any) -> str:
    """The verdict's id."""
    answer = client.post("/verify", json=verify_body(ANSWER, verifier_metadata=row(*numbers, **more)), headers=headers)
    assert answer.status_code == 200, answer.text
    return answer.headers["X-Sandbox-Gym-Verdict-Id"]


def get(client: TestClient, path: str) -> Any:
    answer = client.get(f"/dashboard/api/{path}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def rejudge(client: TestClient, verdict_id: str, headers: dict[str, str] | None = None) -> httpx.Response:
    return client.post(f"/dashboard/api/verdicts/{verdict_id}/rejudge", headers=headers or {ACTION_HEADER: "rejudge"})


def feed_of(client: TestClient, name: str = "feed") -> Any:
    """The running engine's feed, what its own crashes go to; or another part of its metrics, by name."""
    return getattr(dashboard_of(client).pictures._make.__self__._engine.metrics, name)


def dashboard_of(client: TestClient) -> Any:
    application: Any = client.app
    stack = application.middleware_stack
    while not hasattr(stack, "_dashboard"):
        stack = getattr(stack, "app", None) or stack._app
    return stack._dashboard


def recent_of(client: TestClient) -> Recent:
    recent: Recent = dashboard_of(client).verdicts._recent
    return recent
