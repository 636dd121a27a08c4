"""NeMo Gym's own code_gen, from PyPI, served as `gym env start` does: its app.py with the configuration it ships."""

from __future__ import annotations

import importlib.util
import subprocess
from pathlib import Path

import yaml

from benchmarks.side_by_side import cpu
from benchmarks.side_by_side.systems.base import System
from benchmarks.side_by_side.systems.serving import Server, free_port, serving
from benchmarks.side_by_side.workloads import REPOSITORY, Job, Workload
from sandbox_gym.server.protocol.envelope import response_of

PYTHON = REPOSITORY / ".venv-gym" / "bin" / "python"
_WHERE = "import nemo_gym, pathlib, importlib.metadata as m; print(pathlib.Path(nemo_gym.__file__).parents[1])"
_VERSION = "import importlib.metadata as m; print(m.version('nemo-gym'))"


def asked(python: Path, program: str) -> str:
    """What a program prints under another environment's interpreter; empty where it fails."""
    done = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=120)
    return done.stdout.strip() if done.returncode == 0 else ""


class CodeGen(System):
    """code_gen runs all tests of an answer in one process, in a fork of a Ray worker, without a sandbox."""

    name = "nemo-gym-code_gen"
    title = "NeMo Gym code_gen"
    isolation = "none"

    def __init__(self, folder: Path, python: Path = PYTHON) -> None:
        super().__init__()
        self._folder, self._python = folder / "code_gen", python
        self._server: Server | None = None

    def lacks(self, workload: Workload) -> str:
        if not self._python.exists():
            return f"nemo-gym is not installed in {self._python.parents[1].name}"
        if workload.kind != "stdin":
            return "other form of row" if workload.kind == "check" else "not its work"
        return "" if workload.job(0).language == "python" else "Python only"

    async def prepare(self, workload: Workload) -> None:
        if self._server is not None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        place = Path(asked(self._python, _WHERE)) / "resources_servers" / "code_gen"
        port, head = free_port(), free_port()
        shipped = yaml.safe_load((place / "configs" / "code_gen.yaml").read_text())
        instance = shipped["code_gen"]
        instance["resources_servers"]["code_gen"] |= {"host": "127.0.0.1", "port": port}
        config = {"code_gen": instance, "head_server": {"host": "127.0.0.1", "port": head}, "dry_run": False}
        environment = {
            "NEMO_GYM_CONFIG_DICT": yaml.safe_dump(config),
            "NEMO_GYM_CONFIG_PATH": "code_gen",
            "PYTHONPATH": str(place),
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        command = [str(self._python), "app.py"]
        log = self._folder / "code_gen.log"
        self._server = await self._stack.enter_async_context(
            serving(command, port, log, environment=environment, folder=place)
        )

    async def verify(self, workload: Workload, job: Job, number: int) -> bool:
        assert self._server is not None, "prepared before"
        body = {"responses_create_params": {"input": "?"}, "response": response_of(job.text), **job.row}
        return (await self._server.post("/verify", body)).get("reward") == 1.0

    async def cpu_s(self) -> float:
        return 0.0 if self._server is None else cpu.trees_s([self._server.holder])


def version(python: Path = PYTHON) -> str:
    """Of the installed nemo-gym; empty where there is none."""
    return asked(python, _VERSION) if python.exists() and importlib.util.find_spec("yaml") else ""
