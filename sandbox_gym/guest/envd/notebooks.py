"""Notebook contexts by name, and the context of each cell. daemon.py describes requests and replies."""

import errno
import importlib.util

from . import entries
from .contexts import MAX_CONTEXTS, Context, become
from .ipython_cells import Forkserver


class Notebooks:
    def __init__(self, envd, home, environment):
        self._envd, self._home, self._environment = envd, home, environment
        self._contexts, self._forkserver = {}, None

    def stop(self):
        """End every kernel."""
        for context in self._contexts.values():
            context.stop()
        if self._forkserver is not None:
            self._forkserver.stop()

    def reaped(self, pid):
        """A process ended that was none of the sandbox's commands."""
        for context in self._contexts.values():
            context.reaped(pid)

    def op_prepare(self, request, body):
        """Have kernels of IPython from now on, where the sandbox has it; importing it goes on beside other requests."""
        if self._forkserver is None and importlib.util.find_spec("IPython") is not None:
            self._forkserver = Forkserver(become)
            self._forkserver.start()
        return {}, b""

    def op_context(self, request, body):
        if len(self._contexts) >= MAX_CONTEXTS:
            raise OSError(errno.EAGAIN, "%d contexts are open already" % len(self._contexts))
        folder = entries.resolve(request["cwd"] or self._home, self._home)
        environment = dict(self._environment, **request["base"])
        self._contexts[request["name"]] = Context(
            self._envd.selector, request["language"], folder, environment, body.decode("utf-8"), self._forkserver
        )
        return {"cwd": folder}, b""

    def _context(self, request):
        if request["name"] not in self._contexts:
            raise OSError(errno.ENOENT, "context %s not found" % request["name"])
        return self._contexts[request["name"]]

    def op_cell(self, request, body):
        context, number = self._context(request), request["id"]
        if context.busy:
            raise OSError(errno.EAGAIN, "a cell runs already")
        self._envd.streams[number] = context

        def tell(event, content):
            self._envd.say(dict(event, stream=number), content)
            if event["event"] == "end":
                self._envd.streams.pop(number, None)

        context.run(body.decode("utf-8"), request["env"], request["window"], tell)
        return {}, b""

    def op_interrupt(self, request, body):
        self._context(request).interrupt(request["children"])
        return {}, b""

    def op_restart(self, request, body):
        self._context(request).stop()
        return {}, b""

    def op_drop_context(self, request, body):
        self._context(request).stop()
        del self._contexts[request["name"]]
        return {}, b""
