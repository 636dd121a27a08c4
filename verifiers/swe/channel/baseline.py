"""What the test runner, the builtins and some of the standard library were before any file of the repository was run,
and whether they still are. One program with guard.py, which stands before it.

Compared are identities, by functions written in C over mappings that were taken at the beginning: no code of what is
compared runs, so nothing can lie about itself. Plain data may change, as pytest's own does.
"""

import functools
import itertools
import operator
import types
from importlib.machinery import SourceFileLoader

ROOTS = ("pytest", "_pytest", "pluggy", "unittest")
LIBRARIES = frozenset(
    ["builtins", "operator", "re", "difflib", "contextlib", "functools", "math", "numbers", "collections", "types"]
    + ["ast", "io", "marshal", "pathlib", "tokenize", "traceback", "inspect", "importlib", "importlib.util"]
    + ["_frozen_importlib", "_frozen_importlib_external"]
)  # what assertions are made with, and what reads a test's file
CHANGING = frozenset(
    [
        "_pytest.assertion.util",
        "_pytest.assertion.util._reprcompare",
        "_pytest.assertion.util._assertion_pass",
        "_pytest.assertion.util._config",
        "_pytest.debugging.pytestPDB",
    ]
)  # what pytest sets itself, for each test or at its beginning
INTERFACES = frozenset(["__implemented__", "__provides__", "__providedBy__"])  # zope.interface's, on any class
PLAIN = frozenset([type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented)])
MADE = frozenset(
    [types.FunctionType, types.BuiltinFunctionType, types.ModuleType, type, staticmethod, classmethod, property]
)
GROUPS = frozenset([tuple, list, set, frozenset])
DATA = frozenset(map(id, PLAIN | GROUPS | {dict}))  # by identity: a class can lie about being another
ABSENT = object()
attributes_of = type.__dict__["__dict__"].__get__
ancestors_of = type.__dict__["__mro__"].__get__


def is_plain(value):
    """Whether a value is data; for values that were there before the repository's code was."""
    kind = type(value)
    if kind in PLAIN:
        return True
    if kind in MADE:
        return False
    if kind in GROUPS:
        return all(map(is_plain, value))
    if kind is dict:
        return all(map(is_plain, value.values()))
    return not (
        callable(value)
        or hasattr(kind, "__get__")
        or kind is types.ModuleType
        or str(getattr(kind, "__module__", "")).split(".")[0] in ROOTS
    )


def functions_in(value):
    """The plain functions in what a class or a module holds."""
    if isinstance(value, property):
        return [one for one in (value.fget, value.fset) if isinstance(one, types.FunctionType)]
    value = getattr(value, "__func__", value) if isinstance(value, (staticmethod, classmethod)) else value
    return [value] if isinstance(value, types.FunctionType) else []


class Space:
    """A module's, a class's or an object's names. `held` are those that must stay; a new name is a change where
    `shadows` has it, or any that is no data where that is None."""

    def __init__(self, place, names, sign, shadows, plain=is_plain):
        self.place, self.names, self.sign, self.shadows = place, names, sign, shadows
        self.held = {name: value for name, value in dict(names).items() if not plain(value)}
        for changing in CHANGING:
            if changing.startswith(place + "."):
                self.held.pop(changing[len(place) + 1 :], None)
        self.loose = place in CHANGING  # compared name by name, as its data changes
        self.is_object = False
        self.save()

    def save(self):
        self.saved = dict(self.names)
        self.values = list(self.saved.values())

    def is_same(self):
        return len(self.names) == len(self.values) and not any(map(operator.is_not, self.names.values(), self.values))

    def changes(self):
        """What changed: names, and what they now hold."""
        now = dict(self.names)
        for name, value in self.held.items():
            if now.get(name, ABSENT) is not value:
                yield name, now.get(name, ABSENT)
        for name, value in now.items():
            if name in self.saved:
                continue
            if id(type(value)) in DATA or name in INTERFACES:
                continue
            own = self.is_object and callable(value) and not name.startswith("_")
            if self.shadows is None or name in self.shadows or own:
                yield name, value

    def accept(self, name, value):
        self.held[name] = self.saved[name] = value


class Baseline:
    """All that is guarded."""

    def __init__(self, audit):
        self.audit, self.places, self.pipe = audit, audit.places, audit.pipe
        self.spaces, self.classes, self.cells, self.functions = {}, [], [], []
        self.modules, self.globals, self.loaded = {}, set(), 0
        self.builtin = frozenset(vars(builtins)) | {"__getattr__", "__class__", "__builtins__"}
        self.folders = {}

    def take(self):
        """Everything as it is now, before a file of the repository is run."""
        for name, module in list(sys.modules.items()):
            if name in LIBRARIES or name.split(".")[0] in ROOTS:
                self.add_module(name, module)
        self.folders = {
            root: os.path.dirname(sys.modules[root].__file__)
            for root in ROOTS
            if getattr(sys.modules.get(root), "__file__", None)
        }
        self.loaded = len(sys.modules)
        self.settle()

    def add_module(self, name, module):
        sign = "library_changed" if name in LIBRARIES else "runner_changed"
        names = module.__dict__
        self.modules[name] = module
        self.globals.add(id(names))
        self.places[id(module)] = name
        shadows = frozenset() if name == "builtins" else self.builtin - frozenset(names)
        self.add_space(Space(name, names, sign, shadows))
        for key, value in list(names.items()):
            own = getattr(value, "__module__", None) == name
            place = name + "." + key
            if isinstance(value, type):
                if own and name != "builtins":
                    self.add_class(place, value, sign)
            elif type(value) is dict and key != "__builtins__" and not is_plain(value):
                self.add_space(Space(place, value, sign, frozenset()))
            elif isinstance(value, types.FunctionType):
                if own:
                    self.add_function(place, value, sign)
            elif type(value).__module__.split(".")[0] in ROOTS and isinstance(getattr(value, "__dict__", None), dict):
                self.places[id(value)] = place
                kind = type(value)
                shadows = frozenset(name for name in dir(kind) if callable(getattr(kind, name, None)))
                space = Space(place, value.__dict__, sign, shadows)
                space.is_object = True
                self.add_space(space)

    def add_class(self, place, made, sign):
        if id(made) in self.places:
            return
        self.places[id(made)] = place
        self.classes.append(made)
        names = attributes_of(made)
        self.add_space(Space(place, names, sign, None))
        for key, value in list(names.items()):
            for function in functions_in(value):
                self.add_function(place + "." + key, function, sign)
            if isinstance(value, type) and getattr(value, "__module__", "") == made.__module__:
                self.add_class(place + "." + key, value, sign)

    def add_function(self, place, function, sign):
        if id(function) in self.places:
            return
        self.places[id(function)] = place
        self.functions.append(function)
        if function.__dict__ and not is_plain(function.__dict__):
            self.add_space(Space(place, function.__dict__, sign, frozenset()))
        for cell in function.__closure__ or ():
            try:
                if not is_plain(cell.cell_contents):
                    self.cells.append((place, cell, cell.cell_contents))
            except ValueError:
                pass  # an empty cell

    def add_space(self, space):
        self.spaces.setdefault(id(space.names) if type(space.names) is dict else space.place, space)

    def settle(self):
        """Make the lists that are compared at once."""
        firm = [space for space in self.spaces.values() if not space.loose]
        self.loose = [space for space in self.spaces.values() if space.loose]
        self.names = [space.names for space in firm]
        self.values = list(itertools.chain.from_iterable(space.values for space in firm))
        self.makers = list(map(type, self.classes))
        self.ancestors = list(map(ancestors_of, self.classes))
        self.contents = [contents for _, _, contents in self.cells]
        self.cell_list = [cell for _, cell, _ in self.cells]
        self.inner = [] if HAS_AUDIT_HOOKS else self.insides()

    def insides(self):
        """Of a Python that does not tell who remakes a function."""
        parts = (
            map(operator.attrgetter(name), self.functions) for name in ("__code__", "__defaults__", "__kwdefaults__")
        )
        return list(itertools.chain.from_iterable(parts))

    def is_same(self):
        """Whether nothing firm is another; of names and values alone, all in C."""
        values, get = self.values, operator.attrgetter("cell_contents")
        now = itertools.chain.from_iterable(map(operator.methodcaller("values"), self.names))
        try:
            return not (
                sum(map(len, self.names)) != len(values)
                or any(map(operator.is_not, now, values))
                or any(map(operator.is_not, map(type, self.classes), self.makers))
                or any(map(operator.is_not, map(ancestors_of, self.classes), self.ancestors))
                or any(map(operator.is_not, map(get, self.cell_list), self.contents))
                or (not HAS_AUDIT_HOOKS and any(map(operator.is_not, self.insides(), self.inner)))
            )
        except ValueError:
            return False  # a cell is empty now

    def check(self, final=True):
        """Tell what changed since. What a test's own fixtures may replace for a class or a module of tests counts
        only where it is `final`: after the last of them."""
        if len(sys.modules) != self.loaded:
            self.add_late()
        for space in self.loose:
            self.compare(space, final)
        if self.is_same():
            return
        for space in self.spaces.values():
            if not space.loose:
                self.compare(space, final)
        self.check_insides()
        self.settle()

    def compare(self, space, final):
        if space.is_same() or (space.sign == "library_changed" and not final):
            return
        for name, _ in list(space.changes()):
            self.pipe.sign(space.sign, space.place + "." + name)
        space.loose = True  # its data changes, or it has been told
        space.save()

    def accept_plugins(self):
        """Take over what plugins replaced in pytest when they were configured: functions of installed packages."""
        for space in self.spaces.values():
            for name, value in () if space.is_same() else list(space.changes()):
                if is_librarys(value):
                    space.accept(name, value)

    def check_insides(self):
        for made, kind, ancestors in zip(self.classes, self.makers, self.ancestors):
            if type(made) is not kind or ancestors_of(made) is not ancestors:
                self.pipe.sign("runner_changed", self.places[id(made)] + ".__class__")
        for place, cell, contents in self.cells:
            try:
                same = cell.cell_contents is contents
            except ValueError:
                same = False
            if not same:
                self.pipe.sign("runner_changed", place + ".__closure__")
        if not HAS_AUDIT_HOOKS:
            for place, value, before in zip(self.functions * 3, self.insides(), self.inner):
                if value is not before:
                    self.pipe.sign("runner_changed", self.places[id(place)] + ".__code__")

    def add_late(self):
        """Modules of the runner's that were loaded since: compared with their files, then guarded as the others."""
        known, self.loaded = len(self.modules), len(sys.modules)
        for name, module in list(sys.modules.items()):
            if name.split(".")[0] in ROOTS and type(module) is types.ModuleType and name not in self.modules:
                strange = strange_in(name, module, self.folders, self.audit.workdir)
                if strange:
                    self.pipe.sign("runner_changed", strange)
                self.add_module(name, module)
        for name, module in self.modules.items():
            if name.split(".")[0] in ROOTS and sys.modules.get(name, module) is not module:
                self.pipe.sign("runner_changed", name)
        if len(self.modules) != known:
            self.settle()


@functools.lru_cache(maxsize=None)
def codes_of_library(path):
    """Every piece of code of an installed file."""
    try:
        return frozenset(parts_of(SourceFileLoader("read", path).get_code("read")))
    except (ImportError, OSError, SyntaxError, ValueError, EOFError):
        return frozenset()


def parts_of(code):
    """A piece of code and all in it."""
    yield code
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield from parts_of(part)


def strange_in(name, module, folders, workdir):
    """A function or method of a module of the runner's that its file does not have; empty where none is."""
    path = getattr(module, "__file__", None) or ""
    folder = folders.get(name.split(".")[0], "")
    if not folder or not path.startswith(folder + "/") or not path.endswith(".py"):
        return name if path else ""
    codes = codes_of_library(path)
    for key, value in list(module.__dict__.items()):
        held = {key: value}
        if isinstance(value, type) and value.__module__ == name:
            held = {key + "." + inner: one for inner, one in attributes_of(value).items()}
        for place, one in held.items():
            for function in functions_in(one):
                code = function.__code__
                path = "" if in_repository(workdir, code.co_filename) else code.co_filename
                own = code in codes or is_made(function) or (path and code in codes_of_library(path))
                if codes and not own:
                    return name + "." + place
    return ""


def is_made(function):
    """Whether a function was made by the standard library out of text, as named tuples and data classes are."""
    return function.__code__.co_filename.startswith("<") and function.__name__.startswith("__")


def is_librarys(value):
    """Whether all functions in a value are of an installed package's own code."""
    held = list(attributes_of(value).values()) if isinstance(value, type) else [value]
    functions = [function for one in held for function in functions_in(one)]
    paths = [function.__code__.co_filename for function in functions]
    return bool(paths) and all(
        "/site-packages/" in path and function.__code__ in codes_of_library(path)
        for path, function in zip(paths, functions)
    )
