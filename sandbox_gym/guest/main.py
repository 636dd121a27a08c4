"""The guest's entry: starts the supervisor and gives it the programs that run in a process of the guest itself.

Knows every room, so that no other module has to: `runs` starts processes without knowing what runs in them.
"""

import signal
import sys
import types

from . import kernel
from .python import libraries, library, modes, warm
from .runs import supervisor


class Programs:
    """What a forked process becomes where a run names no command. `session_sources`: texts of the modules that only
    sessions need, by name and in the order of their imports."""

    def __init__(self, session_sources):
        self._session_sources = session_sources

    def prepare(self, sessions):
        """Load and look at what programs have from their fork on, before the zygote is forked. `sessions`: whether they
        are sessions, which have modules of their own."""
        if not sessions:
            warm.up()
            library.prepare()
            return
        kernel.rename(b"sandbox-driver")
        package = sys.modules[__package__]
        sources, self._session_sources = self._session_sources, {}
        for name, source in sources.items():
            room, leaf = name.rpartition(".")[::2]
            parent = getattr(package, room) if room else package
            module = types.ModuleType("%s.%s" % (parent.__name__, leaf))
            module.__package__ = parent.__name__
            sys.modules[module.__name__] = module
            setattr(parent, leaf, module)
            exec(compile(source, "<guest/%s>" % name, "exec"), module.__dict__)

    settle = staticmethod(library.settle)
    """The zygote is about to fork programs."""
    load = staticmethod(libraries.load)
    """Load what some programs import, in a zygote; whether that went well."""

    def run(self, spec, beginning):
        """Be the program of `spec` in this process; its exit code. `beginning`: see `runs.program`."""
        if spec["mode"] != "session":
            return modes.run(spec, beginning)
        beginning.over()
        from .envd import daemon
        from .session import driver

        (daemon if spec["argv"][:1] == ["envd"] else driver).serve(spec)
        return 0


def _use_default_signals():
    """A server that `nohup` or a script's `&` started ignores some signals, and so would all that it starts."""
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:  # Python itself ignores these two
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def main(read_fd, write_fd, session_sources):
    """Serve the host on these descriptors. Never returns."""
    _use_default_signals()
    supervisor.run(supervisor.Supervisor(read_fd, write_fd, Programs(session_sources)))
