"""What a verdict on a patch costs beyond its tests: overhead, time to the start of the tests, candidates in parallel.

tests/with-docker.sh python benchmarks/swe.py ROWS.jsonl --provider local --provider docker --json found.json

The bare command is the row's own, timed by itself in a box of the same instance with the same patches.
"""

from __future__ import annotations

import argparse
import json
import os
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
from sandbox_gym.contract import Answer, Outcome, Plan, Program, Run
from sandbox_gym.engine import Engine, open_engine
from sandbox_gym.sandbox.session.manager import Sessions
from sandbox_gym.server.protocol.wire import VerifyRequest
from sandbox_gym.server.swe.server import SweResources, checkout_of
from sandbox_gym.swe.building import Instance
from sandbox_gym.verifiers.swe import SweJob, SweTask, SweVerifier, parse_task

PREPARE = ".verify/prepare.json"
PAUSE_S = 0.5
"""Between candidates that come one by one: a server makes rooms ready meanwhile."""
CLOCK = "import time; print(time.time())"
_BARE = """
set -e
cd {workdir}
git apply --whitespace=nowarn "$OLDPWD/gold.diff"
git apply --whitespace=nowarn "$OLDPWD/tests.diff"
began=$(date +%s%N)
{command} >/dev/null
echo $(( $(date +%s%N) - began ))
"""


@dataclass(frozen=True, slots=True)
class Found:
    """One provider's figures. Seconds but for what says otherwise; medians where several were taken."""

    provider: str
    instance: str
    build_s: float
    rounds: int
    bare_s: float
    verify_s: float
    overhead_s: float
    start_ms: float
    """From the request of a further candidate to its tests' first process, at work."""
    start_worst_ms: float
    parallel: int
    parallel_resolved: int
    parallel_s: float

    @property
    def overhead(self) -> float:
        """As a share of the bare command."""
        return self.overhead_s / self.bare_s


class Bench:
    """One instance on one engine."""

    def __init__(
        self,
        engine: Engine,
        resources: SweResources,
        row: Mapping[str, object],
        task: SweTask,
        instance: Instance,
    ) -> None:
        self._engine, self._resources, self._row, self._task = engine, resources, row, task
        self._job = SweJob(task, checkout_of(instance))

    def candidate(self, number: int) -> str:
        """The fix, and a file of its own: no two candidates are the same."""
        path = f"NOTE-{number}.txt"
        return (
            f"{self._task.patch}diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
            f"@@ -0,0 +1 @@\n+{number}\n"
        )

    async def verify(self, number: int) -> bool:
        """Whether the candidate resolved, by all that a request goes through but HTTP."""
        body = {**self._row, "model_patch": self.candidate(number)}
        result = await self._resources.verify(self._engine, VerifyRequest(body, "", (), {}))
        return result.fields.reward == 1.0

    async def bare_s(self) -> float:
        """The row's test command, by its own clock."""
        where = self._job.checkout
        script = _BARE.format(workdir=where.workdir, command=self._task.test_command)
        files = {"gold.diff": self._task.patch.encode(), "tests.diff": self._task.test_patch.encode()}
        env = {"PATH": f"{os.path.dirname(where.python)}:/usr/local/bin:/usr/bin:/bin"}
        program = Program("exec", files, argv=("/bin/bash", "-c", script), env=env, workdir=where.home)
        planned = SweVerifier().plan(self._job, Answer(self._task.patch)).steps[0]
        assert isinstance(planned, Run)
        outcome = await self._outcome(Plan((Run("bare", program, limits=planned.limits),), image=where.image))
        assert outcome.exit_code == 0, outcome
        return int(outcome.stdout) / 1e9

    async def start_s(self, number: int) -> float:
        """A candidate's plan as it is, but that the watcher's place is taken by a clock."""
        plan = SweVerifier().plan(self._job, Answer(self.candidate(number)))
        step = plan.steps[0]
        assert isinstance(step, Run)
        files = dict(step.program.files)
        prepare = json.loads(files[PREPARE])
        files[PREPARE] = json.dumps({**prepare, "watch": [self._job.checkout.python, "-I", "-S", "-c", CLOCK]}).encode()
        program = replace(step.program, files=files)
        began = time.time()
        outcome = await self._outcome(replace(plan, steps=(replace(step, program=program),)))
        assert outcome.exit_code == 0, outcome
        return float(outcome.stdout.split()[-1]) - began

    async def _outcome(self, plan: Plan) -> Outcome:
        state = await self._engine.run(plan)
        outcome = state.outcomes[0]
        assert isinstance(outcome, Outcome)
        return outcome

    async def parallel(self, count: int) -> tuple[int, float]:
        """How many of so many candidates at once resolved, and how long they took together."""
        resolved: list[bool] = []
        began = time.perf_counter()

        async def one(number: int) -> None:
            resolved.append(await self.verify(number))

        async with anyio.create_task_group() as tasks:
            for number in range(count):
                tasks.start_soon(one, 1000 + number)
        return sum(resolved), time.perf_counter() - began


async def measure(
    provider: str, row: Mapping[str, object], rounds: int, parallel: int, folder: Path, *, keep: bool
) -> Found:
    settings = Settings.model_validate(
        {"provider": provider, "state_dir": folder / provider, "boxes": max(2, parallel)}
    )
    async with open_engine(settings, sessions="swe") as engine:
        task, resources = parse_task(row), SweResources(settings)
        instance = await resources.instances(engine).ensure(task)
        bench = Bench(engine, resources, row, task, instance)
        assert await bench.verify(0), "the fix itself does not resolve"
        bare, verified, starts = [], [], []
        for number in range(1, rounds + 1):
            bare.append(await bench.bare_s())
            await anyio.sleep(PAUSE_S)
            began = time.perf_counter()
            assert await bench.verify(number), "a candidate was lost"
            verified.append(time.perf_counter() - began)
            await anyio.sleep(PAUSE_S)
            starts.append(await bench.start_s(number))
            await anyio.sleep(PAUSE_S)
        resolved, together_s = await bench.parallel(parallel)
        if not keep and isinstance(engine.sessions, Sessions):
            await engine.sessions.store.delete(instance.snapshot_id)
    middle = statistics.median
    return Found(
        provider=provider,
        instance=task.instance_id,
        build_s=round(instance.build_s, 2),
        rounds=rounds,
        bare_s=round(middle(bare), 3),
        verify_s=round(middle(verified), 3),
        overhead_s=round(middle(verified) - middle(bare), 3),
        start_ms=round(1000 * middle(starts), 1),
        start_worst_ms=round(1000 * max(starts), 1),
        parallel=parallel,
        parallel_resolved=resolved,
        parallel_s=round(together_s, 2),
    )


def table(found: Sequence[Found]) -> Table:
    shown = Table(
        "provider", "bare s", "verify s", "overhead", "start p50 ms", "worst", "parallel", title="SWE verdicts"
    )
    for one in found:
        shown.add_row(
            one.provider,
            f"{one.bare_s:.2f}",
            f"{one.verify_s:.2f}",
            f"{one.overhead_s:.2f} s ({one.overhead:.0%})",
            f"{one.start_ms:.0f}",
            f"{one.start_worst_ms:.0f}",
            f"{one.parallel_resolved} of {one.parallel} in {one.parallel_s:.1f} s",
        )
    return shown


async def main(arguments: argparse.Namespace) -> int:
    rows = [json.loads(line) for line in arguments.rows.read_text().splitlines()]
    row = next((one for one in rows if arguments.instance in one["instance_id"]), None)
    if row is None:
        Console(stderr=True).print(f"no row of {arguments.rows} has {arguments.instance!r} in its instance_id")
        return 2
    with tempfile.TemporaryDirectory(prefix="sandbox-gym-bench-") as made:
        folder = arguments.state or Path(made)
        found = [
            await measure(provider, row, arguments.rounds, arguments.parallel, folder, keep=arguments.state is not None)
            for provider in arguments.provider or ["local", "docker"]
        ]
    Console().print(table(found))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps([{**asdict(one), "overhead": one.overhead} for one in found], indent=1))
    return 0 if all(one.parallel_resolved == one.parallel for one in found) else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, help="rows with recipes, such as swe_instances.jsonl")
    parser.add_argument("--instance", default="pathspec", help="part of the instance_id to measure with")
    parser.add_argument("--provider", action="append", choices=["local", "docker"])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--parallel", type=int, default=8)
    parser.add_argument("--state", type=Path, help="keep the built instances here, for the next run")
    parser.add_argument("--json", type=Path, help="write the figures here too")
    sys.exit(anyio.run(main, parser.parse_args()))
