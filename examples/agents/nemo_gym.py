"""NeMo Gym's own commands: `ng_run` starts our SWE server, its simple_agent and its model server; then it collects.

Runs them from the environment that has nemo-gym. Owns the processes and the files of one collection.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from examples.agents.instances import Document, Task
from examples.agents.rollouts import Rollout

REPOSITORY: Final = Path(__file__).parents[2]
KEPT: Final = REPOSITORY / ".run" / "gym"
"""The servers' environments: making them takes minutes, once."""
AGENT: Final = "swe_simple_agent"
FOLDER: Final = "resources_servers/swe"
"""Where our server runs."""
START_S: Final = 1200.0
COLLECT_S: Final = 1800.0
CONFIGS: Final = (
    "resources_servers/swe/configs/swe.yaml",
    "responses_api_models/openai_model/configs/openai_model.yaml",
)


@dataclass(frozen=True)
class Gym:
    """Servers that are ready. `process`: the one that all others are below."""

    scripts: Path
    folder: Path
    head_port: int
    process: int
    environment: Mapping[str, str]

    def url(self) -> str:
        """Of our server, as the head server tells."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.head_port}/server_instances", timeout=60) as answer:
            (found,) = [each["url"] for each in json.loads(answer.read()) if each["process_name"] == "swe"]
        return str(found)

    def collect(self, tasks: Sequence[Task], at_once: int) -> list[Rollout]:
        """Every task once. Raises CalledProcessError where the collection itself ends with an error."""
        rows, out = self.folder / "rows.jsonl", self.folder / "rollouts.jsonl"
        rows.write_text("".join(json.dumps(_line(task)) + "\n" for task in tasks))
        command = [
            f"{self.scripts}/ng_collect_rollouts", f"+agent_name={AGENT}", f"+input_jsonl_fpath={rows}",
            f"+output_jsonl_fpath={out}", "+num_repeats=1", f"+num_samples_in_parallel={at_once}",
            *_head(self.head_port),
        ]  # fmt: skip
        with (self.folder / "collect.log").open("wb") as log:
            subprocess.run(
                command, cwd=self.folder, env=self.environment, stdout=log, stderr=log,
                check=True, timeout=COLLECT_S,
            )  # fmt: skip
        aside = out.with_name("rollouts_failures.jsonl")
        lines = [line for path in (out, aside) if path.exists() for line in path.read_text().splitlines()]
        return [_rollout(json.loads(line)) for line in lines]


@contextmanager
def started(python: Path, folder: Path, model_url: str, provider: str) -> Iterator[Gym]:
    """`ng_run` with our server; ended by Ctrl-C's signal."""
    head_port, scripts, log = _free_port(), python.parent, folder / "ng_run.log"
    command = [
        f"{scripts}/ng_run", f"+config_paths=[{','.join(CONFIGS)}]", f"+policy_base_url={model_url}",
        "+policy_api_key=none", "+policy_model_name=scripted", *_head(head_port), f"hydra.run.dir={folder / 'hydra'}",
        f"+uv_venv_dir={KEPT}", f"+uv_cache_dir={KEPT / 'uv-cache'}",
        f"++swe.resources_servers.swe.provider={provider}", "++swe.resources_servers.swe.no_verdict=row",
    ]  # fmt: skip
    environment = _environment(scripts, folder)
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=REPOSITORY, env=environment, stdout=file, stderr=file, start_new_session=True
        )
    try:
        _await_ready(process, log)
        yield Gym(scripts, folder, head_port, process.pid, environment)
    finally:
        _end(process)
        shutil.rmtree(environment["RAY_TMPDIR"], ignore_errors=True)


def _line(task: Task) -> Document:
    """The row with its prompt and the tools that its model may call."""
    schema = {"type": "object", "properties": {}, "additionalProperties": True}
    names = ("bash", "view", "run_tests", "submit")
    tools = [{"type": "function", "name": name, "parameters": schema, "strict": False} for name in names]
    params = {"input": [{"role": "user", "content": task.prompt}], "tools": tools}
    agent = {"type": "responses_api_agents", "name": AGENT}
    return {**task.row, "responses_create_params": params, "agent_ref": agent}


def _rollout(answer: Document) -> Rollout:
    """Without its time, which the collection does not tell."""
    return Rollout.of_answers(str(answer["instance_id"]), [answer], 0.0)


def _environment(scripts: Path, folder: Path) -> dict[str, str]:
    """NeMo Gym makes each server's environment with uv, which finds the interpreter on PATH or downloads one, and this
    checkout where a server's requirements name the package."""
    interpreters = (scripts / "python").resolve().parent
    kept = {
        key: value for key, value in os.environ.items() if not key.startswith(("PYTHONPATH", "RAY_", "VIRTUAL_ENV"))
    }
    constraints = folder / "constraints.txt"
    constraints.write_text(f"sandbox-gym @ file://{REPOSITORY}\n")
    rays = tempfile.mkdtemp(prefix="sg-", dir="/tmp")  # sockets far below it need a short path
    return kept | {
        "PATH": f"{scripts}:{interpreters}:{os.environ['PATH']}",
        "UV_CONSTRAINT": str(constraints),
        "RAY_TMPDIR": rays,
        "TMPDIR": rays,
        "RAY_USAGE_STATS_ENABLED": "0",
        "WANDB_MODE": "disabled",
        "UV_PYTHON_DOWNLOADS": "never",
        "SANDBOX_GYM_STATE_DIR": str(folder / "state"),
    }


def _head(port: int) -> list[str]:
    return ["+head_server.host=127.0.0.1", f"+head_server.port={port}"]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _await_ready(process: subprocess.Popen[bytes], log: Path) -> None:
    ends_at = time.monotonic() + START_S
    while "All 3 / 3 servers ready" not in (text := log.read_text(errors="replace")):
        if process.poll() is not None or time.monotonic() > ends_at:
            raise RuntimeError(f"ng_run does not come up:\n{text[-4000:]}")
        time.sleep(0.5)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(60)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
