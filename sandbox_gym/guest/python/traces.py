"""What a program left in its process, beyond its own module: taken back where that can be done, else told.

The process may run the program again where `removed` says that it is as an interpreter that has just started, but for
modules of the library that are imported already. A miss is no unearned pass for the honest: a failure in a shared
process is looked at again in one of its own. Who hides what he left gains what docs/design/processes.md says.
"""

import atexit
import builtins
import gc
import os
import random
import resource
import signal
import sys
import threading
import types

from ..interpreter import CHANNEL_FD, CONTROL_FD

OWN_WORDS = frozenset(
    (
        "addaudithook", "ctypes", "cffi", "_testcapi", "process_time", "process_time_ns", "thread_time", "getrusage",
        "clock_gettime", "get_objects", "get_referrers", "setrlimit", "prlimit", "subinterpreters", "monitoring",
        "set_type_watcher", "faulthandler", "tracemalloc", "memray", "resource",
    )
)  # fmt: skip
"""Names whose use this module can't take back or see, or which tell a shared process from one of its own."""
_FOLDERS = ("/tmp", "/dev/shm")
_SIGNALS = [number for number in range(1, signal.NSIG) if number not in (signal.SIGKILL, signal.SIGSTOP)]
_LIMITS = [getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")]
_STREAMS = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")
_LAST = ("last_type", "last_value", "last_traceback", "last_exc")
_MEMORY_SHARE = 0.5
"""Of its memory cap: who used more leaves little to the next input."""
_CACHES = frozenset(("__warningregistry__", "__builtins__", "__annotations__"))


class Traces:
    """The state of this process as it is before the program's first input."""

    def __init__(self, spec):
        self._spec = spec
        self._words = _words(spec["compiled"][0])
        self._own = not self._words.isdisjoint(OWN_WORDS)
        self._modules, self._contents, self._classes, self._sizes = {}, {}, {}, []
        self._callbacks = atexit._ncallbacks()
        self._loading = 0
        self._watch_imports()
        self._remember()
        self._handlers = {number: signal.getsignal(number) for number in _SIGNALS}
        self._caps = [resource.getrlimit(which) for which in _LIMITS]
        self._umask = _umask()
        self._gc = gc.get_threshold()
        self._path = list(sys.path)
        self._hooks = _hooks()
        self._settings = _settings()
        self._files = self._listed()
        self._streams()

    # -- imports

    def _watch_imports(self):
        """Look at each module when it was just imported, before the program can change it."""
        bootstrap = sys.modules["_frozen_importlib"]
        load = bootstrap._load_unlocked

        def loaded(spec):
            self._loading += 1
            before = atexit._ncallbacks()
            try:
                return load(spec)
            finally:
                self._loading -= 1
                if not self._loading:
                    self._callbacks += atexit._ncallbacks() - before  # a library's own, which serve each input
                    self._remember()

        bootstrap._load_unlocked = loaded

    def _remember(self):
        """Take down modules that are new."""
        for name, module in list(sys.modules.items()):
            if name in self._modules or type(module) is not types.ModuleType or self._is_programs(module):
                continue
            self._modules[name] = module
            space = vars(module)
            self._contents[name] = dict(space)
            for word in self._words.intersection(space):
                value = space[word]
                if isinstance(value, type) and value.__flags__ & (1 << 9):  # on the heap: its attributes can be changed
                    self._classes[value] = dict(vars(value))
            self._sizes += [
                (value, len(value))
                for key, value in space.items()
                if not key.startswith("_") and type(value) in (list, dict, set) and module is not sys
            ]

    def _is_programs(self, module):
        """Whether it is the program's own, or of a file beside it: those are run anew for each input."""
        path = getattr(module, "__file__", None) or ""
        return module.__name__ in ("__main__", "candidate") or path.startswith(self._spec["workdir"] + "/")

    # -- after an input

    def may_stay(self):
        """Whether no thread, callback or child of the program outlives its body."""
        return (
            not self._own
            and threading.active_count() == 1
            and len(os.listdir("/proc/self/task")) == 1
            and atexit._ncallbacks() == self._callbacks
            and not _children()
        )

    def removed(self):
        """Take back what can be taken back; whether nothing else is left."""
        try:
            return self._restored() and self._is_unchanged()
        except Exception:
            return False  # an object of the program's is in the way

    def renew(self):
        """New standard streams were opened, for another input."""
        self._streams()
        random.seed()
        numpy = sys.modules.get("numpy.random")
        if numpy is not None:
            numpy.seed()

    def _streams(self):
        space = self._contents["sys"]
        for name in _STREAMS:
            space[name] = getattr(sys, name)

    def _restored(self):
        for number, handler in self._handlers.items():
            if signal.getsignal(number) is not handler:
                if handler is None:
                    return False
                signal.signal(number, handler)
        if signal.pthread_sigmask(signal.SIG_BLOCK, ()):
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
        for timer in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
            if signal.getitimer(timer)[0]:
                signal.setitimer(timer, 0)
        if sys.gettrace() is not None or sys.getprofile() is not None:
            sys.settrace(None)
            sys.setprofile(None)
        os.chdir(self._spec["workdir"])
        os.umask(self._umask)
        if dict(os.environ) != self._spec["env"]:
            os.environ.clear()
            os.environ.update(self._spec["env"])
        sys.argv[:] = [self._spec["main"]]
        sys.path[:] = self._path
        gc.enable()
        gc.set_threshold(*self._gc)
        gc.set_debug(0)
        if self._spec["recursion_limit"]:
            sys.setrecursionlimit(self._spec["recursion_limit"])
        self._restore_modules()
        return True

    def _restore_modules(self):
        for name in [name for name, module in sys.modules.items() if self._modules.get(name) is not module]:
            if name not in self._modules:
                del sys.modules[name]
        space = vars(sys)
        for name in _STREAMS:
            space[name] = self._contents["sys"][name]
        for name in _LAST:
            space.pop(name, None)

    def _is_unchanged(self):
        return (
            _hooks() == self._hooks
            and _settings() == self._settings
            and all(map(self._is_same, self._contents))
            and all(vars(cls) == body for cls, body in self._classes.items())
            and all(len(value) == size for value, size in self._sizes)
            and self._has_no_more_files()
            and [resource.getrlimit(which) for which in _LIMITS] == self._caps
            and self._has_room()
        )

    def _is_same(self, name):
        if sys.modules.get(name) is not self._modules[name]:
            return False
        space, body = vars(self._modules[name]), self._contents[name]
        return space == body or self._differs_little(space, body)

    def _differs_little(self, space, body):
        """Whether only what imports and warnings add was added."""
        for key in space.keys() | body.keys():
            if key in _CACHES or (key in body and key in space and space[key] is body[key]):
                continue
            value = space.get(key)
            if not (type(value) is types.ModuleType and self._modules.get(value.__name__) is value):
                return False
            body[key] = value
        space.pop("__warningregistry__", None)
        return True

    def _has_no_more_files(self):
        expected = {0, 1, 2, CONTROL_FD} | ({CHANNEL_FD} if self._spec["channel"] else set())
        unexpected = {int(fd) for fd in os.listdir("/proc/self/fd")} - expected
        return not any(map(_is_open, unexpected)) and self._listed() == self._files

    def _listed(self):
        """Names, sizes and times of the files that a program can make."""
        found = []
        for folder in (self._spec["workdir"], *_FOLDERS):
            try:
                with os.scandir(folder) as entries:
                    for entry in entries:
                        about = entry.stat(follow_symlinks=False)
                        found.append((entry.path, about.st_size, about.st_mtime_ns, about.st_mode))
            except OSError:
                pass  # this box has no such folder
        return sorted(found)

    def _has_room(self):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return peak < _MEMORY_SHARE * self._spec["limits"]["memory_bytes"]


def _words(code):
    """Every name and every word of a text in `code` and nested code."""
    words, codes = set(), [code]
    while codes:
        one = codes.pop()
        words.update(one.co_names)
        for constant in one.co_consts:
            if isinstance(constant, types.CodeType):
                codes.append(constant)
            elif isinstance(constant, str) and len(constant) < 1000:
                words.update(constant.replace(".", " ").split())
    return words


def _is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False  # it was the listing's own
    return True


def _children():
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def _umask():
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def _hooks():
    """Lists that programs put things into."""
    return [list(sys.meta_path), list(sys.path_hooks), list(gc.callbacks), list(builtins.__dict__)]


def _settings():
    """What modules keep where their namespace does not show it."""
    values = [sys.getswitchinterval(), threading.stack_size(), threading.gettrace(), threading.getprofile()]
    values += [getattr(sys, name)() for name in ("get_int_max_str_digits", "getdlopenflags") if hasattr(sys, name)]
    values += [sys.get_asyncgen_hooks()[:2], sys.get_coroutine_origin_tracking_depth()]
    modules = sys.modules
    if "_locale" in modules:
        values.append(modules["_locale"].setlocale(modules["_locale"].LC_ALL, None))
    if "warnings" in modules:
        values.append(list(modules["warnings"].filters))
    values.append(
        _of_loaded(
            "logging",
            lambda logging: (
                len(logging.root.handlers),
                logging.root.level,
                logging.root.manager.disable,
                len(logging.root.manager.loggerDict),
            ),
        )
    )
    values.append(_of_loaded("csv", lambda csv: (csv.field_size_limit(), len(csv.list_dialects()))))
    values.append(_of_loaded("socket", lambda socket: socket.getdefaulttimeout()))
    values.append(_of_loaded("decimal", _decimal))
    values.append(_of_loaded("numpy", lambda numpy: (repr(numpy.geterr()), repr(numpy.get_printoptions()))))
    return values


def _of_loaded(name, look):
    module = sys.modules.get(name)
    return None if module is None else look(module)


def _decimal(decimal):
    return [repr(one) for one in (decimal.DefaultContext, decimal.BasicContext, decimal.ExtendedContext)]
