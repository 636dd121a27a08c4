"""Signals for which a cell may set handlers: they reach cells, never the driver's own code between and around them.

What a handler raises there would end the driver, or leave half a message in a channel.
"""

import signal

HELD = (signal.SIGALRM, signal.SIGVTALRM, signal.SIGPROF, signal.SIGUSR2, signal.SIGHUP, signal.SIGCHLD)
# a cell may replace what the module holds
_signal, _mask = signal.signal, signal.pthread_sigmask


def hold():
    """A cell is over, or none has begun."""
    _signal(signal.SIGINT, signal.SIG_IGN)
    _mask(signal.SIG_BLOCK, HELD)


def let_in(report):
    """A cell begins: what its handlers raise is its own. What came since the last one, such as an alarm that it set, is
    not: `report` is called with it."""
    try:
        _mask(signal.SIG_UNBLOCK, HELD)
    except BaseException as error:
        report(error)
    _signal(signal.SIGINT, signal.default_int_handler)


class Whole:
    """What is done under this is done whole; signals that come meanwhile are acted on afterwards."""

    def __enter__(self):
        self._came = []
        self._mask = _mask(signal.SIG_BLOCK, HELD)
        try:
            self._before = _signal(signal.SIGINT, lambda *_: self._came.append(True))
        except ValueError:
            self._before = None  # not the main thread, to which alone handlers happen

    def __exit__(self, *_error):
        if self._before is not None:
            _signal(signal.SIGINT, self._before)
        _mask(signal.SIG_SETMASK, self._mask)
        if self._came and callable(self._before):
            self._before(signal.SIGINT, None)
