"""Tables on a terminal of 80 columns: what decides is readable, what was left out is named."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli.running import coding_row, commands, rows_file
from tests.packages import write_package


def test_verdicts_on_80_columns(tmp_path: Path) -> None:
    rows, journal = rows_file(tmp_path / "rows", [coding_row(), coding_row(expected="2")]), tmp_path / "j.sqlite"
    kept = ["--journal", str(journal)]
    _, narrow, wide, tampered, plain, states = commands(
        [
            ["verify", rows, "--out", tmp_path / "out", "--provider", "fake", *kept],
            ["verdicts", *kept],
            ["verdicts", "--json", *kept],
            ["verdicts", "--tampered", *kept],
            ["export", *kept],
            ["export", "--states", *kept],
        ],
        COLUMNS="80",
        SANDBOX_GYM_STATE_DIR=str(tmp_path / "state"),
    )
    shown = narrow.stdout.splitlines()
    assert max(map(len, shown)) <= 80
    reasons = {json.loads(line)["failure_reason"] for line in wide.stdout.splitlines()}
    cells = [[cell.strip() for cell in line.strip("│").split("│")] for line in shown if line.startswith("│")]
    columns = list(zip(*cells, strict=True))
    (head,) = [line for line in shown if line.startswith("┃")]
    heads = [name.strip() for name in head.strip("┃").split("┃")]
    assert {"finished", "server", "reward", "reason", "task"} <= set(heads)
    assert "coding" in columns[heads.index("server")]
    said = " ".join(columns[heads.index("reason")])
    assert all(word in said for reason in reasons for word in reason.split() if len(word) < 16)
    assert "Too narrow for" in narrow.stderr
    assert max(map(len, tampered.stdout.splitlines())) <= 80
    assert "states" not in json.loads(plain.stdout.splitlines()[0])
    assert "states" in json.loads(states.stdout.splitlines()[0])


def test_a_packages_submissions_on_80_columns(tmp_path: Path) -> None:
    slow = {"submissions/time_limit_exceeded/one_that_has_a_long_name.py": "while True: pass\n"}
    package = write_package(tmp_path / "package", slow)
    (done,) = commands(
        [["check-package", package, "--provider", "local"]],
        COLUMNS="80",
        SANDBOX_GYM_STATE_DIR=str(tmp_path / "state"),
    )
    shown = [line for line in done.stdout.splitlines() if line.startswith(("┃", "│"))]
    assert max(map(len, shown)) <= 80
    assert [name.strip() for name in shown[0].strip("┃").split("┃")] == [
        *("submission", "expected", "verdict", "reward", "slowest, CPU", "as filed")
    ]
    assert any("TLE" in line and "0.00 s" not in line for line in shown)
