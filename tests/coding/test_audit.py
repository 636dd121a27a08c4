"""The audit tells weak rows from sound ones: each row here has the findings that are written beside it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from sandbox_gym.audit.audit import audit_row
from sandbox_gym.config import Settings
from sandbox_gym.engine import Engine
from tests.cli.running import commands

pytestmark = pytest.mark.anyio
DOUBLE = {"inputs": ["1\n", "2\n", "5\n"], "outputs": ["2\n", "4\n", "10\n"]}
CHECK = "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(5) == 10\n"

ROWS: list[tuple[dict[str, object], set[str]]] = [
    ({"unit_tests": DOUBLE}, set()),
    ({"unit_tests": DOUBLE, "gold": "print(int(input()) * 2)"}, set()),
    ({"unit_tests": DOUBLE, "gold": "print(int(input()) + 1)"}, {"gold_fails"}),
    ({"unit_tests": DOUBLE, "gold": "import random\nprint(int(input()) * random.choice([2, 2, 2, 9]))"}, {"gold_f"}),
    ({"unit_tests": {"inputs": ["1\n", "2\n"], "outputs": ["YES\n", "YES\n"]}}, {"constant_passes"}),
    ({"unit_tests": {"inputs": ["a\n", "b\n"], "outputs": ["a\n", "b\n"]}}, {"echo_passes"}),
    ({"unit_tests": {"inputs": ["1\n", "1\n"], "outputs": ["2\n", "3\n"]}}, {"contradiction"}),
    ({"unit_tests": {"inputs": ["1\n"], "outputs": ["2\n"]}}, {"constant_passes", "few_tests"}),
    ({"unit_tests": {"inputs": ["1\n", "2\n"], "outputs": ["\n", "4\n"]}}, {"blank_expected"}),
    ({"unit_tests": {"inputs": [], "outputs": []}}, {"invalid"}),
    ({"unit_tests": DOUBLE, "language": "cobol"}, {"invalid"}),
    ({"unit_tests": DOUBLE, "float_tolerance": 0.05}, {"loose_tolerance"}),
    ({"unit_tests": DOUBLE, "public_tests": DOUBLE}, {"public_is_hidden"}),
    (
        {"unit_tests": {"inputs": ["[1]", "[2]", "[1]"], "outputs": ["1", "2", "1"], "fn_name": "first"}},
        {"duplicate_tests"},
    ),
    (
        {"unit_tests": DOUBLE, "checker": {"type": "program", "source": "import sys\nsys.exit(42)"}},
        {"constant_passes", "echo_passes"},
    ),
    ({"unit_tests": DOUBLE, "checker": {"type": "program", "source": "1 / 0"}}, {"checker_fails"}),
    ({"test": CHECK, "entry_point": "f"}, set()),
    ({"test": "def check(candidate):\n    assert candidate(3) or True\n", "entry_point": "f"}, {"constant", "echo"}),
    ({"test": CHECK + "    assert candidate.__code__\n", "entry_point": "f"}, {"in_process"}),
]


@pytest.mark.parametrize(
    ("metadata", "expected"), ROWS, ids=lambda value: str(sorted(value) if isinstance(value, set) else value)[:40]
)
async def test_findings(engine: Engine, metadata: dict[str, object], expected: set[str]) -> None:
    found = await audit_row(engine, {"verifier_metadata": metadata}, Settings().limits())
    names = {finding.weakness.value for finding in found.findings}
    if expected == {"gold_f"}:  # chance decides which
        assert names <= {"gold_fails", "gold_flaky"}
        return
    assert len(names) == len(expected), found
    assert all(any(name.startswith(wanted) for name in names) for wanted in expected), found


def test_the_command(tmp_path: Path) -> None:
    rows, out = tmp_path / "rows.jsonl", tmp_path / "out.jsonl"
    rows.write_text("".join(json.dumps({"verifier_metadata": row}) + "\n" for row, _ in ROWS[:6]) + "no json\n")
    done = subprocess.run(
        [sys.executable, "-m", "sandbox_gym", "audit", str(rows), "--out", str(out)],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    assert "7 rows" in done.stdout
    told = {line["row"]: line for line in map(json.loads, out.read_text().splitlines())}
    assert set(told) == set(range(7))
    assert [told[row]["weak"] for row in (0, 1, 2, 4, 5, 6)] == [False, False, True, True, True, True]


def test_rows_of_other_kinds_are_named(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"expected_answer": "1"}\n{"FAIL_TO_PASS": ["a"]}\n')
    (done,) = commands([["audit", rows, "--provider", "fake"]], SANDBOX_GYM_STATE_DIR=str(tmp_path / "state"))
    assert done.returncode == 1
    assert "line 1: invalid: row: is one of math; only coding rows are audited: leave it out" in done.stdout
    assert "line 2: invalid: row: is one of swe; only coding rows are audited: `sandbox-gym" in done.stdout
