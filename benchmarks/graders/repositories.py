"""Hostile patches of tests/attacks/swe through our server's judging and through swebench's own grading of a log.

Both see the same repository in a sandbox, with the same patch and the same hidden tests. For swebench what it restores
is restored, the test patch's files, and its parser and its report read what the row's own command prints.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.graders.report import Outcome, Result
from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Run
from sandbox_gym.contract import Outcome as Ended
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.server.swe.server import SweResources
from sandbox_gym.swe.judging import judge_patch
from sandbox_gym.verifiers.swe import SweJob, SweTask, SweVerifier, parse_task

Row = dict[str, Any]
PATCHES = Path("tests/attacks/swe")
DEFAULT_ROW = "pathspec__pathspec-0.12.1"
PREPARE = ".verify/prepare.json"
LOG_S = 300
SWEBENCH_PACKAGES = ("swebench==5.0.2",)


@dataclass(frozen=True)
class Patch:
    """A folder of the corpus. Those that an agent's commands make have no patch, and are left out."""

    name: str
    instance: str
    text: str


def patches(folder: Path = PATCHES) -> list[Patch]:
    return [_patch(path.parent) for path in sorted(folder.glob("*/patch.diff"))]


def _patch(folder: Path) -> Patch:
    row = re.search(r"^Row: (\S+)$", (folder / "README.md").read_text(), re.MULTILINE)
    text = (folder / "patch.diff").read_bytes().decode("utf-8", "surrogateescape")
    return Patch(f"swe/{folder.name}", row[1] if row else DEFAULT_ROW, text)


class Swebench:
    """The package in a process of its own, a request and a verdict a line."""

    def __init__(self, python: str) -> None:
        script = Path(__file__).parents[2] / "tests" / "swe_full" / "swebench_grader.py"
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(
            [python, "-W", "ignore", str(script)], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True
        )
        ask = "import importlib.metadata as m; print(m.version('swebench'))"
        told = subprocess.run([python, "-c", ask], check=True, capture_output=True, text=True, timeout=60)
        self.name = f"swebench {told.stdout.strip()}"

    def resolves(self, task: SweTask, log: str) -> bool:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        lists = {
            name: [test for test in ids if " " not in test]  # its parser cuts ids at the first blank
            for name, ids in (("FAIL_TO_PASS", task.fail_to_pass), ("PASS_TO_PASS", task.pass_to_pass))
        }
        self._process.stdin.write(json.dumps({**lists, "log": log}) + "\n")
        self._process.stdin.flush()
        found = json.loads(self._process.stdout.readline())
        return bool(found["resolution"] == "RESOLVED_FULL")

    def close(self) -> None:
        self._process.communicate(timeout=30)


@dataclass(frozen=True)
class _Judging:
    engine: Engine
    resources: SweResources

    async def resolves(self, row: Row, patch: str) -> bool:
        job = await self.resources.job(self.engine, self.resources.task(row))
        return (await judge_patch(self.engine, job, Answer(patch))).verdict.reward == 1.0

    async def log(self, row: Row, patch: str) -> str:
        """What the row's test command prints where only the test patch's own files are put back."""
        job = await self.resources.job(self.engine, self.resources.task(row))
        task, plain = job.task, SweJob(job.task, job.checkout, run_empty=True)
        plan = SweVerifier().plan(plain, Answer(patch))
        step = plan.steps[0] if plan.steps else None
        if not isinstance(step, Run):
            return ""  # a patch that is refused is one that git does not apply
        files = dict(step.program.files)
        script = f"cd {job.checkout.workdir} && timeout {LOG_S} {task.test_command}"
        told = json.loads(files[PREPARE])
        told |= {"restore": list(task.test_files), "watch": ["/bin/bash", "-c", script]}
        files[PREPARE] = json.dumps(told).encode()
        state = await self.engine.run(replace(plan, steps=(replace(step, program=replace(step.program, files=files)),)))
        ended = state.outcomes[0]
        assert isinstance(ended, Ended)
        return ended.stdout.decode("utf-8", "replace")


def _outcome(resolved: bool) -> Outcome:
    return Outcome.ACCEPTED if resolved else Outcome.REJECTED


async def measured(
    rows: Mapping[str, Row], chosen: list[Patch], ours: str, swebench: Swebench, state: Path
) -> list[Result]:
    """Both graders on each patch; the control is the row's own fix."""
    settings = Settings.model_validate({"provider": "local", "state_dir": state, "deadline_s": 1500.0})
    found: list[Result] = []
    controls: dict[str, tuple[Outcome, Outcome]] = {}
    async with open_engine(settings, sessions="swe") as engine:
        judging = _Judging(engine, SweResources(settings))
        for patch in chosen:
            row, task = rows[patch.instance], parse_task(rows[patch.instance])
            if patch.instance not in controls:
                mine = _outcome(await judging.resolves(row, task.patch))
                theirs = _outcome(swebench.resolves(task, await judging.log(row, task.patch)))
                controls[patch.instance] = (mine, theirs)
            mine, theirs = controls[patch.instance]
            found.append(Result(ours, patch.name, _outcome(await judging.resolves(row, patch.text)), mine))
            log = await judging.log(row, patch.text)
            found.append(Result(swebench.name, patch.name, _outcome(swebench.resolves(task, log)), theirs))
    return found
