"""What inverted tests cost: verifies of each row's own fix with and without them, one after the other, in one process.

tests/with-docker.sh python benchmarks/inverted.py ROWS.jsonl --provider local --state FOLDER --json found.json

A patch that does not resolve is verified as without them: the second figure is its cost as well.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import anyio
from rich.console import Console
from rich.table import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.server.swe.server import SweResources
from sandbox_gym.swe.judging import judge_patch
from sandbox_gym.verifiers.swe import SweJob

PAUSE_S = 0.5
"""Between two verifies: a server makes rooms ready meanwhile."""


@dataclass(frozen=True, slots=True)
class Found:
    """One row's medians, in seconds."""

    provider: str
    instance: str
    reference_s: float
    """Of making the reference; next to nothing where it was kept."""
    deciding: int
    without_s: float
    with_s: float

    @property
    def ratio(self) -> float:
        return self.with_s / self.without_s


async def timed(engine: Engine, job: SweJob) -> float:
    began = time.perf_counter()
    judged = await judge_patch(engine, job, Answer(job.task.patch))
    took = time.perf_counter() - began
    assert judged.verdict.reward == 1.0, judged.verdict
    await anyio.sleep(PAUSE_S)
    return took


async def measure(engine: Engine, resources: SweResources, row: Mapping[str, object], rounds: int) -> Found:
    began = time.perf_counter()
    job = await resources.job(engine, resources.task(dict(row)))
    took = time.perf_counter() - began
    assert job.reference is not None
    bare = replace(job, reference=replace(job.reference, tests=()))
    pairs = [(await timed(engine, bare), await timed(engine, job)) for _ in range(rounds)]
    without, within = (statistics.median(column) for column in zip(*pairs, strict=True))
    deciding = sum(test.decides for test in job.reference.tests)
    return Found(engine.provider_name, job.task.instance_id, took, deciding, without, within)


def table(found: Sequence[Found]) -> Table:
    shown = Table("provider", "instance", "reference s", "deciding", "without s", "with s", "ratio")
    for one in found:
        figures = (f"{one.reference_s:.1f}", str(one.deciding), f"{one.without_s:.2f}", f"{one.with_s:.2f}")
        shown.add_row(one.provider, one.instance, *figures, f"{one.ratio:.2f}")
    shown.caption = f"median ratio {statistics.median(one.ratio for one in found):.2f}"
    return shown


async def main(arguments: argparse.Namespace) -> int:
    rows = [json.loads(line) for line in arguments.rows.read_text().splitlines()]
    rows = [row for row in rows if arguments.instance in row["instance_id"]]
    found: list[Found] = []
    with tempfile.TemporaryDirectory(prefix="sandbox-gym-bench-") as made:
        for provider in arguments.provider or ["local"]:
            folder = (arguments.state or Path(made)) / provider
            settings = Settings.model_validate({"provider": provider, "state_dir": folder, "boxes": 4})
            async with open_engine(settings, sessions="verify") as engine:
                resources = SweResources(settings)
                for row in rows:
                    found.append(await measure(engine, resources, row, arguments.rounds))
    Console().print(table(found))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([{**asdict(one), "ratio": one.ratio} for one in found], indent=1))
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, help="rows with recipes, such as swe_instances.jsonl")
    parser.add_argument("--instance", default="", help="part of the instance_ids to measure with")
    parser.add_argument("--provider", action="append", choices=["local", "docker"])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--state", type=Path, help="keep the built instances here, for the next run")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    sys.exit(anyio.run(main, parser.parse_args()))
