"""NeMo Gym as its users run it: its commands from PyPI, from this checkout, in processes of their own."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import yaml

from tests.conftest import TEMPROOT
from tests.documented import command as documented
from tests.gym.tasks import REPOSITORY

START_S: Final = 900.0
COLLECT_S: Final = 600.0
MODEL: Final = "responses_api_models/openai_model/configs/openai_model.yaml"
MORE_CONFIGS: Final = (
    "resources_servers/math/configs/math_with_judge.yaml",
    "resources_servers/swe/configs/swe.yaml",
    "resources_servers/code_gen/configs/code_gen.yaml",
)
SERVERS: Final = 9
"""coding, math, swe and their code_gen, an agent for each, and the model."""
WORKERS: Final = {"coding": 3, "math": 1, "swe": 2}
OVERRIDES: Final = (
    *(f"++{name}.resources_servers.{name}.num_workers={count}" for name, count in WORKERS.items()),
    *(f"++{name}.resources_servers.{name}.expose_tools_over_mcp=true" for name in WORKERS),
    "++swe.resources_servers.swe.provider=local",
    "++math.resources_servers.math.math.wire=auto",
)
KEPT: Final = REPOSITORY / ".run" / "gym"
"""The servers' environments: making them takes longer than the tests."""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass(frozen=True)
class Gym:
    """Servers that run. `started_s`: what their start took, environments included."""

    folder: Path
    environment: Mapping[str, str]
    head_port: int
    started_s: float
    log: Path

    def ray_address(self) -> str:
        """Of the cluster that NeMo Gym started, so that another start can join it."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.head_port}/global_config_dict_yaml", timeout=30) as answer:
            config = yaml.safe_load(json.loads(answer.read()))
        return str(config["ray_head_node_address"])

    def address(self, server: str) -> str:
        """Where a server listens, as the head server tells."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self.head_port}/server_instances", timeout=30) as answer:
            (found,) = [each["url"] for each in json.loads(answer.read()) if each["process_name"] == server]
        return str(found)

    def collect(self, name: str, lines: list[str], *, agent: str, command: str) -> Path:
        """Roll the rows out by the documented command that begins so; the file of rollouts."""
        rows, out = self.folder / f"{name}.jsonl", self.folder / f"{name}_rollouts.jsonl"
        rows.write_text("".join(line + "\n" for line in lines))
        named = {"rows.jsonl": str(rows), "rollouts.jsonl": str(out), "coding_simple_agent": agent}
        began = time.monotonic()
        self.roll_out(documented("from-nemo-gym.md", command, named))
        figure(f"{name}: {len(out.read_text().splitlines())} rollouts in {time.monotonic() - began:.0f} s ({command})")
        return out

    def roll_out(self, command: list[str]) -> None:
        """A command of NeMo Gym's that asks these servers."""
        called = [*command, *_head(self.head_port)]
        done = subprocess.run(
            called, cwd=self.folder, env=self.environment, capture_output=True, text=True, timeout=COLLECT_S
        )
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:] + tail(self.log)


def installed(name: str) -> Path:
    """A file of the installed nemo-gym, whose folders ours join."""
    found = importlib.util.find_spec("nemo_gym")
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parents[1] / name


def figure(text: str) -> None:
    """For who runs this with -s."""
    print(f"\n  {text}", flush=True)  # noqa: T201


def tail(log: Path) -> str:
    return log.read_text(errors="replace")[-8000:]


def _head(port: int) -> list[str]:
    return ["+head_server.host=127.0.0.1", f"+head_server.port={port}"]


def environment(folder: Path) -> dict[str, str]:
    """NeMo Gym makes each server's environment with uv, which finds the interpreter on PATH or downloads one.

    Ray joins the last cluster that was started on the machine, whoever's it is, unless it looks elsewhere for its name.
    """
    rays = Path(os.environ[TEMPROOT]) / "r"  # short: it puts sockets far below
    rays.mkdir(exist_ok=True)
    scripts = Path(sysconfig.get_path("scripts"))
    interpreters = Path(sys.base_prefix) / "bin"
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("PYTEST", "PYTHONPATH", "RAY_"))}
    tree = folder / "constraints.txt"  # as the page has it: this tree where a server's requirements name the package
    tree.write_text(f"sandbox-gym @ file://{REPOSITORY}\n")
    return kept | {
        "PATH": f"{scripts}:{interpreters}:{os.environ['PATH']}",
        "UV_CONSTRAINT": str(tree),
        "RAY_TMPDIR": str(rays),
        "TMPDIR": str(rays),  # what they leave (wandb's folders, uv's locks, pytest's) goes with the run
        "RAY_USAGE_STATS_ENABLED": "0",
        "RAY_agent_register_timeout_ms": "300000",  # a raylet dies after 30 s, which a busy machine may take
        "WANDB_MODE": "disabled",
        "UV_PYTHON_DOWNLOADS": "never",
        "SANDBOX_GYM_STATE_DIR": str(folder / "state"),
    }


@contextmanager
def playing(scripts: Path) -> Iterator[int]:
    """The stub policy; its port."""
    port = free_port()
    stub = REPOSITORY / "tests" / "gym" / "stub_model.py"
    process = subprocess.Popen([sys.executable, str(stub), str(port), str(scripts)])
    try:
        yield port
    finally:
        process.kill()
        process.wait()


@contextmanager
def running(folder: Path, model_port: int) -> Iterator[Gym]:
    """`ng_run` from the checkout, until its servers are ready; ended by Ctrl-C's signal."""
    swaps = {MODEL: ",".join((*MORE_CONFIGS, MODEL)), "http://127.0.0.1:8000": f"http://127.0.0.1:{model_port}"}
    with started(folder, [*documented("from-nemo-gym.md", "ng_run", swaps), *OVERRIDES], SERVERS) as gym:
        yield gym


@contextmanager
def started(folder: Path, command: list[str], servers: int, **more: str) -> Iterator[Gym]:
    """A command of NeMo Gym's that starts so many servers, once all are ready. `more`: of its environment."""
    head_port, own, log = free_port(), environment(folder) | more, folder / "servers.log"
    command = [*command, *_head(head_port), f"hydra.run.dir={folder / 'hydra'}"]
    command += [f"+uv_venv_dir={KEPT}", f"+uv_cache_dir={KEPT / 'uv-cache'}"]
    began = time.monotonic()
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, cwd=REPOSITORY, env=own, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )
    try:
        _await_ready(process, log, servers)
        yield Gym(folder, own, head_port, time.monotonic() - began, log)
    finally:
        _end(process)


def _await_ready(process: subprocess.Popen[bytes], log: Path, servers: int) -> None:
    ends_at = time.monotonic() + START_S
    while f"All {servers} / {servers} servers ready" not in log.read_text(errors="replace"):
        assert process.poll() is None, tail(log)
        assert time.monotonic() < ends_at, tail(log)
        time.sleep(0.5)


def _end(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGINT)
    with suppress(subprocess.TimeoutExpired):
        process.wait(60)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
