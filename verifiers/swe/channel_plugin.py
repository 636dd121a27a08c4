"""Runs a repository's tests in a box and tells how each ended, on a channel that is not the tests' own output.

This file is text to us: it is put into a folder of the box that no candidate can write, and started as a script there,
by the interpreter that the repository is installed for. It needs Python 3.6, imports nothing of ours, and is two
programs in one. The *watcher* reads the job from its standard input, keeps the nonce and the channel to itself, and
never imports a line of the repository. It starts the *runner*, a second interpreter that is told neither, and that
imports pytest before the repository's folder is on its path. The runner says on a pipe which test begins and how it
ended; the watcher has the clock: a test that takes too long is killed with its process, and the rest go on in another.

On the channel: lines of the nonce, a blank and a JSON object. channel.py is the other end and has their meaning.
A candidate in the runner's process can lie about its own tests; that is why the verdict says `in_process`.
"""

import contextlib
import ctypes
import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
import time

DETAIL = 600  # characters of a failure's text
ID = 1 << 15  # characters of a test's id
LINE = 1 << 16  # bytes read at once from the runner
FIELDS = frozenset(["kind", "id", "status", "detail", "sign", "what", "hook", "file"])  # of its lines
PR_SET_DUMPABLE = 4
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
GUARDED = (
    "_pytest.runner",
    "_pytest.python",
    "_pytest.reports",
    "_pytest.unittest",
    "_pytest.skipping",
    "unittest.case",
)


# ---- the watcher


class Channel:
    """The lines that the judge reads."""

    def __init__(self, fd, nonce):
        self.fd, self.nonce, self.lines = fd, nonce, 0

    def say(self, **line):
        line["n"] = self.lines
        self.lines += 1
        data = (self.nonce + " " + json.dumps(line) + "\n").encode("ascii")
        while data:
            data = data[os.write(self.fd, data) :]


class Watch:
    """What is known of the tests so far. `wanted` maps the runner's ids to the row's, or is None for all."""

    def __init__(self, job, channel):
        self.job, self.channel = job, channel
        self.end_s = time.monotonic() + job["run_time_s"]
        self.done = set()
        self.current, self.began_s, self.ended = None, 0.0, False

    def deadline_s(self):
        limit = self.job["test_time_s"] if self.current is not None else self.job["collect_time_s"]
        return min(self.end_s, self.began_s + limit)

    def take(self, line):
        """One line of the runner's; what is no such line is told and otherwise ignored."""
        try:
            said = {key: str(value) for key, value in json.loads(line.decode("utf-8")).items() if key in FIELDS}
        except (ValueError, AttributeError, RecursionError):
            said = {}
        kind, test = said.get("kind"), said.get("id", "")[:ID]
        if kind == "start":
            self.current, self.began_s = test, time.monotonic()
        elif kind == "done":
            self.finish(test, said.get("status"), said.get("detail", ""))
        elif kind == "end":
            self.ended = True
        elif kind in ("collect", "sign", "hook"):
            self.channel.say(**{key: value[:ID] for key, value in said.items()})
        else:
            self.channel.say(kind="sign", sign="garbled", what=repr(line[:80]))

    def finish(self, test, status, detail):
        if test != self.current:
            self.channel.say(kind="sign", sign="result_without_start", what=test)
            status = "ERROR"
        wall_s = time.monotonic() - self.began_s
        self.done.add(test)
        self.channel.say(kind="done", id=test, status=status, detail=detail[:DETAIL], wall_s=round(wall_s, 4))
        self.current, self.began_s = None, time.monotonic()


def watch_all(job, channel):
    """Runners, one after the other, until one of them came to its end or no test is left to blame."""
    state = Watch(job, channel)
    rounds, code = 0, None
    while rounds <= job["restarts"]:
        rounds += 1
        blamed, code = watch_one(job, state)
        if not blamed or state.ended or time.monotonic() >= state.end_s:
            break
    channel.say(kind="end", complete=state.ended, exit_code=code, rounds=rounds, tests=len(state.done))


def watch_one(job, state):
    """One runner; whether a test is to blame that it did not come to its end, and the exit code."""
    read_end, write_end = os.pipe()
    os.set_inheritable(write_end, True)
    told = dict(job, skip=sorted(state.done), fd=write_end)
    told.pop("nonce")
    argv = [sys.executable, *job["interpreter_flags"], os.path.abspath(__file__), "--run"]
    runner = subprocess.Popen(
        argv, stdin=subprocess.PIPE, pass_fds=[write_end], cwd=job["workdir"], start_new_session=True
    )
    os.close(write_end)
    state.current, state.began_s = None, time.monotonic()
    try:
        with contextlib.suppress(OSError):  # it may have ended by now; then its exit code says so
            runner.stdin.write(json.dumps(told).encode("utf-8"))
            runner.stdin.close()
        late = listen(read_end, state)
    finally:
        os.close(read_end)
        if not state.ended:
            kill(runner)
    try:
        runner.wait(timeout=10)
    except subprocess.TimeoutExpired:  # its threads or its exit handlers hang; all its tests are told
        kill(runner)
        runner.wait()
    if state.ended:
        return False, runner.returncode
    return blame(state, late, runner.returncode), runner.returncode


def kill(runner):
    with contextlib.suppress(OSError):
        os.killpg(runner.pid, signal.SIGKILL)


def listen(fd, state):
    """Take lines until the runner's end or the end of its pipe; true when time was up first."""
    held = b""
    while not state.ended:
        left_s = state.deadline_s() - time.monotonic()
        if left_s <= 0:
            return True
        if not select.select([fd], [], [], left_s)[0]:
            continue
        data = os.read(fd, LINE)
        if not data:
            return False
        *lines, held = (held + data).split(b"\n")
        for line in lines:
            state.take(line)
        if len(held) > 16 * LINE:
            state.channel.say(kind="sign", sign="garbled", what="an endless line")
            held = b""
    return False


def blame(state, late, code):
    """The test at work when the runner was lost is told and left out of the next; false where there was none."""
    if state.current is None:
        why = "collection took too long" if late else "the test process ended with %s" % code
        state.channel.say(kind="crash", detail=why)
        return False
    if late:
        state.finish(state.current, "TIMEOUT", "took too long")
    else:
        state.finish(state.current, "ERROR", "the test process ended with %s" % code)
    return True


def watch():
    job = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    with contextlib.suppress(OSError, AttributeError):  # no libc to ask: the nonce is then as safe as its process
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)  # no other process of this user reads our memory or fds
    fd = os.dup(job["channel_fd"])  # above, closed on exec
    os.close(job["channel_fd"])
    channel = Channel(fd, job["nonce"])
    channel.say(kind="begin", python="%d.%d.%d" % sys.version_info[:3])
    watch_all(job, channel)


# ---- the runner


class Pipe:
    """The watcher's ear; no child of a test inherits it."""

    def __init__(self, fd):
        self.fd, self.pid = os.dup(fd), os.getpid()
        os.close(fd)

    def say(self, **line):
        if os.getpid() != self.pid:
            return  # a test forked and its child goes on as if it were pytest
        data = (json.dumps(line) + "\n").encode("ascii")
        while data:
            data = data[os.write(self.fd, data) :]


def own_functions():
    """The code of each function that the test runner's modules define themselves, by where it is."""
    for name in GUARDED:
        module = sys.modules.get(name)
        for key, value in list(vars(module).items()) if module else ():
            if getattr(value, "__module__", None) != name:
                continue
            if not isinstance(value, type):
                yield name + "." + key, getattr(value, "__code__", value)
                continue
            for method, found in list(vars(value).items()):
                found = getattr(found, "__func__", found)
                if hasattr(found, "__code__"):
                    yield name + "." + key + "." + method, found.__code__


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

    def check(self):
        """Tell what became of the test runner since before any file of the repository was run."""
        self.next_check_s = self.clock() + CHECK_S
        now = dict(own_functions())
        for place, code in self.code.items():
            if now.get(place) is not code:
                self.pipe.say(kind="sign", sign="runner_changed", what=place)
                self.code = {}  # once is enough
                return

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
        for name in WATCHED_HOOKS:
            for impl in getattr(config.hook, name).get_hookimpls():
                path = getattr(impl.plugin, "__file__", None) or ""
                if os.path.basename(path) == "conftest.py":
                    self.pipe.say(kind="hook", hook=name, file=path)

    def collectreport(self, report):
        if report.failed:
            self.pipe.say(kind="collect", id=report.nodeid, detail=tail(report))

    def logstart(self, nodeid, location):
        self.raised, self.status, self.detail = {}, {}, {}
        self.pipe.say(kind="start", id=nodeid)

    def makereport(self, item, call):
        self.raised[item.nodeid, call.when] = call.excinfo is not None

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

        return Hooks()


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
    import pytest  # of the repository's environment, before its own folder is on the path

    args = list(job["args"])
    if importlib.util.find_spec("xdist") and not os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        args.insert(0, "-n0")  # whatever the project's own options say: the tests run in this process, one by one
    if job["prepend_workdir"]:
        sys.path.insert(0, job["workdir"])
    sys.argv = ["pytest", *args]
    plugin = PytestPlugin(job, pipe, pytest)
    code = int(pytest.main(args, plugins=[plugin.named()]))
    plugin.check()
    return code


def run_unittest(job, pipe):
    import unittest

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

    sys.path.insert(0, job["workdir"])
    suite = unittest.TestSuite()
    for name in job["ids"]:
        if name not in job["skip"]:
            suite.addTest(unittest.defaultTestLoader.loadTestsFromName(name))
    result = unittest.TextTestRunner(resultclass=Result, verbosity=0).run(suite)
    return 0 if result.wasSuccessful() else 1


def run():
    job = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    pipe = Pipe(job["fd"])
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    sys.path[:] = [entry for entry in sys.path if entry != os.path.dirname(os.path.abspath(__file__))]
    code = (run_pytest if job["runner"] == "pytest" else run_unittest)(job, pipe)
    pipe.say(kind="end", exit_code=code)
    sys.stdout.flush()
    sys.stderr.flush()
    sys.exit(code)


if __name__ == "__main__":
    (run if sys.argv[1:] == ["--run"] else watch)()
