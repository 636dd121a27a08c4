"""`verify` on many rows: what it holds does not grow with them."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

from sandbox_gym.limits import MIB
from tests.cli.running import PROGRAM, coding_row, rows_file


def peak_bytes(file: Path, out: Path) -> int:
    """The most memory that one run of the command had, as the kernel counts it (VmHWM), up to a moment before its end.
    rusage would count what this process had when it forked."""
    words = [*PROGRAM, "verify", str(file), "--out", str(out), "--provider", "fake"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak_kib = 0
    while process.poll() is None:
        found = re.search(r"VmHWM:\s*(\d+) kB", Path(f"/proc/{process.pid}/status").read_text())
        peak_kib = max(peak_kib, int(found[1]) if found else 0)
        time.sleep(0.05)
    assert process.returncode == 0
    return peak_kib * 1024


def test_ten_times_the_rows_take_no_more_memory(tmp_path: Path, *, whole: bool) -> None:
    number = 10_000 if whole else 2_500
    filler = "#" * (20_000_000 // number)  # all rows would hold 20 MB, and their answers as much
    rows = [coding_row(f"print({each}) {filler}") for each in range(number)]
    few = peak_bytes(rows_file(tmp_path / "few", list(rows[: number // 10])), tmp_path / "few-out")
    many = peak_bytes(rows_file(tmp_path / "many", list(rows)), tmp_path / "many-out")
    with (tmp_path / "many-out").open("rb") as out:
        assert sum(1 for _ in out) == number
    assert many - few < 5 * MIB, (few, many)
