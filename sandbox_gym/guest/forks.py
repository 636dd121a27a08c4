"""Lets one process alone answer on a channel: the one that made a Claim, never a fork that a program made of it.

A driver that runs programs in its own process asks its Claim before it reads, replies or kills. A fork runs the rest of
the program and then ends as an interpreter ends a script. It has no descriptor of the channel, and does not print again
what the program had printed.
"""

import atexit
import os
import signal
import sys

CELL = "<cell"
"""How the file names of cells begin. Frames of other files are the driver's, and no traceback shows them."""
# a program may replace what the modules hold
_getpid, _exit, _close, _kill, _fork = os.getpid, os._exit, os.close, os.kill, os.fork


class Claim:
    """This process's right to the channel of descriptors `fds`, for the life of the process."""

    def __init__(self, *fds):
        self._fds = fds
        self._pid = _getpid()
        self._copying = False
        self._streams = (sys.stdout, sys.stderr)
        os.register_at_fork(before=self._before, after_in_child=self._in_child)

    def mine(self):
        """Whether this process answers. A fork by C code runs no hook, but has another PID."""
        return self._pid == _getpid()

    def leave_if_forked(self, failure=None):
        """Return where this process answers; end it where it is a fork. `failure`: the exception of the program in
        it."""
        if not self.mine():
            try:
                code = _finish(failure)
            except BaseException:
                code = 1
            finally:
                _exit(code)

    def copy(self):
        """Fork as os.fork, with the descriptors, for the driver's own use. The copy answers once it calls
        `take_over`."""
        self._copying = True
        try:
            return _fork()
        finally:
            self._copying = False

    def take_over(self):
        """Answer in place of the process of which this one is a copy."""
        self._pid = _getpid()

    def _before(self):
        if not self._copying and self.mine():
            _flush(self._streams)

    def _in_child(self):
        if self._copying:
            return
        fds, self._fds, self._pid = self._fds, (), 0
        for fd in fds:
            try:
                _close(fd)
            except OSError:
                pass  # the program closed it
        atexit._clear()  # exit functions of the session are not the fork's


def _finish(failure):
    """The end of a script: report, wait for threads, run exit functions, flush; the exit code."""
    code, interrupted = _reported(failure)
    try:
        threading = sys.modules.get("threading")
        if threading is not None:
            threading._shutdown()
        atexit._run_exitfuncs()
    except BaseException as error:
        code, interrupted = _reported(error)
    _flush((sys.stdout, sys.stderr))
    if interrupted:  # as the interpreter does, so that a parent sees the signal
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        _kill(_getpid(), signal.SIGINT)
    return code


def _reported(failure):
    """(exit code, whether it was an interrupt) of a program's end, which is written to stderr."""
    if failure is None:
        return 0, False
    if isinstance(failure, SystemExit):
        value = failure.code
        if value is None or isinstance(value, int):
            return (value or 0) & 0xFF, False
    tell(failure)
    return 1, isinstance(failure, KeyboardInterrupt)


def described(failure):
    """The traceback of a program's exception, from its own first frame on."""
    import traceback  # most processes that know this module never need it

    trace = failure.__traceback__
    while trace is not None and not trace.tb_frame.f_code.co_filename.startswith(CELL):
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(failure), failure, trace))


def tell(failure, leaving=""):
    """Write a program's exception to stderr. `leaving`: the text before the code of a SystemExit."""
    try:
        left = isinstance(failure, SystemExit)
        sys.stderr.write("%s%s\n" % (leaving, failure.code) if left else described(failure))
    except BaseException:
        pass  # the program broke its stderr, or its exception has no text


def _flush(streams):
    for stream in streams:
        try:
            stream.flush()
        except BaseException:
            pass  # the program closed or replaced it
