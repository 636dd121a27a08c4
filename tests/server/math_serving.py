"""A math server in this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastapi.testclient import TestClient

from sandbox_gym.config import Settings
from sandbox_gym.engine import open_engine
from sandbox_gym.server.app import build_app
from sandbox_gym.server.math.server import MathResources
from tests.server.fakes import verify_body


@contextmanager
def served(tmp_path: Path, provider: str = "local", **fields: object) -> Iterator[TestClient]:
    patient = {"math_wall_time_s": 60}  # a busy machine must not make this no verdict
    settings = Settings.from_flat({"provider": provider, "state_dir": tmp_path, "boxes": 2, **patient, **fields})
    resources = MathResources(settings)
    app = build_app(resources, lambda: open_engine(settings, sessions="math"), settings)
    with TestClient(app, base_url="http://localhost") as client:
        yield client


def judged(client: TestClient, gold: object, text: str, **row: object) -> dict[str, object]:
    answer = client.post("/verify", json=verify_body(text, question="q", expected_answer=gold, **row))
    assert answer.status_code == 200, answer.text
    document: dict[str, object] = answer.json()
    return document
