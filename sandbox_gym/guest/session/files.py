"""Files of the session's user, whole or in pieces. Every failure is an OSError, whose name is sent to the host."""

import errno
import os
import stat
import time
from itertools import islice

MAX_FILE = 16 << 20
WEIGH_S = 10.0
PIECE = 1 << 20


def read(path, offset, size, max_bytes):
    """The bytes of a regular file from `offset` on: at most `size` of them, or, where that is None, all, which may be
    no more than `max_bytes`. Raises OSError: EISDIR, EINVAL for a device or pipe, EFBIG, and what the kernel says."""
    fd = os.open(_encoded(path), os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    try:
        _must_be_regular(fd)
        limit = min(max_bytes, MAX_FILE)
        os.lseek(fd, offset, os.SEEK_SET)
        data = read_up_to(fd, limit + 1 if size is None else min(size, limit))
    finally:
        os.close(fd)
    if size is None and len(data) > limit:
        raise OSError(errno.EFBIG, "File too large")
    return data


def read_up_to(fd, size):
    """So many bytes, fewer where the file ends."""
    pieces = []
    while size and (piece := os.read(fd, min(PIECE, size))):
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def write(path, data, append):
    """Write a regular file whole, or add to its end; its folders are made. Raises OSError as `read`, and ENOSPC."""
    path = _encoded(path)
    parent = os.path.dirname(path)
    if parent and not os.path.lexists(parent):
        os.makedirs(parent, exist_ok=True)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NONBLOCK | os.O_NOCTTY | (os.O_APPEND if append else 0), 0o644)
    try:
        _must_be_regular(fd)
        if not append:
            os.ftruncate(fd, 0)
        write_all(fd, data)
    finally:
        os.close(fd)


def write_all(fd, data):
    """However many writes it takes. Raises OSError as the kernel says."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def weigh(folder, most=1 << 40):
    """(bytes on disk, entries) of what is below a folder: of `most` entries, as far as a few seconds go."""
    weight = count = 0
    waiting, deadline = [folder], time.monotonic() + WEIGH_S
    while waiting and count < most and time.monotonic() < deadline:
        try:
            with os.scandir(waiting.pop()) as entries:
                found = list(islice(entries, most - count))
        except OSError:
            continue  # it went meanwhile, or is closed to its own owner
        count += len(found)
        for entry in found:
            try:
                weight += entry.stat(follow_symlinks=False).st_blocks * 512
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
            except OSError:
                continue  # it went meanwhile
    return weight, count


def _encoded(path):
    try:
        encoded = os.fsencode(path)
    except (TypeError, UnicodeEncodeError):
        encoded = b""
    if not encoded or b"\0" in encoded:
        raise OSError(errno.EINVAL, "not a path")
    return encoded


def _must_be_regular(fd):
    mode = os.fstat(fd).st_mode
    if stat.S_ISDIR(mode):
        raise OSError(errno.EISDIR, "a folder")
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "not a regular file")
