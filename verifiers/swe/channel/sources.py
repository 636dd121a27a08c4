"""What the files of tests say, and whether the tests that run are what they say. One program with guard.py and
baseline.py, which stand before it.

A test's file is the host's own copy, so what its code and its names must be is known: functions and methods that it
defines once and undecorated are its own code, names that it takes from pytest or unittest are theirs.
"""

import ast

DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef)


class Names:
    """The names that a source binds at its top, as far as they can have one value only."""

    def __init__(self, tree, changed_inside):
        self.counts = dict.fromkeys(changed_inside, 2)
        self.imports, self.functions, self.classes = {}, {}, {}
        self.read(tree.body)
        for kept in (self.imports, self.functions, self.classes):
            for name in [name for name in kept if self.counts[name] > 1]:
                del kept[name]

    def bind(self, name):
        self.counts[name] = self.counts.get(name, 0) + 1

    def read(self, body):
        waiting = list(body)
        for node in waiting:
            if isinstance(node, DEFINES + (ast.ClassDef,)):
                self.bind(node.name)
                if node.decorator_list:
                    continue
                if isinstance(node, ast.ClassDef):
                    self.classes[node.name] = methods_of(node)
                else:
                    self.functions[node.name] = node.name
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    name = alias.asname or alias.name.split(".")[0]
                    self.bind(name)
                    self.imports[name] = (0, alias.name if alias.asname else name, "")
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self.bind(alias.asname or alias.name)
                    self.imports[alias.asname or alias.name] = (node.level, node.module or "", alias.name)
            elif isinstance(node, (ast.If, ast.For, ast.While, ast.With, ast.Try)):
                for part in ("body", "orelse", "finalbody"):
                    waiting += getattr(node, part, ())
                for handler in getattr(node, "handlers", ()):
                    waiting += handler.body
                self.bind_targets(getattr(node, "target", None))
                for one in getattr(node, "items", ()):
                    self.bind_targets(one.optional_vars)
            elif isinstance(node, (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Delete)):
                for target in getattr(node, "targets", None) or [getattr(node, "target", None)]:
                    self.bind_targets(target)

    def bind_targets(self, target):
        for node in ast.walk(target) if target is not None else ():
            if isinstance(node, ast.Name):
                self.bind(node.id)


def methods_of(node):
    """The undecorated methods of a class's body, and all names that it binds."""
    names = Names.__new__(Names)
    names.counts, names.imports, names.functions, names.classes = {}, {}, {}, {}
    names.read(node.body)
    methods = frozenset(name for name in names.functions if names.counts[name] == 1)
    return methods, frozenset(names.counts)


def names_of(source):
    """The names of a file's source; None where it is none."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    inside = set()
    if b"global " in source:
        inside = {name for node in ast.walk(tree) if isinstance(node, ast.Global) for name in node.names}
    return Names(tree, inside)


class Sources:
    """The files' code, as it is and as pytest rewrites it for its asserts."""

    def __init__(self, pipe, workdir):
        self.pipe, self.workdir, self.config = pipe, workdir, None
        self.rewritten, self.plain, self.text, self.names = {}, {}, {}, {}

    def read_ahead(self, paths):
        """Read tests' files, and the conftest.py above them, before a file of the repository is run."""
        for path in paths:
            if path.startswith(self.workdir + "/") and path.endswith(".py"):
                self.source(path)
                folder = path.rpartition("/")[0]
                while folder.startswith(self.workdir) and folder + "/conftest.py" not in self.text:
                    self.source(folder + "/conftest.py")
                    folder = folder.rpartition("/")[0]

    def tell_changed(self):
        """A file that was read ahead and is another now: it was changed from within the tests' process."""
        for path, before in list(self.text.items()):
            if before != self.read(path):
                self.pipe.sign("tests_replaced", path[len(self.workdir) + 1 :])

    def watch_rewriting(self):
        """Keep what pytest makes of a file before it is run: rewriting it once more would cost as much again."""
        try:
            from _pytest.assertion import rewrite

            original = rewrite._rewrite_test
        except (ImportError, AttributeError):
            return None
        rewritten = self.rewritten

        def rewriting(*args):
            made = original(*args)
            path = str(next(one for one in args if not hasattr(one, "hook")))
            if made[1] is not None and path not in rewritten:
                rewritten[path] = set(parts_of(made[1]))
            return made

        rewrite._rewrite_test = rewriting
        return rewriting

    def source(self, path):
        if path not in self.text:
            self.text[path] = self.read(path)
        return self.text[path]

    def read(self, path):
        try:
            with open(path, "rb") as file:
                return file.read()
        except (OSError, ValueError):
            return b""

    def names_in(self, path):
        if path not in self.names:
            self.names[path] = names_of(self.source(path)) if path.endswith(".py") else None
        return self.names[path]

    def plain_codes(self, path):
        if path not in self.plain:
            self.plain[path] = set()
            try:
                made = compile(self.source(path), path, "exec", dont_inherit=True)
                self.plain[path] = set(parts_of(made))
            except (SyntaxError, ValueError, RecursionError):
                pass  # no Python file: its tests are no functions
        return self.plain[path]

    def has(self, path, code):
        """Whether a piece of code is a file's."""
        if code in self.rewritten.get(path, ()) or code in self.plain_codes(path):
            return True
        if path in self.rewritten or self.config is None:
            return False
        self.rewritten[path] = set()  # its rewritten code was in a cache
        try:
            from pathlib import Path

            from _pytest.assertion import rewrite

            self.rewritten[path] = set(parts_of(rewrite._rewrite_test(Path(path), self.config)[1]))
        except (ImportError, AttributeError, TypeError, OSError, SyntaxError, ValueError):
            pass  # another pytest's rewriting
        return code in self.rewritten[path]

    def strange(self, item):
        """The file that a test's code is from where that is another than the test's, or its own where it is not in it;
        empty where all is well or nothing can be said."""
        found, path = getattr(item, "obj", None), path_of(item)
        for _ in range(20):
            found = getattr(found, "__func__", found)
            found = getattr(getattr(found, "hypothesis", None), "inner_test", found)
            if not hasattr(found, "__wrapped__"):
                break
            found = found.__wrapped__
        code = getattr(found, "__code__", None)
        if code is None or self.has(path, code) or not self.plain_codes(path):
            return ""
        return code.co_filename
