"""The init of a task's runs: for each makes a private place, starts the program in it, waits, and leaves nothing alive.

PID 1 of a PID namespace of its own, or, where namespaces are not to be had, a child subreaper whose programs each run
under a uid of their own. Talks to the supervisor on one socket that no program ever holds: it takes a run, and answers
when all that the run started is dead and what it wrote is gone.
"""

import array
import errno
import json
import os
import select
import signal
import socket
import time

from .. import kernel
from . import places, program, seccomp, sudo, watch

REPORT_MAX = 4096
WORK = "/workspace"
"""Where sessions keep their files: a named user, whose home is elsewhere, has it too."""
MAX_FDS = 64
"""In one message; the kernel takes at most 253."""
_SPEC_MAX = 1 << 16


def main(control_fd, tier, filter_program, own_network, run_program):
    """Serve runs until the supervisor's end closes. Never returns."""
    code = 1
    control = socket.socket(fileno=control_fd)
    try:
        _serve(control, tier, filter_program, own_network, run_program)
        code = 0
    except BaseException as error:
        try:
            control.send(json.dumps({"broken": "%s: %s" % (type(error).__name__, error)})[:REPORT_MAX].encode("ascii"))
        except BaseException:
            pass  # the supervisor sees the socket end without a report, which says the same
    finally:
        os._exit(code)


def _serve(control, tier, filter_program, own_network, run_program):
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    os.set_blocking(wake_read, False)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    if tier == "namespaces":
        places.private_namespaces(own_network)
    else:
        kernel.prctl(kernel.PR_SET_CHILD_SUBREAPER, 1)
    ahead = []
    while True:
        message, fds = _receive(control)
        if not message:
            return
        if message[:1] == b"k":
            continue  # for a run that has ended meanwhile
        fds = ahead + fds
        ahead = fds if message[:1] == b"m" else []
        if ahead:
            continue  # one message does not carry them all
        spec = _read_spec(fds.pop(0)) if message[:1] == b"f" else json.loads(message[1:].decode("utf-8"))
        _run(spec, fds, tier, filter_program, control, wake_read, run_program)


def _receive(control):
    message, ancillary, _flags, _address = control.recvmsg(_SPEC_MAX, socket.CMSG_SPACE(4 * MAX_FDS))
    fds = array.array("i")
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(payload[: len(payload) - len(payload) % 4])
    return message, list(fds)


def _read_spec(fd):
    size = os.fstat(fd).st_size
    text = os.pread(fd, size, 0).decode("utf-8")
    os.close(fd)
    return json.loads(text)


def _run(spec, fds, tier, filter_program, control, wake_read, run_program):
    """`fds`: stdin, stdout, stderr, then files, then the channel if any; all are closed at the end."""
    if tier == "namespaces":
        places.mount_scratch(spec)
    else:
        _owned_place(spec, fds)
    _write_files(spec, fds[3 : 3 + len(spec["files"])])
    channel = fds[-1] if spec["channel"] else -1
    poll = select.poll()
    watching = watch.Watch(poll, seccomp.watched())
    started = time.monotonic()
    child = os.fork()
    if child == 0:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        control.detach()  # closed with all the rest that is not the program's
        program.become(spec, fds[:3], channel, filter_program, watching.child_end.fileno(), run_program)
    for fd in fds:
        os.close(fd)
    watching.started()
    status, usage, killed = _wait(child, control, wake_read, poll, watching)
    wall = time.monotonic() - started
    left = _kill_the_rest(spec, tier, usage)
    watching.close()
    if tier == "namespaces":
        places.unmount_scratch()
    account = {
        "status": status,
        "killed": killed,
        "wall_s": wall,
        "cpu_s": usage[0],
        "own_s": _own_s(),
        "peak_kb": usage[1],
        "left": left,
        "seen": watching.seen,
        "unstarted": watching.unstarted,
    }
    control.send(json.dumps(account).encode("ascii"))


_told_s = 0.0


def _own_s():
    """CPU seconds of this init since it was last asked: the guest's, in no run's account."""
    global _told_s
    before, _told_s = _told_s, time.process_time()
    return _told_s - before


def _owned_place(spec, fds):
    """Without namespaces: a folder that only the run's uid can enter, and pipes that it may reopen by name."""
    uid = spec["uid"]
    if spec["own_workdir"] or not os.path.isdir(spec["workdir"]):
        os.mkdir(spec["workdir"], 0o700)
    os.chown(spec["workdir"], uid, uid)
    if spec["mode"] == "session" and spec["env"].get("USER"):
        _name_user(spec["env"]["USER"], uid, spec["workdir"])
        if not os.path.isdir(WORK):
            os.mkdir(WORK, 0o755)
            os.chown(WORK, uid, uid)
    for fd in fds[:3]:
        os.fchown(fd, uid, uid)


def _name_user(name, uid, home):
    """The uid in the container's own passwd and group, unless it is there from an earlier time; a `python`, which
    Debian calls python3 only, and a `sudo` where there is none."""
    for path, line in (
        ("/etc/passwd", "%s:x:%d:%d::%s:/bin/bash\n" % (name, uid, uid, home)),
        ("/etc/group", "%s:x:%d:\n" % (name, uid)),
    ):
        with open(path, "r+", encoding="utf-8", errors="surrogateescape") as file:
            if line not in file.read():
                file.write(line)
    if not os.path.lexists("/usr/local/bin/python"):
        os.symlink("/usr/bin/python3", "/usr/local/bin/python")
    if not os.path.lexists("/usr/bin/sudo") and not os.path.lexists("/usr/local/bin/sudo"):
        with open("/usr/local/bin/sudo", "x") as file:
            file.write(sudo.SCRIPT)
        os.chmod("/usr/local/bin/sudo", 0o755)


def _write_files(spec, files):
    uid = spec["uid"]
    for path, fd in zip(spec["files"], files):
        target = os.path.join(spec["workdir"], path)
        parent = os.path.dirname(target)
        if not os.path.isdir(parent):
            os.makedirs(parent)
            if uid:
                os.chown(parent, uid, uid)
        mode = 0o755 if spec["mode"] == "exec" else 0o644
        out = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, mode)
        size, offset = os.fstat(fd).st_size, 0
        while offset < size:
            data = os.pread(fd, min(size - offset, 1 << 20), offset)
            view = memoryview(data)
            while view:
                view = view[os.write(out, view) :]
            offset += len(data)
        if uid:
            os.fchown(out, uid, uid)
        os.close(out)


def _reap(child, usage):
    """Collect every dead child; the wait status of `child` if it is among them, and whether any are left."""
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


def _wait(child, control, wake, poll, watching):
    """Until the program's first process ends, or the supervisor says so or closes its end of the socket."""
    usage = [0.0, 0]
    poll.register(control, select.POLLIN | select.POLLHUP)
    poll.register(wake, select.POLLIN)
    while True:
        status, _more = _reap(child, usage)
        if status is not None:
            return status, usage, False
        for fd, event in poll.poll():
            if watching.handles(fd, event):
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
    """Kill every process the program left; True if there were any."""
    left = False
    deadline = time.monotonic() + 10
    while _reap(-1, usage)[1]:
        left = True
        if tier == "namespaces":
            _kill_all()
        else:
            _kill_as(spec["uid"])
        time.sleep(0.0005)
        if time.monotonic() > deadline:
            raise OSError(errno.EBUSY, "processes of the run can't be killed")
    return left


def _kill_all():
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        pass  # they died meanwhile


def _kill_as(uid):
    """Kill all that `uid` owns: one call, atomic against forks, from a process that the uid itself can't outrun."""
    pid = os.fork()
    if pid == 0:
        try:
            os.setgroups([])
            os.setresgid(uid, uid, uid)
            os.setresuid(uid, uid, uid)
            _kill_all()
        finally:
            os._exit(0)
