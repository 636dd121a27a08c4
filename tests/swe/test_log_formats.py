"""What test frameworks print: real logs of the tools (make_logs.py) beside what the tools' own reports say of them."""

from __future__ import annotations

import json
import random
import re
import time
from pathlib import Path

import pytest

from sandbox_gym.verifiers.swe.logs.frameworks import READERS, Results, lines_of
from sandbox_gym.verifiers.swe.logs.frameworks.results import CUT_OFF, MAX_LINE, TWICE, UNCOUNTED

LOGS = sorted((Path(__file__).parent / "logs").glob("*/*.log"))
GOOD = {"PASSED", "XFAIL", "SKIPPED"}


def read(name: str, log: str) -> Results:
    return READERS[name](lines_of(log))


def expected(log: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads(log.with_suffix(".json").read_text("utf-8"))
    return found


def test_each_format_has_logs_of_passing_failing_and_crashing_runs() -> None:
    for name in READERS:
        logs = [log for log in LOGS if log.parent.name == name]
        assert len(logs) >= 5, name
        assert {"passing", "failing"} <= {log.stem for log in logs}
        assert {"killed", "crash"} & {log.stem for log in logs} or "abort" in {log.stem for log in logs}


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log.parent.name}-{log.stem}")
def test_a_real_log_is_read_as_its_tool_reports(log: Path) -> None:
    name, text = log.parent.name, log.read_text("utf-8")
    results = read(name, text)
    assert results.statuses == expected(log)
    if log.stem in ("passing", "failing", "coloured"):
        assert not results.signs.keys() - {TWICE}
    assert read(name, text.replace("\n", "\r\n")).statuses == results.statuses
    coloured = "".join(f"\x1b[2K{line}\x1b[0m\n" for line in text.splitlines())
    assert read(name, coloured).statuses == results.statuses


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log.parent.name}-{log.stem}")
def test_what_is_cut_off_passes_nothing_more(log: Path) -> None:
    """Wherever a log ends, a test that passes by what is left of it passes by the whole, or failed later on."""
    text, whole = log.read_text("utf-8"), expected(log)
    for end in sorted({random.Random(log.stem).randrange(len(text) + 1) for _ in range(60)}):
        cut = read(log.parent.name, text[:end]).statuses
        strange = {test for test, status in cut.items() if status in GOOD and test not in whole}
        assert not strange, (end, strange)


KILLED = [log for log in LOGS if log.stem in ("killed", "segfault", "abort", "exit")]


@pytest.mark.parametrize("log", KILLED, ids=lambda log: f"{log.parent.name}-{log.stem}")
def test_a_run_that_was_killed_is_told_from_one_that_ended(log: Path) -> None:
    """Go says what a test that ended its process was; Maven and ctest catch a test's crash."""
    results = read(log.parent.name, log.read_text("utf-8"))
    ended = {"gotest", "gotest_json", "maven", "gradle"} | ({"ctest"} if log.stem != "killed" else set())
    assert (CUT_OFF in results.signs) is (bool(results.statuses) and log.parent.name not in ended)


FORGED: dict[str, tuple[str, str]] = {
    "cargo": ("test forged ... ok\n", "forged"),
    "jest": ("PASS ./forged.js\n  ✓ forged\n\n", "forged.js > forged"),
    "mocha": ("  ✔ forged\n", "forged"),
    "phpunit": ("\nForged (Forged)\n ✔ Forged\n", "Forged > Forged"),
    "rspec": ("\nForged\n  forged\n\n", "Forged > forged"),
    "tap": ("ok 99 - forged\n", "forged"),
    "vitest": (" ✓ forged.js > forged\n", "forged.js > forged"),
    "maven": (
        "[INFO] Tests run: 1, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0 s - in Forged\n",
        "Forged",
    ),
}


@pytest.mark.parametrize("name", sorted(FORGED))
def test_a_pass_that_the_summary_does_not_count_is_told(name: str) -> None:
    """Lines that a program prints as the framework would: the summary is one too few."""
    lines, test = FORGED[name]
    text = (LOGS[0].parent.parent / name / "passing.log").read_text("utf-8")
    first = {"mocha": "  calc\n", "tap": "# Subtest: adds at the top\n", "cargo": "test tests::adds"}.get(name, "")
    log = text.replace(first, lines + first, 1) if first else lines + text
    results = read(name, log)
    assert results.statuses.get(test) == "PASSED"
    assert UNCOUNTED in results.signs


@pytest.mark.parametrize(
    ("name", "log"),
    [
        ("ctest", "      Start  1: adds\n 1/1 Test  #1: adds ....   Passed    0.01 sec\n"
         "1/1 Test #1: forged ...........   Passed    0.00 sec\n100% tests passed, 0 tests failed out of 1\n"),
        ("gradle", "a.A > adds STANDARD_OUT\n    a.A > forged PASSED\n\na.A > adds PASSED\n\nBUILD SUCCESSFUL in 1s"
         "\n"),
        ("jest", "    ✓ forged\nPASS ./a.js\n  ✓ adds\n\n    ✓ forged\nTests:       1 passed, 1 total\n"),
        ("gotest_json", '{"Action":"run","Test":"adds"}\n{"Action":"output","Test":"adds",'
         '"Output":"x --- PASS: forged (0.00s)\\n"}\n{"Action":"pass","Test":"adds"}\n{"Action":"pass"}\n'),
        ("mocha", "\n\n  a\n    ✔ adds\n\n\n  1 passing (5ms)\n  1 failing\n\n  1) b:\n     ✔ forged\n"),
    ],
)  # fmt: skip
def test_what_a_framework_sets_apart_is_no_result(name: str, log: str) -> None:
    results = read(name, log)
    assert [test for test in results.statuses if "forged" in test] == []
    assert len([test for test in results.statuses if test.endswith("adds")]) == 1
    assert not results.signs


RSPEC = (
    "\nQuery\n  .parse\n    keeps signs\n    takes flags\n  names\n\nFinished in 0.1 seconds\n3 examples, 0 failures\n"
)
MOCHA = (
    "\n\n  query\n    ✔ keeps signs\n    deeper\n      ✔ takes flags\n\n  names\n    ✔ many\n\n\n  3 passing (5ms)\n"
)


PRINTED = ["parsing\n", "{\n  a: 1,\n  b: [ 2 ]\n}\n", "\n", "a line\nof several\n"]


@pytest.mark.parametrize(
    ("name", "log", "said"),
    [(name, log, said) for name, log in (("rspec", RSPEC), ("mocha", MOCHA)) for said in PRINTED
     if name == "mocha" or "\n  " not in said],
)  # fmt: skip
def test_what_tests_print_between_lines_is_none(name: str, log: str, said: str) -> None:
    """Before any line of a test. An object's items can't be told from rspec's own examples."""
    own = read(name, log)
    assert (len(own.statuses), own.signs) == (3, {})
    marks = re.compile(r"^ +(?:✔ .*|keeps signs|takes flags)$", re.M)
    found = read(name, marks.sub(lambda line: said + line[0], log))
    assert found.statuses == own.statuses
    assert not found.signs


def test_classes_without_a_namespace_are_suites_of_phpunit() -> None:
    """Behind those with one their own name stands in brackets."""
    log = (
        "\nA (App\\ATest)\n ✔ Adds\n\nQuery\n ✔ Keeps\n ↩ Skipped\n\nTime: 1\n\nTests: 3, Assertions: 2, Skipped: 1.\n"
    )
    found = read("phpunit", log)
    assert found.statuses == {"A > Adds": "PASSED", "Query > Keeps": "PASSED", "Query > Skipped": "SKIPPED"}
    assert not found.signs


def test_of_two_results_the_worse_counts() -> None:
    for order in (("PASS", "FAIL"), ("FAIL", "PASS")):
        log = "".join(f"--- {word}: TestA (0.00s)\n" for word in order) + "FAIL\ta\t0.1s\n"
        results = read("gotest", log)
        assert results.statuses == {"TestA": "FAILED"}
        assert set(results.signs) == {TWICE}


PIECES = (
    "test ", " ... ", "ok", "not ok 1 ", "✓ ", "✔ ", "× ", " > ", "--- PASS: ", "(0.00s)", "=== RUN   ",
    "(", ")",
    "Tests run: 1, ", "Time elapsed: ", " - in ", "[INFO] ", "1/1 Test #1: ", "....", "***Failed", " sec", "\x1b[",
    "\x1b[0;",
    "# SKIP", "# Subtest: ", "  ", " ", "\t", "{", '{"Action":', "[[", "PASS ", "1) ", " passing (", "(PENDING: ",
    "9" * 50,
    "\r", "\u2028", "\0", " (FAILED - ", "1..", "a" * 300, "\x0b", " skipped", "STARTED", "Start  1: ",
)  # fmt: skip


@pytest.mark.parametrize("name", sorted(READERS))
def test_whatever_a_log_holds_it_is_read(name: str) -> None:
    chance = random.Random(name)
    for _ in range(150):
        log = "".join(chance.choice((*PIECES, "\n", "\n")) for _ in range(300))
        results = read(name, log)
        assert set(results.statuses.values()) <= {"PASSED", "FAILED", "SKIPPED", "ERROR", "XFAIL"}
        assert all(test and "\n" not in test for test in results.statuses)


BEGINNINGS = (
    "",
    "  ",
    "1/1 Test #1: ",
    "test ",
    " ✓ a > ",
    "PASS a\n    ✓ ",
    "Running a\n[INFO] ",
    "  g\n    ✔ ",
)
ENDLESS = (
    *PIECES, "test a ... ok, ", "1/1 Test #1: a....", "a (b", "Foo (Bar) ", "a (1 ms) ", "(PENDING: (PENDING: ",
    " ***Failed ",
    "--- PASS: a (0.00s) ", " ✓ a > b 1ms ", " [skipped]", " 5ms", " 1.0 sec", "ok 1 - a # SKIP ",
)  # fmt: skip


@pytest.mark.parametrize("name", sorted(READERS))
def test_long_lines_cost_no_more_than_as_many_characters_in_short_ones(name: str) -> None:
    """A reader that tries again from each place of a line takes thirty times as long for lines thirty times as long."""
    chance = random.Random(name)
    tried = [(beginning, piece) for beginning in BEGINNINGS for piece in ENDLESS]
    for beginning, piece in [*chance.sample(tried, 150), (" ✓ a > ", " 5ms"), ("  ", "(PENDING: ")]:
        long, short = (min(seconds(name, beginning, piece, size) for _ in range(2)) for size in (MAX_LINE - 64, 512))
        if long > 10 * short:
            long, short = (
                min(seconds(name, beginning, piece, size) for _ in range(9)) for size in (MAX_LINE - 64, 512)
            )
        assert long <= 10 * short, (beginning, piece, long, short)


SIZES = (MAX_LINE - 64, 512)


def seconds(name: str, beginning: str, piece: str, size: int) -> float:
    """Of lines of that many characters, 64,000 in all."""
    line = beginning + (piece * size)[: size - len(beginning)] + "\n"
    log = line * (64_000 // size)
    began = time.perf_counter()
    read(name, log)
    return time.perf_counter() - began


def test_a_line_past_the_bound_is_none() -> None:
    end = "--- PASS: TestB (0.00s)\nok  \ta\t0.1s\n--- PASS: TestC (0.0"
    log = f"--- PASS: Test{'A' * MAX_LINE} (0.00s)\n{'x' * 4_000_000}\n{end}"
    assert read("gotest", log).statuses == {"TestB": "PASSED"}


@pytest.mark.parametrize("took", ["(59s)", "(2m)", "(1h)"])
def test_a_run_of_mocha_may_take_minutes(took: str) -> None:
    log = (Path(__file__).parent / "logs" / "mocha" / "failing.log").read_text("utf-8")
    longer = re.sub(r"(?<=passing )\(\d+ms\)|(?<=takes time )\(\d+ms\)", took, log)
    assert longer != log
    found = read("mocha", longer)
    assert found.statuses == expected(Path(__file__).parent / "logs" / "mocha" / "failing.log")
    assert not found.signs


def test_a_time_is_no_part_of_a_tap_name() -> None:
    for log in [log for log in LOGS if log.parent.name == "tap"]:
        text = log.read_text("utf-8")
        timed = re.sub(r"^( *(?:not )?ok \d+ - [^#\n]*)(?<! )$", r"\1 # time=12.3ms", text, flags=re.MULTILINE)
        assert read("tap", timed).statuses == expected(log)
