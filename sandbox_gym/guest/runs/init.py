"""The init of a task's runs: for each it makes a private file system, starts the program, waits, and kills the rest.

It is PID 1 of a PID namespace; where the box has no namespaces, it is a child subreaper and each program runs under a
uid of its own. It speaks with the supervisor over one socket that no program holds: it takes a run, and reports when
every process of the run is dead and what the run wrote is gone.
"""

import _signal
import _socket
import array
import errno
import json
import os
import select
import signal
import time

from .. import kernel
from . import namespaces, program, seccomp, seccomp_listener, sudo

REPORT_MAX = 4096
WORK = "/workspace"
"""Where sessions keep their files, also those of a named user, whose home is elsewhere."""
MAX_FDS = 64
"""In one message; the kernel takes at most 253."""
NEXT_TASK, CLEAN, LEFT = b"t", b"clean", b"left"
"""Asked when a task is over, and what is answered: whether another task may have this init."""
_SPEC_MAX = 1 << 16
# of _signal and _socket: functions of signal and socket make an enum of each number, and so write to pages that every
# init would copy


def main(control_fd, tier, filter_program, own_network, programs):
    """Serve runs until the supervisor's end closes. Never returns."""
    code = 1
    control = _socket.socket(fileno=control_fd)
    try:
        _serve(control, tier, filter_program, own_network, programs)
        code = 0
    except BaseException as error:
        try:
            control.send(json.dumps({"broken": "%s: %s" % (type(error).__name__, error)})[:REPORT_MAX].encode("ascii"))
        except BaseException:
            pass  # the supervisor sees the socket close without a report
    finally:
        os._exit(code)


def _serve(control, tier, filter_program, own_network, programs):
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    os.set_blocking(wake_read, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    _signal.signal(_signal.SIGCHLD, lambda *_: None)
    if tier == "namespaces":
        namespaces.unshare(own_network)
    else:
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    untouched = namespaces.Untouched(own_network) if tier == "namespaces" else None
    ahead, clean = [], True
    while True:
        message, fds = _receive(control)
        if not message:
            return
        if message[:1] == b"k":
            continue  # a kill of a run that has ended
        if message == NEXT_TASK:
            control.send(CLEAN if clean and (untouched is None or untouched.restored()) else LEFT)
            _own_s()  # what this took is not the next run's
            continue
        fds = ahead + fds
        ahead = fds if message[:1] == b"m" else []
        if ahead:
            continue  # the rest of the descriptors follow in another message
        spec = _read_spec(fds.pop(0)) if message[:1] == b"f" else json.loads(message[1:].decode("utf-8"))
        clean = _run(spec, fds, tier, filter_program, control, wake_read, programs) and clean


def _receive(control):
    message, ancillary, flags, _address = control.recvmsg(_SPEC_MAX, _socket.CMSG_SPACE(4 * MAX_FDS))
    if flags & _socket.MSG_CTRUNC:
        raise OSError(errno.ENFILE, "no descriptors for all of the run's")
    fds = array.array("i")
    for level, kind, payload in ancillary:
        if level == _socket.SOL_SOCKET and kind == _socket.SCM_RIGHTS:
            fds.frombytes(payload[: len(payload) - len(payload) % 4])
    return message, list(fds)


def _read_spec(fd):
    size = os.fstat(fd).st_size
    text = os.pread(fd, size, 0).decode("utf-8")
    os.close(fd)
    return json.loads(text)


def _run(spec, fds, tier, filter_program, control, wake_read, programs):
    """`fds`: stdin, stdout, stderr, then files, the channel if any, the control channel if any; all are closed at the
    end. Whether the run left nothing, in this process's memory neither."""
    if tier == "namespaces":
        namespaces.mount_scratch(spec)
        namespaces.number_anew()  # of no process does its number tell which run of the task it is
    else:
        _prepare_owned(spec, fds)
    _write_files(spec, fds[3 : 3 + len(spec["files"])])
    channel = fds[3 + len(spec["files"])] if spec["channel"] else -1
    reused = fds[-1] if spec["shared"] else -1
    poll = select.poll()
    listener = seccomp_listener.SeccompListener(poll, seccomp.notified())
    started = time.monotonic()
    child = kernel.fork()
    if child == 0:
        signal.set_wakeup_fd(-1)
        _signal.signal(_signal.SIGCHLD, _signal.SIG_DFL)
        control.detach()  # program.become closes it with every other descriptor
        program.become(spec, fds[:3], channel, reused, filter_program, listener.child_end.fileno(), programs.run)
    for fd in fds:
        os.close(fd)
    listener.started()
    status, usage, killed = _wait(child, control, wake_read, poll, listener)
    wall = time.monotonic() - started
    left = _kill_the_rest(spec, tier, usage)
    listener.close()
    gone = tier != "namespaces" or namespaces.unmount_scratch()
    account = {
        "status": status,
        "killed": killed,
        "wall_s": wall,
        "cpu_s": usage[0],
        "own_s": _own_s(),
        "peak_kb": usage[1],
        "left": left,
        "seen": listener.seen,
        "unstarted": listener.unstarted,
        "unprepared": listener.unprepared,
    }
    control.send(json.dumps(account).encode("ascii"))
    return gone and not (left or listener.seen)


_reported_s = 0.0


def _own_s():
    """CPU seconds of this init since the last report: the guest's time, which counts for no run."""
    global _reported_s
    before, _reported_s = _reported_s, time.process_time()
    return _reported_s - before


def _prepare_owned(spec, fds):
    """Without namespaces: make a folder that only the run's uid can enter, and let that uid reopen the pipes by
    name."""
    uid = spec["uid"]
    if spec["own_workdir"] or not os.path.isdir(spec["workdir"]):
        os.mkdir(spec["workdir"], 0o700)
    os.chown(spec["workdir"], uid, uid)
    if spec["mode"] == "session" and not spec["env"].get("USER"):
        try:
            if spec["argv"][1:] == ["root"]:
                os.chmod(WORK, 0o755)  # users that root makes may enter it
            else:
                os.chown("/root", uid, uid)  # where agents that count on being root keep their tools
        except OSError:
            pass  # it has none
        _link_python("/opt/sandbox-gym/bin")
    elif spec["mode"] == "session":
        _name_user(spec["env"]["USER"], uid, spec["workdir"])
        if not os.path.isdir(WORK):
            os.mkdir(WORK, 0o755)
            os.chown(WORK, uid, uid)
    for fd in fds[:3]:
        os.fchown(fd, uid, uid)


def _name_user(name, uid, home):
    """Add the uid to the container's passwd and group where it is missing; link `python` to python3 and install a
    `sudo` where the image has none."""
    for path, line in (
        ("/etc/passwd", "%s:x:%d:%d::%s:/bin/bash\n" % (name, uid, uid, home)),
        ("/etc/group", "%s:x:%d:\n" % (name, uid)),
    ):
        with open(path, "r+", encoding="utf-8", errors="surrogateescape") as file:
            if line not in file.read():
                file.write(line)
    _link_python("/usr/local/bin")
    if not os.path.lexists("/usr/bin/sudo") and not os.path.lexists("/usr/local/bin/sudo"):
        with open("/usr/local/bin/sudo", "x") as file:
            file.write(sudo.SCRIPT)
        os.chmod("/usr/local/bin/sudo", 0o755)


def _link_python(folder):
    """For programs that call it so."""
    if os.path.exists("/usr/bin/python3") and not os.path.lexists(folder + "/python"):
        try:
            os.makedirs(folder, exist_ok=True)
            os.symlink("/usr/bin/python3", folder + "/python")
        except OSError as error:
            if error.errno != errno.EROFS:
                raise


def _missing_folders(path):
    """The folders that a file wants, the outermost first: the program may write in each of them."""
    missing = []
    while not os.path.isdir(path := os.path.dirname(path)):
        missing.append(path)
    return reversed(missing)


def _write_files(spec, files):
    uid = spec["uid"]
    for path, fd in zip(spec["files"], files):
        target = os.path.join(spec["workdir"], path)
        for folder in _missing_folders(target):
            os.mkdir(folder)
            if uid:
                os.chown(folder, uid, uid)
        mode = 0o755 if spec["mode"] == "exec" else 0o644
        out = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        size, offset = os.fstat(fd).st_size, 0
        while offset < size:  # within the kernel: what this process once held all later programs could find in memory
            sent = os.sendfile(out, fd, offset, size - offset)
            if not sent:
                raise OSError(errno.EIO, "a file of the run ends early")
            offset += sent
        if uid:
            os.fchown(out, uid, uid)
        os.close(out)


def _reap(child, usage):
    """Reap every dead child; (the wait status of `child` if it is among them, whether children are left)."""
    status, more = None, True
    while True:
        try:
            pid, got, used = os.wait4(-1, os.WNOHANG)
        except ChildProcessError:
            return status, False
        if pid == 0:
            return status, more
        usage[0] += used.ru_utime + used.ru_stime
        usage[1] = max(usage[1], used.ru_maxrss)
        if pid == child:
            status = got


def _wait(child, control, wake, poll, listener):
    """Wait until the program's first process ends, or until the supervisor asks for its end or closes the socket.
    (wait status, [CPU seconds, peak KB], whether it was killed)."""
    usage = [0.0, 0]
    poll.register(control, select.POLLIN | select.POLLHUP)
    poll.register(wake, select.POLLIN)
    while True:
        status, _more = _reap(child, usage)
        if status is not None:
            return status, usage, False
        for fd, event in poll.poll():
            if listener.handles(fd, event):
                continue
            if fd == wake:
                try:
                    os.read(wake, 4096)
                except BlockingIOError:
                    pass
            else:
                control.recv(1)
                os.kill(child, signal.SIGKILL)
                while status is None:
                    status, _more = _reap(child, usage)
                    if status is None:
                        time.sleep(0.0005)
                return status, usage, True


def _kill_the_rest(spec, tier, usage):
    """Kill every process that the program left; whether there were any."""
    left = False
    deadline = time.monotonic() + 10
    while _reap(-1, usage)[1]:
        left = True
        if tier == "namespaces":
            _kill_all()
        elif spec["uid"]:
            _kill_as(spec["uid"])
        else:
            _kill_below()
        time.sleep(0.0005)
        if time.monotonic() > deadline:
            raise OSError(errno.EBUSY, "processes of the run can't be killed")
    return left


def _kill_all():
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass  # they have ended


def _kill_below():
    """Kill what has come from this process: all else of root's serves the sandbox, and stays."""
    from ..session import processes  # of root's inits alone

    for pid in processes.descendants(os.getpid()):
        processes.send(pid, signal.SIGKILL)


def _kill_as(uid):
    """Kill every process of `uid` in one call, which no fork can escape, from a process of that uid."""
    pid = kernel.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            _kill_all()
        finally:
            os._exit(0)
