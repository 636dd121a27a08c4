"""What a program left in its process, beyond its own module: taken back where that can be done, else told.

The process may run the program again where `removed` says that it is as an interpreter that has just started, but for
modules of the library that are imported already. A miss is no unearned pass for the honest: a failure in a shared
process is looked at again in one of its own. Who hides what he left gains what docs/design/processes.md says.
"""

import _signal
import atexit
import gc
import io
import os
import re
import resource
import signal
import sys
import threading
import time
import types

from ..interpreter import CHANNEL_FD, CONTROL_FD, seed
from . import library
from .imports import Imports
from .library import PROCESS_KEYS

_OWN_WORDS = frozenset(
    (
        "addaudithook", "ctypes", "cffi", "_testcapi", "_testinternalcapi", "process_time", "process_time_ns",
        "thread_time", "thread_time_ns", "getrusage", "clock_gettime", "clock_gettime_ns", "get_objects",
        "get_referrers", "get_referents", "get_stats", "get_freeze_count", "getallocatedblocks", "getrefcount",
        "getunicodeinternedsize", "prlimit", "subinterpreters", "_xxsubinterpreters", "_interpreters", "monitoring",
        "set_type_watcher", "faulthandler", "tracemalloc", "memray", "psutil", "lsprof", "register_error", "putenv",
        "unsetenv", "tzset", "prctl", "set_wakeup_fd", "mlockall", "__subclasses__", "refresh_type_cache",
        "all_tasks", "current_task", "thread_info", "get_native_id", "_MainThread", "set_bit_generator", "seterrcall",
        "_thread", "register_at_fork", "add_extension", "register_adapter", "register_converter", "sigaltstack",
        "proc", "siginterrupt", "sched_setscheduler", "sched_setparam", "login_tty", "cache_info",
    )
)  # fmt: skip
"""Names whose use can't be taken back or seen, or which tell a shared process from one of its own."""
_OWN_NAMES = frozenset(
    (
        "stat", "lstat", "fstat", "getmtime", "getctime", "getatime", "gettarinfo", "from_file", "subprocess", "system",
        "popen", "posix_spawn", "posix_spawnp", "execv", "execve", "execvp", "execvpe", "execl", "execle", "execlp",
        "getattr", "__getattribute__", "__dict__", "__globals__", "__builtins__", "builtins", "vars", "globals", "exec",
        "eval", "__import__", "importlib", "import_module", "modules", "runpy", "getmembers", "attrgetter",
        "methodcaller", "pickle", "marshal", "FunctionType", "CodeType", "__code__", "__self__", "get_type_hints",
    )
)  # fmt: skip
"""Names in code, not words of its texts: of what shows how old a file is, and with it the process, by itself or by
another program, and of what is given a name that may be made at run time."""
_OWN_PAIRS = (
    frozenset(("os", "times")), frozenset(("codecs", "register")), frozenset(("codecs", "unregister")),
    frozenset(("gc", "get_count")), frozenset(("asyncio", "get_name")), frozenset(("dev", "fd")),
)  # fmt: skip
_WORD = re.compile(r"[^\W\d]\w*")
_SIZE = re.compile(rb"\bfstat\([\w. ]*(?:\(\))?\)\.st_size\b")
"""As fast readers of the standard input ask: it says nothing of a file's age."""
_FOLDERS = ("/tmp", "/dev/shm")
_SIGNALS = [number for number in range(1, signal.NSIG) if number not in (signal.SIGKILL, signal.SIGSTOP)]
# _signal's functions: those of signal make an enum of each number
_LIMITS = sorted({getattr(resource, name) for name in dir(resource) if name.startswith("RLIMIT_")})
_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)
_MEMORY_SHARE = 0.5
"""Of its memory cap: who used more leaves little to the next input."""
_ENDING_S = 0.05
"""For a joined thread to be gone from the kernel's list, too."""


class Traces:
    """The state of this process as it is before the program's first input."""

    def __init__(self, spec):
        self._spec = spec
        self._folder = spec["workdir"] + "/"
        words, names = self._words()
        named = words & _OWN_WORDS or names & _OWN_NAMES
        self.needs_own = bool(named) or any(pair <= words for pair in _OWN_PAIRS)
        """Whether the program can be run in a process of its own only."""
        if self.needs_own:
            return
        self._library = library.prepared()
        self._callbacks = atexit._ncallbacks()
        self._imports = Imports(self._library, self._is_programs_path, atexit._ncallbacks)
        self._library.begin(words, self._is_programs)
        self._frozen = -1
        self._handlers = [(number, _signal.getsignal(number)) for number in _SIGNALS]
        self._caps = [resource.getrlimit(which) for which in _LIMITS]
        self._umask = _umask()
        self._gc = gc.get_threshold()
        self._argv, self._path = sys.argv, sys.path
        self._paths = list(sys.path)
        self._files = self._listed()

    def _words(self):
        words, names = _words(self._spec["compiled"][0])
        main = os.path.join(self._spec["workdir"], self._spec["main"])
        if "fstat" in names and asks_for_sizes_only(self._spec["sources"][main]):
            names.discard("fstat")
        for path in self._spec["files"]:
            if path.endswith(".py") and path != self._spec["main"]:
                with open(os.path.join(self._spec["workdir"], path), encoding="utf-8", errors="replace") as file:
                    names.update(_WORD.findall(file.read()))
        return words | names, names

    def _is_programs(self, module):
        """Whether it is the program's own, or of a file beside it: those are run anew for each input."""
        if module.__name__ in ("__main__", "candidate"):
            return True
        space = vars(module)
        paths = (space.get("__file__"), *(space.get("__path__") or ()))
        return any(isinstance(path, str) and self._is_programs_path(path) for path in paths)

    def _is_programs_path(self, path):
        return path.startswith(self._folder) or path == self._spec["workdir"]

    # -- after an input

    def may_stay(self):
        """Whether no thread, callback or child of the program outlives its body. Waits for threads as the interpreter's
        end does."""
        try:
            return (
                not self._imports.mixed
                and sys.gettrace() is None
                and sys.getprofile() is None
                and _threads_ended()
                and atexit._ncallbacks() == self._callbacks + self._imports.added_callbacks
                and not _has_children()
                and not _has_log_handlers()
            )
        except Exception:
            return False  # it can't be seen, or the program replaced what looks

    def removed(self):
        """Take back what can be taken back; whether nothing else is left."""
        try:
            return self._restored() and self._is_unchanged()
        except Exception:
            return False  # an object of the program's is in the way

    def renew(self):
        """New standard streams were opened, for another input."""
        self._library.set_streams()
        if self._frozen != self._imports.count:  # what stays needs no look by the collector at each input's end
            self._frozen = self._imports.count
            gc.freeze()

    def _restored(self):
        for number, handler in self._handlers:
            if _signal.getsignal(number) is not handler:
                if handler is None:
                    return False
                signal.signal(number, handler)
        if _signal.pthread_sigmask(signal.SIG_BLOCK, ()):
            return False  # what is pending would arrive
        for timer in _TIMERS:
            if signal.getitimer(timer)[0]:
                signal.setitimer(timer, 0)
        os.chdir(self._spec["workdir"])
        os.umask(self._umask)
        if dict(os.environ) != self._spec["env"]:
            os.environ.clear()
            os.environ.update(self._spec["env"])
        for which, cap in zip(_LIMITS, self._caps) if self._library.may_use("resource") else ():
            if resource.getrlimit(which) != cap:
                resource.setrlimit(which, cap)  # a hard limit that was lowered can't be raised
        self._argv[:] = [self._spec["main"]]
        self._path[:] = self._paths
        gc.enable()
        gc.set_threshold(*self._gc)
        gc.set_debug(0)
        if self._library.may_use("random"):
            seed()
        self._library.restore()
        return True

    def _is_unchanged(self):
        return not _holds_streams() and self._library.is_unchanged() and self._has_no_more_files() and self._has_room()

    def _has_no_more_files(self):
        expected = {0, 1, 2, CONTROL_FD} | ({CHANNEL_FD} if self._spec["channel"] else set())
        unexpected = {int(fd) for fd in os.listdir("/proc/self/fd")} - expected
        return not any(map(_is_open, unexpected)) and (self._listed() == self._files or self._has_bytecode_only())

    def _has_bytecode_only(self):
        """Remove what imports of the program's own modules wrote; whether that was all."""
        known = {one[0] for one in self._files}
        new = [path for path, *_about in self._listed() if path not in known]
        for path in new:
            folder, name = os.path.split(path)
            if os.path.basename(folder) == "__pycache__" and name.endswith(".pyc"):
                os.unlink(path)
        for path in new:
            if os.path.basename(path) == "__pycache__":
                os.rmdir(path)
        return self._listed() == self._files

    def _listed(self):
        """Every file that a program can make or change, with what a change of it changes."""
        found, folders = [], [self._spec["workdir"], *_FOLDERS]
        while folders:
            try:
                with os.scandir(folders.pop()) as entries:
                    for entry in entries:
                        about, is_folder = entry.stat(follow_symlinks=False), entry.is_dir(follow_symlinks=False)
                        changed = (0, 0) if is_folder else (about.st_size, about.st_ctime_ns)
                        found.append((entry.path, about.st_ino, about.st_mode, *changed))
                        if is_folder:
                            folders.append(entry.path)
            except OSError:
                pass  # this box has no such folder
        return sorted(found)

    def _has_room(self):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        return peak < _MEMORY_SHARE * self._spec["limits"]["memory_bytes"]


def _words(code):
    """Every word of a text in `code` and nested code, and every name."""
    words, names, codes = set(), set(), [code]
    while codes:
        one = codes.pop()
        names.update(one.co_names)
        for constant in one.co_consts:
            if isinstance(constant, types.CodeType):
                codes.append(constant)
            elif isinstance(constant, bytes):
                words.update(_WORD.findall(constant.decode("latin-1")))
            elif isinstance(constant, str):
                words.update(_WORD.findall(constant))
    return words, names


def asks_for_sizes_only(source):
    """Whether each `fstat` of a source, whose text is as its bytes say, is one for a size."""
    decoded = b"coding" in b"".join(source.split(b"\n", 2)[:2])
    return source.isascii() and not decoded and b"fstat" not in _SIZE.sub(b"", source)


def _threads_ended():
    """Wait for threads; whether none is left. A daemon or a pool is left to the interpreter's end."""
    pools = sys.modules.get("concurrent.futures.thread")
    while threading.active_count() > 1:
        others = [one for one in threading.enumerate() if one is not threading.main_thread()]
        if any(one.daemon for one in others) or (pools is not None and pools._threads_queues):
            return False
        for one in others:
            one.join()
    until = time.monotonic() + _ENDING_S
    while os.stat("/proc/self/task").st_nlink > 3:
        if time.monotonic() > until:
            return False
        time.sleep(0.0005)
    return True


def _has_log_handlers():
    """Whether a log handler has to be flushed at the interpreter's end."""
    logging = sys.modules.get("logging")
    return logging is not None and len(logging._handlerList) > 1


def _holds_streams():
    """Whether a stream beside the standard ones lives on: it may write what it holds to the next input's output."""
    streams = {id(one) for name in PROCESS_KEYS if isinstance(one := getattr(sys, name, None), io.TextIOWrapper)}
    return any(type(one) is io.TextIOWrapper and id(one) not in streams for one in gc.get_objects())


def _is_open(fd):
    try:
        os.fstat(fd)
    except OSError:
        return False  # it was the listing's own
    return True


def _has_children():
    try:
        os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return False
    return True


def _umask():
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
