"""Which process answers on a channel: the one that claimed it. A fork that a program made of it never does.

A driver that runs programs in its own process asks a Claim before it reads, answers or kills. A fork goes on to the end
of what the program was doing, and there it ends as the interpreter ends a script. It has no descriptor of the channel,
and what the program had printed by then is not printed twice.
"""

import atexit
import os
import signal
import sys

CELL = "<cell"
"""How the names of a program's pieces begin; frames outside of them are the driver's, and no traceback shows those."""
# a program may replace what the modules hold
_getpid, _exit, _close, _kill, _fork = os.getpid, os._exit, os.close, os.kill, os.fork


class Claim:
    """This process's right to a channel, which `fds` are. Lasts as long as the process."""

    def __init__(self, *fds):
        self._fds = fds
        self._pid = _getpid()
        self._copying = False
        self._streams = (sys.stdout, sys.stderr)
        os.register_at_fork(before=self._before, after_in_child=self._in_child)

    def mine(self):
        """Whether this is the process that answers. A fork by way of C code runs no hook, but has another number."""
        return self._pid == _getpid()

    def leave_if_forked(self, failure=None):
        """Return where this process answers; end it where it is a fork. `failure`: what the program raised in it."""
        if not self.mine():
            try:
                code = _finish(failure)
            except BaseException:
                code = 1
            finally:
                _exit(code)

    def copy(self):
        """A fork for the driver's own ends, with the descriptors: as os.fork. It answers once it calls `take_over`."""
        self._copying = True
        try:
            return _fork()
        finally:
            self._copying = False

    def take_over(self):
        """Answer in place of the process that this one is a copy of."""
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
        atexit._clear()  # what was registered is the session's; what the fork registers itself is run at its end


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
    """(exit code, whether it was an interrupt) for what a program ended with, which stderr is told."""
    if failure is None:
        return 0, False
    if isinstance(failure, SystemExit):
        value = failure.code
        if value is None or isinstance(value, int):
            return (value or 0) & 0xFF, False
    tell(failure)
    return 1, isinstance(failure, KeyboardInterrupt)


def described(failure):
    """The traceback of what a program raised, from its own first frame on."""
    import traceback  # most processes that know this module never need it

    trace = failure.__traceback__
    while trace is not None and not trace.tb_frame.f_code.co_filename.startswith(CELL):
        trace = trace.tb_next
    return "".join(traceback.format_exception(type(failure), failure, trace))


def tell(failure, leaving=""):
    """Say on stderr what a program raised. `leaving` stands before what it left with."""
    try:
        left = isinstance(failure, SystemExit)
        sys.stderr.write("%s%s\n" % (leaving, failure.code) if left else described(failure))
    except BaseException:
        pass  # the program broke its own stderr, or what it raised has no text


def _flush(streams):
    for stream in streams:
        try:
            stream.flush()
        except BaseException:
            pass  # the program closed or replaced it
