"""The example with agents, short: three at once, two sandboxes killed, and each rollout worth what it should be."""

from __future__ import annotations

import random
import subprocess
import sys
import threading
import time
from pathlib import Path

import anyio
import pytest

from examples.agents import plain_loop
from examples.agents.__main__ import our_server
from examples.agents.chaos import Killer
from examples.agents.instances import PLAYED, made_on_the_spot
from examples.agents.model import ScriptedModel, progress, serving, tools_script
from examples.agents.rollouts import Cost, Rollout, show, summed

LOST = "[the sandbox was lost; files are as of its last snapshot, variables and background jobs are gone]\n"
LOST_NOW = "[the sandbox was lost during this call; it may not have run. Files go back to the last snapshot]\n"
FULL = '{"failure_kind": "pool_full", "detail": "no place"}'


def test_three_agents_and_two_kills(tmp_path: Path) -> None:
    tasks = made_on_the_spot()[:3]
    model = ScriptedModel({task.name: tools_script(task) for task in tasks}, think_s=0.1)
    with our_server(tmp_path, "local") as (url, process), serving(model) as model_url:
        killer = Killer(lambda: process)

        def kill_twice() -> None:
            for step in (2, 4):
                while not any(one.steps >= step for found in model.conversations.values() for one in found):
                    time.sleep(0.01)
                killer.kill_one(random.Random(step))

        thread = threading.Thread(target=kill_twice, daemon=True)
        thread.start()
        rollouts = anyio.run(plain_loop.run_all, url, model_url, tasks, 3)
        thread.join(10)
    assert killer.killed == 2
    summary = summed(tasks, rollouts, model.conversations)
    assert (summary.missing, summary.wrong, len(rollouts)) == ([], [], 3), rollouts


@pytest.mark.parametrize(
    ("outputs", "done"),
    [
        ([], 0),
        (["a", "b"], 2),
        (["a", LOST_NOW], 0),
        (["a", LOST_NOW, LOST + "a"], 1),
        (["a", "b", LOST + "c"], 0),
        (["a", FULL, FULL], 1),
    ],
)
def test_the_model_begins_anew_where_work_was_lost(outputs: list[str], done: int) -> None:
    assert progress(outputs) == done


@pytest.mark.parametrize("count", [1, 10])
def test_the_table_says_what_each_agent_did_and_is_worth(count: int, capsys: pytest.CaptureFixture[str]) -> None:
    tasks = made_on_the_spot()[:count]
    rollouts = [Rollout(task.name, task.reward) for task in tasks]
    assert show("plain", tasks, rollouts, {}, Cost(1.0, count, 0), 9.0).fine
    printed = capsys.readouterr().out.splitlines()
    assert all(f"{task.plan:8} {PLAYED[task.plan]}" in printed for task in tasks)
    assert all(PLAYED[task.plan].endswith(f"{task.reward:g}") for task in tasks)
    explained = [plan for plan in PLAYED if any(line.startswith(f"{plan:8} ") for line in printed)]
    assert set(explained) == {task.plan for task in tasks}
    assert any(line.endswith("wrong verdicts 0") for line in printed)


@pytest.mark.extended
@pytest.mark.timeout(1200)
def test_ten_instances_eight_at_once_and_a_kill_every_five_seconds() -> None:
    command = [sys.executable, "-m", "examples.agents", "plain", "--chaos"]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=1100)
    assert ran.returncode == 0, ran.stdout + ran.stderr
