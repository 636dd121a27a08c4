"""All that watches the tests' process, for either runner; and the runner of unittest's tests. One program with the
files that stand before it, see plugin.py.
"""

DETAIL = 600  # characters of a failure's text
ORDER = ["PASSED", "SKIPPED", "XFAIL", "XPASS", "ERROR", "FAILED"]  # as pytest's -rA lists them: the last one counts
CHECK_S = 0.1  # seconds between two looks at all that is guarded


class Guards:
    """All that watches the tests' process, for either runner."""

    def __init__(self, job, pipe):
        self.pipe, self.workdir = pipe, job["workdir"]
        self.audit = ReflectionAudit(pipe, self.workdir)
        self.baseline = Baseline(self.audit)
        self.sources = Sources(pipe, self.workdir)
        self.tests = TestModules(self.baseline, self.sources, pipe, self.workdir)
        self.origins = Origins(self.baseline, pipe, self.workdir)
        self.events = Events(self.origins)
        self.clock, self.next_check_s = time.monotonic, 0.0
        for teller in self.events.tellers.values():
            self.audit.keep(teller)
        self.audit.listen()

    def begin(self, unittest, pytest=None, files=()):
        """Take what is guarded: no file of the repository was run."""
        self.origins.begin(unittest, pytest)
        self.sources.read_ahead(files)
        rewriting = self.sources.watch_rewriting() if pytest is not None else None
        if rewriting is not None:
            self.audit.keep(rewriting)
        self.baseline.take()
        self.tests.begin()
        for module in list(sys.modules.values()):
            path = module.__dict__.get("__file__") if type(module) is types.ModuleType else ""
            if isinstance(path, str) and in_repository(self.workdir, path):
                self.distrust()
                break

    def distrust(self):
        """Some of the repository's code was first, as where it is a plugin itself: the runner's own files say more."""
        for name, module in list(self.baseline.modules.items()):
            if name.split(".")[0] in ROOTS:
                strange = strange_in(name, module, self.baseline.folders, self.workdir)
                if strange:
                    self.pipe.sign("runner_changed", strange)

    def tell_strange(self, case, path):
        """Report a test of unittest's whose code is not that of the file that its name stands for."""
        method = getattr(type(case), getattr(case, "_testMethodName", ""), None)
        path = path or file_of(case)
        found = self.sources.strange(types.SimpleNamespace(obj=method, path=path))
        if found and found == path:
            self.pipe.sign("tests_replaced", case.id())
        elif in_repository(self.workdir, found):
            self.pipe.tell_once("test", in_repository(self.workdir, found))

    def check(self, final=True):
        self.next_check_s = self.clock() + CHECK_S
        self.baseline.check(final)

    def check_now_and_then(self):
        if self.clock() >= self.next_check_s:
            self.check(final=False)


def telling_result(unittest, pipe, guards):
    """A class of unittest results that tells the watcher of each test."""
    events, state = guards.events, {"at": None, "status": None, "why": ""}

    def note(status, why=""):
        if state["status"] is None or ORDER.index(status) >= ORDER.index(state["status"]):
            state["status"], state["why"] = status, str(why)[-DETAIL:]

    class Result(unittest.TextTestResult):
        def startTest(self, test):
            if state["at"] is None:
                state.update(at=test, status=None, why="no success was told")
                events.begin(test.id(), file_of(test))
                pipe.say(kind="start", id=test.id())
            events.note("startTest", (test,), frame_of(1))
            super().startTest(test)

        def addSuccess(self, test):
            events.note("addSuccess", (test,), frame_of(1))
            super().addSuccess(test)
            if test is state["at"] and events.succeeded():
                note("PASSED")

        def addError(self, test, err):
            super().addError(test, err)
            if state["at"] is not None:
                events.note("addError", (test, err), frame_of(1))
                note("ERROR", err[1])
            else:  # a module's or a class's setup, before any of its tests
                pipe.say(kind="collect", id=str(test), detail=str(err[1])[-DETAIL:])

        def addFailure(self, test, err):
            events.note("addFailure", (test, err), frame_of(1))
            super().addFailure(test, err)
            note("FAILED", err[1])

        def addSkip(self, test, reason):
            super().addSkip(test, reason)
            if state["at"] is not None:
                events.note("addSkip", (test, reason), frame_of(1))
                note("SKIPPED", reason)

        def addExpectedFailure(self, test, err):
            super().addExpectedFailure(test, err)
            note("XFAIL")

        def addUnexpectedSuccess(self, test):
            super().addUnexpectedSuccess(test)
            note("XPASS")

        def addSubTest(self, test, subtest, err):
            super().addSubTest(test, subtest, err)
            if err is not None:
                note("FAILED" if issubclass(err[0], test.failureException) else "ERROR", err[1])

        def stopTest(self, test):
            super().stopTest(test)
            if test is not state["at"]:
                return
            status, state["at"] = state["status"], None
            if status is None:
                pipe.sign("success_missing", test.id() + ": unittest told of no success")
            if events.doubt:
                pipe.sign("success_forged", test.id() + ": " + events.doubt)
            events.leave()
            guards.tests.check_case(test, test.id())
            guards.tests.check(sys.modules.get(type(test).__module__))
            guards.check_now_and_then()
            pipe.say(kind="done", id=test.id(), status=status or "ERROR", detail=state["why"])

    for made in (Result, note):
        guards.audit.keep(made)
    return Result


def file_of(test):
    return str(getattr(sys.modules.get(type(test).__module__), "__file__", ""))


def file_named(workdir, test):
    """The file of the repository that a test's name stands for; empty where there is none."""
    module = workdir + "/" + "/".join(test.split(".")[:-2])
    return next((path for path in (module + ".py", module + "/__init__.py") if os.path.isfile(path)), "")


def cases_in(suite):
    """The tests of a suite of suites."""
    for one in suite:
        if hasattr(one, "__iter__"):
            yield from cases_in(one)
        else:
            yield one


def run_unittest(job, pipe, guards):
    import unittest

    paths = {name: file_named(job["workdir"], name) for name in job["ids"]}
    guards.begin(unittest, files=paths.values())
    result_class = telling_result(unittest, pipe, guards)
    sys.path.insert(0, job["workdir"])
    suite = unittest.TestSuite()
    for name in job["ids"]:
        if name not in job["skip"]:
            suite.addTest(unittest.defaultTestLoader.loadTestsFromName(name))
    guards.check(final=False)
    guards.sources.tell_changed()
    for case in cases_in(suite):
        guards.tests.add(sys.modules.get(type(case).__module__), type(case))
        guards.tell_strange(case, paths.get(case.id(), ""))
    runner = unittest.TextTestRunner(resultclass=result_class, verbosity=0)
    return lambda: 0 if runner.run(suite).wasSuccessful() else 1, guards.check
