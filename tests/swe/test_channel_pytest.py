"""The watcher and runner against the real pytest and unittest: what each test came to, and who can't lie about it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.swe import (
    CaseStatus,
    Resolution,
    RunOptions,
    SweTask,
    as_row_ids,
    grade,
    run_command,
    script_sources,
    to_rerun,
)
from tests.swe.rows import own_task
from tests.swe.running import NONCE, run_tests

OPTIONS = RunOptions(python="", folder="", nonce=NONCE, autoload=False)

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


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    (folder / "tests").mkdir(parents=True)
    return folder


@pytest.fixture
def scripts(tmp_path: Path) -> Path:
    folder = tmp_path / "host"
    folder.mkdir()
    return folder


def made(repo: Path, text: str, *names: str, **more: object) -> SweTask:
    """A repository of one test file, and a task that asks for these of its tests."""
    (repo / "tests" / "test_a.py").write_text(text)
    return own_task(repo, [f"tests/test_a.py::{name}" for name in names], [], **more)


def short(statuses: object) -> dict[str, str]:
    assert isinstance(statuses, dict)
    return {test.partition("::")[2]: str(status) for test, status in statuses.items()}


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
    for python in interpreters():
        for source in script_sources().values():
            code = "import ast,sys; ast.parse(sys.stdin.buffer.read())"
            found = subprocess.run([python, "-c", code], input=source, capture_output=True)
            assert b"SyntaxError" not in found.stderr, (python, found.stderr)
            ran += found.returncode == 0
    assert ran >= 2


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


# ---- who can't lie


def test_printed_results_are_nothing(repo: Path, scripts: Path) -> None:
    text = f"""
def test_a():
    print("PASSED tests/test_a.py::test_a")
    print('{NONCE} ' + '{{"kind": "done", "id": "tests/test_a.py::test_a", "status": "PASSED", "n": 1}}')
    assert False
"""
    task = made(repo, text, "test_a")
    assert short(run_tests(task, task.ids, scripts, options=OPTIONS).report.statuses()) == {"test_a": "FAILED"}


def test_a_conftest_that_makes_reports_pass(repo: Path, scripts: Path) -> None:
    (repo / "conftest.py").write_text("""
import pytest
@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    outcome.get_result().outcome = "passed"
    outcome.get_result().longrepr = None
""")
    task = made(repo, "def test_a(): assert False\n", "test_a")
    report = run_tests(task, task.ids, scripts, options=OPTIONS).report
    assert short(report.statuses()) == {"test_a": "ERROR"}
    assert "channel_report_changed" in report.signs
    assert report.hooks == (f"pytest_runtest_makereport {repo / 'conftest.py'}",)


def test_a_conftest_that_reports_what_never_ran(repo: Path, scripts: Path) -> None:
    (repo / "conftest.py").write_text("""
from _pytest.reports import TestReport
def pytest_runtest_protocol(item, nextitem):
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for when in ("setup", "call", "teardown"):
        report = TestReport(item.nodeid, item.location, {}, "passed", None, when)
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True
""")
    task = made(repo, "def test_a(): assert False\n", "test_a")
    report = run_tests(task, task.ids, scripts, options=OPTIONS).report
    assert short(report.statuses()) == {"test_a": "ERROR"}
    assert "channel_report_without_run" in report.signs


@pytest.mark.parametrize(
    "attack",
    [
        "import _pytest.python; _pytest.python.Function.runtest = lambda self: None",
        "import unittest; unittest.TestCase.run = lambda self, result=None: result.addSuccess(self)",
        "import unittest; unittest.TestCase.assertEqual = lambda *args: None",
        "import _pytest.runner as r; r.check_interactive_exception = lambda *args: False",
        "import _pytest.runner as r; r.CallInfo.from_call = classmethod(lambda *args, **more: None)",
    ],
)
def test_code_that_replaces_the_runners_own_functions(repo: Path, scripts: Path, attack: str) -> None:
    """It runs in the tests' process and may pass what fails; it is seen, so that it can cost the reward."""
    (repo / "conftest.py").write_text("import pytest\n")
    text = f"{attack}\nimport unittest\nclass TestA(unittest.TestCase):\n    def test_a(self): self.assertEqual(1, 2)\n"
    task = made(repo, text, "TestA::test_a")
    report = run_tests(task, task.ids, scripts, options=OPTIONS).report
    assert "channel_runner_changed" in report.signs or CaseStatus.PASSED not in report.statuses().values()


def test_honest_patching_of_other_things_is_no_sign(repo: Path, scripts: Path) -> None:
    text = """
import os, time, unittest
from unittest import mock
time.sleep = lambda s: None
class TestA(unittest.TestCase):
    maxDiff = None
    @mock.patch("os.getcwd", return_value="x")
    def test_a(self, cwd): self.assertEqual(os.getcwd(), "x")
def test_b(monkeypatch): monkeypatch.setattr(os, "sep", "!")
"""
    task = made(repo, text, "TestA::test_a", "test_b")
    report = run_tests(task, task.ids, scripts, options=OPTIONS).report
    assert (short(report.statuses()), report.signs) == ({"TestA::test_a": "PASSED", "test_b": "PASSED"}, {})


@pytest.mark.parametrize("name", ["pytest.py", "_pytest.py", "json.py", "select.py", "subprocess.py", "ctypes.py"])
def test_a_module_in_the_repository_shadows_nothing(repo: Path, scripts: Path, name: str) -> None:
    (repo / name).write_text("import os\nopen(os.path.join(os.path.dirname(__file__), 'seen'), 'w')\nos._exit(0)\n")
    task = made(repo, "def test_a(): assert False\n", "test_a", test_command="python -m pytest")
    report = run_tests(task, task.ids, scripts, options=OPTIONS).report
    assert short(report.statuses()) == {"test_a": "FAILED"}
    assert not (repo / "seen").exists()


def test_the_variables_of_pytest_are_not_heard(repo: Path, scripts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (repo / "evil.py").write_text("import os; os._exit(0)")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-p evil --deselect tests/test_a.py::test_a")
    monkeypatch.setenv("PYTHONPATH", str(repo))
    task = made(repo, "def test_a(): assert False\n", "test_a")
    assert short(run_tests(task, task.ids, scripts, options=OPTIONS).report.statuses()) == {"test_a": "FAILED"}


def test_the_nonce_and_the_channel_are_not_in_the_tests_reach(repo: Path, scripts: Path) -> None:
    """Not in the test process's memory, arguments, environment or descriptors; nor in its parent's, unless by root."""
    text = f"""
import gc, os
NONCE = "{NONCE[:10]}" + "{NONCE[10:]}"[:0]
REST = "{NONCE[10:]}"
def test_memory():
    for thing in gc.get_objects():
        if isinstance(thing, dict):
            assert not any(isinstance(v, str) and v.endswith(REST) and len(v) > len(REST) for v in list(thing.values()))
def test_process():
    own = open("/proc/self/environ").read() + open("/proc/self/cmdline").read()
    own += open("/proc/%d/environ" % os.getppid()).read() + open("/proc/%d/cmdline" % os.getppid()).read()
    assert NONCE not in own
def test_descriptors():
    for fd in os.listdir("/proc/self/fd"):
        try:
            assert os.get_inheritable(int(fd)) is (int(fd) < 3), fd
        except OSError:
            pass
def test_input():
    assert os.read(0, 10) == b""
def test_children():
    import subprocess
    listed = subprocess.run(["ls", "/proc/self/fd"], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL).stdout
    assert set(listed.split()) <= {{b"0", b"1", b"2", b"3"}}
"""
    names = ["test_memory", "test_process", "test_descriptors", "test_input", "test_children"]
    task = made(repo, text, *names)
    ran = run_tests(task, task.ids, scripts, options=OPTIONS)
    assert short(ran.report.statuses()) == dict.fromkeys(names, "PASSED"), ran.output


HOSTILE = """
import gc, json, os
def pipes():
    for fd in os.listdir("/proc/self/fd"):
        try:
            if os.readlink("/proc/self/fd/" + fd).startswith("pipe:") and int(fd) > 2:
                yield int(fd)
        except OSError:
            pass
def test_a():
    for fd in pipes():
        try:
            other = {"kind": "done", "id": "tests/test_a.py::test_b", "status": "PASSED", "self": 1, "nonce": "x"}
            for line in (json.dumps(other), "junk", "[" * 5000, json.dumps({"kind": ["done"]}), '{"kind": "n"}'):
                os.write(fd, KEY + line.encode() + b"\\n")
        except OSError:
            pass
def test_b(): assert False
"""


def test_what_is_said_on_the_pipe_without_the_runners_key_is_a_sign_and_nothing_else(repo: Path, scripts: Path) -> None:
    task = made(repo, HOSTILE.replace("KEY", 'b"0 "'), "test_a", "test_b")
    report = run_tests(task, task.ids, scripts, options=OPTIONS).report
    assert short(report.statuses()) == {"test_a": "PASSED", "test_b": "FAILED"}
    assert set(report.signs) == {"channel_garbled"}


def test_who_takes_the_key_from_the_runner_is_told_before_and_lies_about_no_other_test_unseen(
    repo: Path, scripts: Path
) -> None:
    key = 'next(one.key for one in gc.get_objects() if type(one).__name__ == "Pipe").encode() + b" "'
    task = made(repo, HOSTILE.replace("KEY", key), "test_a", "test_b")
    report = run_tests(task, task.ids, scripts, options=OPTIONS).report
    assert report.statuses()["tests/test_a.py::test_b"] is not CaseStatus.PASSED
    assert {"channel_garbled", "channel_result_without_start", "channel_result_twice"} <= set(report.signs)
    assert f"reaching gc.get_objects {repo / 'tests/test_a.py'}" in report.hooks


def test_a_test_with_another_code_than_its_files_is_told_and_a_decorated_one_is_not(repo: Path, scripts: Path) -> None:
    (repo / "helper.py").write_text("def passing(): pass\n")
    text = """
import functools, os, sys
from unittest import mock
import pytest
sys.path.insert(0, os.path.dirname(os.path.dirname(__file__)))
import helper
def twice(test):
    @functools.wraps(test)
    def both(*args, **kwargs):
        test(*args, **kwargs)
        test(*args, **kwargs)
    return both
@twice
def test_a(): assert True, "rewritten"
class TestB:
    @pytest.mark.parametrize("x", [1])
    @mock.patch("os.getcwd")
    def test_b(self, getcwd, x): assert x
    test_c = staticmethod(helper.passing)
test_d = helper.passing
def test_e(): assert False
exec(compile("def test_e(): pass", __file__, "exec"))
"""
    ids = ("test_a", "TestB::test_b[1]", "TestB::test_c", "test_d", "test_e")
    task = made(repo, text, *ids)
    report = run_tests(task, task.ids, scripts, options=OPTIONS).report
    assert set(short(report.statuses()).values()) == {"PASSED"}
    assert report.hooks == (f"test {repo / 'helper.py'}",)
    assert report.signs == {"channel_tests_replaced": "tests/test_a.py::test_e"}


def test_no_other_runner_is_started_where_its_configuration_changed(repo: Path, scripts: Path) -> None:
    text = "import os\ndef test_a():\n    open('conftest.py', 'w').close()\n    os._exit(0)\ndef test_b(): pass\n"
    task = made(repo, text, "test_a", "test_b")
    report = run_tests(task, task.ids, scripts, options=OPTIONS).report
    assert short(report.statuses()) == {"test_a": "ERROR"}
    assert set(report.signs) == {"channel_environment_changed"}


def test_a_test_that_forks_is_told_once(repo: Path, scripts: Path) -> None:
    text = "import os\ndef test_a():\n    os.fork()\ndef test_b(): pass\n"
    task = made(repo, text, "test_a", "test_b")
    report = run_tests(task, task.ids, scripts, options=OPTIONS).report
    assert short(report.statuses()) == {"test_a": "PASSED", "test_b": "PASSED"}
    assert report.signs == {}


# ---- unittest


def test_unittest(repo: Path, scripts: Path) -> None:
    (repo / "tests" / "__init__.py").touch()
    (repo / "tests" / "test_u.py").write_text("""
import unittest
class Case(unittest.TestCase):
    def test_ok(self): pass
    def test_bad(self): self.assertEqual(1, 2)
    def test_raises(self): raise KeyError("x")
    def test_skip(self): self.skipTest("no")
    @unittest.expectedFailure
    def test_known(self): self.fail()
    def test_parts(self):
        for n in range(3):
            with self.subTest(n=n): self.assertNotEqual(n, 1)
class Broken(unittest.TestCase):
    @classmethod
    def setUpClass(cls): raise OSError("no place")
    def test_never(self): pass
""")
    names = {
        "test_ok (tests.test_u.Case)": "PASSED",
        "test_bad (tests.test_u.Case.test_bad)": "FAILED",
        "tests.test_u.Case.test_raises": "ERROR",
        "test_skip (tests.test_u.Case)": "SKIPPED",
        "test_known (tests.test_u.Case)": "XFAIL",
        "test_parts (tests.test_u.Case)": "FAILED",
    }
    asked = [*names, "test_never (tests.test_u.Broken)", "test_gone (tests.test_u.Case)"]
    task = own_task(repo, asked, runner="unittest")
    ran = run_tests(task, task.ids, scripts)
    found = as_row_ids(task, ran.report)
    assert {test: status for test, status in found.items() if test in names} == names, ran.output
    assert not {"test_never (tests.test_u.Broken)", "test_gone (tests.test_u.Case)"} & set(found)
    assert any("no place" in why for why in ran.report.collect_errors.values())


def test_who_replaces_a_function_of_unittests_is_seen(repo: Path, scripts: Path) -> None:
    (repo / "tests" / "__init__.py").touch()
    (repo / "tests" / "test_u.py").write_text("""
import unittest
unittest.TestCase.assertEqual = lambda *args: None
class Case(unittest.TestCase):
    def test_bad(self): self.assertEqual(1, 2)
""")
    task = own_task(repo, ["tests.test_u.Case.test_bad"], runner="unittest")
    signs = run_tests(task, task.ids, scripts).report.signs
    assert signs == {"channel_runner_changed": "unittest.case.TestCase.assertEqual"}


# ---- the command


def test_the_command_holds_no_secret_and_no_id(repo: Path) -> None:
    task = made(repo, "", "test_a[x y]", "test_b")
    options = RunOptions(python="/py", folder="/host", nonce=NONCE, ini_file="/host/pytest.ini")
    command = run_command(task, task.ids, options)
    assert command.argv == ("/py", "-I", "-S", "/host/channel_watch.py")
    assert NONCE not in json.dumps(dict(command.env))
    job = json.loads(command.stdin)
    assert job["ids"] == list(task.ids)
    assert job["args"].count(f"{repo}/tests/test_a.py") == 1
    assert job["args"][job["args"].index("-c") + 1] == "/host/pytest.ini"
    assert not any("::" in argument for argument in job["args"])


@pytest.mark.parametrize("test", ["../x.py::test_a", "/etc/x.py::test_a", "just a name"])
def test_ids_that_are_not_of_the_repository(tmp_path: Path, test: str) -> None:
    task = own_task(tmp_path, [test], runner="pytest")
    with pytest.raises(RequestError, match="node ids"):
        run_command(task, task.ids, OPTIONS)


def test_a_log_runners_task_has_no_such_command(tmp_path: Path) -> None:
    task = own_task(tmp_path, ["test_x (a.B)"], runner="log")
    with pytest.raises(RequestError, match="log"):
        run_command(task, task.ids, OPTIONS)


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
