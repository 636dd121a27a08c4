"""The driver's operations on files: entries, open files, watches. daemon.py describes requests and replies."""

import errno
import json
import os
import pwd
import uuid

from . import entries, inotify
from .flow import Credit

BOOT_ID = "/proc/sys/kernel/random/boot_id"
"""Read as this driver's own: the sandbox's boot, not that of the machine, whose kernel it shares. Clients tell by it
whether a sandbox went on or began anew."""


class FileOps:
    def __init__(self, envd, home):
        self._envd, self._home = envd, home
        self._handles = entries.Handles()
        self.sweep = self._handles.sweep
        self._watchers = {}
        self._boot_id = b"%s\n" % str(uuid.uuid4()).encode()

    def _path(self, request, name="path"):
        owner = _owner(request)
        if owner is None:
            return entries.resolve(request[name], self._home)
        return entries.without_links(entries.resolve(request[name], owner.pw_dir))

    def look(self):
        """Read the events that the watches have seen so far."""
        for watcher in self._watchers.values():
            watcher.read()

    def settle(self):
        """The home folder was mounted anew: renew the watches."""
        for watcher in self._watchers.values():
            try:
                watcher.start()
            except OSError:
                continue  # the watched folder is gone

    def op_stat(self, request, body):
        return {"entry": entries.info(self._path(request))}, b""

    def op_list(self, request, body):
        found = entries.listing(self._path(request), request["depth"])
        return {}, json.dumps(found).encode("utf-8")

    def op_make_dir(self, request, body):
        path = self._path(request)
        entries.make_folder(path, _owner(request))
        return {"entry": entries.info(path)}, b""

    def op_move(self, request, body):
        target = self._path(request, "target")
        entries.move(self._path(request), target, _owner(request))
        return {"entry": entries.info(target)}, b""

    def op_remove(self, request, body):
        entries.remove(self._path(request))
        return {}, b""

    def op_open(self, request, body):
        path = self._path(request)
        if path == BOOT_ID:
            return {"handle": 0, "size": len(self._boot_id), "changed": 0}, self._boot_id
        handle, size, changed, piece = self._handles.open(path)
        return {"handle": handle, "size": size, "changed": int(changed)}, piece

    def op_read(self, request, body):
        return {}, self._handles.read(request["handle"], request.get("offset"))

    def op_create(self, request, body):
        path = self._path(request)
        handle = self._handles.create(path, body, request["notes"], _owner(request))
        if not request["more"]:
            self._handles.close(handle)
            handle = 0
        return {"handle": handle, "path": entries.text(path)}, b""

    def op_write(self, request, body):
        self._handles.write(request["handle"], body)
        return {}, b""

    def op_close(self, request, body):
        self._handles.close(request["handle"])
        return {}, b""

    def op_watch(self, request, body):
        if len(self._watchers) >= inotify.MAX_WATCHERS:
            raise OSError(errno.EMFILE, "too many watchers")
        number, path = request["id"], self._path(request)
        queue = inotify.EventQueue(
            Credit(request["window"]), lambda event, content: self._envd.say(dict(event, stream=number), content)
        )

        def tell(kind, name):
            queue(kind, entries.text(name), self._entry(path, name) if request["entries"] else None)

        self._watchers[number] = inotify.Watcher(self._envd.selector, path, request["recursive"], tell)
        self._envd.streams[number] = queue
        return {}, b""

    def _entry(self, path, name):
        try:
            return entries.info(os.path.join(path, name))
        except OSError:
            return None

    def op_unwatch(self, request, body):
        watcher = self._watchers.pop(request["stream"], None)
        if watcher is not None:
            self._envd.streams.pop(request["stream"], None)
            watcher.close()
        return {}, b""


def _owner(request):
    """Whose what is made becomes, where root does what this user may not; None: it is the driver's own."""
    return pwd.getpwnam(request["owner"]) if "owner" in request else None
