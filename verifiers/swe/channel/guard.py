"""How the runner guards itself in a box: its pipe, its builtins, an audit hook against reflection. See plugin.py.

watch.py puts the files of the runner one after the other, this one first: they are one program with one
namespace and can't be imported there. All of the standard library that is called once the repository's code runs is
taken here, before: code that replaces `os.write` or a builtin then replaces it for others only.
"""

import builtins
import importlib.util
import json
import os
import sys
import time
import types
from _json import encode_basestring_ascii as quoted
from os import getpid, write

__builtins__ = dict(vars(builtins))  # of the functions below

REACHING = frozenset(
    ["gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys.settrace", "sys.setprofile", "sys._current_frames"]
    + ["sys.monitoring.register_callback", "sys._current_exceptions"]
    + ["ctypes.cdata", "ctypes.cdata/buffer", "ctypes.call_function", "ctypes.string_at"]
)  # audit events of what finds objects, frames and memory that the code was not given. Not `sys._getframe`:
# loggers, warnings and named tuples call it, and `f_back` of any frame, which gives no event, leads just as far
INSIDE = frozenset(["__closure__", "__globals__", "__code__", "__defaults__", "__kwdefaults__"])
REMADE = frozenset(["__code__", "__defaults__", "__kwdefaults__", "__class__", "__bases__"])
STACK = 60  # frames looked at
SIGNS = 40  # of one kind that are reported
HAS_AUDIT_HOOKS = hasattr(sys, "addaudithook")
frame_of = sys._getframe


class Pipe:
    """The pipe to the watcher; no child of a test inherits it."""

    def __init__(self, fd, key):
        self.fd, self.pid, self.key = os.dup(fd), getpid(), key
        self.told, self.signs = set(), {}
        os.close(fd)

    def say(self, **line):
        if getpid() != self.pid:
            return  # a test forked and its child goes on as if it were pytest
        said = ", ".join([quoted(name) + ": " + quoted(str(value)) for name, value in line.items()])
        data = (self.key + " {" + said + "}\n").encode("ascii")
        while data:
            data = data[write(self.fd, data) :]

    def sign(self, sign, what):
        """Report a sign once for each place."""
        told = self.signs.setdefault(sign, set())
        if what not in told and len(told) < SIGNS:
            told.add(what)
            self.say(kind="sign", sign=sign, what=what)

    def tell_once(self, hook, path):
        """Report that the file has code that deals with results; the judge knows which files the patch made."""
        if (hook, path) not in self.told and len(self.told) < 2000:
            self.told.add((hook, path))
            self.say(kind="hook", hook=hook, file=path)


def in_repository(workdir, path):
    """The path of a file of the repository's, absolute; empty for any other and for what is no file."""
    if not path or path.startswith("<"):
        return ""
    path = path if path.startswith("/") else workdir + "/" + path
    if not path.startswith(workdir + "/") or "/site-packages/" in path:
        return ""
    return path


def is_tests_file(path, test=""):
    """Whether a file is of the tests', as far as its path, and that of a test's own file, say."""
    name = path.rpartition("/")[2]
    if path == test or name == "conftest.py" or name.startswith("test_") or name.endswith("_test.py"):
        return True
    home = test.rpartition("/")[0]
    return bool(home) and home.rpartition("/")[2] in ("test", "tests", "testing") and path.startswith(home + "/")


def path_of(item):
    """The file of a pytest item."""
    return str(getattr(item, "path", None) or getattr(item, "fspath", ""))


class ReflectionAudit:
    """An audit hook: reports which of the repository's files look for our objects, or replace what is guarded.

    `ours` has the ids of our own functions, `places` those of what is guarded, with its name. Python 3.8 and later.
    """

    def __init__(self, pipe, workdir):
        self.pipe, self.workdir = pipe, workdir
        self.ours, self.places, self.kept = set(), {}, []
        for made in list(globals().values()):
            self.keep(made)

    def keep(self, made):
        """That a function, or the methods of a class, are ours."""
        functions = [made] if isinstance(made, types.FunctionType) else []
        if isinstance(made, type):
            functions = [value for value in vars(made).values() if isinstance(value, types.FunctionType)]
        self.kept += functions
        self.ours.update(map(id, functions))

    def listen(self):
        ours, places, pipe, tell = self.ours, self.places, self.pipe, self.tell

        def heard(event, args):
            if event == "object.__getattr__":
                if args[1] in INSIDE and id(args[0]) in ours:
                    tell(event)
            elif event == "object.__setattr__" or event == "object.__delattr__":
                if args[1] in REMADE and id(args[0]) in places:
                    pipe.sign("runner_changed", places[id(args[0])] + "." + args[1])
            elif event == "open":
                if type(args[0]) is str and args[0].startswith("/proc/") and args[0].endswith("/mem"):
                    tell(event)
            elif event in REACHING:
                tell(event)

        self.keep(heard)
        if HAS_AUDIT_HOOKS:
            sys.addaudithook(heard)

    def tell(self, event):
        frame, left = frame_of(2), STACK
        while frame is not None and left:
            path = in_repository(self.workdir, frame.f_code.co_filename)
            if path:
                self.pipe.tell_once("reaching " + event, path)
            frame, left = frame.f_back, left - 1
