"""Real NeMo Evaluator against our server in each form that works: by address, with rows of its own, and as a server
that it starts itself."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox_gym.server.protocol.wire import Document
from tests.documented import command as documented
from tests.gym import tasks
from tests.gym.running import figure, playing
from tests.gym.serving import OURS, serving, serving_as_documented
from tests.gym.tasks import REPOSITORY, Task

pytestmark = pytest.mark.timeout(900)
EVALUATOR = os.environ.get("SANDBOX_GYM_TEST_NEL", str(REPOSITORY / ".venv-nel" / "bin" / "nel"))
REPEATS = 2
PAGE = "nemo-evaluator.md"


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    scripts = tmp_path_factory.mktemp("policy") / "scripts.json"
    every = tasks.examples() + tasks.math() + tasks.swe_by_text()
    scripts.write_text(json.dumps({task.marker: task.turns for task in every}))
    with playing(scripts) as port:
        yield port


def rows_file(folder: Path, of: list[Task]) -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(task.line("none") + "\n" for task in of))
    return path


def evaluated(folder: Path, begins: str, swaps: dict[str, str], policy: int) -> list[Document]:
    """The documented command that begins so; the evaluator's own record of each rollout."""
    out = folder / "nel"
    everywhere = {"http://127.0.0.1:8000": f"http://127.0.0.1:{policy}", "-o results": f"-o {out}"}
    command = documented(PAGE, f"nel eval run --bench {begins}", {**everywhere, **swaps})
    own = {**os.environ, "SANDBOX_GYM_STATE_DIR": str(folder / "state")}
    began = time.monotonic()
    done = subprocess.run([EVALUATOR, *command[1:]], env=own, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (results,) = out.rglob("results.jsonl")
    found = [json.loads(line) for line in results.read_text().splitlines()]
    score = scored(out)
    figure(f"nel {begins} {len(found)} rollouts in {time.monotonic() - began:.0f} s, its pass@1 {score:.4f}")
    assert score == pytest.approx(sum(each["reward"] for each in found) / len(found), abs=1e-4)
    return found


def scored(out: Path) -> float:
    """What the evaluator itself says of the run."""
    (bundle,) = out.rglob("eval-*.json")
    value = json.loads(bundle.read_text())["benchmark"]["scores"]["pass@1"]["value"]
    return float(value)


def exported(folder: Path, of: list[Task]) -> Path:
    path = folder / "exported.jsonl"
    swaps = {"--rows rows.jsonl": f"--rows {rows_file(folder, of)}", "exported.jsonl": str(path)}
    command = documented(PAGE, "sandbox-gym export", swaps)
    subprocess.run([OURS, *command[1:]], check=True)
    return path


def check(found: list[Document], of: list[Task]) -> None:
    assert len(found) == REPEATS * len(of)
    rewards = [sum(1 for each in found if each["reward"] == value) for value in (1.0, 0.0)]
    right = sum(task.reward == 1.0 for task in of)
    assert rewards == [REPEATS * right, REPEATS * (len(of) - right)]
    by_row = {int(str(each["problem_idx"])): each["reward"] for each in found}
    assert by_row == {index: task.reward for index, task in enumerate(of)}


def test_by_address(tmp_path: Path, policy: int) -> None:
    of = tasks.examples()
    with serving_as_documented(tmp_path, PAGE, {"rows.jsonl": str(rows_file(tmp_path, of))}) as port:
        check(evaluated(tmp_path, "gym://127.0.0.1:8080", {"8080": str(port)}, policy), of)


def rows_of(kind: str) -> list[Task]:
    return {"coding": tasks.examples, "math": lambda: tasks.math()[:2], "swe": tasks.swe_by_text}[kind]()


@pytest.mark.parametrize("kind", ["math", "swe"])
def test_other_kinds_by_address(tmp_path: Path, policy: int, kind: str) -> None:
    of = rows_of(kind)
    with serving(tmp_path, kind, "--dataset", str(rows_file(tmp_path, of))) as port:
        check(evaluated(tmp_path, "gym://127.0.0.1:8080", {"8080": str(port)}, policy), of)


@pytest.mark.parametrize("kind", ["coding", "math", "swe"])
def test_exported_rows_by_the_native_protocol(tmp_path: Path, policy: int, kind: str) -> None:
    of = rows_of(kind)
    rows = exported(tmp_path, of)
    with serving(tmp_path, kind) as port:
        swaps = {"8080": str(port), "exported.jsonl": str(rows)}
        check(evaluated(tmp_path, '"gym://127.0.0.1:8080?protocol=native', swaps, policy), of)


def test_a_server_that_it_starts(tmp_path: Path, policy: int) -> None:
    of = tasks.examples()
    swaps = {"exported.jsonl": str(exported(tmp_path, of)), "exec sandbox-gym": f"exec {OURS}"}
    check(evaluated(tmp_path, '"gym://cmd:', swaps, policy), of)
