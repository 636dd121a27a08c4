"""Exit codes as docs/reference/cli.md and --help have them, and errors of one form."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from docs.generate.parts import filled
from sandbox_gym.cli import _app
from tests.cli.running import PROGRAM, coding_row, command, commands, rows_file, said_by


@cache
def page() -> str:
    return filled((Path(__file__).parents[2] / "docs" / "reference" / "cli.md").read_text())


def _names(command: Any, above: str = "") -> Iterator[str]:
    for name, below in command.commands.items():
        if hasattr(below, "commands"):
            yield from _names(below, f"{above}{name} ")
        else:
            yield above + name


COMMANDS = tuple(sorted(_names(get_command(_app))))


def test_help_tells_the_codes() -> None:
    assert {"verify", "doctor", "serve", "pool gc", "swe validate", "images prefetch"} < set(COMMANDS)
    assert re.search(r"Exit codes: 0 .* 1 .* 2 .* 130 ", " ".join(command("--help").stdout.split()))


@pytest.mark.parametrize("name", COMMANDS)
def test_each_has_its_codes_in_help_and_in_the_page(name: str) -> None:
    done = said_by(COMMANDS, "--help")[name]
    assert done.returncode == 0
    assert "Exit: 0" in done.stdout
    assert f"\n### {name}\n" in page()
    options = set(re.findall(r"(?<![-\w])--[a-z][a-z-]+", done.stdout)) - {"--help"}
    section = page().split(f"\n### {name}\n")[1].split("\n### ")[0]
    assert {option for option in options if f"`{option}" not in section and not option.startswith("--no-")} == set()


PRINTS_RESULTS = set(COMMANDS) - {"serve", "completion", "top", "swe template"}  # a server, a script, a picture, a file


@pytest.mark.parametrize("name", sorted(PRINTS_RESULTS))
def test_all_that_prints_results_has_json(name: str) -> None:
    assert "--json" in said_by(COMMANDS, "--help")[name].stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_option_is_wrong_usage(name: str) -> None:
    done = said_by(COMMANDS, "--no-such-option")[name]
    assert (done.returncode, done.stdout, "--no-such-option" in done.stderr) == (2, "", True)


def test_a_process_ends_with_the_code() -> None:
    done = command("verify", "--no-such-option")
    assert (done.returncode, done.stdout, "--no-such-option" in done.stderr) == (2, "", True)


def test_errors_are_one_line_on_stderr(tmp_path: Path) -> None:
    file = rows_file(tmp_path / "rows", [coding_row(), [1]])
    taken = tmp_path / "taken"
    taken.write_text("mine\n")
    expected: dict[tuple[str | Path, ...], str] = {
        ("verify", file, "--out", taken): "--overwrite",
        ("verify", file, "--out", tmp_path / "o", "--resume", "--overwrite"): "exclude",
        ("verify", file, "--out", tmp_path / "o", "--retry-no-verdict"): "--resume",
        ("verify", file, "--out", tmp_path / "no" / "o"): "No such file",
        ("swe", "validate", file): "line 2",
        ("export", "--json"): "--out",
        ("verdicts", "--journal", tmp_path / "none.sqlite"): "none.sqlite",
        ("verdicts", "--since", "soon"): "--since",
        ("doctor", "--provider", "other"): "provider",
    }
    for (words, said), done in zip(expected.items(), commands(list(expected)), strict=True):
        assert (done.returncode, done.stdout) == (2, ""), (words, done)
        assert re.fullmatch(rf"error: .*{said}.*\n", done.stderr), (words, done.stderr)


def test_json_of_each_command(tmp_path: Path) -> None:
    file = rows_file(tmp_path / "rows", [coding_row(), coding_row(expected="2"), "torn"])
    weak = rows_file(tmp_path / "weak", [{**coding_row(), "canonical_solution": "print(2)"}])
    journal, out = tmp_path / "journal.sqlite", tmp_path / "out"
    state = {"SANDBOX_GYM_STATE_DIR": str(tmp_path / "state"), "SANDBOX_GYM_PROVIDER": "local"}
    package = sorted((Path(__file__).parents[2] / "examples" / "packages").iterdir())[0]
    verify, audit, verdicts, export, rejudge, package_import, sweep = commands(
        [
            ("verify", file, "--out", out, "--journal", journal, "--json"),
            ("audit", weak, "--json"),
            ("verdicts", "--json", "--journal", journal),
            ("export", "--json", "--out", tmp_path / "e", "--journal", journal),
            ("rejudge", "--json", "--journal", journal),
            ("import-package", package, "--out", tmp_path / "p", "--json"),
            ("pool", "gc", "--dry-run", "--json"),
        ],
        **state,
    )
    document = json.loads(verify.stdout)
    assert verify.returncode == 1
    assert {name: document[name] for name in ("rows", "passed", "failed", "no_verdict", "invalid", "interrupted")} == {
        "rows": 3, "passed": 1, "failed": {"wrong_answer": 1}, "no_verdict": {}, "invalid": 1, "interrupted": False,
    }  # fmt: skip
    assert 0 < document["p50_s"] <= document["p95_s"]
    document = json.loads(audit.stdout)
    assert (audit.returncode, document["rows"], document["weak"], document["with_solution"]) == (1, 1, 1, 1)
    assert document["severe"][0]["row"] == 0
    assert sorted(json.loads(line)["reward"] for line in verdicts.stdout.splitlines()) == [0.0, 1.0]
    assert json.loads(export.stdout) == {"out": str(tmp_path / "e"), "verdicts": 2, "damaged": []}
    assert [json.loads(line)["agreement"] for line in rejudge.stdout.splitlines()] == ["agrees", "agrees"]
    assert json.loads(package_import.stdout)["tests"] > 0
    assert json.loads(sweep.stdout)["dry_run"] is True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_verify_says_so_and_goes_on_later(tmp_path: Path, number: signal.Signals) -> None:
    slow = coding_row("import time; time.sleep(0.5); print(1)")
    file, out = rows_file(tmp_path / "rows", [slow] * 30), tmp_path / "out"
    words = [*PROGRAM, "verify", str(file), "--out", str(out), "--provider", "local", "--json"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not out.exists() or out.read_bytes().count(b"\n") < 2:
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(number)
    stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 128 + number, stderr
    document = json.loads(stdout)
    answered = out.read_bytes().splitlines()
    assert (document["interrupted"], document["rows"]) == (True, len(answered))
    assert "--resume goes on" in stderr
    assert all(json.loads(line)["reward"] == 1.0 for line in answered)
    rows_file(file, [slow] * len(answered) + [coding_row()] * (30 - len(answered)))
    again = command("verify", file, "--out", out, "--provider", "local", "--resume", "--json")
    assert again.returncode == 0, again.stderr
    document = json.loads(again.stdout)
    assert (document["rows"], document["from_before"]) == (30 - len(answered), len(answered))
    assert sorted(json.loads(line)["row"] for line in out.read_bytes().splitlines()) == list(range(30))


@pytest.mark.parametrize("at_start", [signal.SIG_DFL, signal.SIG_IGN])
def test_other_commands_end_by_ctrl_c_with_130(tmp_path: Path, at_start: signal.Handlers) -> None:
    """SIGINT is ignored at the start of a script's background job."""
    slow = {**coding_row(), "canonical_solution": "import time; time.sleep(9); print(1)"}
    file, out = rows_file(tmp_path / "rows", [coding_row(), *[slow] * 200]), tmp_path / "out"
    words = [*PROGRAM, "audit", str(file), "--provider", "local", "--out", str(out)]
    before = signal.signal(signal.SIGINT, at_start)
    try:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    while not out.exists():  # the first row is through
        assert process.poll() is None
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _stdout, stderr = process.communicate(timeout=100)
    assert process.returncode == 130, stderr
    assert "Traceback" not in stderr


def test_resume_of_another_file_is_refused(tmp_path: Path) -> None:
    file, out = rows_file(tmp_path / "rows", [coding_row()] * 3), tmp_path / "out"
    assert command("verify", file, "--out", out, "--provider", "fake").returncode == 0
    rows_file(file, [coding_row()])
    done = command("verify", file, "--out", out, "--provider", "fake", "--resume")
    assert (done.returncode, "another file" in done.stderr) == (2, True)


def test_rows_without_a_verdict_are_asked_again_when_that_is_wished(tmp_path: Path) -> None:
    file, out = rows_file(tmp_path / "rows", [coding_row()] * 3), tmp_path / "out"
    assert command("verify", file, "--out", out, "--provider", "local").returncode == 0
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    lost = {**lines[1], "mask_sample": True, "reward": 0.0, "failure_kind": "coding:sandbox_lost"}
    out.write_text("".join(json.dumps(line) + "\n" for line in (lines[0], lost, lines[2])) + '{"row": 9')
    plain = command("verify", file, "--out", out, "--provider", "local", "--resume", "--json")
    assert (plain.returncode, json.loads(plain.stdout)["rows"]) == (0, 0)
    again = command("verify", file, "--out", out, "--provider", "local", "--resume", "--retry-no-verdict", "--json")
    assert (again.returncode, json.loads(again.stdout)["rows"]) == (0, 1)
    answered = {json.loads(line)["row"]: json.loads(line) for line in out.read_text().splitlines()}
    assert {row: (each["reward"], each["mask_sample"]) for row, each in answered.items()} == dict.fromkeys(
        range(3), (1.0, False)
    )
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".tmp")] == []
