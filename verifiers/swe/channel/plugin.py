"""The runner: runs a repository's tests in a box and reports to its watcher how each ended. See watch.py.

It imports pytest before the repository's folder is on the path, then runs the repository's own code: from there on a
candidate shares this process and can lie about its own tests, which is why the verdict says `in_process`. What it does
by pytest's own means, hooks that change or invent reports, is seen, and so are functions of the runner's that change.
Lines to the watcher need the runner's key. Nothing here can be imported, and nothing is in the locals of a frame below
the tests': code that looks for it among all objects is reported first, by an audit hook, which can't be removed.
"""

WATCHED_HOOKS = (
    "pytest_runtest_protocol",
    "pytest_runtest_makereport",
    "pytest_runtest_logreport",
    "pytest_pyfunc_call",
    "pytest_runtest_call",
    "pytest_report_teststatus",
)


class PytestPlugin:
    """Selects the wanted tests and reports each one's end, from what was raised and from what was reported."""

    def __init__(self, job, pipe, pytest, guards):
        self.pipe, self.pytest, self.guards = pipe, pytest, guards
        self.wanted = None if job["ids"] is None else set(job["ids"])
        self.prefixes = tuple(job["prefixes"])
        self.skip = set(job["skip"])
        self.raised, self.status, self.detail = {}, {}, {}
        self.ended, self.called, self.unfounded = set(), None, ""
        self.modules, self.again = {}, False
        self.workdir, self.config, self.hooks, self.functions, self.order = job["workdir"], None, (), {}, {}

    def begin(self):
        import unittest

        self.guards.begin(unittest, self.pytest, [argument for argument in sys.argv if argument.startswith("/")])
        self.called = getattr(self.pytest.Function, "runtest", None)

    def check(self, final=True):
        """Report what has changed in the test runner since before any file of the repository was run."""
        self.tell_hooks()
        self.guards.check(final)

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
        self.config = self.guards.sources.config = config
        self.guards.baseline.check(final=False)
        for item in items:
            module = getattr(item, "module", None)
            self.modules[item.nodeid] = module
            self.guards.tests.add(module, getattr(item, "cls", None))
        self.guards.sources.tell_changed()
        self.order = {item.nodeid: following for item, following in zip(items, [*items[1:], None])}
        self.tell_hooks()

    def tell_hooks(self):
        """Which files of the repository have a hook on results; and a hook whose function was replaced."""
        for name in WATCHED_HOOKS if self.config else ():
            for impl in getattr(self.config.hook, name).get_hookimpls():
                known = self.functions.get(id(impl))
                if known is not None:
                    if known[1] is not impl.function:
                        self.pipe.sign("runner_changed", name + " of " + known[2])
                    continue
                code = getattr(getattr(impl.function, "__func__", impl.function), "__code__", None)
                own = getattr(code, "co_filename", "")
                path = getattr(impl.plugin, "__file__", None) or own
                self.functions[id(impl)] = (impl, impl.function, os.path.basename(path))
                if any(impl.plugin is one for one in self.hooks):
                    continue
                found = in_repository(self.workdir, own) or in_repository(self.workdir, path)
                if found:
                    self.pipe.tell_once(name, found)
                elif own.startswith("<") and not own.startswith("<frozen"):
                    self.pipe.sign("runner_changed", name + " of " + own)

    def collectreport(self, report):
        if report.failed:
            self.pipe.say(kind="collect", id=report.nodeid, detail=tail(report))

    def logstart(self, nodeid, location):
        self.raised, self.status, self.detail = {}, {}, {}
        self.pipe.say(kind="start", id=nodeid)

    def makereport(self, item, call):
        self.raised[item.nodeid, call.when] = call.excinfo is not None
        events = self.guards.events
        if call.when == "teardown":
            return
        if call.excinfo is not None:
            trace = call.excinfo.tb
            self.guards.origins.look(call.excinfo.type, trace, item.nodeid, path_of(item))
        if call.when == "setup":
            self.ended.clear()
            self.unfounded = ""
            if self.is_unittests(item):
                events.listen(item)
            return
        if self.is_unittests(item):
            self.close_unittest(item, events)
        elif getattr(type(item), "runtest", None) is self.called:
            self.unfounded = "" if item.nodeid in self.ended else "the test's function did not come to its end"
        self.tell_strange(item)

    def is_unittests(self, item):
        found = sys.modules.get("_pytest.unittest")
        return found is not None and isinstance(item, found.TestCaseFunction)

    def close_unittest(self, item, events):
        events.stop(item)
        if not events.succeeded() or events.failed():
            self.unfounded = "unittest told of no success"
        if events.doubt:
            self.pipe.sign("success_forged", item.nodeid + ": " + events.doubt)
        if events.case is not None:
            self.guards.tests.check_case(events.case, item.nodeid)

    def tell_strange(self, item):
        if "runtest" in vars(item):
            self.pipe.sign("runner_changed", item.nodeid + ".runtest")
        path = self.guards.sources.strange(item)
        if path and path == path_of(item):
            self.pipe.sign("tests_replaced", item.nodeid)
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
            self.pipe.sign(sign, test + " " + str(report.when))
            status = "ERROR"
        worst = self.status.get(test, "PASSED" if status is None else status)
        self.status[test] = max(worst, status or "PASSED", key=ORDER.index)
        if status not in (None, "PASSED"):
            self.detail[test] = tail(report)

    def logfinish(self, nodeid, location):
        if self.again:
            return
        status = self.status.get(nodeid, "ERROR")
        if status == "PASSED" and self.unfounded:
            self.pipe.sign("success_missing", nodeid + ": " + self.unfounded)
            status, self.detail[nodeid] = "ERROR", self.unfounded
        self.guards.tests.check(self.modules.get(nodeid))
        following = self.order.get(nodeid)
        if following is None or self.modules.get(following.nodeid) is not self.modules.get(nodeid):
            self.check()
        elif self.guards.clock() >= self.guards.next_check_s:
            self.check(final=False)
        self.pipe.say(kind="done", id=nodeid, status=status, detail=self.detail.get(nodeid, ""))

    def named(self):
        """An object with pytest's hooks: the marks can only be made where pytest is."""
        mark, plugin = self.pytest.hookimpl, self

        class Hooks:
            @mark(tryfirst=True)
            def pytest_load_initial_conftests(self):
                plugin.begin()

            @mark(tryfirst=True)
            def pytest_configure(self, config):
                run_all(config.option)

            @mark(tryfirst=True)
            def pytest_sessionstart(self):
                plugin.guards.baseline.accept_plugins()

            @mark(hookwrapper=True, tryfirst=True)
            def pytest_collection_modifyitems(self, config, items):
                yield
                plugin.select(config, items)

            @mark(tryfirst=True)
            def pytest_sessionfinish(self):
                plugin.check()

            @mark(tryfirst=True)
            def pytest_collectreport(self, report):
                plugin.collectreport(report)
                plugin.guards.check_now_and_then()

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

        self.hooks = (Hooks(), self.ends())
        self.guards.audit.keep(Hooks)
        return self.hooks

    def ends(self):
        """An object that notes which test's function came to its end. It is in frames below the tests', so it knows
        nothing else."""
        mark, ended, keep = self.pytest.hookimpl, self.ended.add, self.guards.audit.keep

        class Ends:
            @mark(hookwrapper=True, tryfirst=True)
            def pytest_pyfunc_call(self, pyfuncitem):
                outcome = yield
                if outcome.excinfo is None:
                    ended(pyfuncitem.nodeid)

        keep(Ends)
        return Ends()


def run_all(options):
    """Every test in this process, whatever the project's own options say: no -x, --sw, --lf or --forked. In their
    order, without pytest-randomly's, and with one seed for all runs: it stays loaded, as options may be its own."""
    for name, value in (("maxfail", 0), ("stepwise", False), ("lf", False), ("forked", False)):
        if hasattr(options, name):
            setattr(options, name, value)
    if hasattr(options, "randomly_seed"):
        options.randomly_reorganize = options.randomly_reset_seed = False
        if not isinstance(options.randomly_seed, int):
            options.randomly_seed = 0


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


def run_pytest(job, pipe, guards):
    """The end of the tests: what runs them, for a caller who keeps nothing else in its frame."""
    import pytest  # of the repository's environment, before its own folder is on the path

    args = list(job["args"])
    if importlib.util.find_spec("xdist") and not os.environ.get("PYTEST_DISABLE_PLUGIN_AUTOLOAD"):
        args.insert(0, "-n0")  # whatever the project's own options say: the tests run in this process, one by one
    sys.path[:0] = job["prepended"]
    sys.argv = ["pytest", *args]
    plugin = PytestPlugin(job, pipe, pytest, guards)
    named = list(plugin.named())
    return lambda: int(pytest.main(args, plugins=named)), lambda: None


def main_of(runner):
    """A main module as `python -m pytest` or `-m unittest` has: a program without a file takes itself for an
    interactive one, and multiprocessing finds by the spec what a new process begins with."""
    name = "pytest.__main__" if runner == "pytest" else "unittest.__main__"
    main, spec = types.ModuleType("__main__"), importlib.util.find_spec(name)
    if spec is not None:
        main.__file__, main.__spec__, main.__loader__, main.__package__ = spec.origin, spec, spec.loader, spec.parent
    return main


def prepared():
    """What runs the tests, and what is done after them."""
    job = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    pipe = Pipe(job["fd"], job["key"])
    sys.modules["__main__"] = main_of(job["runner"])
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    tests, check = (run_pytest if job["runner"] == "pytest" else run_unittest)(job, pipe, Guards(job, pipe))

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
