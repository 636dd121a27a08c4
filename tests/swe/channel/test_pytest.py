"""The runner against the real pytest: what each test came to."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

from sandbox_gym.verifiers.swe import (
    CaseStatus,
    Resolution,
    RunOptions,
    grade,
    script_sources,
    to_rerun,
)
from tests.swe.channel.repository import OPTIONS, made, short
from tests.swe.rows import own_task
from tests.swe.running import NONCE, run_tests

EVERY_END = """
import unittest
import pytest

def test_passes(): pass
def test_fails(): assert 1 == 2, "one is two"
def test_skips(): pytest.skip("not here")
@pytest.mark.skip(reason="never")
def test_marked(): pass
@pytest.mark.xfail
def test_xfail(): assert False
@pytest.mark.xfail
def test_xpass(): pass
@pytest.mark.xfail(strict=True)
def test_strict(): pass

@pytest.fixture
def broken(): raise RuntimeError("setup")
@pytest.fixture
def leaky():
    yield
    raise RuntimeError("teardown")

def test_setup(broken): pass
def test_teardown(leaky): pass
def test_both(leaky): assert False
@pytest.mark.xfail
def test_xfail_then_teardown(leaky): assert False

@pytest.mark.parametrize("text", ["a b", "x::y", "[", "ü", "a/b.py", " - ", "@f"])
def test_odd(text): assert text

class TestGroup:
    def test_in(self): pass

class TestOld(unittest.TestCase):
    def test_old(self): self.assertTrue(True)
    def test_skip(self): raise unittest.SkipTest("no")
    @unittest.expectedFailure
    def test_expected(self): self.fail()
    @unittest.expectedFailure
    def test_unexpected(self): pass
"""
ENDS = {
    "test_passes": "PASSED",
    "test_fails": "FAILED",
    "test_skips": "SKIPPED",
    "test_marked": "SKIPPED",
    "test_xfail": "XFAIL",
    "test_xpass": "XPASS",
    "test_strict": "FAILED",
    "test_setup": "ERROR",
    "test_teardown": "ERROR",
    "test_both": "FAILED",
    "test_xfail_then_teardown": "XFAIL",
    "test_odd[a b]": "PASSED",
    "test_odd[x::y]": "PASSED",
    "test_odd[[]": "PASSED",
    "test_odd[\\xfc]": "PASSED",
    "test_odd[a/b.py]": "PASSED",
    "test_odd[ - ]": "PASSED",
    "test_odd[@f]": "PASSED",
    "TestGroup::test_in": "PASSED",
    "TestOld::test_old": "PASSED",
    "TestOld::test_skip": "SKIPPED",
    "TestOld::test_expected": "XFAIL",
    "TestOld::test_unexpected": "FAILED",
}


def test_every_way_to_end(repo: Path, scripts: Path) -> None:
    task = made(repo, EVERY_END, *ENDS)
    ran = run_tests(task, task.ids, scripts, options=OPTIONS)
    assert short(ran.report.statuses()) == ENDS, ran.output
    assert ran.report.complete
    assert ran.report.signs == {}
    assert ran.report.rounds == 1
    assert "one is two" in ran.report.cases["tests/test_a.py::test_fails"].detail


def interpreters() -> list[str]:
    """Every Python of this machine that pytest could be installed for; the one at work always."""
    found = [shutil.which(f"python3.{minor}") for minor in range(6, 15)]
    return [path for path in found if path is not None]


def test_the_script_compiles_with_every_python_here(scripts: Path) -> None:
    ran = 0
    code = "import ast,json,sys; [ast.parse(one) for one in json.load(sys.stdin)]"
    sources = json.dumps([source.decode() for source in script_sources().values()])
    for python in interpreters():
        found = subprocess.run([python, "-c", code], input=sources, capture_output=True, text=True)
        assert "SyntaxError" not in found.stderr, (python, found.stderr)
        ran += found.returncode == 0
    assert ran >= 1


def test_only_the_wanted_run_and_a_missing_one_hurts_no_other(repo: Path, scripts: Path) -> None:
    task = made(repo, EVERY_END, "test_passes", "test_not_there", "TestGroup::test_in")
    ran = run_tests(task, task.ids, scripts, options=OPTIONS)
    assert short(ran.report.statuses()) == {"test_passes": "PASSED", "TestGroup::test_in": "PASSED"}
    graded = grade(task, ran.report.statuses())
    assert graded.resolution is Resolution.PARTIAL
    assert [case.status for case in graded.cases] == ["PASSED", "MISSING", "PASSED"]


def test_whole_files(repo: Path, scripts: Path) -> None:
    task = made(repo, "def test_a(): pass\ndef test_b(): pass\n", "test_b")
    whole = RunOptions(python="", folder="", nonce=NONCE, autoload=False, whole_files=True)
    assert short(run_tests(task, task.ids, scripts, options=whole).report.statuses()) == {
        "test_a": "PASSED",
        "test_b": "PASSED",
    }


def test_a_broken_module_costs_only_its_own_tests(repo: Path, scripts: Path) -> None:
    (repo / "tests" / "test_b.py").write_text("import nothing_of_that_name\ndef test_b(): pass\n")
    (repo / "tests" / "test_a.py").write_text("def test_a(): pass\n")
    task = own_task(repo, ["tests/test_a.py::test_a", "tests/test_b.py::test_b"])
    report = run_tests(task, task.ids, scripts, options=OPTIONS).report
    assert report.statuses() == {"tests/test_a.py::test_a": "PASSED"}
    assert "nothing_of_that_name" in report.collect_errors["tests/test_b.py"]


def test_a_hang_costs_only_itself(repo: Path, scripts: Path) -> None:
    """Also one that ignores signals in C code that never looks at them."""
    text = """
import signal, time
def test_before(): pass
def test_hangs():
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM, signal.SIGALRM, signal.SIGINT])
    time.sleep(600)
def test_after(): pass
"""
    task = made(repo, text, "test_before", "test_hangs", "test_after", timeout_s=1)
    report = run_tests(task, task.ids, scripts, options=OPTIONS).report
    assert short(report.statuses()) == {"test_before": "PASSED", "test_hangs": "TIMEOUT", "test_after": "PASSED"}
    assert report.complete
    assert report.rounds == 2
    assert report.cases["tests/test_a.py::test_hangs"].wall_time_s >= 1


def test_the_clock_tells_who_waited_from_who_slept(repo: Path, scripts: Path) -> None:
    """What a test started waits, too."""
    text = """
import os, subprocess, sys, time
SPIN = [sys.executable, "-c", "while True: pass"]
def test_sleeps():
    time.sleep(600)
def test_waits():
    crowd = [subprocess.Popen(SPIN) for _ in range(4 * os.cpu_count())]
    time.sleep(600)
"""
    task = made(repo, text, "test_sleeps", "test_waits", timeout_s=2)
    cases = run_tests(task, task.ids, scripts, options=OPTIONS).report.cases
    slept, waited = (cases[f"tests/test_a.py::{name}"] for name in ("test_sleeps", "test_waits"))
    assert slept.status is waited.status is CaseStatus.TIMEOUT
    assert waited.waited_s > slept.waited_s


def test_a_killed_process_costs_only_its_test(repo: Path, scripts: Path) -> None:
    text = "import os\ndef test_a(): pass\ndef test_b(): os._exit(0)\ndef test_c(): pass\n"
    task = made(repo, text, "test_a", "test_b", "test_c")
    report = run_tests(task, task.ids, scripts, options=OPTIONS).report
    assert short(report.statuses()) == {"test_a": "PASSED", "test_b": "ERROR", "test_c": "PASSED"}


def test_a_process_that_ends_in_collection_passes_nothing(repo: Path, scripts: Path) -> None:
    task = made(repo, "import os\nos._exit(0)\ndef test_a(): pass\n", "test_a")
    report = run_tests(task, task.ids, scripts, options=OPTIONS).report
    assert report.statuses() == {}
    assert not report.complete
    assert report.crashes
    assert not report.lost


def test_time_for_all_is_bounded(repo: Path, scripts: Path) -> None:
    text = "import time\n" + "".join(f"def test_{n}(): time.sleep(0.4)\n" for n in range(20))
    task = made(repo, text, *(f"test_{n}" for n in range(20)), run_timeout_s=2)
    report = run_tests(task, task.ids, scripts, options=OPTIONS).report
    statuses = set(report.statuses().values())
    assert not report.complete
    assert statuses <= {CaseStatus.PASSED, CaseStatus.TIMEOUT}
    assert len(report.cases) < 20


def test_a_flake_is_run_again_and_both_are_told(repo: Path, scripts: Path) -> None:
    text = """
import pathlib
mark = pathlib.Path(__file__).with_name("ran")
def test_fix(): pass
def test_flaky():
    first = not mark.exists()
    mark.touch()
    assert not first
"""
    task = made(repo, text, "test_fix")
    task = own_task(repo, ["tests/test_a.py::test_fix"], ["tests/test_a.py::test_flaky"])
    after = run_tests(task, task.ids, scripts, options=OPTIONS).report.statuses()
    assert grade(task, after).resolution is Resolution.NO
    again = run_tests(task, to_rerun(task, after), scripts, options=OPTIONS).report.statuses()
    graded = grade(task, after, rerun=again)
    assert graded.resolved
    flaky = graded.cases[1]
    assert (flaky.status, flaky.rerun, flaky.flaky) == (CaseStatus.FAILED, CaseStatus.PASSED, True)


def test_a_plugin_that_runs_failures_again(repo: Path, scripts: Path) -> None:
    """As pytest-rerunfailures does: attempts that are reported as `rerun`, then the one that counts."""
    (repo / "conftest.py").write_text("""
from _pytest.runner import runtestprotocol
def pytest_runtest_protocol(item, nextitem):
    for attempt in range(3):
        item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        reports = runtestprotocol(item, nextitem=nextitem, log=False)
        failed = any(report.failed for report in reports) and attempt < 2
        for report in reports:
            if failed and report.failed:
                report.outcome = "rerun"
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
        if not failed:
            break
    return True
""")
    text = "runs = []\ndef test_a():\n    runs.append(1)\n    assert len(runs) > 1\ndef test_b(): assert False\n"
    task = made(repo, text, "test_a", "test_b")
    report = run_tests(task, task.ids, scripts, options=OPTIONS).report
    assert short(report.statuses()) == {"test_a": "PASSED", "test_b": "FAILED"}
    assert report.signs == {}
