"""First in a local box: gives it inodes of its own for the machine's files, then starts the guest. One program, run by
its text, before there is a package; it must hold no secret and knows no frames.

What is bound read-only into a jail is still the machine's inode: a lock on it, or a watch, reaches every other box and
the machine. A read-only overlay over each folder, and a copy of each single file, show the same bytes through inodes
that are this box's alone.
"""

import ctypes
import os
import sys

_CLONE_NEWNS = 0x00020000
_MS_RDONLY, _MS_NOSUID, _MS_NODEV, _MS_NOEXEC, _MS_REMOUNT, _MS_BIND, _MNT_DETACH = 1, 2, 4, 8, 32, 4096, 2
_FLAGS = {"ro": _MS_RDONLY, "nosuid": _MS_NOSUID, "nodev": _MS_NODEV, "noexec": _MS_NOEXEC}
_KEPT = ("/dev", "/proc", "/cgroup")
STAGE = "/scratch"
"""An empty folder: the layer below, and where copies are made."""
_libc = ctypes.CDLL(None, use_errno=True)


def _check(result, what):
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, "%s: %s" % (what, os.strerror(code)))


def _mount(source, target, kind, flags, options=""):
    arguments = [os.fsencode(text) if text else None for text in (source, target, kind)]
    _check(_libc.mount(*arguments, ctypes.c_ulong(flags), os.fsencode(options) or None), "mount %s" % target)


def mounts():
    """(place, flags that it must keep) of what is seen of all that is mounted here. A file that has no name any more is
    left out: it was made for this jail alone, and nothing can be mounted over it."""
    found = {}
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as file:
        for line in file:
            fields = line.split(" ")
            place = fields[4].encode("utf-8", "surrogateescape").decode("unicode_escape")
            flags = sum(_FLAGS.get(option, 0) for option in fields[5].split(","))
            found[place] = None if fields[3].endswith("//deleted") else flags  # the last one is on top
    return [(place, flags) for place, flags in found.items() if flags is not None]


def _below(place, tops):
    return any(place == top or place.startswith(top + "/") for top in tops)


def _own_devices(found):
    """The nodes are the machine's where nobody may make any: read-only, what is written through them leaves no trace,
    neither times nor modes nor attributes. One by one: a remount does not reach what is mounted below."""
    for place, flags in found:
        if _below(place, ("/dev",)):
            _mount("", place, "", _MS_REMOUNT | _MS_BIND | _MS_RDONLY | flags)


def _own_ptys(count):
    """The kernel counts pseudo-terminals for the whole machine: no box may take more than `count`. Without a devpts
    /dev/ptmx, a link into it, is not there."""
    if count:
        options = "newinstance,ptmxmode=0666,mode=620,max=%d" % count
        _mount("devpts", "/dev/pts", "devpts", _MS_NOSUID | _MS_NOEXEC, options)
    else:
        _mount("tmpfs", "/dev/pts", "tmpfs", _MS_RDONLY | _MS_NOSUID | _MS_NODEV, "size=4k,nr_inodes=2,mode=555")


def _own_files(places):
    """A small file system in memory with a copy of each, shown in its place. What a box must not open is an empty file
    that nobody may."""
    _mount("tmpfs", STAGE, "tmpfs", _MS_NOSUID | _MS_NODEV, "mode=700")
    try:
        for number, place in enumerate(places):
            copy = "%s/%d" % (STAGE, number)
            hidden = place.startswith("/dev/")
            with open(copy, "xb") as out:
                if not hidden:
                    with open(place, "rb") as file:
                        out.write(file.read())
            os.chmod(copy, 0o000 if hidden else 0o444)
            _mount(copy, place, "", _MS_BIND)
            _mount("", place, "", _MS_REMOUNT | _MS_BIND | _MS_RDONLY | _MS_NOSUID | _MS_NODEV)
    finally:
        _check(_libc.umount2(STAGE.encode(), _MNT_DETACH), "umount")


def unshare(ptys, hidden):
    """Raises OSError where this kernel has no overlay in user namespaces (before 5.11), or too deep a stack of them."""
    _check(_libc.unshare(_CLONE_NEWNS), "unshare")
    found = mounts()
    _own_devices(found)
    _own_ptys(ptys)
    places = sorted(
        {place for place, flags in found if flags & _MS_RDONLY and not _below(place, _KEPT) and place != "/"}
    )
    for place in places:
        if os.path.isdir(place):
            _mount("overlay", place, "overlay", _MS_RDONLY | _MS_NOSUID | _MS_NODEV, "lowerdir=%s:%s" % (place, STAGE))
    _own_files([place for place in places if not os.path.isdir(place)] + hidden)


def main(argv):
    """`argv`: how many pseudo-terminals, files to hide, `--`, the command to go on with."""
    split = argv.index("--")
    try:
        unshare(int(argv[0]), argv[1:split])
    except OSError as error:
        sys.exit("no inodes of its own (Linux 5.11 or later gives them): %s" % error)
    os.execv(argv[split + 1], argv[split + 1 :])


if __name__ == "__main__":
    main(sys.argv[1:])
