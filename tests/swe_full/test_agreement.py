"""Our grading beside that of PyPI's swebench: on our statuses, and on its own reading of the test command's log.

SANDBOX_GYM_TEST_SWEBENCH names the Python that has swebench, as `make test-swe` does. Its parser of pytest's logs cuts
ids at the first blank, and unittest prints a test's docstring in place of its name, so it is asked about a row's other
ids; these are the differences there may be.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from sandbox_gym.verifiers.swe import SweTask, parse_task
from tests.swe.instance import row
from tests.swe_full.judging import DIFFERENCES, Judged, Judging
from tests.swe_full.mutations import mutated
from tests.swe_full.test_rows import ROWS

pytestmark = pytest.mark.anyio
MUTATED = {
    "pathspec__pathspec-0.12.1": 3,
    "pyjwt__pyjwt-2.10.1": 5,
    "jinja2__jinja2-3.1.3": 5,
    "sqlparse__sqlparse-0.5.0": 7,
}
"""Rows whose tests take seconds, and how many mutations of each fix are judged: twenty together."""


class Swebench:
    """The package, in a process of its own: its import takes seconds."""

    def __init__(self) -> None:
        python = os.environ.get("SANDBOX_GYM_TEST_SWEBENCH")
        assert python, "SANDBOX_GYM_TEST_SWEBENCH names no Python; run make test-swe"
        script = Path(__file__).with_name("swebench_grader.py")
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([python, "-W", "ignore", str(script)], stdin=pipe, stdout=pipe, text=True)

    def graded(self, task: SweTask, **found: object) -> dict[str, Any]:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        lists = {"FAIL_TO_PASS": task.fail_to_pass, "PASS_TO_PASS": task.pass_to_pass}
        self.process.stdin.write(json.dumps({**lists, **found}) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        self.process.communicate(timeout=30)


@pytest.fixture(scope="module")
def swebench() -> Iterator[Swebench]:
    made = Swebench()
    yield made
    made.close()


async def differences(
    swebench: Swebench, judging: Judging, task: SweTask, patch: str
) -> tuple[Judged, list[str], list[str]]:
    """What the two say differently of the verdict, and of single tests, which the command runs in another order and
    beside tests that no list has; `judged.grade` is None where the patch did not apply."""
    judged = await judging.judged(task, patch)
    if judged.grade is None:
        return judged, [], []
    theirs = swebench.graded(task, statuses=judged.statuses)
    found = []
    if theirs["resolution"] != judged.grade.resolution:
        found.append(f"on our statuses: {theirs['resolution']}, ours {judged.grade.resolution}")
    if theirs["report"] != {**theirs["report"], **judged.grade.tests_status()}:
        found.append("on our statuses: another list of tests")
    read = swebench.graded(task, log=await judging.log(task, patch), runner=task.runner)
    unread = {test for test in task.ids if " " in test}
    if task.runner == "unittest":
        unread |= set(task.ids) - set(read["statuses"])
        assert len(unread) < len(task.ids), "the log is not read"
    tests = []
    ours = {case.test_id: case.passed for case in judged.grade.cases}
    for group in ("FAIL_TO_PASS", "PASS_TO_PASS"):
        for key, passed in (("success", True), ("failure", False)):
            for test in read["report"][group][key]:
                if test not in unread and ours[test] is not passed:
                    tests.append(
                        f"{task.instance_id} {test}: passed is {passed} by its log, {ours[test]} by our channel"
                    )
    if not unread and read["resolution"] != judged.grade.resolution:
        found.append(f"by its log: {read['resolution']}, ours {judged.grade.resolution}")
    return judged, found, tests


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["instance_id"])
async def test_the_two_agree_on_the_fix(judging: Judging, swebench: Swebench, row: dict[str, object]) -> None:
    task = parse_task(row)
    judged, found, tests = await differences(swebench, judging, task, task.patch)
    assert judged.grade is not None
    assert found + tests == []


@pytest.mark.parametrize("instance_id", MUTATED)
async def test_the_two_agree_on_patches_that_are_nearly_the_fix(
    judging: Judging, swebench: Swebench, data_folder: Path, instance_id: str
) -> None:
    task = parse_task(row(data_folder, instance_id))
    patches = list(islice(mutated(task.patch), MUTATED[instance_id]))
    assert len(patches) == MUTATED[instance_id]
    resolved = []
    for patch in patches:
        judged, found, tests = await differences(swebench, judging, task, patch)
        DIFFERENCES.extend(f"{judging.provider}: {line}" for line in tests)
        assert judged.grade is not None, "a mutation does not apply"
        assert found == [], patch
        resolved.append(judged.grade.resolved)
    assert not all(resolved)


def test_twenty_are_mutated() -> None:
    assert sum(MUTATED.values()) == 20
