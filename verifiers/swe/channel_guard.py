"""What the runner guards itself with, in a box: its pipe, its functions, its tests' sources. See channel_plugin.py.

channel_watch.py puts this text before the runner's, so that the two are one program: neither can be imported there.
"""

import json
import os
import sys
import types

REACHING = frozenset(
    ["gc.get_objects", "gc.get_referrers", "gc.get_referents", "sys.settrace", "sys.setprofile", "sys._current_frames"]
)  # audit events of what finds objects and frames that nobody was given
INSIDE = frozenset(["__closure__", "__globals__", "__code__", "__defaults__", "__kwdefaults__"])
STACK = 60  # frames looked at
GUARDED = (
    "_pytest.runner",
    "_pytest.python",
    "_pytest.reports",
    "_pytest.unittest",
    "_pytest.skipping",
    "unittest.case",
)


class Pipe:
    """The watcher's ear; no child of a test inherits it."""

    def __init__(self, fd, key):
        self.fd, self.pid, self.key = os.dup(fd), os.getpid(), key
        self.told = set()
        os.close(fd)

    def say(self, **line):
        if os.getpid() != self.pid:
            return  # a test forked and its child goes on as if it were pytest
        data = (self.key + " " + json.dumps(line) + "\n").encode("ascii")
        while data:
            data = data[os.write(self.fd, data) :]

    def tell_once(self, hook, path):
        """That something of the file's has to do with results; the judge knows which files the patch made."""
        if (hook, path) not in self.told and len(self.told) < 2000:
            self.told.add((hook, path))
            self.say(kind="hook", hook=hook, file=path)


def in_repository(workdir, path):
    """The path of a file of the repository's, absolute; empty for any other and for what is no file."""
    path = "" if not path or path.startswith("<") else os.path.join(workdir, path)
    return path if path.startswith(workdir + os.sep) else ""


def watch_reaching(pipe, workdir):
    """Tell who, of the repository's files, looks for what is in here; Python 3.8 and later."""
    own = [value for value in globals().values() if isinstance(value, types.FunctionType)]
    for made in [value for value in globals().values() if isinstance(value, type)]:
        own += [value for value in vars(made).values() if isinstance(value, types.FunctionType)]
    ours = frozenset(map(id, own))
    frame_of = sys._getframe

    def heard(event, args):
        if event == "object.__getattr__":
            if args[1] not in INSIDE or id(args[0]) not in ours:
                return
        elif event == "open":
            if not isinstance(args[0], str) or not args[0].startswith("/proc/") or not args[0].endswith("/mem"):
                return
        elif event not in REACHING:
            return
        frame, left = frame_of(1), STACK
        while frame is not None and left:
            path = in_repository(workdir, frame.f_code.co_filename)
            if path:
                pipe.tell_once("reaching " + event, path)
            frame, left = frame.f_back, left - 1

    if hasattr(sys, "addaudithook"):
        sys.addaudithook(heard)


def own_functions():
    """The code of each function that the test runner's modules define themselves, by where it is."""
    for name in GUARDED:
        module = sys.modules.get(name)
        for key, value in list(vars(module).items()) if module else ():
            if getattr(value, "__module__", None) != name:
                continue
            if not isinstance(value, type):
                yield name + "." + key, getattr(value, "__code__", value)
                continue
            for method, found in list(vars(value).items()):
                found = getattr(found, "__func__", found)
                if hasattr(found, "__code__"):
                    yield name + "." + key + "." + method, found.__code__


def changed_place(before):
    """Where the runner's functions are no longer those of `before`; empty where all are."""
    now = dict(own_functions())
    return next((place for place, code in before.items() if now.get(place) is not code), "")


class Sources:
    """Whether the code of a test is what its file says."""

    def __init__(self, config):
        self.config, self.known = config, {}

    def codes(self, path):
        """Every piece of code that the file has, as it is and as pytest rewrites it for its asserts."""
        if path not in self.known:
            self.known[path] = set()
            try:
                with open(path, "rb") as file:
                    self.add(path, compile(file.read(), path, "exec", dont_inherit=True))
                from pathlib import Path

                from _pytest.assertion import rewrite

                self.add(path, rewrite._rewrite_test(Path(path), self.config)[1])
            except (ImportError, AttributeError, TypeError, OSError, SyntaxError, ValueError):
                pass  # another pytest's rewriting; or no Python file, whose tests are no functions
        return self.known[path]

    def add(self, path, code):
        self.known[path].add(code)
        for part in code.co_consts:
            if hasattr(part, "co_consts"):
                self.add(path, part)

    def strange(self, item):
        """The file that a test's code is from where that is another than the test's, or its own where it is not in it;
        empty where all is well or nothing can be said."""
        found, path = getattr(item, "obj", None), str(getattr(item, "fspath", ""))
        for _ in range(20):
            found = getattr(found, "__func__", found)
            found = getattr(getattr(found, "hypothesis", None), "inner_test", found)
            if not hasattr(found, "__wrapped__"):
                break
            found = found.__wrapped__
        code = getattr(found, "__code__", None)
        if code is None or not self.codes(path) or code in self.codes(path):
            return ""
        return code.co_filename
