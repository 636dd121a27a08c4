"""Rows whose tests a log tells of: which command, which parser, and what its reading is believed for."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sandbox_gym.contract import Outcome, Status
from sandbox_gym.errors import InstanceFailed, RequestError
from sandbox_gym.swe.logs import log_parsers, parser_of, parser_sources
from sandbox_gym.verifiers.swe import (
    COSTLY,
    FRAMEWORKS,
    R2E_PARSER,
    CaseStatus,
    SweTask,
    grade,
    log_command,
    parse_task,
)
from sandbox_gym.verifiers.swe.logs.formats import SWEBENCH_PARSERS
from sandbox_gym.verifiers.swe.logs.verdicts import exit_code, log_script, read_log, reader_run

SCRIPT = "git apply x\n: '>>>>> Start Test Output'\nmake check\n: '>>>>> End Test Output'\ngit checkout y\n"
PATCH = "--- a/tests/admin/tests.py\n+++ b/tests/admin/tests.py\n@@ -1 +1 @@\n-a\n+b\n"


def task(**fields: Any) -> SweTask:
    row = {"instance_id": "django__django-1", "repo": "django/django", "FAIL_TO_PASS": ["test_a (admin.tests.A)"]}
    return parse_task({**row, "test_patch": PATCH, **fields})


def read(parser: str, log: str, folder: Path, **spec: str) -> Any:
    """What the reader says, as it runs in a box."""
    run = reader_run(task(**spec), "marker", parser, parser_sources(parser), home=str(folder), python=sys.executable)
    for name, content in run.program.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return json.loads(subprocess.run(run.program.argv, input=log.encode(), capture_output=True, check=True).stdout)


def test_the_command_is_the_rows_or_swebenchs() -> None:
    assert log_command(task()).endswith("--parallel 1 admin.tests")
    assert "bin/test -C --verbose tests/admin/tests.py" in log_command(task(repo="sympy/sympy"))
    assert log_command(task(eval_script=f"set -uxo pipefail\n{SCRIPT}")) == "set -o pipefail\nmake check"
    assert log_command(task(eval_script=SCRIPT)) == "make check"
    assert log_command(task(install_config={"test_cmd": ["cd src", "make"], "log_parser": "jest"})) == "cd src && make"
    with pytest.raises(RequestError, match="test_command: is missing"):
        log_command(task(repo="a/b", log_parser="parse_log_jest"))


def test_the_parser_is_the_rows_or_its_repositorys() -> None:
    assert parser_of(task()) == "parse_log_django"
    assert parser_of(task(log_parser="parse_log_gotest")) == "parse_log_gotest"
    expected = json.dumps({"test_a": "PASSED"})
    assert parser_of(parse_task({"docker_image": "a/b:c", "expected_output_json": expected})) == R2E_PARSER
    for row in ({"log_parser": "parse_log_nothing"}, {"install_config": {"log_parser": "parse_log_nothing"}}):
        with pytest.raises(RequestError, match=r"parse_log_nothing.*gotest.*parse_log_jest") as caught:
            task(**row)
        assert caught.value.field == ("row.log_parser" if "log_parser" in row else "row.install_config.log_parser")
    with pytest.raises(RequestError, match="has none for repository 'a/b'"):
        parser_of(task(repo="a/b"))


@pytest.mark.parametrize(
    ("parser", "log", "statuses"),
    [
        ("parse_log_django", "test_a (m.A) ... ok\ntest_b (m.A) ... FAIL\ntest_c (m.A) ... skipped 'x'\n",
         {"test_a (m.A)": "PASSED", "test_b (m.A)": "FAILED", "test_c (m.A)": "SKIPPED"}),
        ("parse_log_pytest", "PASSED tests/a.py::test_x\nFAILED tests/a.py::test_y - no\n",
         {"tests/a.py::test_x": "PASSED", "tests/a.py::test_y": "FAILED"}),
        ("parse_log_gotest", "--- PASS: TestA (0.00s)\n--- FAIL: TestB (0.00s)\n",
         {"TestA": "PASSED", "TestB": "FAILED"}),
        (R2E_PARSER, "==== short test summary info ====\nPASSED a/b.py::C::test_x\nFAILED a/b.py::test_y - no\n",
         {"C.test_x": "PASSED", "test_y": "FAILED"}),
    ],
)  # fmt: skip
def test_logs_are_read(parser: str, log: str, statuses: dict[str, str], tmp_path: Path) -> None:
    before = "Checking patch PASSED tests/a.py::test_forged...\n--- PASS: TestForged (0.00s)\n"
    assert read(parser, f"{before}marker\n{log}", tmp_path)["statuses"] == statuses


def test_a_framework_of_ours_is_read_in_the_box_too(tmp_path: Path) -> None:
    log = (Path(__file__).parent / "logs" / "jest" / "failing.log").read_text("utf-8")
    said = read("jest", f"  \u2713 forged\nmarker\n{log}", tmp_path)
    report = read_log(Outcome(Status.OK), Outcome(Status.OK, stdout=json.dumps(said).encode()))
    assert report.statuses()["calc.check.js > calc > adds"] is CaseStatus.PASSED
    assert report.statuses()["calc.check.js > calc > fails (sometimes)"] is CaseStatus.FAILED
    assert (report.signs, report.ran) == ({}, True)
    cut = read("jest", f"marker\n{log[: log.index('Tests:')]}", tmp_path)
    report = read_log(Outcome(Status.OK), Outcome(Status.OK, stdout=json.dumps(cut).encode()))
    assert set(report.signs) == set(report.sightings) == {"log_without_summary"} < COSTLY


@pytest.mark.parametrize(
    ("named", "parser"),
    [("gotest", "gotest"), ("Go-Test", "gotest"), ("go test", "gotest"), ("jest", "jest"), ("mvn", "maven"),
     ("parse_log_jest", "parse_log_jest"), ("ctest", "ctest")],
)  # fmt: skip
def test_a_row_may_name_a_framework(named: str, parser: str) -> None:
    told = task(install_config={"log_parser": named}, repo="a/b")
    assert (told.log_parser, told.runner, parser_of(told)) == (parser, "log", parser)
    assert set(parser_sources(parser)) >= ({"frameworks/results.py"} if parser in FRAMEWORKS else set())


def test_pytest_by_name_is_no_log_where_the_ids_are_its_own() -> None:
    for name in ("pytest", "parse_log_astropy"):
        assert task(repo="a/b", log_parser=name, FAIL_TO_PASS=["tests/a.py::test_a"]).runner == "pytest"


def test_where_absence_passes_a_log_that_shows_a_run_is_enough(tmp_path: Path) -> None:
    """marked's and its like's parsers name failures alone: nothing is named where all tests pass."""
    told = task(repo="markedjs/marked", log_parser="parse_log_marked", FAIL_TO_PASS=["a b"])
    assert told.rule == "fail_only"
    for log, exit_status, resolved in (
        ("12 specs, 0 failures\n", 0, True),
        ("0 specs, 0 failures\n", 0, False),
        ("12 specs, 0 failures\n", 1, False),
        ("1) a b\n12 specs, 1 failure\n", 1, False),
        ("1) another\n12 specs, 1 failure\n", 1, True),
        ("", 0, False),
    ):
        said = read(told.log_parser, f"marker\n{log}", tmp_path, repo="markedjs/marked")
        report = read_log(Outcome(Status.OK), Outcome(Status.OK, stdout=json.dumps(said).encode()))
        graded = grade(told, report.statuses(), exit_code=exit_status, ran=report.ran)
        assert graded.resolved is resolved, (log, exit_status)


def test_what_a_parser_prints_is_not_its_result(tmp_path: Path) -> None:
    assert read("parse_log_maven", "marker\nmvn -Dtest=A\n", tmp_path) == {"statuses": {}, "ran": False}


def test_a_line_is_written_over_as_in_a_file(tmp_path: Path) -> None:
    """swebench reads its log from a file, where a carriage return ends a line."""
    assert read("parse_log_pytest", "marker\n12%\rPASSED a.py::test_x\n", tmp_path)["statuses"]


def test_a_log_without_its_beginning_and_a_parser_that_fails(tmp_path: Path) -> None:
    assert "does not begin" in read("parse_log_pytest", "PASSED tests/a.py::test_x\n", tmp_path)["error"]
    with pytest.raises(subprocess.CalledProcessError):  # no log suits it: not this one's doing
        read("parse_log_jekyll", "marker\nx\n", tmp_path, instance_id="no-number")


def test_every_parser_of_the_registry_can_be_had(tmp_path: Path) -> None:
    known = log_parsers()
    assert known.names == SWEBENCH_PARSERS
    assert len(known.by_repository) > 50
    for name in ("parse_log_cargo", "parse_log_phpunit", "parse_log_maven", "parse_log_vitest"):
        assert name in known.names
        assert read(name, "marker\n", tmp_path) == {"statuses": {}, "ran": False}


def test_the_script_says_the_commands_own_exit_code(tmp_path: Path) -> None:
    script = log_script(task(test_command="echo out; echo err >&2; exit 3"), "marker")
    told = tmp_path / "told"
    with told.open("wb") as file:
        ran = subprocess.run(
            ["/bin/bash", "-c", f'exec 3>&{file.fileno()} "$@"', "x", *script],
            capture_output=True, pass_fds=[file.fileno()], check=True,
        )  # fmt: skip
    assert ran.stdout == b"marker\n++ echo out\nout\n++ echo err\nerr\n++ exit 3\n"
    assert exit_code(told.read_bytes()) == 3
    assert exit_code(b"exit 0\nexit 1\n") == exit_code(b"exit 1\nexit 0\n") == 1, "the answer said one of the two"
    assert exit_code(b"exit 0\nexit x\n") == 1
    assert exit_code(b"5f0c {}\nexit 2\n") == 2
    assert exit_code(b"") is None


def test_what_is_no_reading_passes_nothing() -> None:
    tests = Outcome(Status.OK)
    found = {"a": "PASSED", "b": "NONSENSE", "c": 3, "d": ["PASSED"]}
    said = Outcome(Status.OK, stdout=json.dumps({"statuses": found}).encode())
    assert read_log(tests, said).statuses() == {"a": CaseStatus.PASSED}
    for reading in (Outcome(Status.CPU_TIME_LIMIT), Outcome(Status.OK, stdout=b'{"unreadable": "KeyError: x"}')):
        report = read_log(tests, reading)
        assert (report.statuses(), set(report.signs)) == ({}, {"log_unreadable"})
    many = Outcome(Status.OK, stdout=json.dumps({"statuses": {f"t{n}": "PASSED" for n in range(600_000)}}).encode())
    assert (read_log(tests, many).statuses(), set(read_log(tests, many).signs)) == ({}, {"log_unreadable"})
    assert read_log(Outcome(Status.WALL_TIME_LIMIT), None).crashes == ("wall_time_limit",)


@pytest.mark.parametrize("said", [b"[[" * 10_000, b"[]", b'{"error": "no Python"}', b'{"statuses": 3}', b""])
@pytest.mark.parametrize("status", [Status.OK, Status.RUNTIME_ERROR, Status.START_ERROR, Status.WALL_TIME_LIMIT])
def test_a_reader_that_fails_is_no_verdict(status: Status, said: bytes) -> None:
    with pytest.raises(InstanceFailed, match="can't be read"):
        read_log(Outcome(Status.OK), Outcome(status, stdout=said))
