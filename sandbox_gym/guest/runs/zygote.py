"""The zygote: a clean interpreter that forks inits. It receives descriptors only, so it never holds a task's data."""

import array
import gc
import os
import signal
import socket
import struct

from .. import kernel
from . import init, seccomp

_MAX_FDS = 4
_INIT, _LOAD, _REAP = b"init", b"load", b"reap"
_BEGUN, LOADED = b"begun", b"loaded"
_CREDENTIALS = struct.Struct("iII")


def start(tier, own_network, sessions, programs):
    """Fork the zygote; returns (its pid, the supervisor's end of its socket). `own_network`: each init has one.
    `sessions`: whether a run may hold sandboxes itself, for which it needs more than a program's capabilities.
    `programs`: see `Supervisor`.

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
        _serve(its, tier, own_network, programs)
    finally:
        os._exit(1)


def _serve(sock, tier, own_network, programs):
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
    os.environ.clear()
    programs.settle()
    gc.freeze()
    loader = 0
    while True:
        message, fds = _receive(sock)
        if not fds:
            os._exit(0)
        if message == _REAP:
            os.waitpid(loader, 0)
        if message == _LOAD:
            loader = kernel.fork()
            if loader == 0:
                sock.close()
                sock = _with_libraries(fds.pop(), programs)
        if message != _INIT:
            list(map(os.close, fds))
            continue
        if own >= 0:
            kernel.unshare(kernel.CLONE_NEWPID)
        pid = kernel.fork()
        if pid == 0:
            sock.close()
            if own >= 0:
                os.close(own)
            init.main(fds[0], tier, filter_program, own_network, programs)
        if own >= 0:
            kernel.setns(own, kernel.CLONE_NEWPID)
        for fd in fds:
            os.close(fd)
        status = _wait(pid)
        sock.send(b"%d" % status)


def _with_libraries(fd, programs):
    """Become a zygote that has loaded libraries; its socket. Where they can't be loaded it ends."""
    sock = socket.socket(fileno=fd)
    sock.send(_BEGUN)
    if not programs.load():
        os._exit(0)
    sock.send(LOADED)
    return sock


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


def _receive(sock):
    data, ancillary, _flags, _address = sock.recvmsg(16, socket.CMSG_SPACE(4 * _MAX_FDS))
    fds = array.array("i")
    for level, kind, payload in ancillary:
        if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
            fds.frombytes(payload[: len(payload) - len(payload) % 4])
    return data, list(fds) if data else []


def send_init(sock, fd):
    """Ask the zygote for an init whose socket is `fd`."""
    _send(sock, _INIT, fd)


def loader(sock, wait):
    """Ask the zygote for one like it that loads libraries; (its PID, 0 if it has ended already, its socket), on which
    it says LOADED. `wait(socket)` returns when that can be read, and raises where it takes too long."""
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    mine.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    with its:
        _send(sock, _LOAD, its.fileno())
    wait(mine)
    data, ancillary, _flags, _address = mine.recvmsg(16, socket.CMSG_SPACE(_CREDENTIALS.size))
    mine.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
    return _CREDENTIALS.unpack(ancillary[0][2])[0] if data else 0, mine


def end_loader(sock, pid, wait):
    """End the zygote's loader, which could not load or takes too long; no process has its PID before."""
    if pid:
        os.kill(pid, signal.SIGKILL)
    mine, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with mine:
        with its:
            _send(sock, _REAP, its.fileno())
        wait(mine)


def _send(sock, message, fd):
    sock.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [fd]))])
