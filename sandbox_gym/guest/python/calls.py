"""Function tests. `serve` runs the answer; `ask` runs the hidden test, in which proxies stand for the answer's names.

An answer is called in two ways. In a run of its own ("call" on standard input, read from fd 3): one request {"args":
[V], "kwargs": {name: V}} after the other, V as in values.py, with a function's name as "exact" where its value shall
not come back as a builtin that it resembles; reply {"value": V}, {"error": {"type", "message"}} ("builtins" too, its
classes that are builtin, where "exact") or {"bad_value": reason}. In a dialogue: the messages of
peer.py; the test's end sends {"op": "start"} first.
"""

import builtins
import fcntl
import json
import os
import socket
import sys

from ..interpreter import CHANNEL_FD
from ..objects import asking, peer
from ..protocol import values
from . import pyrun, together

_ROW = "row.json"
"""What `ask` needs of the row beside the test; coding/plan.py writes it."""


_getpid, _leave = os.getpid, os._exit


def serve(spec):
    """Load the answer, then serve requests until the channel ends."""
    module = pyrun.load(spec, "candidate")
    entry = _entry_point(module, spec["entry_point"])
    pid = os.getpid()
    request = peer.receive()
    if request is not None and request.get("op") == "start":
        return _converse(module, spec["entry_point"], entry, request)
    while request is not None:
        exact = request.get("exact")
        reply = _answer(_named(module, exact) if exact not in (None, spec["entry_point"]) else entry, request)
        if _getpid() != pid:
            _leave(0)  # a child that the call forked; its parent replies
        peer.send(reply)
        request = peer.receive()
    return None


def _entry_point(module, name):
    solution = getattr(module, "Solution", None)
    if isinstance(solution, type) and hasattr(solution, name):
        return getattr(solution(), name)
    function = getattr(module, name, None)
    if function is None:
        raise NameError("the answer defines no %r" % name)
    return function


def _named(module, name):
    """The function of that name, or one that says that there is none."""

    def missing(*_args, **_kwargs):
        raise NameError("name %r is not defined" % name)

    return getattr(module, name, missing)


def _answer(function, request):
    args = [values.decode(wire) for wire in request["args"]]
    kwargs = {key: values.decode(wire) for key, wire in request["kwargs"].items()}
    try:
        value = function(*args, **kwargs)
    except BaseException as error:
        about = {"type": type(error).__name__[:200], "message": _text(error)[:2000]}
        if "exact" in request:
            about["builtins"] = [cls.__name__ for cls in type(error).__mro__ if cls.__module__ == "builtins"]
        return {"error": about}
    try:
        return {"value": values.encode(value, exact="exact" in request)}
    except Exception as error:
        return {"bad_value": _text(error)[:2000]}


def _text(error):
    try:
        return str(error).encode("utf-8", "replace").decode("utf-8")
    except Exception:
        return "(an exception whose text can't be made)"


# -- the answer's end of a dialogue


def _converse(module, name, entry, request):
    """Serve the test at the channel's other end until it ends."""
    end = peer.Peer("candidate")

    def start(names, shared):
        end.classes.share(vars(module), shared)
        return tuple(_lookup(module, one, name, entry) for one in names)

    def define(classes):
        vars(module).update(classes)

    end.services = {"start": start, "define": define}
    while request is not None:
        try:
            end.serve(request)
            request = peer.receive()
        except (peer.Ended, BrokenPipeError):
            return


def _lookup(module, name, entry_name, entry):
    """(whether the answer defines that name, its value)."""
    if name == entry_name:
        return (True, entry)
    return (hasattr(module, name), getattr(module, name, None))


# -- the test's end of a dialogue


def ask(spec, beginning):
    """Run the hidden test's `check` against the answer at the channel's other end; one JSON line of report. No code of
    an answer runs here, so that what fails outside the test never is one's doing."""
    with beginning.ours(OSError):  # a value of an answer's may be too much for this process's memory
        report_fd = fcntl.fcntl(1, fcntl.F_DUPFD_CLOEXEC, CHANNEL_FD + 1)
        os.dup2(2, 1)  # the output of the test must not mix with the report
        with open(os.path.join(spec["workdir"], _ROW), encoding="utf-8") as file:
            row = json.load(file)
        names = (row["prompt"], row.get("rehearsal"), *row.get("together", ()))
        pyrun.read(spec, *filter(None, names))
        report = _rehearse(spec, row) if row.get("rehearsal") else _report(spec, row)
        os.write(report_fd, (json.dumps(report) + "\n").encode("ascii"))


def _report(spec, row):
    """The result of the test: whether it passed, where it failed, and why it needs one process, if it does."""
    policy = asking.Asking(row)
    error = None
    try:
        _run_test(spec, row, policy)
    except BaseException as failure:
        error = _describe(failure, spec)
    if policy.shortage is not None:
        raise policy.shortage
    if error is None and policy.failures:
        error = _describe(policy.failures[0], spec)
    needs = policy.needs or (policy.suspected if error else policy.unproven)
    return {"passed": error is None, "error": error, "needs": needs[:500], "flooded": policy.flooded}


def _run_test(spec, row, policy):
    end = peer.Peer("hidden_test", policy)
    module = pyrun.new_module("hidden_test", os.path.join(spec["workdir"], spec["main"]))
    if row["prompt"]:
        pyrun.execute(spec, os.path.join(spec["workdir"], row["prompt"]), module)
    space = vars(module)
    end.classes.share(space, row["shared"])
    given = end.request("start", {}, (row["names"], row["shared"]), {}, asking.RESULT)
    found = {name: value for name, (has, value) in zip(row["names"], given) if has}
    space.update(found)
    before = dict(space)
    exec(row["strict"], vars(builtins))
    pyrun.execute(spec, os.path.join(spec["workdir"], spec["main"]), module)
    _define(end, row, space, before)
    if spec["entry_point"] not in found:
        raise NameError("the answer defines no %r" % spec["entry_point"])
    space.update((name, value) for name, value in found.items() if name not in space)
    space["check"](found[spec["entry_point"]])


def _define(end, row, space, before):
    """Define the test's classes in the answer's module too, as in one file, where the row's style has them share
    one."""
    unittest = sys.modules.get("unittest")
    fresh = {
        name: value
        for name, value in space.items()
        if isinstance(value, type)
        and value.__module__ == "hidden_test"
        and before.get(name) is not value
        and _does_something(value)
        and not (unittest is not None and issubclass(value, unittest.TestCase))
    }
    if fresh and row["style"] != "pytest":
        end.request("define", {}, (fresh,), {}, 0)


def _does_something(cls):
    """Whether a class has behaviour. A class of constants alone stays here: they may be what the test expects."""
    own = [item for base in cls.__mro__[:-1] for item in vars(base).values()]
    return issubclass(cls, BaseException) or any(callable(one) or isinstance(one, property) for one in own)


def _rehearse(spec, row):
    """Run the test against the row's own solution: in a process of its own here; where that fails, in one process, with
    the test as it is and with each variant that must fail."""
    report = _rehearsed_apart(spec, row) if row["apart"] else {"passed": False, "error": None}
    report["together"], report["inverted"] = False, []
    if not report["passed"] or row["vacuous"]:
        end, *inverted = [_ended_together(spec, row, test) for test in row["together"]]
        report.update(together=end == "returned", inverted=inverted)
    return report


def _rehearsed_apart(spec, row):
    mine, its = (_above(end) for end in socket.socketpair())
    pid = os.fork()
    os.dup2(mine if pid else its, CHANNEL_FD)
    os.close(mine)
    os.close(its)
    if pid == 0:
        sys.exit(_served_apart(dict(spec, main=row["rehearsal"])))
    report = _report(spec, row)
    os.close(CHANNEL_FD)
    os.waitpid(pid, 0)
    return report


def _above(end):
    """The descriptor of a socket, moved above CHANNEL_FD."""
    number = fcntl.fcntl(end.fileno(), fcntl.F_DUPFD_CLOEXEC, CHANNEL_FD + 1)
    end.close()
    return number


def _served_apart(spec):
    try:
        serve(spec)
    except BaseException:
        return 1
    return 0


def _ended_together(spec, row, test):
    """How `check` ended in one process with the row's own solution: "returned", the name of what it raised, or ""."""
    word, status = together.run(spec, row["rehearsal"], test, row["options"])
    if word["end"] == "raised":
        return "AssertionError" if word["assertion"] else word["type"]
    return word["end"] if status == 0 else ""


def _describe(failure, spec):
    path = os.path.join(spec["workdir"], spec["main"])
    line, trace = 0, failure.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == path:
            line = trace.tb_lineno
        trace = trace.tb_next
    source = ""
    if line:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().split("\n")
        source = lines[line - 1].strip()[:500] if line <= len(lines) else ""
    return {"type": type(failure).__name__, "message": _text(failure)[:2000], "line": line, "source": source}
