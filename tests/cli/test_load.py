"""`load` measures the user's rows with several numbers of sandboxes and says what to set."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.running import coding_row, command, rows_file


def test_a_file_is_measured(tmp_path: Path) -> None:
    rows = rows_file(tmp_path / "rows", [coding_row(f"print({number})", str(number)) for number in range(12)])
    words: list[str | Path] = ["load", rows, "--provider", "local", "--at-once", "1", "--at-once", "2", "--json"]
    done = command(*words, SANDBOX_GYM_STATE_DIR=str(tmp_path / "state"), SANDBOX_GYM_DEADLINE_S="100")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert [step["at_once"] for step in found["steps"]] == [1, 2]
    for step in found["steps"]:
        assert (step["verdicts"], step["masked_share"], step["invalid"]) == (12, 0.0, 0)
        assert 0 < step["p50_s"] <= step["p95_s"]
        assert step["server_cpu_ms_per_verify"] > 0
        assert step["peak_memory_mb_p95"] > 1
    best = max(step["verdicts_per_s"] for step in found["steps"])
    assert found["settings"]["SANDBOX_GYM_BOXES"] == 2
    assert found["settings"]["SANDBOX_GYM_WORKERS"] == 1
    assert 2 <= found["settings"]["SANDBOX_GYM_QUEUE_SIZE"] <= max(2, 50 * best + 1)
