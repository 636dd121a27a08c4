"""Cells of Python run one after the other in one process, each with what it printed, showed and raised.

The driver runs in the box as the cells' own user, and what it reports is no more trusted than what a program prints.
Lines that are no Python are IPython's: `!command`, `%time`, `%%bash` and the like. A cell's last expression is shown by
its `_repr_*_` methods.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from typing import Final

from sandbox_gym.contract import Plan, Program, Run
from sandbox_gym.limits import Limits
from sandbox_gym.verifiers.bounded import Bounds, loads
from sandbox_gym.verifiers.coding.running.fetching import fetching

_DRIVER: Final = r"""
import ast, base64, builtins, inspect, io, json, linecache, os, re, shutil, signal, subprocess, sys, tempfile
import traceback, types, warnings

MARK, CELLS, CELL_S = json.load(open(".sandbox_gym_cells.json"))
said = os.dup(1)
sys.path.insert(0, os.getcwd())
sys.modules["__main__"] = module = types.ModuleType("__main__")
space = module.__dict__
shown, loops = [], []
space.update(In=[""], Out={})
KINDS = [("text/html", "_repr_html_"), ("text/markdown", "_repr_markdown_"), ("text/latex", "_repr_latex_"),
         ("image/svg+xml", "_repr_svg_"), ("image/png", "_repr_png_"), ("image/jpeg", "_repr_jpeg_"),
         ("application/json", "_repr_json_")]
OBJECTS = {"HTML": "_repr_html_", "Markdown": "_repr_markdown_", "Latex": "_repr_latex_", "SVG": "_repr_svg_",
           "Image": "_repr_png_", "JSON": "_repr_json_"}


def show(value, kind, **more):
    data = {"text/plain": repr(value)}
    for mime, name in KINDS:
        made = getattr(value, name, None) if not isinstance(value, type) else None
        made = made() if callable(made) else None
        made = made[0] if isinstance(made, tuple) and made else made
        made = base64.b64encode(made).decode() if isinstance(made, bytes) else made
        if isinstance(made, str) or mime == "application/json" and made is not None:
            data[mime] = made
    bundle = getattr(value, "_repr_mimebundle_", None) if not isinstance(value, type) else None
    made = bundle(include=None, exclude=None) if callable(bundle) else None
    data.update((made[0] if isinstance(made, tuple) else made) or {})
    shown.append({"output_type": kind, "data": data, "metadata": {}, **more})


def charts():  # as a notebook shows them where a cell ends
    plots = sys.modules.get("matplotlib.pyplot")
    for number in plots.get_fignums() if plots else ():
        figure, picture = plots.figure(number), io.BytesIO()
        figure.savefig(picture, format="png", bbox_inches="tight")
        data = {"text/plain": repr(figure), "image/png": base64.b64encode(picture.getvalue()).decode()}
        shown.append({"output_type": "display_data", "data": data, "metadata": {}})
    if plots:
        plots.close("all")


def own_displays():  # IPython's, which shows here; a box without IPython has what cells use of it
    try:
        import IPython.display as there
    except ImportError:
        above, there = types.ModuleType("IPython"), types.ModuleType("IPython.display")
        above.display, above.get_ipython = there, lambda: IPYTHON
        sys.modules.update({"IPython": above, "IPython.display": there})
        for name, method in OBJECTS.items():
            members = {"__init__": lambda self, data=None, **_: setattr(self, "data", data)}
            members[method] = lambda self: self.data
            members["__repr__"] = lambda self: "<IPython.core.display.%s object>" % type(self).__name__
            setattr(there, name, type(name, (), members))
    there.display, there.clear_output = display, lambda *_, **__: None


def shell(command, kept=False):
    def value(found):  # `{x}` and `$x` of the cells, else of the shell
        try:
            return str(eval(found[1] or found[2], space))
        except Exception:
            return found[0]

    command = re.sub(r"\{([^{}]+)\}|\$([A-Za-z_]\w*)", value, command)
    sys.stdout.flush()
    done = subprocess.run(command, shell=True, stdout=subprocess.PIPE if kept else None)
    return done.stdout.decode("utf-8", "replace").splitlines() if kept else None


def magic(name, line, body=None):
    if name in ("bash", "sh", "script"):
        sys.stdout.flush()
        subprocess.run(["bash" if shutil.which("bash") else "sh", "-c", body or line])
    elif name == "writefile" and body is not None:
        path = line.split()[-1].strip("'\"")
        with open(path, "a" if line.startswith("-a") else "w") as file:
            file.write(body)
    elif name == "cd":
        os.chdir(os.path.expanduser(line.strip()))
    elif name == "time" or body is not None:
        return run_source(body or line, "<%s>" % name)


class IPYTHON:
    system, run_line_magic, run_cell_magic = staticmethod(shell), staticmethod(magic), staticmethod(magic)


def late(*_):
    raise TimeoutError("the cell took over %g s" % CELL_S)


builtins.display = lambda *values, **_: [show(value, "display_data") for value in values] and None
builtins._shell, builtins._magic, builtins.get_ipython = shell, magic, lambda: IPYTHON
signal.signal(signal.SIGALRM, late)
warnings.filterwarnings("ignore", message=".*is non-interactive, and thus cannot be shown")


def evaluated(tree, name, mode):
    code = compile(tree, name, mode, ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    value = eval(code, space)
    if not code.co_flags & inspect.CO_COROUTINE:
        return value
    import asyncio
    if not loops:
        loops.append(asyncio.new_event_loop())
    asyncio.set_event_loop(loops[0])
    return loops[0].run_until_complete(value)


def run(number, cell):
    cell = cell.removeprefix("\ufeff").replace("\r\n", "\n")
    if "IPython" in cell:
        own_displays()
    name = "<cell %d>" % number
    linecache.cache[name] = len(cell), None, cell.splitlines(True), name
    space["In"].append(cell)
    value = run_source(cell, name)
    if value is not None:
        space["_"] = space["_%d" % number] = space["Out"][number] = value
        show(value, "execute_result", execution_count=number)


def translated(line):  # a line of IPython's as Python; None where it is none
    found = re.match(r"(\s*)(?:(\w+)\s*=\s*)?(?:!(.+)|%(\w+)[ \t]*(.*))$", line)
    if found:
        call = "_shell(%r, %r)" % (found[3], bool(found[2])) if found[3] else "_magic(%r, %r)" % (found[4], found[5])
        return found[1] + (found[2] + " = " if found[2] else "") + call
    return re.match(r"\s*", line)[0] + "pass" if line.startswith("?") or line.rstrip().endswith("?") else None


def parsed(cell, name):
    found = re.match(r"\s*%%(\w+)[ \t]*(.*)\n?((?s:.*))", cell)
    if found:
        cell = "_magic(%r, %r, %r)" % found.groups()
    while True:
        try:
            return ast.parse(cell, name)
        except SyntaxError as error:
            lines = cell.split("\n")
            at = min(error.lineno or 1, len(lines)) - 1
            changed = translated(lines[at])
            if changed is None:
                raise
            cell = "\n".join([*lines[:at], changed, *lines[at + 1:]])


def run_source(cell, name):
    tree = parsed(cell, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    if cell.rstrip().endswith(";"):
        tree.body, last = tree.body + ([last] if last else []), None
    evaluated(tree, name, "exec")
    return evaluated(ast.Expression(last.value), name, "eval") if last else None


for number, cell in enumerate(CELLS, 1):
    streams, errors, shown[:] = [tempfile.TemporaryFile() for _ in range(2)], [], []
    for fd, stream in enumerate(streams, 1):
        os.dup2(stream.fileno(), fd)
    try:
        signal.setitimer(signal.ITIMER_REAL, CELL_S)
        run(number, cell)
        charts()
    except BaseException as error:
        own = error.__traceback__
        while own and own.tb_frame.f_code.co_filename == run.__code__.co_filename:
            own = own.tb_next
        lines = traceback.format_exception(type(error), error, own)
        try:
            said_of_it = str(error)
        except Exception:
            said_of_it = ""
        told = {"output_type": "error", "ename": type(error).__name__, "evalue": said_of_it, "traceback": lines}
        errors.append(told)
    signal.setitimer(signal.ITIMER_REAL, 0)
    texts = []
    for stream, text in zip(streams, (sys.stdout, sys.stderr)):
        text.flush()
        stream.seek(0)
        texts.append(stream.read().decode("utf-8", "replace"))
    told = {"stdout": texts[0], "stderr": texts[1], "display": list(shown), "error": errors}
    with os.fdopen(os.dup(said), "w") as out:
        out.write(MARK + json.dumps(told, default=str) + "\n")
for fd in (1, 2):
    os.dup2(said, fd)
"""
_BOUNDS: Final = Bounds(16 << 20)
_MAIN: Final = ".sandbox_gym_cells.py"


def notebook_plan(
    cells: Sequence[str],
    limits: Limits,
    *,
    cell_s: float,
    marks: tuple[str, str],
    files: Mapping[str, bytes],
    fetch: Sequence[str],
) -> Plan:
    """One run of all cells. `cell_s` 0 is no limit; `marks` begin a line for each cell that ended, and the files."""
    beside = {path: content for path, content in files.items() if not path.startswith("/")}
    given = json.dumps([marks[0], list(cells), cell_s]).encode()
    own = {_MAIN: _DRIVER.encode(), ".sandbox_gym_cells.json": given}
    program = Program("fork", {**beside, **own}, main=_MAIN)
    placed = {path: content for path, content in files.items() if path.startswith("/")}
    if fetch or placed:
        program = fetching(program, fetch, marks[1], placed)
    return Plan((Run("run_jupyter", program, b"", limits),), "python")


def cells_of(stdout: bytes, mark: str, count: int) -> list[Mapping[str, object]]:
    """What the cells that ended reported, as far as it has the form."""
    found: list[Mapping[str, object]] = []
    for line in stdout.split(b"\n"):
        if line.startswith(mark.encode()) and len(found) < count:
            with contextlib.suppress(ValueError):
                told = loads(line[len(mark) :], _BOUNDS)
                found += [told] if isinstance(told, dict) else []
    return found
