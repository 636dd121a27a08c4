"""Events in a folder by inotify(7), with the entry's path relative to it."""

import ctypes
import json
import os
import selectors
import struct
from contextlib import suppress

from .. import kernel

CREATE, WRITE, REMOVE, RENAME, CHMOD = "create", "write", "remove", "rename", "chmod"
_KINDS = ((0x100, CREATE), (0x80, CREATE), (0x2, WRITE), (0x200, REMOVE), (0x400, REMOVE), (0x40, RENAME), (0x4, CHMOD))
_MASK = 0x100 | 0x80 | 0x2 | 0x200 | 0x400 | 0x40 | 0x4 | 0x800 | 0x01000000  # IN_ONLYDIR, IN_MOVE_SELF
_IGNORED, _IS_DIR = 0x8000, 0x40000000
_HEAD = struct.Struct("iIII")
MAX_FOLDERS = 8192
MAX_WATCHERS = 64
MAX_QUEUED = 10000


class Watcher:
    """Watches `path`, and folders below it where `recursive`; calls `tell(kind, name)` for each event."""

    def __init__(self, selector, path, recursive, tell):
        self._selector, self._path, self._recursive, self._tell = selector, path, recursive, tell
        self._folders = {}
        self._fd = -1
        self.start()

    def start(self):
        """Start, or start again after the folder was mounted anew. Raises OSError."""
        self.close()
        fd = kernel.libc.inotify_init1(0o2004000)  # IN_CLOEXEC, IN_NONBLOCK
        if fd < 0:
            raise OSError(ctypes.get_errno(), "inotify: " + os.strerror(ctypes.get_errno()))
        self._fd = fd
        self._selector.register(fd, selectors.EVENT_READ, self.read)
        try:
            self._add("")
        except OSError:
            self.close()
            raise

    def _add(self, name, report=False):
        """Watch a folder and those below it, which may be many in a row. `report`: report the entries that a new folder
        has already, which came before the watch. Raises OSError for the folder itself."""
        below = self._add_one(name, report)
        while below:
            try:
                below += self._add_one(below.pop(0), report)
            except OSError:
                pass  # it was removed meanwhile, or can't be entered

    def _add_one(self, name, report):
        """Watch a folder; the folders in it that are to be watched, too."""
        if len(self._folders) >= MAX_FOLDERS:
            raise OSError(28, "more than %d folders to watch" % MAX_FOLDERS)
        folder = os.path.join(self._path, name) if name else self._path
        number = kernel.libc.inotify_add_watch(self._fd, os.fsencode(folder), ctypes.c_uint32(_MASK))
        if number < 0:
            code = ctypes.get_errno()
            raise OSError(code, os.strerror(code), folder)
        if self._folders.get(number) == name:
            return []  # found in its parent before the event of its creation was read
        self._folders[number] = name
        entries = list(os.scandir(folder)) if self._recursive else []
        for entry in entries if report else ():
            self._tell(CREATE, os.path.join(name, entry.name))
            if entry.is_file(follow_symlinks=False):
                self._tell(WRITE, os.path.join(name, entry.name))
        return [os.path.join(name, one.name) for one in entries if one.is_dir(follow_symlinks=False)]

    def read(self, _events=0):
        try:
            data = os.read(self._fd, 1 << 16)
        except OSError:
            return  # no event now, or no watch
        offset = 0
        while offset < len(data):
            number, mask, _cookie, size = _HEAD.unpack_from(data, offset)
            offset += _HEAD.size
            name = os.fsdecode(data[offset : offset + size].rstrip(b"\0"))
            offset += size
            self._on_event(number, mask, name)

    def _on_event(self, number, mask, name):
        folder = self._folders.get(number)
        if folder is None:
            return
        if mask & _IGNORED:
            del self._folders[number]
            return
        path = os.path.join(folder, name) if name else folder
        for bit, kind in _KINDS:
            if mask & bit:
                if name or not folder:
                    self._tell(kind, path)
                if kind is CREATE and mask & _IS_DIR and self._recursive:
                    with suppress(OSError):  # it was removed meanwhile
                        self._add(path, report=True)
                break

    def close(self):
        if self._fd >= 0:
            self._selector.unregister(self._fd)
            os.close(self._fd)
            self._fd = -1
            self._folders = {}


class EventQueue:
    """A watcher's events as a stream: beyond its credit they are queued, beyond MAX_QUEUED they are counted as lost."""

    def __init__(self, credit, tell):
        self._credit, self._tell = credit, tell
        self._waiting = []
        self.lost = 0

    def __call__(self, kind, name, entry):
        if len(self._waiting) >= MAX_QUEUED:
            self.lost += 1
            return
        self._waiting.append({"kind": kind, "name": name, "entry": entry})
        self.flush()

    def granted(self, size):
        self._credit.grant(size)
        self.flush()

    def flush(self):
        while self._waiting and self._credit.left > 0:
            body = json.dumps(self._waiting.pop(0)).encode("ascii")
            self._credit.spend(len(body))
            self._tell({"event": "change"}, body)
