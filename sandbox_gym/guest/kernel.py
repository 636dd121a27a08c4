"""System calls that Python does not offer. Each raises OSError; decisions are the callers'."""

import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
MNT_DETACH = 2
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND = 1, 2, 4, 8, 4096
PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER = 4, 24, 36
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4

_CLOSE_RANGE = 436

libc = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, "%s: %s" % (what, os.strerror(code)))
    return result


def unshare(flags):
    _check(libc.unshare(ctypes.c_int(flags)), "unshare")


def setns(fd, flags):
    _check(libc.setns(ctypes.c_int(fd), ctypes.c_int(flags)), "setns")


def mount(source, target, kind, flags, data=None):
    _check(libc.mount(source, target, kind, ctypes.c_ulong(flags), data), "mount %s" % target.decode())


def unmount(target, flags=0):
    _check(libc.umount2(target, ctypes.c_int(flags)), "unmount %s" % target.decode())


def prctl(option, a=0, b=0, c=0, d=0):
    args = [ctypes.c_ulong(x) for x in (a, b, c, d)]
    return _check(libc.prctl(ctypes.c_int(option), *args), "prctl %d" % option)


def close_from(first):
    """Close every descriptor from `first` on, whatever its number: a parent with thousands of open files passes on high
    numbers."""
    if libc.syscall(ctypes.c_long(_CLOSE_RANGE), ctypes.c_uint(first), ctypes.c_uint(0xFFFFFFFF), ctypes.c_uint(0)):
        highest = max(int(name) for name in os.listdir("/proc/self/fd"))  # a kernel before 5.9
        os.closerange(first, highest + 1)


_bounded = True


def drop_bounding_set():
    """Empty the bounding set, of this process and those that it forks from now on. Needs CAP_SETPCAP, so call it before
    a change of user."""
    global _bounded
    for capability in range(64 * _bounded):
        try:
            prctl(PR_CAPBSET_DROP, capability)
        except OSError:
            break
    _bounded = False


def drop_capabilities():
    """Empty the ambient, inheritable, permitted and effective sets of this thread."""
    try:
        prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    except OSError:
        pass  # kernels before 4.3 have no ambient set
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)
    _check(libc.capset(header, (ctypes.c_uint32 * 6)()), "capset")
