"""The last steps of a run's child: drop every privilege and descriptor, then become the program. Runs after fork."""

import errno
import fcntl
import gc
import os
import resource
import signal

from .. import kernel
from ..interpreter import CHANNEL_FD, CONTROL_FD
from . import seccomp, seccomp_listener

_INPUTS = 10_000
"""The kernel's own cap of CPU time is of a process, and one may serve so many inputs; the supervisor measures each."""

_SHORT = (errno.EAGAIN, errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.EINTR)
_SHORT_OR_SAID_SO = (*_SHORT, errno.ENOMEM, errno.EIO, errno.ENOSPC)
"""An executable of the run's own can bring these on itself: it asks for more than its memory cap, or names an
interpreter beyond its own end."""
_exit = os._exit  # a program may replace it


def become(spec, stdio, channel, control, filter_program, listener_fd, run_program):
    """Turn this process into the program of `spec`; never returns. `stdio` are the three fds; `channel` is fd 3's
    source or -1, `control` CONTROL_FD's or -1. `listener_fd` carries the filter's listener to the init.
    `run_program(spec, beginning)` is the program where none is executed, and gives its exit code."""
    code, beginning = 127, Beginning(listener_fd)
    try:
        with beginning.ours():
            beginning.fd = listener_fd = fcntl.fcntl(listener_fd, fcntl.F_DUPFD_CLOEXEC, CONTROL_FD + 1)
            _give_up(spec, stdio, (channel, control), filter_program, listener_fd)
            _require(spec["requires"])
            if spec["mode"] == "exec":
                _exec(spec)
        code = run_program(spec, beginning)
    except BaseException as error:
        _write_error("sandbox: can't start: %s\n" % _words(error))
    finally:
        _exit(code)


def _words(error):
    return str(error) if type(error) is _NotStartable else "%s: %s" % (type(error).__name__, error)


class Beginning:
    """What comes before the program in its own process. Init is told on `fd` of a step that failed."""

    def __init__(self, fd):
        self.fd = fd

    def ours(self, kind=Exception):
        """A context: what its body raises of that kind is no program's doing: init is told, and it is raised on."""
        return _Ours(self, kind)

    def over(self):
        """The program begins. It must not be able to report itself as not started."""
        os.close(self.fd)


class _Ours:
    """A class and no generator, here and below: each process of the zygote's pays for what a generator needs."""

    __slots__ = ("_beginning", "_kind")

    def __init__(self, beginning, kind):
        self._beginning, self._kind = beginning, kind

    def __enter__(self):
        pass

    def __exit__(self, _type, error, _trace):
        if isinstance(error, self._kind):
            seccomp_listener.report_unstarted(self._beginning.fd, _NotStartable is type(error), _words(error))


class _NotStartable(Exception):
    """The box lacks what the program's own words ask for: a command, a package, a folder. Whatever else fails before
    the program begins is none of its doing."""


class _AskedFor:
    """A context that raises _NotStartable for what is refused its body, but for what the operating system has no more
    of now."""

    __slots__ = ("_short",)

    def __init__(self, short=_SHORT_OR_SAID_SO):
        self._short = short

    def __enter__(self):
        pass

    def __exit__(self, _type, error, _trace):
        if isinstance(error, OSError) and error.errno in self._short:
            return
        if isinstance(error, (OSError, ValueError)):
            raise _NotStartable("%s: %s" % (type(error).__name__, error))


def _write_error(text):
    try:
        os.write(2, text.encode("utf-8", "replace"))
    except OSError:
        pass  # stderr is closed


def _give_up(spec, stdio, channels, filter_program, listener_fd):
    """Drop everything but what the program is to have, and `listener_fd`, which closes when another program is
    executed."""
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)  # its own /proc files must open; nothing of the guest is in this copy
    os.setsid()
    for target, fd in enumerate(stdio):
        os.dup2(fd, target)
    channel, control = channels
    if control >= 0:  # first: its source may have any number, and so may the other's
        control = fcntl.fcntl(control, fcntl.F_DUPFD_CLOEXEC, listener_fd + 1)
    if channel >= 0:
        os.dup2(channel, CHANNEL_FD)
    os.closerange(CHANNEL_FD + (channel >= 0), CONTROL_FD)
    if control >= 0:
        os.dup2(control, CONTROL_FD, inheritable=False)
    os.closerange(CONTROL_FD + (control >= 0), listener_fd)
    kernel.close_from(listener_fd + 1)
    with _AskedFor():
        os.chdir(spec["workdir"])
    os.umask(0o022)
    _set_limits(spec)
    if spec["mode"] == "session" and spec["argv"][1:] == ["root"]:
        return  # it runs programs as other users, or is the guest of a nested sandbox, which drops them itself
    uid = spec["uid"]
    kernel.drop_bounding_set()
    if uid:
        os.setgroups([])
        os.setresgid(uid, uid, uid)
        os.setresuid(uid, uid, uid)
    kernel.prctl(kernel.PR_SET_NO_NEW_PRIVS, 1)
    kernel.drop_capabilities()
    kernel.prctl(kernel.PR_SET_DUMPABLE, 1)
    seccomp_listener.send(listener_fd, seccomp.install(filter_program))


def _set_limits(spec):
    limits = spec["limits"]
    whole = (int(limits["cpu_time_s"]) + 1) * (_INPUTS if spec["shared"] else 1)
    wanted = [
        (resource.RLIMIT_CPU, whole, whole + 1),
        (resource.RLIMIT_FSIZE, limits["file_bytes"], limits["file_bytes"]),
        (resource.RLIMIT_NOFILE, limits["open_files"], limits["open_files"]),
        (resource.RLIMIT_NPROC, limits["processes"], limits["processes"]),
        (resource.RLIMIT_CORE, 0, 0),
        (resource.RLIMIT_MEMLOCK, 0, 0),
        (resource.RLIMIT_MSGQUEUE, 0, 0),
    ]
    if spec["data_bytes"]:
        wanted.append((resource.RLIMIT_DATA, spec["data_bytes"], spec["data_bytes"]))
    for which, soft, hard in wanted:
        ceiling = resource.getrlimit(which)[1]
        if ceiling != resource.RLIM_INFINITY:
            soft, hard = min(soft, ceiling), min(hard, ceiling)
        resource.setrlimit(which, (soft, hard))
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    # a thread's stack is as large as this, and counts as data from its start where data are capped: a few must fit
    want = 64 << 20 if spec["data_bytes"] and spec["mode"] == "exec" else 256 << 20
    if hard == resource.RLIM_INFINITY or hard >= want:
        # programs raise it themselves, as contest programs do; but no cap of data counts the first thread's stack
        resource.setrlimit(resource.RLIMIT_STACK, (want, want if spec["data_bytes"] else hard))
    adjustment = os.open("/proc/self/oom_score_adj", os.O_WRONLY)
    os.write(adjustment, b"1000")  # the OOM killer must choose the program before its supervisor
    os.close(adjustment)


def _require(names):
    """Raises _NotStartable for a missing command or Python package that the program requires."""
    for name in names:
        if name.startswith("/"):
            found = os.access(name, os.R_OK if name.endswith(".jar") else os.X_OK)
        else:
            import importlib.util  # the program's own folder is not on the path yet

            try:
                found = importlib.util.find_spec(name) is not None
            except ImportError:
                found = False
        if not found:
            raise _NotStartable("FileNotFoundError: [Errno 2] not installed: %r" % name)


def _exec(spec):
    """Execute the command. Raises _NotStartable where it is no program, OSError where the box is short of something."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python's start-up ignores it; a program expects the default
    gc.enable()
    argv = spec["argv"]
    own = "/" in argv[0] and os.path.abspath(argv[0]).startswith(spec["workdir"] + "/")
    with _AskedFor(_SHORT if own else _SHORT_OR_SAID_SO):
        try:
            os.execvpe(argv[0], argv, spec["env"])
        except OSError as error:
            raise OSError(error.errno, "can't execute", argv[0])
