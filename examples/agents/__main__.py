"""`python -m examples.agents AGENT`: ten instances, eight agents at once, a scripted model, and what a step costs.

Exits with 0 where every instance ended with a verdict that is right, or with an explicit none.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import anyio

from examples.agents import nemo_gym, plain_loop
from examples.agents.chaos import Killer, cpu_s, server_below
from examples.agents.instances import WORKDIR, Task, made_on_the_spot, of_file
from examples.agents.model import ScriptedModel, bash_script, serving, tools_script
from examples.agents.rollouts import Cost, Rollout, show

START_S = 60.0
RUN_S = 1800.0


def main() -> int:
    wanted = arguments()
    tasks = of_file(wanted.rows) if wanted.rows else made_on_the_spot()
    tasks = tasks[: wanted.instances]
    script = bash_script if wanted.agent == "mini-swe-agent" else tools_script
    model = ScriptedModel({task.name: script(task) for task in tasks}, think_s=wanted.think_s)
    with tempfile.TemporaryDirectory(prefix="sandbox-gym-agents-") as folder, ExitStack() as stack:
        model_url = stack.enter_context(serving(model))
        rollouts, cost, wall_s = (through_gym if wanted.agent == "nemo-gym" else on_our_server)(
            wanted, tasks, model_url, Path(folder)
        )
    title = f"{wanted.agent}, {wanted.at_once} at once" + (f", a kill every {wanted.chaos:g} s" if wanted.chaos else "")
    return 0 if show(title, tasks, rollouts, model.conversations, cost, wall_s).fine else 1


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m examples.agents", description=__doc__)
    parser.add_argument("agent", choices=["plain", "mini-swe-agent", "nemo-gym"])
    parser.add_argument(
        "--python",
        type=lambda path: Path(path).absolute(),
        default=Path(sys.executable),
        help="which has the agent's package",
    )
    parser.add_argument("--rows", type=Path, help="SWE rows with their fixes, instead of the ten")
    parser.add_argument("--instances", type=int, default=10, help="only so many")
    parser.add_argument("--at-once", type=int, default=8)
    parser.add_argument("--chaos", type=float, nargs="?", const=5.0, default=0.0, metavar="S",
                        help="kill a sandbox every so many seconds")  # fmt: skip
    parser.add_argument("--think-s", type=float, default=1.0, help="of the model, before each answer")
    parser.add_argument("--provider", choices=["local", "docker"], default="local")
    return parser.parse_args()


Outcome = tuple[list[Rollout], Cost, float]


def on_our_server(wanted: argparse.Namespace, tasks: Sequence[Task], model_url: str, folder: Path) -> Outcome:
    """`sandbox-gym serve swe`, and an agent that is a client of it."""
    with our_server(folder, wanted.provider) as (url, process):
        killer = Killer(lambda: process, wanted.provider)
        began, cpu_before = time.monotonic(), cpu_s(process)
        with killer.at_work(wanted.chaos):
            if wanted.agent == "plain":
                rollouts = anyio.run(plain_loop.run_all, url, model_url, tasks, wanted.at_once)
            else:
                rollouts = with_mini_swe_agent(wanted, tasks, url, model_url, folder)
        wall_s = time.monotonic() - began
        return rollouts, Cost(cpu_s(process) - cpu_before, sandboxes(url), killer.killed), wall_s


def through_gym(wanted: argparse.Namespace, tasks: Sequence[Task], model_url: str, folder: Path) -> Outcome:
    """NeMo Gym's commands start our server and collect."""
    with nemo_gym.started(wanted.python, folder, model_url, wanted.provider) as gym:
        killer = Killer(lambda: server_below(gym.process, nemo_gym.FOLDER), wanted.provider)
        began = time.monotonic()
        with killer.at_work(wanted.chaos):
            rollouts = gym.collect(tasks, wanted.at_once)
        wall_s, cpu = time.monotonic() - began, cpu_s(server_below(gym.process, nemo_gym.FOLDER))
        return rollouts, Cost(cpu, sandboxes(gym.url()), killer.killed), wall_s


def with_mini_swe_agent(
    wanted: argparse.Namespace, tasks: Sequence[Task], url: str, model_url: str, folder: Path
) -> list[Rollout]:
    """Its agents are threads of one process, as those of its batch runner are."""
    job = {
        "url": url, "model_url": model_url, "workdir": WORKDIR, "at_once": wanted.at_once,
        "tasks": [{"name": task.name, "row": task.row, "prompt": task.prompt} for task in tasks],
    }  # fmt: skip
    script = Path(__file__).with_name("mini_swe_agent.py")
    home = {"MSWEA_GLOBAL_CONFIG_DIR": str(folder)}  # else it writes into the user's
    ran = subprocess.run(
        [str(wanted.python), str(script)], input=json.dumps(job), text=True, stdout=subprocess.PIPE,
        env=os.environ | home, timeout=RUN_S, check=False,
    )  # fmt: skip
    found: list[Any] = [json.loads(line) for line in ran.stdout.splitlines() if line.startswith("{")]
    return [Rollout.of_answers(one["name"], one["answers"], one["seconds"]) for one in found]


@contextmanager
def our_server(folder: Path, provider: str) -> Iterator[tuple[str, int]]:
    """Its URL and its process."""
    command = [sys.executable, "-m", "sandbox_gym", "serve", "swe", "--port", "0", "--provider", provider]
    settings = {"SANDBOX_GYM_STATE_DIR": str(folder / "state"), "SANDBOX_GYM_JOURNAL_URL": "off", "NO_COLOR": "1"}
    log = folder / "serve.log"
    with log.open("wb") as file:
        process = subprocess.Popen(command, env=os.environ | settings, stdout=file, stderr=file)
    try:
        ends_at = time.monotonic() + START_S
        while not (found := re.search(r"http://127\.0\.0\.1:\d+", log.read_text(errors="replace"))):
            if process.poll() is not None or time.monotonic() > ends_at:
                raise RuntimeError(f"the server does not come up:\n{log.read_text(errors='replace')[-4000:]}")
            time.sleep(0.1)
        yield found[0], process.pid
    finally:
        process.terminate()
        process.wait(60)


def sandboxes(url: str) -> int:
    """Those of sessions that the server opened or woke."""
    with urllib.request.urlopen(f"{url}/health", timeout=60) as answer:
        sessions = json.loads(answer.read())["sessions"]
    return int(sessions["opened"]) + int(sessions["woken"])


if __name__ == "__main__":
    sys.exit(main())
