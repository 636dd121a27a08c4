"""What an init with namespaces makes for its runs: a /proc, a network, and for each run a file system to write to.

Nothing of it outlives the init, and of what a run writes nothing outlives the run.
"""

import errno
import fcntl
import os
import socket
import struct
import time

from .. import kernel

COLLECT_S = 1.0
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
_COUNTERS = (
    "buddyinfo diskstats interrupts locks pressure/cpu pressure/io pressure/irq pressure/memory schedstat softirqs "
    "sys/fs/aio-nr sys/fs/dentry-state sys/fs/file-nr sys/fs/inode-nr sys/fs/inode-state sys/kernel/pty/nr vmstat "
    "zoneinfo"
).split()
"""Of /proc, what counts exactly for the whole machine, any user may read, and no program of a task does."""


_HIDDEN = kernel.MS_NOSUID | kernel.MS_NODEV


def private_namespaces(own_network):
    """Mount and IPC namespaces of this init's own, a /proc of its PID namespace, and a network where it may have one:
    counters, ports in their last minute and routes end with it. A session, which has none, may hold sandboxes itself:
    nothing of its /proc is covered, for below a covered one the kernel mounts no other."""
    kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC | (kernel.CLONE_NEWNET if own_network else 0))
    kernel.mount(b"proc", b"/proc", b"proc", _HIDDEN | kernel.MS_NOEXEC)
    if own_network:
        for name in _COUNTERS:
            try:
                kernel.mount(b"/dev/null", b"/proc/" + name.encode("ascii"), None, kernel.MS_BIND)
            except FileNotFoundError:
                pass  # a kernel without it
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", _IFF_UP))


def mount_scratch(spec):
    """A sized scratch file system for one run."""
    limits = spec["limits"]
    options = "size=%d,nr_inodes=%d,mode=755" % (limits["scratch_bytes"], limits["scratch_inodes"])
    kernel.mount(b"tmpfs", b"/scratch", b"tmpfs", _HIDDEN, options.encode("ascii"))
    for name in ("work", "tmp", "shm"):
        os.mkdir("/scratch/" + name)
    if os.path.isdir("/dev/shm"):
        kernel.mount(b"/scratch/shm", b"/dev/shm", None, kernel.MS_BIND)


def unmount_scratch():
    """Nothing alive holds the scratch file system any more: with its mounts it goes, and all that was written."""
    deadline = time.monotonic() + COLLECT_S
    if os.path.isdir("/dev/shm"):
        _unmount(b"/dev/shm", deadline)
    _unmount(b"/scratch", deadline)


def _unmount(target, deadline):
    """Files that the dead sent into sockets of their own are closed when the kernel collects those, a moment later.
    After the deadline what still holds them keeps its memory for so long, but nobody finds it again."""
    while time.monotonic() < deadline:
        try:
            kernel.unmount(target)
            return
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            time.sleep(0.001)
    kernel.unmount(target, kernel.MNT_DETACH)
