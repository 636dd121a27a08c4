"""The runner: runs a repository's tests in a box and tells its watcher how each ended. See channel_watch.py.

It imports pytest before the repository's folder is on the path, then runs the repository's own code: from there on a
candidate shares this process and can lie about its own tests, which is why the verdict says `in_process`. What it does
by pytest's own means, hooks that change or invent reports, is seen, and so are functions of the runner's that change.
Lines to the watcher need the runner's key. Nothing here can be imported, and nothing is in the locals of a frame below
the tests': who looks for it among all objects is told of first, by an audit hook, which nothing takes away.
"""

import importlib.util
import json
import os
import sys
import time
import types

DETAIL = 600  # characters of a failure's text
ORDER = ["PASSED", "SKIPPED", "XFAIL", "XPASS", "ERROR", "FAILED"]  # as pytest's -rA lists them: the last one counts
WATCHED_HOOKS = (
    "pytest_runtest_protocol",
    "pytest_runtest_makereport",
    "pytest_runtest_logreport",
    "pytest_pyfunc_call",
    "pytest_runtest_call",
    "pytest_report_teststatus",
)
CHECK_S = 0.1  # seconds between two looks at the functions below


class PytestPlugin:
    """Selects the wanted tests and tells each one's end, from what was raised and from what was reported."""

    def __init__(self, job, pipe, pytest):
        self.pipe, self.pytest = pipe, pytest
        self.wanted = None if job["ids"] is None else set(job["ids"])
        self.prefixes = tuple(job["prefixes"])
        self.skip = set(job["skip"])
        self.raised, self.status, self.detail = {}, {}, {}
        self.code, self.again = {}, False
        self.clock, self.next_check_s = time.monotonic, 0.0
        self.workdir, self.config, self.sources, self.hooks = job["workdir"], None, None, None

    def check(self):
        """Tell what became of the test runner since before any file of the repository was run."""
        self.next_check_s = self.clock() + CHECK_S
        self.tell_hooks()
        place = changed_place(self.code)
        if place:
            self.pipe.say(kind="sign", sign="runner_changed", what=place)
            self.code = {}  # once is enough

    def chosen(self, nodeid):
        if nodeid in self.skip:
            return False
        if self.wanted is None or nodeid in self.wanted:
            return True
        return bool(self.prefixes) and nodeid.startswith(self.prefixes)

    def select(self, config, items):
        left_out = [item for item in items if not self.chosen(item.nodeid)]
        if left_out:
            config.hook.pytest_deselected(items=left_out)
            items[:] = [item for item in items if self.chosen(item.nodeid)]
        self.config, self.sources = config, Sources(config)
        self.tell_hooks()

    def tell_hooks(self):
        """Which files of the repository have a hook on results."""
        for name in WATCHED_HOOKS if self.config else ():
            for impl in getattr(self.config.hook, name).get_hookimpls():
                if impl.plugin is self.hooks:
                    continue
                code = getattr(getattr(impl.function, "__func__", impl.function), "__code__", None)
                path = getattr(impl.plugin, "__file__", None) or getattr(code, "co_filename", "")
                if in_repository(self.workdir, path):
                    self.pipe.tell_once(name, in_repository(self.workdir, path))
                elif path.startswith("<") and not path.startswith("<frozen"):
                    self.pipe.say(kind="sign", sign="runner_changed", what=name + " of " + path)

    def collectreport(self, report):
        if report.failed:
            self.pipe.say(kind="collect", id=report.nodeid, detail=tail(report))

    def logstart(self, nodeid, location):
        self.raised, self.status, self.detail = {}, {}, {}
        self.pipe.say(kind="start", id=nodeid)

    def makereport(self, item, call):
        self.raised[item.nodeid, call.when] = call.excinfo is not None
        if call.when == "teardown":
            return
        if "runtest" in vars(item):
            self.pipe.say(kind="sign", sign="runner_changed", what=item.nodeid + ".runtest")
        path = self.sources.strange(item) if self.sources else ""
        if path and path == str(getattr(item, "fspath", "")):
            self.pipe.say(kind="sign", sign="tests_replaced", what=item.nodeid)
        elif in_repository(self.workdir, path):
            self.pipe.tell_once("test", in_repository(self.workdir, path))

    def logreport(self, report):
        if report.when == "setup":
            self.again = False
        if report.outcome == "rerun":  # by a plugin of the repository's: only the last attempt is the test's end
            self.again = True
            return
        test, status = report.nodeid, status_of(report)
        raised = self.raised.get((test, report.when))
        if raised is None or (raised and report.outcome == "passed"):
            sign = "report_without_run" if raised is None else "report_changed"
            self.pipe.say(kind="sign", sign=sign, what=test + " " + str(report.when))
            status = "ERROR"
        worst = self.status.get(test, "PASSED" if status is None else status)
        self.status[test] = max(worst, status or "PASSED", key=ORDER.index)
        if status not in (None, "PASSED"):
            self.detail[test] = tail(report)

    def logfinish(self, nodeid, location):
        if self.again:
            return
        status = self.status.get(nodeid, "ERROR")
        if self.clock() >= self.next_check_s:
            self.check()
        self.pipe.say(kind="done", id=nodeid, status=status, detail=self.detail.get(nodeid, ""))

    def named(self):
        """An object with pytest's hooks: the marks can only be made where pytest is."""
        mark, plugin = self.pytest.hookimpl, self

        class Hooks:
            @mark(tryfirst=True)
            def pytest_load_initial_conftests(self):
                plugin.code = dict(own_functions())

            @mark(hookwrapper=True, tryfirst=True)
            def pytest_collection_modifyitems(self, config, items):
                yield
                plugin.select(config, items)

            @mark(tryfirst=True)
            def pytest_collectreport(self, report):
                plugin.collectreport(report)

            @mark(tryfirst=True)
            def pytest_runtest_logstart(self, nodeid, location):
                plugin.logstart(nodeid, location)

            @mark(hookwrapper=True, tryfirst=True)
            def pytest_runtest_makereport(self, item, call):
                plugin.makereport(item, call)
                yield

            @mark(trylast=True)
            def pytest_runtest_logreport(self, report):
                plugin.logreport(report)

            @mark(trylast=True)
            def pytest_runtest_logfinish(self, nodeid, location):
                plugin.logfinish(nodeid, location)

        self.hooks = Hooks()
        return self.hooks


def status_of(report):
    """A phase's word in SWE-bench's terms, as pytest's summary has it; None for a phase that says nothing."""
    xfail = hasattr(report, "wasxfail")
    if report.outcome == "failed":
        return "FAILED" if report.when == "call" else "ERROR"
    if report.outcome == "skipped":
        return "XFAIL" if xfail else "SKIPPED"
    if report.when != "call":
        return None
    return "XPASS" if xfail else "PASSED"


def tail(report):
    return str(getattr(report, "longrepr", "") or "")[-DETAIL:]


def run_pytest(job, pipe):
    """The end of the tests: what runs them, for a caller who keeps nothing else in its frame."""
    import pytest  # of the repository's environment, before its own folder is on the path

    args = list(job["args"])
    if importlib.util.find_spec("xdist") and not os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        args.insert(0, "-n0")  # whatever the project's own options say: the tests run in this process, one by one
    if job["prepend_workdir"]:
        sys.path.insert(0, job["workdir"])
    sys.argv = ["pytest", *args]
    plugin = PytestPlugin(job, pipe, pytest)
    named = plugin.named()
    return lambda: int(pytest.main(args, plugins=[named])), plugin.check


def telling_result(unittest, pipe):
    """A class of unittest results that tells the watcher of each test."""

    class Result(unittest.TextTestResult):
        def startTest(self, test):
            self.status, self.why = "PASSED", ""
            pipe.say(kind="start", id=test.id())
            super().startTest(test)

        def note(self, status, why=""):
            if ORDER.index(status) >= ORDER.index(self.status):
                self.status, self.why = status, str(why)[-DETAIL:]

        def addError(self, test, err):
            super().addError(test, err)
            if hasattr(self, "status"):
                self.note("ERROR", err[1])
            else:  # a module's or a class's setup, before any of its tests
                pipe.say(kind="collect", id=str(test), detail=str(err[1])[-DETAIL:])

        def addFailure(self, test, err):
            super().addFailure(test, err)
            self.note("FAILED", err[1])

        def addSkip(self, test, reason):
            super().addSkip(test, reason)
            if hasattr(self, "status"):
                self.note("SKIPPED", reason)

        def addExpectedFailure(self, test, err):
            super().addExpectedFailure(test, err)
            self.note("XFAIL")

        def addUnexpectedSuccess(self, test):
            super().addUnexpectedSuccess(test)
            self.note("XPASS")

        def addSubTest(self, test, subtest, err):
            super().addSubTest(test, subtest, err)
            if err is not None:
                self.note("FAILED" if issubclass(err[0], test.failureException) else "ERROR", err[1])

        def stopTest(self, test):
            super().stopTest(test)
            pipe.say(kind="done", id=test.id(), status=self.status, detail=self.why)
            del self.status

    return Result


def run_unittest(job, pipe):
    import unittest

    before = dict(own_functions())
    result_class = telling_result(unittest, pipe)
    sys.path.insert(0, job["workdir"])
    suite = unittest.TestSuite()
    for name in job["ids"]:
        if name not in job["skip"]:
            suite.addTest(unittest.defaultTestLoader.loadTestsFromName(name))
    runner = unittest.TextTestRunner(resultclass=result_class, verbosity=0)

    def check():
        place = changed_place(before)
        if place:
            pipe.say(kind="sign", sign="runner_changed", what=place)

    return lambda: 0 if runner.run(suite).wasSuccessful() else 1, check


def prepared():
    """What runs the tests, and what is done after them."""
    job = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    pipe = Pipe(job["fd"], job["key"])
    watch_reaching(pipe, job["workdir"])
    sys.modules["__main__"] = types.ModuleType("__main__")
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    tests, check = (run_pytest if job["runner"] == "pytest" else run_unittest)(job, pipe)

    def end(code):
        check()
        pipe.say(kind="end", exit_code=code)
        sys.stdout.flush()
        sys.stderr.flush()
        sys.exit(code)

    return tests, end


def run():
    tests, end = prepared()
    end(tests())


if __name__ == "__main__":
    run()
