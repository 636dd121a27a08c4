"""Progress: lines now and then in a file, a bar with rate and time left on a terminal, results untouched by either."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

from rich.console import Console

from sandbox_gym.cli.terminal.progress import PlainLines, progress
from tests.cli.running import PROGRAM, Terminal, coding_row, command, commands, rows_file


def test_plain_lines_come_every_ten_seconds_and_at_the_end() -> None:
    now, told = 100.0, list[str]()
    lines = PlainLines("verify", 8000, told.append, lambda: now)
    for _ in range(25):
        now += 1.0
        lines.advance()
    assert told == ["verify: 10 of 8000, 1.0/s, 2:13:10 left", "verify: 20 of 8000, 1.0/s, 2:13:00 left"]
    lines.end()
    lines.end()
    assert told[2:] == ["verify: 25 of 8000, 1.0/s, 2:12:55 left"]


def test_what_is_done_is_no_markup(tmp_path: Path) -> None:
    for console in (
        Console(file=io.StringIO()),
        Console(file=_Tty(), force_terminal=True, color_system=None, width=90),
    ):
        with progress("[red]a [/]b", 1, console) as advance:
            advance()
        assert "[red]a [/]b" in console.file.getvalue()  # type: ignore[attr-defined]


class _Tty(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_nothing_done_is_nothing_said() -> None:
    told = list[str]()
    PlainLines("verify", 0, told.append).end()
    assert told == []


def test_a_terminal_gets_a_bar_and_a_piped_stdout_only_results(tmp_path: Path) -> None:
    file = rows_file(tmp_path / "rows", [coding_row()] * 30)
    words = " ".join([*PROGRAM, "verify", str(file), "--provider", "fake", "--json", "--out", str(tmp_path / "out")])
    terminal = Terminal(["sh", "-c", f"{words} >{tmp_path}/stdout"], TERM="xterm-256color")
    shown = terminal.read().decode("utf-8", "replace")
    assert terminal.close() == 0, shown
    assert "30/30" in shown
    assert "/s" in shown
    assert "━" in shown
    assert "0:00:00" in shown
    assert json.loads((tmp_path / "stdout").read_text())["rows"] == 30


def test_forced_colour_in_a_file_is_no_terminal(tmp_path: Path) -> None:
    file = rows_file(tmp_path / "rows", [coding_row()])
    done = command("verify", file, "--provider", "fake", "--out", tmp_path / "out", FORCE_COLOR="1", TERM="xterm")
    assert "verify: 1 of 1" in done.stderr
    assert "━" not in done.stderr


def test_every_long_command_shows_it(tmp_path: Path) -> None:
    file = rows_file(tmp_path / "rows", [coding_row()])
    example = sorted((Path(__file__).parents[2] / "examples" / "packages").iterdir())[0]
    journal = tmp_path / "journal.sqlite"
    shown: dict[str, tuple[str | Path, ...]] = {
        "verify": ("verify", file, "--provider", "local", "--out", tmp_path / "out", "--journal", journal),
        "audit": ("audit", file, "--provider", "local"),
        "rejudge": ("rejudge", "--journal", journal),
        "validate": ("swe", "validate", file, "--provider", "local"),
        "prefetch": ("images", "prefetch", file, "--provider", "local"),
        example.name: ("check-package", example, "--provider", "local"),
    }
    said = commands(list(shown.values()), SANDBOX_GYM_STATE_DIR=str(tmp_path / "state"))
    assert said[0].returncode == 0, said[0].stderr
    for name, done in zip(shown, said, strict=True):
        assert f"{name}: " in done.stderr, (name, done.stderr)
        assert "Traceback" not in done.stderr


def test_a_reader_that_leaves_is_no_crash(tmp_path: Path) -> None:
    script = f"{sys.executable} -m sandbox_gym completion bash | head -c 1"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=60)
    assert "Traceback" not in done.stderr
