"""The zygote: a clean interpreter that forks inits. It receives descriptors only, so it never holds a task's data."""

import array
import gc
import os
import signal
import socket

from .. import kernel
from . import init, seccomp

_MAX_FDS = 4


def start(tier, own_network, sessions, run_program):
    """Fork the zygote; returns (its pid, the supervisor's end of its socket). `own_network`: each init has one.
    `sessions`: whether a run may hold sandboxes itself, for which it needs more than a program's capabilities.
    `run_program(spec)` is what a forked process becomes where a run executes no command.

    In the namespace tier it is PID 1 of a PID namespace that this box's user namespace owns, so that it can make one
    PID namespace per init and return to its own.
    """
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    if tier == "namespaces":
        kernel.unshare(kernel.CLONE_NEWPID)
    gc.collect()
    gc.freeze()
    pid = os.fork()
    if pid:
        its.close()
        return pid, mine
    try:
        mine.close()
        kernel.close_from(its.fileno() + 1)
        if not sessions:
            kernel.drop_bounding_set()  # here once for all programs
        _serve(its, tier, own_network, run_program)
    finally:
        os._exit(1)


def _serve(sock, tier, own_network, run_program):
    gc.disable()
    kernel.prctl(kernel.PR_SET_DUMPABLE, 0)
    filter_program = seccomp.prepare()
    own = -1
    if tier == "namespaces":
        kernel.unshare(kernel.CLONE_NEWNS)
        flags = kernel.MS_NOSUID | kernel.MS_NODEV | kernel.MS_NOEXEC
        kernel.mount(b"proc", b"/proc", b"proc", flags)
        own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        # only the supervisor may read the cgroup; programs see an empty folder
        if os.path.isdir("/cgroup"):
            kernel.mount(b"tmpfs", b"/cgroup", b"tmpfs", flags | kernel.MS_RDONLY, b"size=4k,nr_inodes=2")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        fds = _receive_fds(sock)
        if not fds:
            os._exit(0)
        if own >= 0:
            kernel.unshare(kernel.CLONE_NEWPID)
        pid = os.fork()
        if pid == 0:
            sock.close()
            if own >= 0:
                os.close(own)
            init.main(fds[0], tier, filter_program, own_network, run_program)
        if own >= 0:
            kernel.setns(own, kernel.CLONE_NEWPID)
        for fd in fds:
            os.close(fd)
        status = _wait(pid)
        sock.send(b"%d" % status)


def resume(pid):
    """Have a zygote that was stopped go on, as it has its inits."""
    try:
        stopped, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
    except ChildProcessError:
        return  # it has ended, and its socket says so
    if stopped and os.WIFSTOPPED(status):
        os.kill(pid, signal.SIGCONT)


def _wait(pid):
    """Until the init has ended: its wait status. An init that was stopped goes on: only the machine can stop it, and a
    run whose init is stopped could not be ended."""
    while True:
        _pid, status = os.waitpid(pid, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            return status
        os.kill(pid, signal.SIGCONT)


def _receive_fds(sock):
    data, ancillary, _flags, _address = sock.recvmsg(16, socket.CMSG_SPACE(4 * _MAX_FDS))
    fds = array.array("i")
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(payload[: len(payload) - len(payload) % 4])
    return list(fds) if data else []


def send_init(sock, fd):
    """Ask the zygote for an init whose socket is `fd`."""
    sock.sendmsg([b"init"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
