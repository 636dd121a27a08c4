"""A notebook's Python: runs cells and reports results as JSON. Runs in a process of its own, as the user.

Cells arrive on one pipe as u32 length and JSON, messages leave on another in the same form; standard output and error
are pipes that the driver reads. Top-level `await`, `!command`, `display` and figures of matplotlib work as in a
notebook. A fork that a cell makes runs the rest of the cell and ends (forks.py).
"""

import _thread
import ast
import base64
import builtins
import json
import linecache
import os
import re
import signal
import sys

from ..forks import CELL, described, tell
from ..session import interrupts
from ..session.cell_runner import CellRunner, flush, statements_and_value

MAX_VALUE = 8 << 20
_COROUTINE = 0x80
_MIMES = (
    ("text/html", "html", "_repr_html_"), ("text/markdown", "markdown", "_repr_markdown_"),
    ("image/svg+xml", "svg", "_repr_svg_"), ("image/png", "png", "_repr_png_"), ("image/jpeg", "jpeg", "_repr_jpeg_"),
    ("application/pdf", "pdf", "_repr_pdf_"), ("text/latex", "latex", "_repr_latex_"),
    ("application/json", "json", "_repr_json_"), ("application/javascript", "javascript", "_repr_javascript_"),
)  # fmt: skip
_BY_MIME = {mime: name for mime, name, _method in _MIMES}
# a cell may replace what the module holds
_loads, _dumps = json.loads, json.dumps
_SHELL = re.compile(r"^(\s*)!(.+)$", re.MULTILINE)


def bundle(value):
    """A value's representations by format, at least `text`."""
    found = {"text": _repr(value)}
    made = _call(value, "_repr_mimebundle_")
    if isinstance(made, tuple):
        made = made[0]
    for mime, name in _BY_MIME.items():
        if isinstance(made, dict) and mime in made:
            found[name] = made[mime]
    for _mime, name, method in _MIMES:
        if name not in found:
            one = _call(value, method)
            one = one[0] if isinstance(one, tuple) and one else one
            if one is not None:
                found[name] = one
    return {name: _plain(one) for name, one in found.items()}


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
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, str):
        return value[:MAX_VALUE]
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return _repr(value)
    return value


class Notebook(CellRunner):
    """One namespace. `serve` never returns."""

    def __init__(self, cells, words):
        CellRunner.__init__(self, cells, words)
        self._lock = _thread.allocate_lock()
        self._namespace["display"] = self._display
        self._loop = None

    def serve(self):
        while True:
            request = self.next_request()
            self._cell(request["code"], request["env"])

    def next_request(self):
        return _loads(self._receive().decode("utf-8"))

    def say(self, word):
        """Write a message whole, also where threads write at once or an interrupt arrives. A fork writes none."""
        if not self._claim.mine():
            return
        flush(Exception)
        body = _dumps(word).encode("utf-8")
        if len(body) > MAX_VALUE + (1 << 20):
            body = _dumps({"type": "result", "text": "<a result of over %d bytes>" % MAX_VALUE}).encode("utf-8")
        with interrupts.Whole(), self._lock:
            self._send(body)

    def _display(self, *values, **_options):
        for value in values:
            if self._claim.mine():
                self.say(dict(bundle(value), type="result", is_main_result=False))
            else:
                sys.stdout.write("%s\n" % _repr(value))  # a fork is a script without a notebook

    def _cell(self, code, environment):
        """Run a cell. A fork that the cell made ends in here."""
        self._count += 1
        self.say({"type": "number_of_executions", "execution_count": self._count})
        before = dict(os.environ)
        os.environ.update(environment)
        failure = None
        interrupts.let_in(tell)
        try:
            self._execute(code, "%s %d>" % (CELL, self._count))
            if self._claim.mine():
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
        self.say({"type": "done"})

    def _execute(self, code, name):
        tree, last = statements_and_value(_parse(code, name))
        linecache.cache[name] = (len(code), None, code.splitlines(True), name)
        flags = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
        self._run(compile(tree, name, "exec", flags))
        if last is None or code.rstrip().endswith(";"):
            if last is not None:
                self._run(compile(last, name, "eval", flags))
            return
        value = self._run(compile(last, name, "eval", flags))
        if value is not None and self._claim.mine():
            self._namespace["_"] = value
            self.say(dict(bundle(value), type="result", is_main_result=True))

    def _run(self, code):
        value = eval(code, self._namespace)
        if code.co_flags & _COROUTINE:
            import asyncio

            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                asyncio.set_event_loop(self._loop)
            value = self._loop.run_until_complete(value)
        return value

    def _figures(self):
        plots = sys.modules.get("matplotlib.pyplot")
        if plots is None:
            return
        import io

        for number in plots.get_fignums():
            figure, buffer = plots.figure(number), io.BytesIO()
            figure.savefig(buffer, format="png", bbox_inches="tight")
            image = base64.b64encode(buffer.getvalue()).decode("ascii")
            self.say({"type": "result", "text": _repr(figure), "png": image, "is_main_result": False})
        plots.close("all")

    def _report(self, failure):
        try:
            value, lines = str(failure), described(failure)
        except BaseException:
            value = lines = ""
        name = type(failure).__name__
        self.say({"type": "error", "name": name, "value": value[:65536], "traceback": lines[:MAX_VALUE]})


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


def serve_bash(cells, words):
    """Serve cells in bash: each is a bash of its own in the context's folder."""
    import subprocess

    notebook = Notebook(cells, words)
    while True:
        request = notebook.next_request()
        notebook._count += 1
        notebook.say({"type": "number_of_executions", "execution_count": notebook._count})
        process = subprocess.Popen(
            ["/bin/bash", "-c", request["code"]], env=dict(os.environ, **request["env"]), preexec_fn=_as_started
        )
        code = process.wait()
        if code:
            value = "exit status %d" % code
            notebook.say({"type": "error", "name": "CalledProcessError", "value": value, "traceback": value})
        notebook.say({"type": "done"})


def _as_started():
    """In a cell's bash: reset signals to what a program expects."""
    interrupts.let_in(tell)
    signal.signal(signal.SIGINT, signal.SIG_DFL)
