"""Hostile text on the way to a terminal: out of rows, of boxes, of models."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path

import pytest
import structlog
from rich.console import Console

from sandbox_gym.cli.terminal.screen import log_to_stderr, print_json, visible
from sandbox_gym.observe.sanitize import spelled
from tests.cli.running import Terminal, coding_row, command, rows_file

CLEAR = "\x1b[2J\x1b]0;owned\x07"
HOSTILE = [CLEAR, "\x9b2J", "a\rb", "x\u202ey", "z\u200bw", "\ud800", "b\x08\x7f", "\u2028", "[red]m[/] [/]"]


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_of_it_is_a_command(text: str) -> None:
    console = Console(file=io.StringIO(), force_terminal=True, color_system="truecolor", width=200)
    console.print(visible(text), highlight=False)
    out = console.file.getvalue()  # type: ignore[attr-defined]
    assert out == spelled(text) + "\n"
    assert out.strip("\n").isprintable()


def test_what_is_harmless_stays_as_it_is() -> None:
    assert spelled("Größe 大きさ 😀 [bold] \\n") == "Größe 大きさ 😀 [bold] \\n"
    assert spelled("a\nb\tc") == "a⟨LF⟩b⟨TAB⟩c"
    assert spelled("a\nb\x1b", breaks=True) == "a\nb⟨ESC⟩"


@pytest.mark.parametrize("text", HOSTILE)
def test_json_is_the_same_value_in_harmless_characters(text: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    print_json({"text": text, text: [text]})
    raw = capfdbinary.readouterr().out
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b\u202e\u2028]", raw.decode())
    kept = text.encode("utf-8", "replace").decode() if text != "\ud800" else "\ufffd"
    assert json.loads(raw) == {"text": kept, kept: [kept]}


def test_log_lines_are_words(capsys: pytest.CaptureFixture[str]) -> None:
    before = structlog.get_config()
    try:
        log_to_stderr()
        log_to_stderr()
        structlog.get_logger("t").warning("box_lost", why=CLEAR, box="e\x1bvil")
        assert len([p for p in structlog.get_config()["processors"] if p.__class__.__name__ == "function"]) < 6
    finally:
        structlog.configure(**before)
    said = capsys.readouterr().err
    assert "⟨ESC⟩[2J" in said
    assert "\x1b[2J" not in said
    assert "\x1b]" not in said
    assert "e\x1bvil" not in said


def test_commands_show_hostile_rows_as_text(tmp_path: Path) -> None:
    """On a terminal that takes no colour every ESC would be the row's."""
    evil = f"{CLEAR}[red]x[/]"
    row = {**coding_row("raise SystemExit(3)"), "canonical_solution": f"raise SystemExit('{evil}')", "hash_id": evil}
    row["verifier_metadata"]["unit_tests"]["outputs"] = [evil]  # type: ignore[index]
    weak = {**coding_row(), "canonical_solution": "print(2)", "instance_id": evil}
    file = rows_file(tmp_path / f"rows{CLEAR[:4]}.jsonl", [row, weak, evil])
    out = tmp_path / f"out{CLEAR[:4]}.jsonl"
    for words in (
        ["verify", str(file), "--out", str(out), "--provider", "local"],
        ["verify", str(file), "--out", str(out)],
        ["audit", str(file), "--provider", "local"],
        ["audit", str(file), "--provider", "local", "--json"],
        ["swe", "validate", str(file), "--provider", "local"],
        ["verify", str(tmp_path / f"no{CLEAR}"), "--out", str(out)],
    ):
        terminal = Terminal([sys.executable, "-m", "sandbox_gym", *words], TERM="dumb", NO_COLOR="1")
        shown = terminal.read()
        assert terminal.close() in (1, 2), shown
        assert b"\x1b" not in shown.replace(b"\x1b[?25h", b""), (words, shown)
        assert b"\x07" not in shown


def test_piped_output_has_no_escape_codes(tmp_path: Path) -> None:
    file = rows_file(tmp_path / "rows", [coding_row(), coding_row(expected="2")])
    done = command("verify", file, "--out", tmp_path / "out", "--provider", "local")
    assert (done.returncode, "\x1b" in done.stdout + done.stderr) == (0, False)
    assert re.search(r"^verify: 2 of 2, [0-9.]+/s$", done.stderr, re.M), done.stderr
    assert "wrong_answer" in done.stdout
