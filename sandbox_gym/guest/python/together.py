"""A hidden test and its answer in one child process; the parent reports how the test ended.

The parent reads the run's key from the channel after the fork, so the child never has it, and the child can't read the
parent's memory. The child runs the answer's module, then the test in its namespace, and tells the parent how `check`
ended. The answer shares the child and can forge that message: a pass counts only where variants of the test that must
fail do fail.
"""

import contextlib
import functools
import importlib.util
import inspect
import json
import os
import signal
import sys
import types

from .. import kernel
from ..interpreter import CHANNEL_FD
from . import guards, pyrun

_TEST = "test.py"
_KEY_MAX = 4096
_WORD_MAX = 8192
_ASSERTION = AssertionError


def serve(spec, beginning):
    """Run the test, write its end to the channel behind the run's key, and end as the child did."""
    with beginning.ours():
        missing = spec["argv"][0] == "pytest" and importlib.util.find_spec("pytest") is None
        if not missing:
            pyrun.read(spec, _TEST)
    if missing:
        word, status = {"end": "no_pytest"}, 256
    else:
        word, status = run(spec, spec["main"], _TEST, spec["argv"], beginning)
    key = b""
    while len(key) < _KEY_MAX:
        piece = os.read(CHANNEL_FD, _KEY_MAX - len(key))
        if not piece:
            break
        key += piece
    os.write(CHANNEL_FD, key + b" " + json.dumps(word).encode("ascii") + b"\n")
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
    return os.WEXITSTATUS(status)


def run(spec, main, test, options, beginning=None):
    """(the child's message, its wait status). `options`: the test's style, the name of the answer's module, and
    "guarded" where a StopIteration of the answer would end a loop of the test. `beginning`: the child is an answer's,
    and the channel this process's."""
    with beginning.ours() if beginning else contextlib.nullcontext():
        if options[0] != "check":  # before the answer, which could replace modules
            __import__(options[0])
        if any(b"mock" in source for source in spec.get("sources", {}).values()):  # for `guards`
            __import__("unittest.mock")
        token = os.urandom(16).hex()
        reader, writer = os.pipe()
        if beginning:  # no process of this user may look into this one from here on
            kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
        pid = os.fork()
        if pid == 0:
            kernel.prctl(kernel.PR_SET_DUMPABLE, 1)
    if pid == 0:
        os.close(reader)
        if beginning:
            os.close(CHANNEL_FD)
            beginning.over()
        say = _teller(writer, token)
        token = ""
        os._exit(pyrun.finish(lambda spec: _check(spec, main, test, options, say), spec))
    os.close(writer)
    _pid, status = os.waitpid(pid, 0)
    os.set_blocking(reader, False)
    try:
        data = os.read(reader, _WORD_MAX)
    except BlockingIOError:
        data = b""
    os.close(reader)
    return _understood(data, token), status


def _understood(data, token):
    """The child's message; {"end": "forged"} where the runner in the child did not write it, or it was written
    twice."""
    if not data:
        return {"end": ""}
    head, _space, text = data.partition(b" ")
    try:
        word = json.loads(text.decode("ascii"))
    except ValueError:
        word = None
    if head != token.encode("ascii") or not isinstance(word, dict) or text.count(b"\n") != 1:
        return {"end": "forged"}
    return word


def _teller(writer, token):
    write, getpid, dumps = os.write, os.getpid, json.dumps
    pid = getpid()

    def say(**word):
        if getpid() == pid:  # no fork that the answer made
            write(writer, (token + " " + dumps(word) + "\n").encode("ascii"))

    return say


def _check(spec, main, test, options, say):
    """The answer's module, then the test in its namespace, then `check`."""
    path, test = (os.path.join(spec["workdir"], name) for name in (main, test))
    before = guards.snapshot()
    # an answer that is imported does not run what it has below its main guard; a test may call its module `__main__`
    module = sys.modules["__main__"] = pyrun.new_module(options[1], path)
    space = vars(module)
    reached = guards.watch(path, b"async" in spec["sources"][test].lower())
    pyrun.execute(spec, path, module)
    changed = guards.changed(before)
    pyrun.execute(spec, test, _Named(space))
    if spec["entry_point"] not in space:
        raise NameError("name %r is not defined" % spec["entry_point"])
    candidate = space[spec["entry_point"]]
    if "guarded" in options[2:]:
        candidate = space[spec["entry_point"]] = _never_stops(candidate)
    try:
        space["check"](candidate)
    except BaseException as error:
        say(end="raised", changed=changed or guards.changed(before), reached=reached[:1], **_about(error))
        raise
    say(end="returned", changed=changed or guards.changed(before), reached=reached[:1])


class _Named:
    """A module object over an existing namespace, in which another file runs."""

    def __init__(self, space):
        self.__dict__ = space


def _about(error):
    """An exception's class, and the last line of the test file in its traceback."""
    line, trace = 0, error.__traceback__
    while trace is not None:
        if os.path.basename(trace.tb_frame.f_code.co_filename) == _TEST:
            line = trace.tb_lineno
        trace = trace.tb_next
    return {"assertion": issubclass(type(error), _ASSERTION), "type": ascii(type(error).__name__)[:100], "line": line}


def _never_stops(function):
    """The function; its StopIteration becomes a RuntimeError, as in a generator (PEP 479)."""
    if not isinstance(function, types.FunctionType) or inspect.isgeneratorfunction(function):
        return function

    @functools.wraps(function)
    def called(*args, **kwargs):
        try:
            return function(*args, **kwargs)
        except (StopIteration, StopAsyncIteration) as error:
            raise RuntimeError("the answer raised %s" % type(error).__name__) from error

    return called
