"""The namespaces of an init: a /proc, a network, and for each run a scratch file system.

They end with the init, which may serve another task only as long as they are as they were; the scratch file system ends
with its run.
"""

import errno
import fcntl
import os
import socket
import struct
import time

from .. import kernel
from . import evidence

COLLECT_S = 1.0
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 1
_COUNTERS = (
    "buddyinfo diskstats interrupts locks pressure/cpu pressure/io pressure/irq pressure/memory schedstat softirqs "
    "sys/fs/aio-nr sys/fs/dentry-state sys/fs/file-nr sys/fs/inode-nr sys/fs/inode-state sys/fs/quota/syncs "
    "sys/kernel/pty/nr vmstat zoneinfo"
).split()
"""Files of /proc with exact counters of the whole machine, which any user may read and no task's program needs."""


_HIDDEN = kernel.MS_NOSUID | kernel.MS_NODEV


def unshare(own_network):
    """Enter new mount and IPC namespaces, mount a /proc of this PID namespace, and with `own_network` enter a new
    network: its counters, ports in TIME_WAIT and routes end with the init. A session has none and may hold sandboxes
    itself: its /proc stays uncovered, since the kernel mounts no /proc below a covered one. Any other /proc shows no
    process that a program may not look into: what the kernel counts of the init is not the next task's to read."""
    kernel.unshare(kernel.CLONE_NEWNS | kernel.CLONE_NEWIPC | (kernel.CLONE_NEWNET if own_network else 0))
    kernel.mount(b"proc", b"/proc", b"proc", _HIDDEN | kernel.MS_NOEXEC, b"hidepid=2" if own_network else None)
    if own_network:
        for name in _COUNTERS:
            try:
                kernel.mount(b"/dev/null", b"/proc/" + name.encode("ascii"), None, kernel.MS_BIND)
            except FileNotFoundError:
                pass  # this kernel has no such file
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
            fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sH22x", b"lo", _IFF_UP))


class Untouched:
    """What programs could change in an init's namespaces: its network's counters, and the numbers of processes."""

    def __init__(self, own_network):
        self._network = _network() if own_network else []

    def restored(self):
        """Whether the network is as it was; the next process has the number that a new init's first one has."""
        if self._network and _network() != self._network:
            return False
        return number_anew()


def number_anew():
    """Whether the next process has the number that a new init's first one has."""
    try:
        with open("/proc/sys/kernel/ns_last_pid", "wb", buffering=0) as file:
            file.write(b"1")
    except OSError:  # the kernel has no such file
        return False
    return True


def _network():
    return [_read("/proc/self/net/" + name) for name in evidence.KEPT_BY_NETWORK]


def _read(path):
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except FileNotFoundError:
        return b""  # no IPv6


def mount_scratch(spec):
    """Mount a scratch file system of limited size for one run."""
    limits = spec["limits"]
    options = "size=%d,nr_inodes=%d,mode=755" % (limits["scratch_bytes"], limits["scratch_inodes"])
    kernel.mount(b"tmpfs", b"/scratch", b"tmpfs", _HIDDEN, options.encode("ascii"))
    for name in ("work", "tmp", "shm"):
        os.mkdir("/scratch/" + name)
    if os.path.isdir("/dev/shm"):
        kernel.mount(b"/scratch/shm", b"/dev/shm", None, kernel.MS_BIND)


def unmount_scratch():
    """Unmount the scratch file system, and delete with it all that the run wrote. No process holds it any more. Whether
    it is gone."""
    deadline = time.monotonic() + COLLECT_S
    shared = not os.path.isdir("/dev/shm") or _unmount(b"/dev/shm", deadline)
    return _unmount(b"/scratch", deadline) and shared


def _unmount(target, deadline):
    """Unmount, retried until the deadline: files that a dead process sent into its own sockets are closed when the
    kernel collects those, a moment later. After the deadline the mount is detached, and only its memory stays; whether
    it did not come to that."""
    while time.monotonic() < deadline:
        try:
            kernel.unmount(target)
            return True
        except OSError as error:
            if error.errno != errno.EBUSY:
                raise
            time.sleep(0.001)
    kernel.unmount(target, kernel.MNT_DETACH)
    return False
