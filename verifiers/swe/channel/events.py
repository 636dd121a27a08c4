"""That a test passed because its runner said so: success events, and where a skip or an expected failure came from.
One program with the files that stand before it, see plugin.py.
"""

TOLD = (
    "startTest",
    "addSuccess",
    "addSkip",
    "addFailure",
    "addError",
    "addExpectedFailure",
    "addUnexpectedSuccess",
    "addSubTest",
)
SWALLOWS = sys.version_info >= (3, 11)


class Origins:
    """Where an outcome that is no failure was raised: in the test's own files, or in the code that is tested."""

    def __init__(self, baseline, pipe, workdir):
        self.baseline, self.pipe, self.workdir = baseline, pipe, workdir
        self.xfails, self.skips, self.runs = (), (), ()

    def begin(self, unittest, pytest=None):
        self.skips = (unittest.SkipTest,)
        self.runs = (unittest.TestCase.run.__code__,)
        if pytest is not None:
            self.xfails, self.skips = (pytest.xfail.Exception,), (*self.skips, pytest.skip.Exception)

    def look(self, kind, trace, test, path):
        """Report an imperative `xfail` or `skip` of the repository's own code, none of a test's own file."""
        if not isinstance(kind, type):
            return
        ancestors = ancestors_of(kind)
        sign = "imperative_xfail" if any(one in ancestors for one in self.xfails) else ""
        if not sign and any(one in ancestors for one in self.skips):
            sign = "imperative_skip"
        raised = self.raised_in(trace) if sign else ""
        if raised.startswith("<") or (in_repository(self.workdir, raised) and not is_tests_file(raised, path)):
            self.pipe.sign(sign, test)

    def raised_in(self, trace):
        """The file of the innermost frame that is not the runner's."""
        found = ""
        while trace is not None:
            if id(trace.tb_frame.f_globals) not in self.baseline.globals:
                found = trace.tb_frame.f_code.co_filename
            trace = trace.tb_next
        return found

    def is_runners(self, code):
        """Whether code is unittest's own that runs a test, or a library's that runs tests its own way."""
        if any(code is one for one in self.runs):
            return True
        path = code.co_filename
        return "/site-packages/" in path and code in codes_of_library(path)


class Events:
    """What unittest reported of the running test. Kept here: a test can reach the result object."""

    def __init__(self, origins):
        self.origins, self.item, self.test, self.path = origins, None, "", ""
        self.case, self.told, self.doubt, self.ends = None, [], "", None
        self.tellers = {name: telling(self, name) for name in TOLD}

    def begin(self, test, path):
        self.case, self.told, self.doubt, self.test, self.path = None, [], "", test, path
        self.ends = None

    def enter(self, case):
        """Note whether the test's method comes to its end: from Python 3.11 on unittest takes a `_ShouldStop` that is
        raised in it for a success. The frame is below the test's, and knows nothing else."""
        self.case, self.ends = case, None
        if SWALLOWS and hasattr(case, "_callTestMethod"):
            self.ends = []
            case.__dict__["_callTestMethod"] = calling(case._callTestMethod, self.ends.append)

    def leave(self):
        if self.case is not None:
            self.case.__dict__.pop("_callTestMethod", None)

    def note(self, name, args, frame):
        """One event, reported by the code of the frame."""
        case = args[0] if args else None
        if name == "addSuccess" and self.ends == [] and any(frame.f_code is one for one in self.origins.runs):
            return
        self.told.append(name)
        if name == "startTest" and self.case is None:
            self.enter(case)
        elif name == "startTest":
            self.doubt = "a test began in it"
        elif name == "addSuccess" and case is not self.case:
            self.doubt = "the success of another test"
        elif name == "addSuccess" and not self.origins.is_runners(frame.f_code):
            self.doubt = "a success that unittest did not tell"
        elif name == "addSkip":
            kind, _, trace = sys.exc_info()
            self.origins.look(kind, trace, self.test, self.path)
        elif name in ("addFailure", "addError") and len(args) > 1 and type(args[1]) is tuple:
            self.origins.look(args[1][0], args[1][2], self.test, self.path)

    def succeeded(self):
        """Whether unittest reported a success, or an outcome below one that it reports by itself."""
        return any(name not in ("startTest", "addFailure", "addError") for name in self.told)

    def failed(self):
        return "addFailure" in self.told or "addError" in self.told

    def listen(self, item):
        """Note what is reported to a pytest item, which is the result object of its own TestCase."""
        self.begin(item.nodeid, path_of(item))
        self.item = item
        for name, teller in self.tellers.items():
            if hasattr(type(item), name):
                setattr(item, name, teller)

    def stop(self, item):
        self.leave()
        for name in TOLD:
            vars(item).pop(name, None)


def telling(events, name):
    def told(*args, **more):
        events.note(name, args, frame_of(1))
        return getattr(type(events.item), name)(events.item, *args, **more)

    return told


def calling(call, end):
    def _callTestMethod(method):
        told = call(method)
        end(None)
        return told

    return _callTestMethod
