"""Starts a guest inside a sandbox of another service, such as E2B, and carries the guest's channel.

Run as `python3 -I -c SOURCE HOW`. HOW is `box`: a supervisor as the sandbox's root, for programs that see nothing of
the sandbox; `snapshot`: the same, for programs that start in the WORK of a session's snapshot; `session`: a session's
driver as the sandbox's ordinary user, without root. The first line of standard output is JSON,
`{"tier", "dirs", "isolation", "owner"}` or `{"error"}`. Then standard input is the guest's channel in, as bytes, and
standard output its channel out, as lines of base64, since the service may treat output as text. Imports nothing of
the guest: that comes over the channel.
"""

import base64
import ctypes
import json
import os
import selectors
import signal
import socket
import struct
import sys

NEWNS, NEWIPC, NEWUSER, NEWPID, NEWNET = 0x00020000, 0x08000000, 0x10000000, 0x20000000, 0x40000000
NOSUID_NODEV, NOEXEC, RDONLY, BIND, REMOUNT_BIND, REC, SLAVE = 6, 8, 1, 4096, 32 | 4096, 16384, 1 << 19
CAP_SETUID, CAP_SYS_ADMIN = 1 << 7, 1 << 21
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_SET_NAME = 1, 4, 15
PIECE = 1 << 18
WORK, HOME = "/workspace", "/home/user"
"""Where sessions keep their files, and the home of a sandbox's user; one folder in a pool on local."""
OWNED = "/etc/sandbox-gym-owned"
"""One path a line, which guest/adopt.py left there: its file is root's."""
WRITABLE = ("/tmp", "/var/tmp", "/dev/shm")
CLOSED = ("/dev/mqueue", "/run/lock", "/var/lock")
"""Folders where any user may write in most images: those that programs use, and those that no program needs."""
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
"""The variables with the sandbox's proxy, which a session's programs need."""

libc = ctypes.CDLL(None, use_errno=True)


def check(result, what):
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, "%s: %s" % (what, os.strerror(code)))


def unshare(flags):
    check(libc.unshare(flags), "unshare")


def mount(kind, target, flags, data=None):
    check(libc.mount(kind, target.encode(), kind, ctypes.c_ulong(flags), data), "mount %s" % target)


def capabilities():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1], 16) for line in file if line.startswith("CapEff"))


def enter():
    """Unshare the sandbox's namespaces where permitted; (tier, whether a fork makes a PID namespace)."""
    effective = capabilities()
    if os.getuid() == 0 and effective & CAP_SETUID:
        if effective & CAP_SYS_ADMIN:
            unshare(NEWNS | NEWPID | NEWIPC | NEWNET)
            check(libc.mount(None, b"/", None, ctypes.c_ulong(REC | SLAVE), None), "mount /")
            return "uid", True
        return "uid", False
    if not os.path.isdir("/scratch"):
        raise OSError(1, "neither root nor in a sandbox of sandbox-gym: commands must run as root")
    uid, gid = os.getuid(), os.getgid()
    unshare(NEWUSER)
    for name, text in (("setgroups", "deny"), ("uid_map", "%d %d 1" % (uid, uid)), ("gid_map", "%d %d 1" % (gid, gid))):
        with open("/proc/self/" + name, "w") as file:
            file.write(text)
    unshare(NEWNS | NEWPID | NEWIPC | NEWNET)
    return "namespaces", True


def owned():
    """The folders of a snapshot that belong to its session; an image that others built says which it has more."""
    try:
        with open(OWNED, encoding="utf-8", errors="surrogateescape") as file:
            return [WORK, *(path for path in file.read().splitlines() if os.path.isdir(path))]
    except FileNotFoundError:
        return [WORK]


def furnish(tier, own_pids, how):
    """In the guest's own process: mount a /proc of its own, and hide or close everything of the sandbox to which a
    program could write, except WORK of a snapshot. Returns the folders that the guest empties after each run."""
    if how == "session":
        if not os.access(WORK, os.W_OK | os.X_OK):
            raise OSError(2, "no %s to write to" % WORK)
        return []
    if tier == "namespaces":
        mount(b"proc", "/proc", NOSUID_NODEV | NOEXEC)
        for path in (HOME,) if how == "snapshot" else (HOME, WORK):
            if os.path.isdir(path):
                mount(b"tmpfs", path, NOSUID_NODEV | RDONLY, b"size=4k,nr_inodes=2")
        return []
    folders = ["/scratch"] + [path for path in WRITABLE if os.path.isdir(path)]
    for path in CLOSED:
        if os.path.isdir(path):
            os.chmod(path, 0o755)
    if own_pids:
        mount(b"proc", "/proc", NOSUID_NODEV | NOEXEC)
        if not os.path.isdir("/scratch"):
            os.mkdir("/scratch", 0o755)
        for path in folders:
            mode = b"755" if path == "/scratch" else b"1777"
            mount(b"tmpfs", path, NOSUID_NODEV, b"size=134217728,nr_inodes=16384,mode=" + mode)
        for path in owned() if how == "snapshot" else ():  # stay writable while / is read-only
            check(libc.mount(path.encode(), path.encode(), None, ctypes.c_ulong(BIND | REC), None), "bind " + path)
        check(libc.mount(None, b"/", None, ctypes.c_ulong(REMOUNT_BIND | RDONLY), None), "remount /")
    return folders


def guest(channel, report_write):
    """Read a guest's source and become it; it speaks over the channel. Never returns."""

    def read(size):
        data = b""
        while len(data) < size:
            piece = os.read(channel, size - len(data))
            if not piece:
                os._exit(1)
            data += piece
        return data

    os.close(report_write)
    source = read(struct.unpack(">I", read(4))[0])
    exec(compile(source, "<guest>", "exec"), {"I": channel, "O": channel})


def become_guest(tier, own_pids, how, channel, report_write):
    try:
        check(libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL), "prctl")
        # no process may read a supervisor's memory; a session's driver is the user's, whose children need their /proc
        # files
        check(libc.prctl(PR_SET_DUMPABLE, int(how == "session")), "prctl")
        os.setsid()
        quiet = os.open("/dev/null", os.O_RDWR)
        for fd in (0, 1, 2):
            os.dup2(quiet, fd)
        os.chdir("/")
        dirs = furnish(tier, own_pids, how)
        state = {"tier": tier, "dirs": dirs, "isolation": os.environ.get("SANDBOX_GYM_ISOLATION", "")}
        if how != "box":
            os.chdir(WORK)
            state["owner"] = os.stat(WORK).st_uid
        os.umask(0o022)
        proxies = {name: os.environ[name] for name in PROXIES if how == "session" and name in os.environ}
        os.environ.clear()
        os.environ.update(proxies)
        os.write(report_write, json.dumps(state).encode() + b"\n")
        guest(channel, report_write)
    except OSError as error:
        os.write(report_write, json.dumps({"error": str(error)[:500]}).encode() + b"\n")
    finally:
        os._exit(1)


def write_all(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def carry(channel):
    """Carry bytes until either end closes: input to the guest as it comes, its output in base64."""
    selector = selectors.DefaultSelector()
    selector.register(0, selectors.EVENT_READ)
    selector.register(channel, selectors.EVENT_READ)
    waiting = bytearray()
    while True:
        for key, events in selector.select():
            if key.fileobj == 0:
                data = os.read(0, PIECE)
                if not data:
                    return
                waiting += data
            elif events & selectors.EVENT_READ:
                data = channel.recv(PIECE)
                if not data:
                    return
                write_all(1, base64.b64encode(data) + b"\n")
        while waiting:
            try:
                del waiting[: channel.send(memoryview(waiting)[:PIECE])]
            except BlockingIOError:
                break
        selector.modify(channel, selectors.EVENT_READ | (selectors.EVENT_WRITE if waiting else 0))
        full = len(waiting) > 4 * PIECE  # the guest takes no more for now: stop reading
        if full == (0 in selector.get_map()):
            selector.unregister(0) if full else selector.register(0, selectors.EVENT_READ)


def rename(name):
    """As guest/kernel.py does: `pkill python3` is not meant for this process."""
    libc.prctl(PR_SET_NAME, name)
    with open("/proc/self/stat", "rb") as file:
        start, end = map(int, file.read().rpartition(b")")[2].split()[45:47])
    if start and end - start > len(name):
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, name, len(name))


def main():
    how = sys.argv[1] if len(sys.argv) > 1 else "box"
    if how == "session":
        rename(b"sandbox-driver")
    try:
        tier, own_pids = ("session", False) if how == "session" else enter()
    except OSError as error:
        write_all(1, json.dumps({"error": str(error)[:500]}).encode() + b"\n")
        return
    mine, its = socket.socketpair()
    report, report_write = os.pipe()
    if os.fork() == 0:
        os.close(report)
        mine.close()
        become_guest(tier, own_pids, how, its.detach(), report_write)
    os.close(report_write)
    its.close()
    mine.setblocking(False)
    with os.fdopen(report, "rb") as file:
        write_all(1, file.read())  # ends when the guest has started or ended
    carry(mine)


main()
