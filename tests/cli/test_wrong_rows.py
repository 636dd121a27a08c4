"""What is wrong with a row stands on the screen, with the line of the file that an editor shows."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import threading
from pathlib import Path

import pytest

from tests.cli.running import PROGRAM, coding_row, commands

TESTS = coding_row()["verifier_metadata"]
LINES = [
    json.dumps(coding_row()),
    json.dumps({"answer": 5, "verifier_metadata": TESTS}),
    "",
    "nonsense",
    "[1]",
    json.dumps({"verifier_metadata": TESTS}),
    json.dumps({"answer": "x"}),
    json.dumps({"answer": "x", "verifier_metadata": 7}),
]


def test_rows_that_are_none(tmp_path: Path) -> None:
    rows, empty, binary, whole = (tmp_path / name for name in ("rows", "empty", "binary", "whole"))
    rows.write_text("\n".join(LINES) + "\n")
    empty.write_text("\n")
    binary.write_bytes(bytes(range(256)) * 8)
    whole.write_text(json.dumps([coding_row()], indent=1))
    out = tmp_path / "out"
    given: tuple[str | Path, ...] = ("--out", out, "--overwrite", "--provider", "fake")
    screen, document, nothing, noise, pretty, audit, audit_json, no_audit = commands(
        [
            ["verify", rows, *given],
            ["verify", rows, "--json", *given],
            ["verify", empty, *given],
            ["verify", binary, *given],
            ["verify", whole, *given],
            ["audit", rows, "--provider", "fake"],
            ["audit", rows, "--provider", "fake", "--json"],
            ["audit", empty, "--provider", "fake"],
        ],
        COLUMNS="80",
        SANDBOX_GYM_STATE_DIR=str(tmp_path / "state"),
    )
    assert screen.returncode == 1
    for said in (
        "line 2: answer: is 5; it must be a valid string",
        "line 4: body: is not JSON (Expecting value, column 1)",
        "line 5: body: is JSON, but no object",
        "line 6: response: is missing",
        "line 7: verifier_metadata.unit_tests",
        f"... and 1 more invalid rows: {out}",
    ):
        assert f"\n{said}" in screen.stdout
    assert "JSON lines" not in screen.stdout
    told = json.loads(document.stdout)["invalid_rows"]
    assert [(each["row"], each["line"]) for each in told] == [(row, row + 1) for row in (1, 3, 4, 5, 6, 7)]
    assert told[0]["reason"].startswith("answer: is 5; it must be a valid string")
    for done in (nothing, no_audit):
        assert (done.returncode, "has no rows" in done.stderr) == (2, True)
    for done in (noise, pretty):
        assert (done.returncode, "must be JSON lines" in done.stdout) == (1, True)
    assert audit.returncode == 1
    assert "4 invalid" in audit.stdout
    assert "\nline 4: invalid: body: is not JSON" in audit.stdout
    sums = json.loads(audit_json.stdout)
    assert (sums["rows"], sums["invalid"]) == (7, 4)
    assert {(each["row"], each["line"]) for each in sums["severe"]} >= {(3, 4), (7, 8)}


@pytest.mark.parametrize("source", ["/dev/stdin", "packed", "pipe"])
def test_rows_of_a_pipe_and_packed_ones(tmp_path: Path, source: str) -> None:
    """What gives its lines only once is all read, though they are counted first."""
    text = "".join(json.dumps(coding_row()) + "\n" for _ in range(3)).encode()
    if source == "packed":
        (tmp_path / source).write_bytes(gzip.compress(text))
    elif source == "pipe":
        os.mkfifo(tmp_path / source)
        threading.Thread(target=(tmp_path / source).write_bytes, args=(text,), daemon=True).start()
    file = source if source.startswith("/") else str(tmp_path / source)
    out = tmp_path / "out"
    done = subprocess.run(
        [*PROGRAM, "verify", file, "--out", out, "--provider", "fake"],
        input=text,
        capture_output=True,
        env={**os.environ, "SANDBOX_GYM_STATE_DIR": str(tmp_path / "state")},
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert len(out.read_bytes().splitlines()) == 3


def test_a_packed_file_that_is_not_whole(tmp_path: Path) -> None:
    rows = tmp_path / "rows.gz"
    rows.write_bytes(gzip.compress(json.dumps(coding_row()).encode() * 50)[:-30])
    [said] = commands([["verify", rows, "--out", tmp_path / "out", "--provider", "fake"]])
    assert (said.returncode, "is packed by gzip, but not whole" in said.stderr) == (2, True), said
