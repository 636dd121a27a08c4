"""The first program in a local box: gives it inodes of its own for the machine's files, then executes the guest. It is
run as source text, before there is a package; it holds no secret and knows no frames.

A file that is bound read-only into a jail is still the machine's inode: a lock on it, or an inotify watch, reaches
every other box and the machine. A read-only overlay over each folder, and a copy of each single file, show the same
bytes through inodes of this box alone.
"""

import ctypes
import errno
import os
import sys

_CLONE_NEWNS = 0x00020000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT, _MS_BIND, _MNT_DETACH = 1, 2, 4, 8, 32, 4096, 2
_FLAGS = {"ro": _MS_RDONLY, "nosuid": _MS_NOSUID, "nodev": _MS_NODEV, "noexec": _MS_NOEXEC}
_UNCHANGED = ("/dev", "/proc", "/cgroup")
STAGE = "/scratch"
"""An empty folder: the lower layer of the overlays, and where copies are made."""
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, "%s: %s" % (what, os.strerror(code)))


def _mount(source, target, kind, flags, options=""):
    arguments = [os.fsencode(text) if text else None for text in (source, target, kind)]
    _check(_libc.mount(*arguments, ctypes.c_ulong(flags), os.fsencode(options) or None), "mount %s" % target)


def mounts():
    """[(mount point, flags that it must keep)] of the visible mounts. A deleted file is left out: it was made for this
    jail alone, and nothing can be mounted over it."""
    found = {}
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            fields = line.split(" ")
            point = fields[4].encode("utf-8", "surrogateescape").decode("unicode_escape")
            flags = sum(_FLAGS.get(option, 0) for option in fields[5].split(","))
            found[point] = None if fields[3].endswith("//deleted") else flags  # the last one is on top
    return [(point, flags) for point, flags in found.items() if flags is not None]


def _below(point, tops):
    return any(point == top or point.startswith(top + "/") for top in tops)


def _own_devices(found):
    """Remount the device nodes read-only: where a box can't make nodes they are the machine's, and writes would change
    their times, modes and attributes. One by one, since a remount does not reach mounts below it."""
    for point, flags in found:
        if _below(point, ("/dev",)):
            _mount("", point, "", _MS_REMOUNT | _MS_BIND | _MS_RDONLY | flags)


def _own_ptys(count):
    """Mount a devpts of at most `count` pseudo-terminals, which the kernel counts for the whole machine. With 0 there
    is no devpts, and /dev/ptmx, a link into it, leads nowhere."""
    if count:
        options = "newinstance,ptmxmode=0666,mode=620,max=%d" % count
        _mount("devpts", "/dev/pts", "devpts", _MS_NOSUID | _MS_NOEXEC, options)
    else:
        _mount("tmpfs", "/dev/pts", "tmpfs", _MS_RDONLY | _MS_NOSUID | _MS_NODEV, "size=4k,nr_inodes=2,mode=555")


def _overlay(point, found):
    """Mount a read-only overlay over a folder. Of one that holds a mount of a container's, which can't be taken off
    here, the kernel makes no layer."""
    try:
        _mount("overlay", point, "overlay", _MS_RDONLY | _MS_NOSUID | _MS_NODEV, "lowerdir=%s:%s" % (point, STAGE))
    except OSError as error:
        inside = [other for other, _ in found if other != point and _below(other, (point,))]
        if error.errno != errno.EINVAL or not inside:
            raise
        what = "start the container without what is mounted there (docker run --init, a GPU's libraries)"
        raise OSError(error.errno, "%s is a mount of its own; %s" % (inside[0], what))


def _own_files(points):
    """Mount over each file a copy in memory. A file of /dev, which the box must not open, becomes an empty file without
    permissions."""
    _mount("tmpfs", STAGE, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=700")
    try:
        for number, point in enumerate(points):
            copy = "%s/%d" % (STAGE, number)
            hidden = point.startswith("/dev/")
            with open(copy, "xb") as out:
                if not hidden:
                    with open(point, "rb") as file:
                        out.write(file.read())
            os.chmod(copy, 0o000 if hidden else 0o444)
            _mount(copy, point, "", _MS_BIND)
            _mount("", point, "", _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | _MS_NODEV)
    finally:
        _check(_libc.umount2(STAGE.encode(), _MNT_DETACH), "umount")


def unshare(ptys, hidden):
    """Give the box its own inodes. Raises OSError where the kernel has no overlay in user namespaces (before 5.11), or
    too many overlays are stacked."""
    _check(_libc.unshare(_CLONE_NEWNS), "unshare")
    found = mounts()
    _own_devices(found)
    _own_ptys(ptys)
    points = sorted(
        {point for point, flags in found if flags & _MS_RDONLY and not _below(point, _UNCHANGED) and point != "/"}
    )
    for point in points:
        if os.path.isdir(point):
            _overlay(point, found)
    _own_files([point for point in points if not os.path.isdir(point)] + hidden)


def main(argv):
    """`argv`: the number of pseudo-terminals, files to hide, `--`, the command to execute."""
    split = argv.index("--")
    try:
        unshare(int(argv[0]), argv[1:split])
    except OSError as error:
        sys.exit("no inodes of its own (Linux 5.11 or later gives them): %s" % error)
    os.execv(argv[split + 1], argv[split + 1 :])


if __name__ == "__main__":
    main(sys.argv[1:])
