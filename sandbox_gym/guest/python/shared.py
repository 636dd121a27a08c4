"""One process that runs its program on one input after the other, each as in an interpreter of its own.

Between two inputs it says on CONTROL_FD that it is through, and is given the pipes of the next one. It says so only
where the program ended with 0 and left nothing that can't be taken back (traces.py); else it ends as any process does.
"""

import _socket
import array
import contextvars
import os

from ..interpreter import CONTROL_FD
from . import pyrun
from .traces import Traces

_DONE, _LAST = b"d", b"l"
_PIPES = 4
"""Standard input, output and error, and the channel of a program that is called."""


def serve(spec, body, open_streams, beginning):
    """Run `body(spec)` for one input after the other; the exit code of the last. `open_streams()` makes the standard
    streams of fds 0 to 2."""
    control = _socket.socket(fileno=CONTROL_FD)
    try:
        spec["compiled"] = pyrun.compiled(spec, os.path.join(spec["workdir"], spec["main"]))
    except BaseException:
        beginning.over()
        return pyrun.finish(body, spec)  # which reports it
    traces, last = _traces(spec, beginning), False
    beginning.over()
    if traces is None or traces.needs_own:
        control.close()  # no run joins it, and it is as any process
        return pyrun.finish(body, spec)
    while True:
        code = contextvars.Context().run(pyrun.run_body, body, spec)
        if last or code != 0 or not traces.may_stay():
            return pyrun.end(code)
        code = pyrun.leave(code)
        if code != 0 or not traces.removed():
            return code
        message = _next_pipes(control)
        if not message:
            return code
        last = message == _LAST
        open_streams()
        traces.renew()


def _traces(spec, beginning):
    """None where the program's own text is too much to look at."""
    with beginning.ours():
        try:
            return Traces(spec)
        except (MemoryError, RecursionError):
            return None


def _next_pipes(control):
    """Say that the input is done, and take the pipes of the next one in place of the old; the message that came with
    them, empty where there is none."""
    try:
        control.send(_DONE)
        message, ancillary, _flags, _address = control.recvmsg(16, _socket.CMSG_SPACE(4 * _PIPES))
    except OSError:
        return b""  # the supervisor has ended it, or is about to
    fds = array.array("i")
    for level, kind, payload in ancillary:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            fds.frombytes(payload[: len(payload) - len(payload) % 4])
    if len(fds) < _PIPES - 1:
        return b""
    for target, fd in enumerate(fds):  # the kernel gives the lowest numbers first, so that none is overwritten unused
        os.dup2(fd, target)
    for fd in fds:
        if fd >= len(fds):
            os.close(fd)
    return message
