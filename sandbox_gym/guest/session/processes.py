"""Starting a process, and finding and signalling a whole tree of them. Linux's /proc, fork and exec; no policy."""

import fcntl
import os
import signal
import termios


class NoProcess(OSError):
    """No process could be made, or it could not become the program for want of something else than the program."""


def account_of(user):
    """What /etc/passwd says of a name or number. Raises KeyError, OverflowError for one that it has not."""
    import pwd  # of root's driver alone

    return pwd.getpwuid(int(user)) if user.isdigit() else pwd.getpwnam(user)


def start(argv, folder, environment, stdio, terminal=False, account=None):
    """Start a program in a session of its own; its pid. `stdio`: three descriptors, which stay the caller's to close.
    `account`: whose process it becomes, where this one may choose.

    Raises OSError for what can't be executed, NoProcess for all else.
    """
    try:
        report, failure = os.pipe2(os.O_CLOEXEC)
        try:
            pid = os.fork()
            if pid == 0:
                _become(argv, folder, environment, stdio, failure, terminal, account)
        finally:
            os.close(failure)
            why = os.read(report, 4096)
            os.close(report)
    except OSError as error:
        raise NoProcess(error.errno, error.strerror) from None
    if why:
        os.waitpid(pid, 0)
        code, _, text = why[1:].decode("utf-8", "replace").partition(" ")
        raise (OSError if why[:1] == b"x" else NoProcess)(int(code), text)
    return pid


def _become(argv, folder, environment, stdio, failure, terminal, account):
    """In the child: never returns."""
    step = "s"
    try:
        os.setsid()
        for number in (signal.SIGPIPE, signal.SIGINT, signal.SIGCHLD):
            signal.signal(number, signal.SIG_DFL)
        failure = fcntl.fcntl(failure, fcntl.F_DUPFD_CLOEXEC, 10)
        held = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in stdio]
        for target, fd in enumerate(held):
            os.dup2(fd, target)
        if terminal:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
        os.chdir(folder)
        if account is not None:
            for fd in (1, 2):
                os.fchown(fd, account.pw_uid, -1)  # for programs that open them by name
            os.initgroups(account.pw_name, account.pw_gid)
            os.setgid(account.pw_gid)
            os.setuid(account.pw_uid)
        step = "x"
        environment = dict(environment, PWD=folder)
        if terminal:
            environment.setdefault("TERM", "xterm-256color")
        os.execvpe(argv[0], argv, environment)
    except OSError as error:
        why = "%s%d %s: %s" % (step, error.errno or 5, argv[0], error.strerror)
        os.write(failure, why.encode("utf-8", "replace"))
    except BaseException as error:
        os.write(failure, ("x22 %s" % error).encode("utf-8", "replace"))
    finally:
        os._exit(127)


def send(pid, number):
    """Signal a process; one that has ended, or is no longer ours, is left alone."""
    try:
        os.kill(pid, number)
    except OSError:
        pass


def send_group(group, number):
    """The same of a process group."""
    try:
        os.killpg(group, number)
    except OSError:
        pass


def descendants(pid):
    """PIDs below a process, deepest last; what left it for another parent is not among them."""
    parents = {}
    for one in pids():
        try:
            parents.setdefault(int(stat_fields(one)[1]), []).append(one)
        except OSError:
            continue  # it ended
    found, level = [], [pid]
    while level:
        level = [child for parent in level for child in parents.get(parent, ())]
        found += level
    return found


def pids():
    """Every process that is seen."""
    return [int(name) for name in os.listdir("/proc") if name.isdigit()]


def stat_fields(pid):
    """/proc/PID/stat from the state on, as bytes. Raises OSError for a process that is reaped."""
    with open("/proc/%s/stat" % pid, "rb") as file:
        return file.read().rpartition(b")")[2].split()


def pipe(nonblocking_read=True):
    """(read end, write end), closed on exec; the read end does not block."""
    read, write = os.pipe2(os.O_CLOEXEC)
    os.set_blocking(read, not nonblocking_read)
    return read, write
