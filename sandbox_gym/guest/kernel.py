"""System calls that Python does not offer. Each raises OSError; decisions are the callers'."""

import ctypes
import os

CLONE_NEWNS = 0x00020000
CLONE_NEWIPC = 0x08000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
MNT_DETACH = 2
MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC, MS_BIND = 1, 2, 4, 8, 4096
PR_SET_DUMPABLE, PR_SET_NAME, PR_CAPBSET_DROP, PR_SET_CHILD_SUBREAPER = 4, 15, 24, 36
PR_SET_NO_NEW_PRIVS, PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 38, 47, 4

_CLOSE_RANGE = 436

libc = ctypes.CDLL(None, use_errno=True)
_bare = ctypes.PyDLL(None, use_errno=True)  # keeps the interpreter's lock, which a fork must not lose
_INT, _LONG, _WORDS = ctypes.c_int, ctypes.c_ulong, ctypes.c_char_p
libc.unshare.argtypes = [_INT]
libc.setns.argtypes = [_INT, _INT]
libc.mount.argtypes = [_WORDS, _WORDS, _WORDS, _LONG, _WORDS]
libc.umount2.argtypes = [_WORDS, _INT]
libc.prctl.argtypes = [_INT, _LONG, _LONG, _LONG, _LONG]
libc.capset.argtypes = [ctypes.c_void_p, ctypes.c_void_p]
libc.fflush.argtypes = [ctypes.c_void_p]
libc.syscall.restype = _bare.fork.restype = _INT  # looked up here, and not by each process that is forked
_close_range = libc["syscall"]  # a function of its own, with types of its own
_close_range.argtypes = [ctypes.c_long, ctypes.c_uint, ctypes.c_uint, ctypes.c_uint]
_CAPABILITIES = (ctypes.c_uint32 * 2)(0x20080522, 0)
_NONE = (ctypes.c_uint32 * 6)()


def _check(result, what, on=b""):
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, "%s%s: %s" % (what, on.decode() if isinstance(on, bytes) else on, os.strerror(code)))
    return result


def fork():
    """Fork as os.fork, without the hooks that modules of the library have run in a child. For a process of one thread
    that has no need of them."""
    return _check(_bare.fork(), "fork")


def unshare(flags):
    _check(libc.unshare(flags), "unshare")


def setns(fd, flags):
    _check(libc.setns(fd, flags), "setns")


def mount(source, target, kind, flags, data=None):
    _check(libc.mount(source, target, kind, flags, data), "mount ", target)


def unmount(target, flags=0):
    _check(libc.umount2(target, flags), "unmount ", target)


def prctl(option, a=0, b=0, c=0, d=0):
    return _check(libc.prctl(option, a, b, c, d), "prctl ", option)


def rename(name):
    """Have this name, of at most 15 bytes, in lists of processes, and no arguments: neither `pkill python3` nor
    `pkill -f` is meant for this process, and nobody waits for it with pgrep."""
    text = ctypes.create_string_buffer(name)
    prctl(PR_SET_NAME, ctypes.addressof(text))
    with open("/proc/self/stat", "rb") as file:
        fields = file.read().rpartition(b")")[2].split()
    start, end = int(fields[45]), int(fields[46])
    if start and end - start > len(name):
        ctypes.memset(start, 0, end - start)
        ctypes.memmove(start, name, len(name))


def close_from(first):
    """Close every descriptor from `first` on, whatever its number: a parent with thousands of open files passes on high
    numbers."""
    if _close_range(_CLOSE_RANGE, first, 0xFFFFFFFF, 0):
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
    _check(libc.capset(_CAPABILITIES, _NONE), "capset")
