"""A notebook's Python: runs cells and reports results as JSON. Runs in a process of its own, as the user.

Cells arrive on one pipe as u32 length and JSON, messages leave on another, a line of JSON each; standard output and
error are pipes that the driver reads. Top-level `await`, `!command`, `display` and figures of matplotlib work as in a
notebook; the code interpreter's image has all that IPython does (ipython_cells.py). A fork that a cell makes runs the
rest of the cell and ends (forks.py).
"""

import _thread
import ast
import base64
import builtins
import contextvars
import fcntl
import importlib
import json
import linecache
import os
import re
import site
import sys
import termios
import time

from ..forks import CELL, described, tell
from ..session import interrupts
from ..session.cell_runner import CellRunner, flush, statements_and_value

MAX_VALUE = 8 << 20
MAX_WORD = 9 << 20
DONE = {"type": "done"}
"""The message that ends a cell."""
_COROUTINE = 0x80
_METHODS = {
    "text/html": "_repr_html_", "text/markdown": "_repr_markdown_", "image/svg+xml": "_repr_svg_",
    "image/png": "_repr_png_", "image/jpeg": "_repr_jpeg_", "application/pdf": "_repr_pdf_",
    "text/latex": "_repr_latex_", "application/json": "_repr_json_", "application/javascript": "_repr_javascript_",
}  # fmt: skip
_NAMES = {
    "text/plain": "text", "text/html": "html", "text/markdown": "markdown", "image/svg+xml": "svg", "image/png": "png",
    "image/jpeg": "jpeg", "application/pdf": "pdf", "text/latex": "latex", "application/json": "json",
    "application/javascript": "javascript", "e2b/data": "data", "e2b/chart": "chart",
}  # fmt: skip
# a cell may replace what the module holds
_loads, _dumps, _write, _ioctl, _sleep = json.loads, json.dumps, os.write, fcntl.ioctl, time.sleep
_SHELL = re.compile(r"^(\s*)!(.+)$", re.MULTILINE)
_ASYNC = re.compile(r"async|await")
"""What a cell has that asks for an event loop: from then on there is one."""
_ENDING_S = 1.0
"""For what a cell does at its end when it was interrupted."""


def bundle(value):
    """A value's representations by MIME type, at least text/plain."""
    found = {"text/plain": _repr(value)}
    made = _call(value, "_repr_mimebundle_")
    if isinstance(made, tuple):
        made = made[0]
    if isinstance(made, dict):
        found.update(made)
    for mime, method in _METHODS.items():
        if mime not in found:
            one = _call(value, method)
            one = one[0] if isinstance(one, tuple) and one else one
            if one is not None:
                found[mime] = one
    return found


def fields(found):
    """Representations by MIME type as the fields of a result; those without a field of their own are in `extra`."""
    named = {_NAMES[mime]: _plain(value) for mime, value in found.items() if mime in _NAMES}
    extra = {str(mime): _plain(value) for mime, value in found.items() if mime not in _NAMES}
    text = named.get("text")
    if isinstance(text, str) and len(text) > 1 and text[0] == text[-1] == "'":
        named["text"] = text[1:-1]  # E2B gives strings without their quotes
    return dict(named, extra=extra) if extra else named


def _repr(value):
    try:
        return repr(value)[:MAX_VALUE]
    except Exception as error:
        return "<repr failed: %s>" % type(error).__name__


def _call(value, method):
    if isinstance(value, type):
        return None
    try:
        return getattr(value, method)()
    except Exception:
        return None


def _plain(value):
    """As JSON that every reader knows: without NaN, and with texts for what JSON has no form of."""
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, str):
        return value[:MAX_VALUE]
    try:
        return _loads(_dumps(value, default=str), parse_constant=lambda _name: None)
    except Exception:  # of what has no text, too
        return _repr(value)


def enter(folder):
    """Begin in a folder; at home where the user may not enter it, as standard error says."""
    try:
        os.chdir(folder)
    except OSError as error:
        os.write(2, ("%s; this is your home\n" % error).encode("utf-8", "replace"))
        folder = os.path.expanduser("~")
        os.chdir(folder)
    os.environ["PWD"] = folder


class Notebook(CellRunner):
    """One namespace. `serve` never returns."""

    def __init__(self, cells, words):
        CellRunner.__init__(self, cells, words)
        self._lock = _thread.allocate_lock()
        self._namespace["display"] = self._display
        self._loop, self._interrupted, self._context = None, False, contextvars.copy_context()
        for stream in (sys.stdout, sys.stderr):
            stream.reconfigure(line_buffering=True)  # lines arrive while the cell runs

    def serve(self):
        self.say({"type": "pid", "pid": os.getpid()})
        self.begin()
        while True:
            request = self._next()
            self._cell(request["code"], request["env"])

    def begin(self):
        """The first message is the environment and the folder."""
        start = self._next()
        os.environ.clear()
        os.environ.update(start["env"], MPLBACKEND="agg")
        enter(start["folder"])
        # where pip installs, as in any Python that the user starts; this one began before there was a user
        site.USER_BASE = site.USER_SITE = None
        packages = next((at for at, path in enumerate(sys.path) if path.endswith("-packages")), len(sys.path))
        sys.path.insert(packages, site.getusersitepackages())
        os.environ["PATH"] = "%s/bin:%s" % (site.getuserbase(), os.environ.get("PATH", os.defpath))

    def _next(self):
        if self._loop is not None:  # tasks go on between cells
            self._loop.add_reader(self._cells, self._loop.stop)
            try:
                self._loop.run_forever()
            except BaseException as error:
                tell(error)  # of a task that ends programs
            finally:
                self._loop.remove_reader(self._cells)
        return _loads(self._receive().decode("utf-8"))

    def say(self, word):
        """Write a message whole, also where threads write at once or an interrupt arrives, and after what was printed
        before it. A fork writes none."""
        if not self._claim.mine():
            return
        flush(Exception)
        _until_read(1, 2)
        body = _dumps(word)
        if len(body) > MAX_WORD:
            body = _dumps({"type": "result", "text": "<a result of over %d bytes>" % MAX_WORD})
        view = memoryview(body.encode("ascii") + b"\n")
        with interrupts.Whole(), self._lock:
            while view:
                view = view[_write(self._words, view) :]
        _until_read(self._words)

    def show(self, found, main):
        """Report a result. A fork is a script without a notebook, and prints it."""
        if self._claim.mine():
            self.say(dict(fields(found), type="result", is_main_result=main))
        elif not main:
            sys.stdout.write("%s\n" % found.get("text/plain", ""))

    def _display(self, *values, **_options):
        for value in values:
            self.show(bundle(value), False)

    def _cell(self, code, environment):
        """Run a cell. A fork that the cell made ends in here."""
        self._count += 1
        self.say({"type": "number_of_executions", "execution_count": self._count})
        before = dict(os.environ)
        os.environ.update(environment)
        failure = None
        interrupts.let_in(tell)
        try:
            importlib.invalidate_caches()  # an earlier cell may have installed something
            failure = self._run(self._execute(code, "%s %d>" % (CELL, self._count)), code)
            if failure is None and self._claim.mine():
                self._figures()
        except BaseException as error:
            failure = error
        self._claim.leave_if_forked(failure)
        interrupts.hold()
        if failure is not None:
            self._report(failure)
            failure = None  # its traceback refers to this frame, which refers to it
        for name in environment:
            os.environ.pop(name, None)
            if name in before:
                os.environ[name] = before[name]
        self._claim.leave_if_forked()
        self.say(DONE)

    def _run(self, cell, code):
        """Run a cell's coroutine; its exception, None where it had none. As in Jupyter an event loop runs then, once
        a cell asked for one."""
        if self._loop is None and not _ASYNC.search(code):
            try:
                return cell.send(None)  # it waits for nothing
            except StopIteration as end:
                return end.value
        import asyncio

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            asyncio.set_event_loop(self._loop)
        task = self._loop.create_task(cell, **({"context": self._context} if sys.version_info >= (3, 11) else {}))
        try:
            return self._loop.run_until_complete(task)
        except BaseException as error:  # it was interrupted while it waited
            if task.done():  # or was through, and this is of another task
                tell(error)
                return task.result()
            task.cancel()
            self._interrupted = True  # and has nothing more to say
            self._loop.run_until_complete(asyncio.wait([task], timeout=_ENDING_S))
            return error
        finally:
            self._interrupted = False

    async def _execute(self, code, name):
        """Run a cell; its exception, None where it had none. A coroutine could not raise each of them."""
        try:
            tree, last = statements_and_value(_parse(code, name))
            linecache.cache[name] = (len(code), None, code.splitlines(True), name)
            value = None
            for part, mode in ((tree, "exec"), (last, "eval")) if last is not None else ((tree, "exec"),):
                compiled = compile(part, name, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
                value = eval(compiled, self._namespace)
                if compiled.co_flags & _COROUTINE:
                    value = await value
            if value is not None and not code.rstrip().endswith(";") and self._claim.mine():
                self._namespace["_"] = value
                self.show(bundle(value), True)
        except BaseException as error:
            return error

    def _figures(self):
        plots = sys.modules.get("matplotlib.pyplot")
        if plots is None:
            return
        import io

        for number in plots.get_fignums():
            figure, buffer = plots.figure(number), io.BytesIO()
            figure.savefig(buffer, format="png", bbox_inches="tight")
            self.show({"text/plain": _repr(figure), "image/png": buffer.getvalue()}, False)
        plots.close("all")

    def _report(self, failure):
        try:
            value, lines = str(failure), described(failure)
        except BaseException:
            value = lines = "<an exception without a text>"
        self.fail(type(failure).__name__, value, lines)

    def fail(self, name, value, lines):
        """Report an exception of the cell."""
        self.say({"type": "error", "name": name, "value": value[:65536], "traceback": lines[:MAX_VALUE]})


def _until_read(*pipes):
    """Wait until the driver has read what is in these pipes, so that it sees all in order; not for long, as it may be
    out of credit."""
    try:
        for _ in range(200):
            if not any(any(_ioctl(pipe, termios.FIONREAD, bytes(4))) for pipe in pipes):
                return
            _sleep(0.0001)
    except OSError:
        pass  # a cell has put something else there


def _parse(code, name):
    """A cell's tree; lines that start with `!` are commands for the shell."""
    try:
        return ast.parse(code, name)
    except SyntaxError:
        changed = _SHELL.sub(lambda match: "%s__sandbox_shell(%r)" % match.groups(), code)
        if changed == code:
            raise
        return ast.parse(changed, name)


def shell(command):
    """Run the command of a `!command` line; its output is the cell's."""
    import subprocess

    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    subprocess.call(["/bin/bash", "-c", command])


builtins.__sandbox_shell = shell
