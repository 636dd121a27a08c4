"""Function tests. `serve` holds the candidate and answers calls on fd 3; `ask` holds the hidden test and makes them.

A message is a u32 length and strict JSON. Request: {"args": [V], "kwargs": {name: V}}, and "name" where it is not the
entry point that is called. Reply: {"value": V} (and "args"
when a call changed its arguments in place), {"error": {"type", "message"}} or {"bad_value": reason}. V as in values.py.
"""

import builtins
import json
import os
import struct

from . import program, pyrun, values

_LENGTH = struct.Struct("!I")
MAX_MESSAGE = 16 << 20


class CandidateError(Exception):
    """The candidate raised something that is no builtin exception, broke the protocol, or is gone."""


def _send(message):
    data = json.dumps(message, separators=(",", ":")).encode("ascii")
    if len(data) > MAX_MESSAGE:
        raise CandidateError("a message of %d bytes is over the bound" % len(data))
    data = _LENGTH.pack(len(data)) + data
    view = memoryview(data)
    while view:
        view = view[os.write(program.CHANNEL_FD, view) :]


def _read(size):
    pieces = []
    while size:
        piece = os.read(program.CHANNEL_FD, min(size, 1 << 20))
        if not piece:
            return None
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def _receive():
    """The next message, None at the end. Raises CandidateError for what is none."""
    head = _read(_LENGTH.size)
    if head is None:
        return None
    size = _LENGTH.unpack(head)[0]
    if size > MAX_MESSAGE:
        raise CandidateError("a message of %d bytes is over the bound" % size)
    data = _read(size)
    if data is None:
        return None
    try:
        message = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise CandidateError("a message is no JSON") from None
    if type(message) is not dict:
        raise CandidateError("a message is no object")
    return message


def serve(spec):
    """Load the candidate, then answer calls of its entry point until the channel ends."""
    module = pyrun.load(spec, "candidate")
    functions = {spec["entry_point"]: _entry_point(module, spec["entry_point"])}
    while True:
        request = _receive()
        if request is None:
            return
        name = request.get("name", spec["entry_point"])
        if name not in functions:
            functions[name] = _entry_point(module, name)
        _send(_answer(functions[name], request))


def _entry_point(module, name):
    solution = getattr(module, "Solution", None)
    if isinstance(solution, type) and hasattr(solution, name):
        return getattr(solution(), name)
    function = getattr(module, name, None)
    if function is None:
        raise NameError("the answer defines no %r" % name)
    return function


def _answer(function, request):
    args = [values.decode(wire) for wire in request["args"]]
    kwargs = {key: values.decode(wire) for key, wire in request["kwargs"].items()}
    try:
        value = function(*args, **kwargs)
    except BaseException as error:
        return {"error": {"type": type(error).__name__[:200], "message": _text(error)[:2000]}}
    try:
        reply = {"value": values.encode(value)}
        changed = [values.encode(arg) for arg in args]
        if changed != request["args"]:
            reply["args"] = changed
    except Exception as error:
        return {"bad_value": _text(error)[:2000]}
    return reply


def _text(error):
    try:
        return str(error).encode("utf-8", "replace").decode("utf-8")
    except Exception:
        return "(an exception whose text can't be made)"


class _Caller:
    def __init__(self, name="", whole=None):
        self.calls = 0
        self._name = name
        self._whole = whole or self

    def named(self, name):
        """A caller of another of the candidate's functions."""
        return _Caller(name, self._whole)

    def __call__(self, *args, **kwargs):
        self._whole.calls += 1
        try:
            wire = {
                "args": [values.encode(arg) for arg in args],
                "kwargs": {key: values.encode(value) for key, value in kwargs.items()},
            }
            if self._name:
                wire["name"] = self._name
        except values.CannotCross as error:
            raise TypeError("the test passes what can't cross to the candidate's box: %s" % error) from None
        try:
            _send(wire)
            reply = _receive()
        except OSError as error:
            raise CandidateError("the candidate is gone: %s" % error) from None
        if reply is None:
            raise CandidateError("the candidate ended before it answered")
        return self._result(reply, args)

    def _result(self, reply, args):
        try:
            if "value" in reply:
                value = values.decode(reply["value"])
                if "args" in reply:
                    _write_back(args, [values.decode(wire) for wire in reply["args"]])
                return value
            if "error" in reply:
                kind, message = str(reply["error"]["type"]), str(reply["error"]["message"])
            else:
                kind, message = "CandidateError", "bad value: %s" % (reply.get("bad_value"),)
        except (values.CannotCross, RecursionError, KeyError, TypeError) as error:
            raise CandidateError("malformed reply: %s" % error) from None
        known = getattr(builtins, kind, None)
        if isinstance(known, type) and issubclass(known, Exception):
            try:
                error = known(message)
            except TypeError:  # UnicodeDecodeError and its like want more than a message
                error = CandidateError("%s: %s" % (kind, message))
            raise error
        raise CandidateError("%s: %s" % (kind, message))


def _write_back(args, changed):
    """What the call changed in place, changed in the test's own objects too."""
    for mine, theirs in zip(args, changed):
        if type(mine) is not type(theirs) or mine == theirs:
            continue
        if type(mine) in (list, bytearray):
            mine[:] = theirs
        elif type(mine) in (dict, set):
            mine.clear()
            mine.update(theirs)


def ask(spec):
    """Run the hidden test's `check` against the candidate at the channel's other end; one JSON line of report."""
    report_fd = os.dup(1)
    os.dup2(2, 1)  # what the test prints is no report
    caller = _Caller()
    error = None
    try:
        module = pyrun.load(spec, "hidden_test")
        module.__dict__[spec["entry_point"]] = caller
        module.check(caller)
    except BaseException as failure:
        error = _describe(failure, spec)
    report = {"passed": error is None, "error": error, "calls": caller.calls}
    os.write(report_fd, (json.dumps(report) + "\n").encode("ascii"))


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
