"""The examples that readers copy or run: the reward function against a real server; the naive grader is fooled."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from sandbox_gym.client import Client
from tests.documented import ROOT
from tests.load.servers import ServerProcess

METADATA = {"unit_tests": {"inputs": ["2", "21"], "outputs": ["4", "42"]}}
BROKEN = {**METADATA, "checker": {"type": "program", "style": "kattis", "language": "python", "source": "1/0"}}
RIGHT, WRONG = "```python\nprint(2 * int(input()))\n```", "```python\nprint(4)\n```"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reward_function", ROOT / "examples" / "reward_function.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def server(example: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with ServerProcess("local", tmp_path_factory.mktemp("reward")) as running, Client(running.url) as client:
        example.__dict__["CLIENT"] = client
        yield


@pytest.mark.usefixtures("server")
def test_rewards(example: ModuleType) -> None:
    row = {"verifier_metadata": METADATA}
    assert [example.reward(row, answer) for answer in (RIGHT, WRONG, "no code")] == [1.0, 0.0, 0.0]
    assert example.reward({"verifier_metadata": BROKEN}, RIGHT) is None
    assert example.compute_score("mine", RIGHT, json.dumps(METADATA)) == 1.0
    with pytest.raises(RuntimeError, match="no verdict"):
        example.compute_score("mine", RIGHT, json.dumps(BROKEN))


@pytest.mark.usefixtures("server")
def test_a_sample_without_a_verdict_gets_its_groups_mean(example: ModuleType) -> None:
    prompts = [[{"role": "user", "content": "Double."}]] * 3 + ["another"]
    answers = [[{"role": "assistant", "content": RIGHT}], WRONG, RIGHT, RIGHT]
    found = example.rewards(prompts, answers, verifier_metadata=[METADATA, METADATA, BROKEN, BROKEN], more="columns")
    assert found == [1.0, 0.0, 0.5, 0.0]


def test_the_demos_rows_say_what_both_graders_give() -> None:
    rows = [json.loads(line) for line in Path(ROOT / "examples" / "demo" / "rows.jsonl").read_text().splitlines()]
    hacks = [row for row in rows if row["shows"].startswith("hack: ")]
    assert len(rows) == 8
    assert len(hacks) == 3
    assert {(row["here"], row["naive"]) for row in hacks} == {("0", "1")}
    assert {row["here"] for row in rows} == {"1", "0", "no verdict"}
