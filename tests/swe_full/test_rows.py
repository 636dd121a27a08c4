"""Every row: its fix resolves it, nothing does not."""

from __future__ import annotations

import gzip
import json
import os
import time
from pathlib import Path

import pytest

from sandbox_gym.verifiers.swe import CaseStatus, Resolution, parse_task
from tests.swe.instance import DATA_SET, rows
from tests.swe_full.judging import TABLE, Judging

pytestmark = pytest.mark.anyio
DATA = Path(os.environ.get("SANDBOX_GYM_TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))
OWN = sorted(Path(__file__).with_name("data").glob("*.jsonl.gz"))
ROWS = rows(DATA) if (DATA / DATA_SET).exists() else []
ROWS += [json.loads(line) for file in OWN for line in gzip.decompress(file.read_bytes()).splitlines()]


def test_there_are_rows() -> None:
    assert len(ROWS) >= 20
    pythons = {row.get("python") or row["environment"]["python"] for row in ROWS}
    assert pythons == {f"3.{minor}" for minor in range(8, 14)}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["instance_id"])
async def test_the_fix_resolves_and_nothing_does_not(judging: Judging, row: dict[str, object]) -> None:
    task = parse_task(row)
    build_s = (await judging.built(task)).build_s
    gold = await judging.judged(task, task.patch)
    began = time.monotonic()
    empty = await judging.judged(task, "")
    second_s = time.monotonic() - began
    assert gold.grade is not None
    assert empty.grade is not None
    shares = (gold.grade.fail_to_pass, gold.grade.pass_to_pass)
    TABLE.append(
        (
            judging.provider,
            task.instance_id,
            *(gold.grade.resolution, empty.grade.resolution),
            *(f"{share.passed}/{share.total}" for share in shares),
            *(f"{build_s:.1f}", f"{gold.wall_s:.1f}", f"{second_s:.1f}", ", ".join(gold.tamper)),
        )
    )
    assert gold.grade.resolution is Resolution.FULL, gold.grade.reason
    assert gold.tamper == ()
    assert empty.grade.resolution is not Resolution.FULL
    failing = [empty.statuses.get(test, CaseStatus.MISSING) for test in task.fail_to_pass]
    assert CaseStatus.PASSED not in failing
