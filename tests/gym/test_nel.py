"""Real NeMo Evaluator against our server in each form that works: by address, with rows of its own, and as a server
that it starts itself."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_gym.server.wire import Document
from tests.gym import tasks
from tests.gym.running import playing
from tests.gym.serving import OURS, serving
from tests.gym.tasks import REPOSITORY, Task

pytestmark = pytest.mark.timeout(900)
EVALUATOR = os.environ.get("SANDBOX_GYM_TEST_NEL", str(REPOSITORY / ".venv-nel" / "bin" / "nel"))
REPEATS = 2


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    scripts = tmp_path_factory.mktemp("policy") / "scripts.json"
    every = tasks.examples() + tasks.math()
    scripts.write_text(json.dumps({task.marker: task.turns for task in every}))
    with playing(scripts) as port:
        yield port


def rows_file(folder: Path, of: list[Task]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(task.line("none") + "\n" for task in of))
    return path


def evaluated(folder: Path, bench: str, policy: int, environment: dict[str, str] | None = None) -> list[Document]:
    """The evaluator's own record of each rollout."""
    out = folder / "nel"
    command = [EVALUATOR, "eval", "run", "--bench", bench, "--model-url", f"http://127.0.0.1:{policy}/v1"]
    command += ["--model-id", "stub", "--api-key", "none", "--repeats", str(REPEATS), "-o", str(out)]
    done = subprocess.run(
        command, env={**os.environ, **(environment or {})}, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (results,) = out.rglob("results.jsonl")
    return [json.loads(line) for line in results.read_text().splitlines()]


def check(found: list[Document], of: list[Task]) -> None:
    assert len(found) == REPEATS * len(of)
    rewards = [sum(1 for each in found if each["reward"] == value) for value in (1.0, 0.0)]
    right = sum(task.reward == 1.0 for task in of)
    assert rewards == [REPEATS * right, REPEATS * (len(of) - right)]
    by_row = {int(str(each["problem_idx"])): each["reward"] for each in found}
    assert by_row == {index: task.reward for index, task in enumerate(of)}


def test_by_address(tmp_path: Path, policy: int) -> None:
    of = tasks.examples()
    with serving(tmp_path, "coding", "--dataset", str(rows_file(tmp_path, of))) as port:
        check(evaluated(tmp_path, f"gym://127.0.0.1:{port}", policy), of)


def test_math_by_address(tmp_path: Path, policy: int) -> None:
    of = tasks.math()[:2]
    with serving(tmp_path, "math", "--dataset", str(rows_file(tmp_path, of))) as port:
        check(evaluated(tmp_path, f"gym://127.0.0.1:{port}", policy), of)


@pytest.mark.parametrize("kind", ["coding", "math"])
def test_exported_rows_by_the_native_protocol(tmp_path: Path, policy: int, kind: str) -> None:
    of = tasks.examples() if kind == "coding" else tasks.math()[:2]
    exported = tmp_path / "exported.jsonl"
    subprocess.run([OURS, "export", "--rows", str(rows_file(tmp_path, of)), "--out", str(exported)], check=True)
    with serving(tmp_path, kind) as port:
        check(evaluated(tmp_path, f"gym://127.0.0.1:{port}?protocol=native&data={exported}", policy), of)


def test_a_server_that_it_starts(tmp_path: Path, policy: int) -> None:
    of = tasks.examples()
    exported = tmp_path / "exported.jsonl"
    subprocess.run([OURS, "export", "--rows", str(rows_file(tmp_path, of)), "--out", str(exported)], check=True)
    bench = f"gym://cmd:exec {OURS} serve coding?data={exported}"
    check(evaluated(tmp_path, bench, policy, {"SANDBOX_GYM_STATE_DIR": str(tmp_path / "state")}), of)
