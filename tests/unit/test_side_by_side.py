"""The benchmarks' harness: it runs, it sees wrong verdicts, and its figures are what they say."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.side_by_side import __main__ as command
from benchmarks.side_by_side import cpu, workloads
from benchmarks.side_by_side.boxes import BoxClock
from benchmarks.side_by_side.measure import Cell, Slice, side_by_side
from benchmarks.side_by_side.stats import cpu_ratio, figures, percentile, rate_ratio
from benchmarks.side_by_side.systems.base import Failed, System
from sandbox_gym.sandbox.cleanup.owner import this_owner

REPOSITORY = Path(__file__).parents[2]


class Grader(System):
    """One that accepts everything, or fails."""

    title = "a grader"
    isolation = "none"

    def __init__(self, name: str, *, fails: bool = False, lacking: str = "") -> None:
        super().__init__()
        self.name, self._fails, self._lacking = name, fails, lacking
        self.asked = 0

    def lacks(self, workload: workloads.Workload) -> str:
        return self._lacking

    async def verify(self, workload: workloads.Workload, job: workloads.Job, number: int) -> bool:
        self.asked += 1
        if self._fails and self.asked > 2:
            raise Failed("it is down")
        return True

    async def cpu_s(self) -> float:
        return float(self.asked)


@pytest.mark.anyio
async def test_wrong_verdicts_errors_and_what_a_system_lacks_are_seen() -> None:
    every_answer = Grader("credulous")
    lacking = Grader("lacking", lacking="not its work")
    work = workloads.stdin_row(2, concurrencies=(1, 4))
    cells = await side_by_side([every_answer, lacking], work, rounds=2, slice_s=0.02, seed=1, say=lambda _text: None)
    assert [(c.system, c.concurrency, len(c.slices), c.lacks) for c in cells] == [
        ("credulous", 1, 2, ""),
        ("credulous", 4, 2, ""),
        ("lacking", 1, 0, "not its work"),
        ("lacking", 4, 0, "not its work"),
    ]
    found = figures(cells[0])
    assert found is not None
    assert found.wrong > 0, "one answer in eight is wrong, and it accepted all"
    assert found.errors == 0
    assert found.cpu_ms == pytest.approx(1000.0), "its clock goes by one second a verify"
    assert lacking.asked == 0


@pytest.mark.anyio
async def test_a_system_that_can_not_be_warmed_up_says_why() -> None:
    (cell,) = await side_by_side(
        [Grader("down", fails=True)],
        workloads.stdin_row(2),
        rounds=2,
        slice_s=0.01,
        seed=1,
        say=lambda _text: None,
    )
    assert cell.lacks == "Failed: it is down"
    assert not cell.slices
    assert figures(cell) is None


def cell_of(rates: list[float], cpu_s: float = 1.0) -> Cell:
    slices = [Slice(10, 10 / rate, 10 * cpu_s, (0.1,) * 10, 0, 0) for rate in rates]
    return Cell("one", "row", 8, 5, slices=slices)


def test_ratios_and_their_intervals() -> None:
    ratio = rate_ratio(cell_of([10, 20, 30]), cell_of([5, 10, 15]))
    assert ratio is not None
    assert (ratio.value, ratio.low, ratio.high) == pytest.approx((2, 2, 2)), "noise of a round is both's"
    uneven = rate_ratio(cell_of([10, 20, 30]), cell_of([10, 10, 10]))
    assert uneven is not None
    assert 1 <= uneven.low < uneven.value < uneven.high <= 3
    costs = cpu_ratio(cell_of([1], cpu_s=3.0), cell_of([9], cpu_s=2.0))
    assert costs is not None
    assert costs.value == pytest.approx(1.5)
    assert rate_ratio(cell_of([1]), Cell("none", "row", 8, 5)) is None


def test_figures_are_of_verifies_and_of_runs() -> None:
    found = figures(cell_of([10, 40]))
    assert found is not None
    assert found.per_s == pytest.approx(20 / 1.25)
    assert (found.cpu_ms, found.cpu_ms_per_run) == pytest.approx((1000, 200))
    assert (percentile([1, 2, 3, 4], 0.5), percentile([], 0.5)) == (3, 0)


def test_cpu_time_of_a_tree_has_the_time_of_children_that_ended() -> None:
    child = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'sum(range(10**7))']); print(); input()"
    with subprocess.Popen(
        [sys.executable, "-c", child], stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0
    ) as process:
        assert process.stdout is not None
        assert process.stdin is not None
        process.stdout.read(1)
        assert cpu.trees_s([process.pid]) >= 0.05
        assert cpu.trees_s([os.getpid()]) >= cpu.trees_s([process.pid])
        process.stdin.write(b"\n")
    assert cpu.trees_s([process.pid]) == 0


def test_a_sandboxes_time_counts_when_it_is_gone(tmp_path: Path) -> None:
    parent, owner = tmp_path / "cpuacct" / "sandbox_gym", this_owner()
    mine, strange = parent / f"{owner}-1", parent / str(owner).replace(f"-{owner.pid}-", "-1-")
    for folder in (parent, mine, strange):
        folder.mkdir(parents=True)
        (folder / "cpuacct.usage").write_text("2500000000\n")
    with BoxClock(lambda: [owner.pid], tmp_path) as clock:
        assert clock.seconds() == 2.5
        (mine / "cpuacct.usage").unlink()
        mine.rmdir()
        assert clock.seconds() == 2.5
    v2 = tmp_path / "two" / "sandbox_gym"
    (v2 / f"{owner}-1").mkdir(parents=True)
    for folder in (v2, v2 / f"{owner}-1"):
        (folder / "cpu.stat").write_text("usage_usec 1500000\nuser_usec 1\n")
    with BoxClock(lambda: [owner.pid], tmp_path / "two") as clock:
        assert clock.seconds() == 1.5


def test_every_workload_has_wrong_answers_among_the_right_ones() -> None:
    for work in workloads.every():
        if work.missing or work.kind == "trajectory":
            continue
        passes = {False} if work.name.startswith("fails-first") else {True, False}
        assert {job.passes for job in work.jobs} == passes, work.name


def test_the_command_on_one_row(tmp_path: Path) -> None:
    """The real thing, small: our server in local sandboxes beside the bare fork-server."""
    readme = tmp_path / "README.md"
    readme.write_text(f"before\n{command.README_FROM}\nold\n{command.README_TO}\nafter\n")
    arguments = ["--quick", "--rounds", "1", "--slice-s", "0.1", "--without-scale", "--work", "stdin-10"]
    arguments += ["--only", "ours-local", "--only", "bare-fork-server", "--out", str(tmp_path), "--readme", str(readme)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.side_by_side", *arguments],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    found = json.loads((tmp_path / "side_by_side.json").read_text())
    assert {cell["system"]: cell["lacks"] for cell in found["cells"]} == {"ours-local": "", "bare-fork-server": ""}
    for cell in found["cells"]:
        assert cell["figures"]["verifies"] >= 8
        assert (cell["figures"]["wrong"], cell["figures"]["errors"]) == (0, 0)
        assert cell["figures"]["cpu_ms"] > 0
    assert found["machine"]["cores"] == os.cpu_count()
    assert "sandbox_gym, local" in (tmp_path / "side_by_side.md").read_text()
    assert (tmp_path / "side_by_side_rates.svg").exists() == (importlib.util.find_spec("matplotlib") is not None)
    text = readme.read_text()
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    assert "old" not in text
    assert "| bare fork-server" in text
