"""A notebook's Python with IPython's shell in it: its magics, display, tracebacks and matplotlib's inline figures.

IPython takes a while to import, so `Forkserver` has a process that did, and forks kernels of it. What E2B's notebooks
show beyond Jupyter's own is here: data of tables, of charts, of lists and dictionaries, and images that are saved.
"""

import array
import builtins
import gc
import getpass
import json
import os
import select
import signal
import socket
import sys
import types
import warnings

from .. import kernel
from . import cells, charts

FDS = 4
IDLE_S = 1.0


class Forkserver:
    """The driver's end of a process that has imported IPython. It forks a kernel for each four descriptors that it
    gets: cells to read, words, standard output and error to write. The kernel says its pid in its first word."""

    def __init__(self, become):
        """`become(fds, run)` makes a fork a kernel that runs run(cells, words)."""
        self._become, self._socket = become, None

    def fork(self, fds):
        """Ask for a kernel; its process is started anew where the sandbox's user ended it."""
        for _try in range(2):
            if self._socket is None:
                self.start()
            try:
                self._socket.sendmsg([b"k"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", fds))])
                return
            except BlockingIOError:
                raise  # many kernels are waited for
            except OSError:
                self.stop()
        raise ConnectionError(32, "no kernel could be started")

    def start(self):
        self._socket, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.setblocking(False)
        if os.fork() == 0:
            try:
                _serve(theirs, self._become)
            finally:
                os._exit(1)
        theirs.close()

    def stop(self):
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _serve(requests, become):
    """In the process that forks kernels: never returns."""
    os.setsid()
    keep = requests.fileno()
    null = os.open("/dev/null", os.O_RDWR)
    for fd in range(3):
        os.dup2(null, fd)
    os.closerange(3, keep)
    kernel.close_from(keep + 1)
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # kernels are not waited for
    try:
        shell = _shell()
    except Exception:
        shell = None  # an IPython that can't be used: plain cells
    if shell is not None and not select.select([requests], [], [], IDLE_S)[0]:
        _rehearse(shell)
    gc.collect()
    gc.freeze()  # so that forks do not copy what a collection would touch
    while True:
        data, ancillary, _flags, _address = requests.recvmsg(1, socket.CMSG_SPACE(4 * FDS))
        if not data:
            os._exit(0)
        fds = array.array("i")
        for _level, _kind, payload in ancillary:
            fds.frombytes(payload)
        if os.fork() == 0:
            notebook = cells.Notebook if shell is None else lambda *given: IPythonNotebook(shell, *given)
            become(fds, lambda source, words: notebook(source, words).serve())
        for fd in fds:
            os.close(fd)


class IPythonNotebook(cells.Notebook):
    """IPython's shell runs the cells. A fork that a cell makes reports to standard error, as a script does."""

    def __init__(self, shell, source, words):
        cells.Notebook.__init__(self, source, words)
        self._shell = shell
        shell.notebook = self
        sys.modules["__main__"] = shell.user_module
        self._namespace = shell.user_ns

    def begin(self):
        cells.Notebook.begin(self)
        os.environ["MPLBACKEND"] = "module://matplotlib_inline.backend_inline"
        builtins.input, getpass.getpass = _unanswered("raw_input"), _unanswered("getpass")

    async def _execute(self, code, name):
        self._told, shell, failure = False, self._shell, None
        try:
            changed = shell.transform_cell(code)
        except Exception:
            changed, failure = code, sys.exc_info()
        try:
            result = await shell.run_cell_async(
                code, store_history=True, transformed_cell=changed, preprocessing_exc_tuple=failure
            )
        finally:
            shell.events.trigger("post_execute")  # figures are shown
        shell.events.trigger("post_run_cell", result)
        failure = result.error_before_exec or result.error_in_exec
        return None if self._told else failure  # not told: in a fork, or of an exception without a text

    def _figures(self):
        """IPython shows them when the cell has run."""

    def traceback(self, name, value, lines):
        if self._claim.mine() and not self._interrupted:
            self._told = True
            self.fail(name, value, "\n".join(lines))


def _unanswered(name):
    """A function that is refused as a kernel refuses it whose client answers no questions."""
    from IPython.core.error import StdinNotImplementedError

    def ask(*_given, **_options):
        raise StdinNotImplementedError("%s was called, but this frontend does not support input requests." % name)

    return ask


def _shell():
    """An IPython shell whose results and errors go to its `notebook`. What completes what is typed, and terminals, are
    not loaded: they are most of the time of the import."""
    sys.modules["jedi"] = None
    sys.modules["IPython.terminal.embed"] = types.SimpleNamespace(embed=None)
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    del sys.modules["jedi"], sys.modules["IPython.terminal.embed"]

    class Hook(DisplayHook):
        def write_output_prompt(self):
            pass

        def write_format_data(self, format_dict, md_dict=None):
            self.shell.notebook.show(format_dict, True)

        def finish_displayhook(self):
            pass

    class Publisher(DisplayPublisher):
        def publish(self, data, metadata=None, *_args, **_options):
            self.shell.notebook.show(data, False)

        def clear_output(self, wait=False):
            pass

    class Shell(InteractiveShell):
        system = InteractiveShell.system_raw
        notebook = None

        def enable_gui(self, gui=None):
            pass

        def ask_exit(self):
            os._exit(0)

        def _showtraceback(self, etype, evalue, stb):
            self.notebook.traceback(etype.__name__, str(evalue), stb)

    options = {"colors": "NoColor", "display_page": True, "displayhook_class": Hook, "display_pub_class": Publisher}
    config = Config({"HistoryManager": {"enabled": False}})
    folder = "/tmp/.ipython-%d" % os.getpid()
    shell = Shell.instance(config=config, ipython_dir=folder, **options)
    warnings.filterwarnings("ignore", "You executed the system command")  # of `!pip`: terminals say it, kernels do not
    shell.db = {}  # what magics remember, without a file or a package for it
    _add_formats(shell)
    _show_saved_images()
    return shell


def _rehearse(shell):
    """What the first cell, result and traceback import and compile, before there is a kernel."""
    shell.notebook = types.SimpleNamespace(show=lambda *_given: None, traceback=lambda *_given: None)
    shell.run_cell("1 / 0", silent=True)
    shell.display_formatter.format(0)


def _add_formats(shell):
    from IPython.core.formatters import BaseFormatter, JSONFormatter
    from traitlets import ObjectName, Unicode

    class Data(BaseFormatter):
        format_type, print_method, _return_type = Unicode("e2b/data"), ObjectName("_repr_e2b_data_"), dict

    class Chart(BaseFormatter):
        format_type, print_method, _return_type = Unicode("e2b/chart"), ObjectName("_repr_e2b_chart_"), dict

        def __call__(self, value):  # matplotlib_inline takes figures from every formatter's own types
            module = sys.modules.get("matplotlib.figure")
            is_figure = module is not None and isinstance(value, module.Figure)
            return charts.chart(value) if is_figure else BaseFormatter.__call__(self, value)

    class Json(JSONFormatter):
        def __call__(self, value):
            return value if type(value) in (dict, list) and _is_json(value) else JSONFormatter.__call__(self, value)

    for made in (Data(parent=shell.display_formatter), Chart(parent=shell.display_formatter)):
        shell.display_formatter.formatters[made.format_type] = made
    shell.display_formatter.formatters["application/json"] = Json(parent=shell.display_formatter)
    for module in ("pandas.core.frame", "pandas"):  # since pandas 3
        shell.display_formatter.formatters["e2b/data"].for_type_by_name(module, "DataFrame", _table)


def _is_json(value):
    try:
        return bool(json.dumps(value))
    except (TypeError, ValueError, RecursionError):
        return False


def _table(frame):
    """A table's columns, times as texts."""
    columns = frame.to_dict(orient="list")
    return {
        str(name): [one.isoformat() if hasattr(one, "isoformat") else one for one in column]
        for name, column in columns.items()
    }


def _show_saved_images():
    """An image that a cell saves as a file is shown, too, and no other program shows images."""
    try:
        from PIL import Image, ImageShow
    except ImportError:
        return
    ImageShow._viewers[:] = [ImageShow.IPythonViewer()]
    save = Image.Image.save

    def save_and_show(image, fp, format=None, **options):
        if isinstance(fp, str):
            display(image)  # noqa: F821 - IPython's, a builtin where it runs
        save(image, fp, format, **options)

    Image.Image.save = save_and_show
