"""Python files run in a fork of the zygote, with the semantics of `__main__` and of an interpreter's end."""

import atexit
import builtins
import gc
import os
import signal
import sys
import types
from _weakref import ref

from .. import kernel
from . import library, prelude

_Loader = sys.modules["_frozen_importlib_external"].SourceFileLoader


def load(spec, name):
    """Compile and run the program's main file as module `name`; returns the module."""
    path = os.path.join(spec["workdir"], spec["main"])
    module = new_module(name, path)
    code, names = spec["compiled"] if "compiled" in spec else compiled(spec, path)
    _execute(code, names, module)
    return module


def new_module(name, path):
    """A new empty module, registered under that name."""
    module = types.ModuleType(name)
    space = vars(module)
    space.update(__file__=path, __builtins__=builtins, __loader__=_Loader(name, path))
    if name == "__main__":
        space.update(__annotations__={}, __cached__=None)
    sys.modules[name] = module
    gc.collect(0)  # as an interpreter's own start does: finalizers' order at the end depends on it
    return module


def execute(spec, path, module):
    """Compile and run a file in a module's namespace, after the import prelude where the program has one."""
    _execute(*compiled(spec, path), module)


def read(spec, *names):
    """Read files of the run that `compiled` is to compile later, when the answer's code may have run. Raises
    OSError."""
    for name in names:
        path = os.path.join(spec["workdir"], name)
        with open(path, "rb") as file:
            spec.setdefault("sources", {})[path] = file.read()


def compiled(spec, path):
    """(the code of a file that was `read`, the names of the import prelude that it may need). Raises what `compile`
    does."""
    source = spec["sources"][path]
    code = compile(source, path, "exec", dont_inherit=True)
    return code, prelude.wanted(source, path, code) if spec["implicit_imports"] else ()


def _execute(code, names, module):
    prelude.bind(names, module.__dict__)
    exec(code, module.__dict__)


_INTERRUPTED = object()


def finish(body, spec):
    """Run `body(spec)` and do what the interpreter does at its end; the exit code."""
    return end(run_body(body, spec))


def run_body(body, spec):
    """Run `body(spec)`, report what it raised; the exit code."""
    code = 0
    try:
        body(spec)
    except SystemExit as leaving:
        code = _exit_code(leaving)
    except KeyboardInterrupt:
        code = _INTERRUPTED
        _report()
    except BaseException:
        code = 1
        _report()
    return code


def end(code):
    """Do what the interpreter does at its end: join threads, atexit, flush, tear down; the exit code."""
    try:
        threading = sys.modules.get("threading")
        if threading is not None:
            threading._shutdown()
        atexit._run_exitfuncs()
    except SystemExit as leaving:
        code = _exit_code(leaving)
    except BaseException:
        _report()
    return leave(code)


def leave(code):
    """The part of `end` that is left where there are neither threads nor callbacks."""
    if _flush() and code == 0:
        code = 120
    try:
        _tear_down()
    except Exception:
        pass  # the program replaced what this uses, which an interpreter's own end does not
    _flush()
    kernel.libc.fflush(None)  # what C code wrote by stdio
    if code is _INTERRUPTED:  # as the interpreter does, so that a parent sees the signal
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
        code = 130
    return code


def _tear_down():
    """Drop the program's modules: finalizers find all globals where nothing else holds these. What something holds
    loses its globals one by one, imports last, so that files are flushed."""
    gc.collect()
    for name in ("stdin", "stdout", "stderr"):
        setattr(sys, name, getattr(sys, "__%s__" % name, None))
    holders = [_forgotten(name) for name in _programs_modules()]
    gc.collect()
    held = [holder.space for holder in (holder() for holder in holders) if holder is not None]
    for names in held:
        for name in [name for name, value in names.items() if not isinstance(value, types.ModuleType)]:
            if name != "__builtins__":
                names[name] = None
    if held:
        held.clear()
        gc.collect()


def _forgotten(name):
    """Forget a module; a weak reference to what only its globals hold, and which has them."""
    space = vars(sys.modules.pop(name))
    holder = types.ModuleType(name)
    space[holder], holder.space = holder, space
    return ref(holder)


def _programs_modules():
    """The names of the main module and of those beside it, the earliest first."""
    names = ("__main__", "candidate", *reversed(library.added()))
    modules = {name: module for name in names if type(module := sys.modules.get(name)) is types.ModuleType}
    main = [name for name in names[:2] if name in modules]
    paths = (vars(modules[name]).get("__file__") for name in main)
    folders = {os.path.dirname(path) for path in paths if isinstance(path, str)}
    if len(folders) != 1:
        return main
    (folder,) = folders
    files = {name: vars(module).get("__file__") for name, module in modules.items() if name not in main}
    return main + [name for name, path in files.items() if isinstance(path, str) and path.startswith(folder + "/")]


def _exit_code(leaving):
    value = leaving.code
    if value is None:
        return 0
    if isinstance(value, int):
        return value & 0xFF if -(1 << 63) <= value < 1 << 63 else 255
    try:
        sys.stderr.write("%s\n" % (value,))
    except BaseException:
        pass  # the program broke its own stderr; the code stands
    return 1


def _report():
    kind, error, trace = sys.exc_info()
    here = os.path.dirname(__file__) if "__file__" in globals() else "<guest"
    while trace is not None and trace.tb_frame.f_code.co_filename.startswith(here):
        trace = trace.tb_next
    try:
        if sys.excepthook is sys.__excepthook__:
            sys.__excepthook__(kind, error.with_traceback(trace), trace)
        else:
            sys.excepthook(kind, error, trace)
    except BaseException:
        pass  # the exit code is 1 already


def _flush():
    """Flush the standard streams; whether one that is in use can't be flushed. Where the program replaced one, what it
    wrote to the one before is written too, as that one's end does."""
    failed = False
    for stream in (getattr(sys, "stdout", None), getattr(sys, "stderr", None)):
        try:
            if stream is not None and not _is_closed(stream):
                stream.flush()
        except BaseException:
            failed = True
    for name in ("__stdout__", "__stderr__"):
        try:
            getattr(sys, name).flush()
        except BaseException:
            pass  # closed or detached
    return failed


def _is_closed(stream):
    try:
        return bool(stream.closed)
    except BaseException:
        return False  # it is no file's, and is flushed all the same
