"""Real NeMo Gym: its commands start our servers beside its own agent, and every rollout is worth what it should be."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest

from sandbox_gym.server.protocol.wire import Document
from tests.documented import command as documented
from tests.gym import tasks
from tests.gym.running import Gym, figure
from tests.gym.serving import OURS
from tests.gym.tasks import Task

pytestmark = pytest.mark.timeout(1500)
REPEATS = 2
"""As the documented commands have it."""


def rollouts(path: Path) -> list[tuple[str, Document]]:
    """(marker, rollout), all that there are."""
    found = []
    for line in path.read_text().splitlines():
        rollout = json.loads(line)
        marker = re.search(r"\[(\w+)\]", rollout["responses_create_params"]["input"][0]["content"])
        assert marker is not None
        found.append((marker[1], rollout))
    return found


def check(path: Path, of: list[Task]) -> None:
    wanted = {task.marker: task for task in of}
    found = rollouts(path)
    assert Counter(marker for marker, _ in found) == dict.fromkeys(wanted, REPEATS)
    for marker, rollout in found:
        task = wanted[marker]
        response = rollout["response"]
        assert isinstance(response, dict)
        outputs = [item["output"] for item in response["output"] if item["type"] == "function_call_output"]
        assert (rollout["reward"], len(outputs)) == (task.reward, task.calls), (marker, outputs, rollout["verdict"])
        assert rollout["mask_sample"] is False
        verdict = rollout["verdict"]
        assert isinstance(verdict, dict)
        if rollout.get("result") or rollout.get("tests_status"):  # a program ran
            assert verdict["isolation"] == "namespace"
    worth = Counter(float(str(rollout["reward"])) for _, rollout in found)
    figure(f"{path.stem}: {len(found)} verified, rewards {dict(sorted(worth.items()))}")
    failures = path.with_name(path.stem + "_failures.jsonl")
    assert not failures.exists() or not failures.read_text()


def test_a_masked_rollout_is_set_aside(gym: Gym) -> None:
    of = [tasks.masked(), tasks.examples()[0]]
    lines = [task.line("coding_simple_agent") for task in of]
    path = gym.collect("masked", lines, agent="coding_simple_agent", command="ng_collect_rollouts")
    assert [(marker, rollout["reward"]) for marker, rollout in rollouts(path)] == [(of[1].marker, 1.0)] * REPEATS
    aside = rollouts(path.with_name(path.stem + "_failures.jsonl"))
    assert [(marker, row["_ng_failure_class"]) for marker, row in aside] == [
        ("masked", "coding:checker_failed")
    ] * REPEATS


def metrics(path: Path) -> Document:
    (agent,) = json.loads(path.with_name(path.stem + "_aggregate_metrics.json").read_text())
    found = agent["agent_metrics"]
    assert isinstance(found, dict)
    return found


def test_coding_rollouts_with_tools_and_sessions(gym: Gym) -> None:
    of = tasks.examples() + tasks.with_tools()
    lines = [task.line("coding_simple_agent") for task in of]
    path = gym.collect("coding", lines, agent="coding_simple_agent", command="ng_collect_rollouts")
    check(path, of)
    share = sum(task.reward for task in of) / len(of)
    found = metrics(path)
    assert found["mean/reward"] == pytest.approx(share)
    assert found[f"pass@{REPEATS}/accuracy"] == pytest.approx(100 * share)
    assert found[f"pass@1[avg-of-{REPEATS}]/accuracy"] == pytest.approx(100 * share)


def test_math_rollouts_by_the_new_command(gym: Gym) -> None:
    of = tasks.math()
    lines = [task.line("math_simple_agent") for task in of]
    path = gym.collect("math", lines, agent="math_simple_agent", command="gym eval run")
    check(path, of)
    assert metrics(path)["mean/reward"] == pytest.approx(sum(task.reward for task in of) / len(of))


def test_swe_rollouts_with_an_agents_tools(gym: Gym, data_folder: Path) -> None:
    of = tasks.swe(data_folder)
    lines = [task.line("swe_simple_agent") for task in of]
    path = gym.collect("swe", lines, agent="swe_simple_agent", command="ng_collect_rollouts")
    check(path, of)
    share = sum(task.reward for task in of) / len(of)
    assert metrics(path)[f"pass@{REPEATS}/accuracy"] == pytest.approx(100 * share)
    for marker, rollout in rollouts(path):
        assert rollout["evaluation_completed"] is bool(rollout["model_patch"]), marker
        assert rollout["resolved"] is (rollout["reward"] == 1.0)
        assert bool(rollout["model_patch"]) is (marker not in ("swe_untouched", "swe_example_undone"))


def test_rows_without_prompts_or_agents_are_exported_first(gym: Gym, tmp_path: Path) -> None:
    """As the page has it: questions with nothing but what they are judged by, to rows that NeMo Gym takes."""
    of = tasks.math()[:2]
    rows, out = tmp_path / "my_rows.jsonl", tmp_path / "rows.jsonl"
    questions = [{**task.row, "question": f"{task.row['question']} [{task.marker}]"} for task in of]
    rows.write_text("".join(json.dumps(question) + "\n" for question in questions))
    swaps = {"my_rows.jsonl": str(rows), " rows.jsonl": f" {out}"}
    command = documented("from-nemo-gym.md", "sandbox-gym export", swaps)
    subprocess.run([OURS, *command[1:]], check=True)
    path = gym.collect("exported", out.read_text().splitlines(), agent="math_simple_agent", command="gym eval run")
    check(path, of)
