"""Files and folders of a sandbox as its user sees them. The caller names any path; the kernel decides what is
allowed."""

import errno
import grp
import os
import pwd
import shutil
import stat
import tempfile
import time

from ..session.files import PIECE, read_up_to, write_all

MAX_ENTRIES = 20000
MAX_COUNTED = 5000
MAX_HANDLES = 64
MAX_IDLE_S = 300
XATTR = "user.e2b."


def resolve(path, home):
    """The absolute path; a relative one is below the home folder. Raises OSError for an invalid one."""
    if not isinstance(path, str) or "\0" in path:
        raise OSError(errno.EINVAL, "a path is a text without NUL")
    try:
        path.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise OSError(errno.EINVAL, "a path is UTF-8") from None
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return os.path.normpath(os.path.join(home, path))


def without_links(path):
    """The path for root to use, which follows no link that a user has made. Raises OSError."""
    part = path
    while part != "/":
        if os.path.islink(part) and os.lstat(part).st_uid:
            raise OSError(errno.EACCES, "a link of a user's leads to what this user may not have", part)
        part = os.path.dirname(part)
    return path


def text(value):
    """A file's name as valid UTF-8."""
    return os.fsencode(value).decode("utf-8", "replace")


def info(path):
    """The entry at a path, links not followed. Raises OSError."""
    try:
        found = os.lstat(path)
    except NotADirectoryError as error:  # nothing is below a file
        raise FileNotFoundError(errno.ENOENT, error.strerror, path) from None
    entry = {
        "name": text(os.path.basename(path) or "/"),
        "path": text(path),
        "size": found.st_size,
        "mode": stat.S_IMODE(found.st_mode),
        "permissions": stat.filemode(found.st_mode),
        "owner": _name(pwd.getpwuid, found.st_uid),
        "group": _name(grp.getgrgid, found.st_gid),
        "modified_ns": found.st_mtime_ns,
        "link": stat.S_ISLNK(found.st_mode),
        "target": "",
        "metadata": {},
    }
    mode = found.st_mode
    if entry["link"]:
        entry["target"] = text(os.path.realpath(path))
        try:
            mode = os.stat(path).st_mode
        except OSError:
            mode = 0  # a dangling link
    else:
        entry["metadata"] = metadata(path)
    entry["type"] = "dir" if stat.S_ISDIR(mode) else "file" if stat.S_ISREG(mode) else ""
    return entry


def metadata(path):
    """The metadata that an upload gave a file."""
    found = {}
    try:
        for name in os.listxattr(path, follow_symlinks=False):
            if name.startswith(XATTR):
                value = os.getxattr(path, name, follow_symlinks=False)
                found[text(name[len(XATTR) :])] = value[:4096].decode("utf-8", "replace")
    except OSError:
        pass  # this file system has no extended attributes
    return found


def _name(find, number):
    try:
        return find(number)[0]
    except KeyError:
        return str(number)


def listing(path, depth):
    """Every entry down to `depth`, folder by folder. Raises OSError, also when there are too many."""
    if not stat.S_ISDIR(os.stat(path).st_mode):
        raise OSError(errno.EINVAL, "path is not a directory")
    found, level = [], [path]
    for _ in range(max(1, min(depth, 1000))):
        deeper = []
        for folder in level:
            for name in _names(folder, folder == path):
                child = os.path.join(folder, name)
                try:
                    entry = info(child)
                except OSError:
                    continue  # it was removed meanwhile
                found.append(entry)
                if entry["type"] == "dir" and not entry["link"]:
                    deeper.append(child)
                if len(found) > MAX_ENTRIES:
                    raise OSError(errno.E2BIG, "more than %d entries; list a smaller folder" % MAX_ENTRIES)
        level = deeper
    return sorted(found, key=lambda entry: entry["path"])


def _names(folder, must):
    try:
        return sorted(os.listdir(folder))
    except OSError:
        if must:
            raise
        return []


def make_folders(path, owner=None):
    """Make a folder with those above it that are missing, for `owner`."""
    missing = []
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    for folder in reversed(missing):
        os.mkdir(folder)
        _own(folder, owner)


def make_folder(path, owner=None):
    """Make a folder with its parents. Raises FileExistsError where it exists, NotADirectoryError where the path is no
    folder."""
    if os.path.lexists(path):
        if not os.path.isdir(path):
            raise NotADirectoryError(errno.ENOTDIR, "path already exists but it is not a directory")
        raise FileExistsError(errno.EEXIST, "directory already exists")
    make_folders(path, owner)


def _copy(source, target):
    """A file or a link. What else there is, such as a device, has no content of its own and may have no end."""
    kind = os.lstat(source).st_mode
    if not stat.S_ISREG(kind) and not stat.S_ISLNK(kind):
        raise OSError(errno.EXDEV, "a device, pipe or socket can't be moved to another file system")
    shutil.copy2(source, target, follow_symlinks=False)


def move(source, target, owner=None):
    """As within one file system, also from one to another, such as between the home folder and /tmp. Raises OSError."""
    os.lstat(source)
    parent = os.path.dirname(target)
    make_folders(parent, owner)
    try:
        os.rename(source, target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        if not os.access(os.path.dirname(source), os.W_OK):
            raise OSError(errno.EACCES, "the folder of the source can't be written") from None
        folder = tempfile.mkdtemp(prefix=".moved-", dir=parent)
        try:
            copy = os.path.join(folder, "copy")
            if os.path.isdir(source) and not os.path.islink(source):
                shutil.copytree(source, copy, symlinks=True, copy_function=_copy)
            else:
                _copy(source, copy)
            os.rename(copy, target)
        except shutil.Error as error:
            raise OSError(errno.EXDEV, str(error.args[0][0][2])) from None
        finally:
            shutil.rmtree(folder)
        remove(source)


def remove(path):
    """Remove a file or a folder tree; a missing path is no error."""
    try:
        if stat.S_ISDIR(os.lstat(path).st_mode):
            shutil.rmtree(path)
        else:
            os.unlink(path)
    except FileNotFoundError:
        pass


class Handles:
    """Files that stay open between requests, read or written piece by piece."""

    def __init__(self):
        self._fds = {}
        self._count = 0

    def _keep(self, fd):
        if len(self._fds) >= MAX_HANDLES:
            os.close(fd)
            raise OSError(errno.EMFILE, "too many files are open")
        self._count += 1
        self._fds[self._count] = [fd, time.monotonic()]
        return self._count

    def _fd(self, number):
        if number not in self._fds:
            raise OSError(errno.EBADF, "no such open file")
        self._fds[number][1] = time.monotonic()
        return self._fds[number][0]

    def sweep(self):
        """Close files that the host has not used for MAX_IDLE_S."""
        old = time.monotonic() - MAX_IDLE_S
        for number in [number for number, (_fd, used) in self._fds.items() if used < old]:
            self.close(number)

    def open(self, path):
        """(handle, size, time of the last change, first piece); the handle is 0 where that is the whole file."""
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
        try:
            found = os.fstat(fd)
            if stat.S_ISDIR(found.st_mode):
                raise OSError(errno.EISDIR, "path is a directory")
            if not stat.S_ISREG(found.st_mode):
                raise OSError(errno.EINVAL, "path is not a regular file")
            piece = read_up_to(fd, PIECE)
        except OSError:
            os.close(fd)
            raise
        if len(piece) < PIECE:
            os.close(fd)
            return 0, len(piece), found.st_mtime, piece
        return self._keep(fd), max(found.st_size, len(piece)), found.st_mtime, piece

    def read(self, number, offset):
        """The next piece; from `offset` on unless it is None."""
        fd = self._fd(number)
        if offset is not None:
            os.lseek(fd, offset, os.SEEK_SET)
        return read_up_to(fd, PIECE)

    def create(self, path, data, notes, owner=None):
        """Create or truncate a file and write its first bytes. The handle, to write more. It becomes `owner`'s."""
        if os.path.isdir(path):
            raise OSError(errno.EISDIR, "path is a directory")
        make_folders(os.path.dirname(path), owner)
        existed = os.path.exists(path)
        if existed:
            _own(path, owner)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
        fd = os.open(path, flags, 0o644)
        try:
            if not existed:
                _own(fd, owner)
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "path is not a regular file")
            for name in os.listxattr(fd):
                if name.startswith(XATTR):
                    os.removexattr(fd, name)
            for key, value in notes.items():
                os.setxattr(fd, XATTR + key, value.encode("utf-8"))
            write_all(fd, data)
        except OSError:
            os.close(fd)
            raise
        return self._keep(fd)

    def write(self, number, data):
        write_all(self._fd(number), data)

    def close(self, number):
        entry = self._fds.pop(number, None)
        if entry is not None:
            os.close(entry[0])


def _own(file, owner=None):
    """Give a file to its user, as E2B's envd does: watchers are told of it, CHMOD between CREATE and WRITE."""
    try:
        os.chown(file, owner.pw_uid if owner else os.getuid(), owner.pw_gid if owner else os.getgid())
    except OSError:
        pass  # another user's, or gone: writing it says what is wrong
