"""On a starved machine no right answer fails. SANDBOX_GYM_TEST_LOAD_MINUTES says how long (10 unless set)."""

from __future__ import annotations

import os
import sys

import pytest

from benchmarks.load import under_load

MINUTES = float(os.environ.get("SANDBOX_GYM_TEST_LOAD_MINUTES", "10"))
PER_CORE = int(os.environ.get("SANDBOX_GYM_TEST_LOAD_PER_CORE", "40"))
MASKED = 0.02


@pytest.mark.extended
@pytest.mark.timeout(60 * MINUTES + 1200)
def test_no_right_answer_fails_where_forty_processes_want_each_core() -> None:
    report = under_load(MINUTES, PER_CORE, seed=1)
    sys.stderr.write("\n".join(["", *report.lines(), ""]))
    assert report.failed == []
    assert report.praised == []
    assert report.right.total() > 0
    assert report.masked_share <= MASKED
