"""The modules of the library as they were when they were imported: whether a program changed one of them.

Namespaces are compared whole; classes, functions and containers where the program names them, or all of them where it
reaches for things otherwise than by their names. Knows nothing of processes and their files.
"""

import enum
import itertools
import sys
import types
from operator import eq, is_

from . import settings

_DEEP_WORDS = frozenset(
    (
        "type", "__class__", "__dict__", "__mro__", "mro", "__bases__", "__base__", "__globals__", "__code__",
        "__defaults__", "__kwdefaults__", "__self__", "__func__", "__wrapped__", "__closure__", "setattr", "delattr",
        "__setattr__", "__getattribute__", "getattr", "vars", "globals", "modules", "exec", "eval", "compile",
        "__import__", "importlib", "import_module", "runpy", "mock", "patch", "getmembers", "currentframe", "_getframe",
        "pickle", "marshal", "ModuleType", "attrgetter", "methodcaller", "__builtins__",
    )
)  # fmt: skip
_HEAP_TYPE = 1 << 9
"""A class whose attributes can be changed."""
_CONTAINERS = (list, dict, set, bytearray)
_CACHES = frozenset(("__warningregistry__", "__builtins__", "__annotations__"))
PROCESS_KEYS = frozenset(
    (
        "stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__", "argv", "path",
        "last_type", "last_value", "last_traceback", "last_exc",
    )
)  # fmt: skip
"""Of `sys`: what is set anew for each input."""
_LAZY = frozenset(
    (("asyncio.events", "_event_loop_policy"), ("fileinput", "_state"), ("tempfile", "_name_sequence"))
)  # fmt: skip
"""What a library makes at its first use, and makes again where it is set back."""
_ADAPTED = ("_frozen_importlib", "importlib._bootstrap", "threading", "random", "sys")
"""What a fork changes, and what is changed for the program before it starts."""
_NEXT = type(itertools.count().__next__)


class Library:
    """`words`: every name in the program; `is_programs(module)`: whether a module is one of its files."""

    def __init__(self, words, is_programs):
        self._words, self._is_programs = words, is_programs
        self._deep = not words.isdisjoint(_DEEP_WORDS)
        self._modules, self._contents = dict(_BASE.modules), dict(_BASE.contents)
        self._objects, self._sizes, self._counts = dict(_BASE.objects), list(_BASE.sizes), list(_BASE.counts)
        self._classes, self._functions, self._containers = {}, {}, {}
        named = [] if self._deep else [value for word in words for value in _BASE.named.get(word, ())]
        self._watch(_BASE.kinds if self._deep else _kinds(named))
        self.settings = settings.Settings()

    def begin(self):
        """Take down what is not as it was in the process that this one was forked from: the guest's modules."""
        for name in (*_ADAPTED, *(name for name in sys.modules if name not in self._modules)):
            module = sys.modules[name]
            if type(module) is types.ModuleType and not self._is_programs(module):
                self._modules[name] = module
                self._contents[name] = dict(vars(module))
                self._objects.update((id(value), (value, dict(vars(value)))) for value in _scan(module)[1])
        self._pair()

    def remember(self):
        """Take down everything as it is now. Modules of the program's own are left out."""
        for name, module in list(sys.modules.items()):
            if type(module) is not types.ModuleType or self._is_programs(module):
                continue
            if name not in self._modules:
                self._modules[name] = module
                self._note(module)
            kept = self._contents.get(name, {})
            self._contents[name] = dict(vars(module))
            if name == "sys":
                self._contents[name].update((key, kept[key]) for key in PROCESS_KEYS if key in kept)
        self._watch((self._classes, self._functions, [value for value, _old in self._containers.values()]))
        self._objects = {key: (value, dict(vars(value))) for key, (value, _old) in self._objects.items()}
        self._sizes = [(value, len(value)) for value, _old in self._sizes]
        self.settings.add()
        self._pair()

    def _pair(self):
        modules = list(self._modules.values())
        self._pairs = list(self._modules), modules, list(map(vars, modules)), [*map(self._contents.get, self._modules)]
        self._seen = settings.look()

    def _note(self, module):
        """Find what is to be watched in a new module."""
        kinds, objects, sizes, counts = _scan(module)
        space = vars(module)
        self._watch(kinds if self._deep else _kinds([space[word] for word in self._words.intersection(space)]))
        self._objects.update((id(value), (value, None)) for value in objects)
        self._sizes += [(value, 0) for value in sizes]
        self._counts += counts

    def _watch(self, kinds):
        """Take down these (classes, functions, containers) as they are now."""
        classes, functions, containers = kinds
        self._classes.update([(cls, dict(vars(cls))) for cls in classes])
        self._functions.update([(function, _inside(function)) for function in functions])
        self._containers.update([(id(value), (value, value.copy())) for value in containers])

    # -- after a program

    def restore(self):
        """Forget modules of the program's, and set back what can be."""
        for name in [name for name in sys.modules if name not in self._modules]:
            del sys.modules[name]
        space, body = vars(sys), self._contents["sys"]
        for key in PROCESS_KEYS:
            if key in body:
                space[key] = body[key]
            else:
                space.pop(key, None)
        for module, key in _LAZY:
            if key in self._contents.get(module, ()):
                vars(self._modules[module])[key] = self._contents[module][key]
        for owner, name, was in self._counts:
            self._restore_count(owner, name, was)
        if "linecache" in self._modules:
            self._modules["linecache"].cache.clear()
        self.settings.restore()

    def _restore_count(self, owner, name, was):
        value = vars(owner).get(name)
        if str(_count(value)) == was:
            return
        count = itertools.count(*map(int, was[was.index("(") + 1 : -1].split(",")))
        new = count if type(value) is itertools.count else count.__next__
        setattr(owner, name, new)
        body = self._classes.get(owner) if isinstance(owner, type) else self._contents[owner.__name__]
        if body is not None:
            body[name] = new

    def is_unchanged(self):
        """Also while the program runs, before it imports another module."""
        return (
            settings.look() == self._seen
            and (self._is_quickly_same() or all(map(self._is_same, self._contents)))
            and all(vars(cls) == body for cls, body in self._classes.items())
            and all(len(value) == size for value, size in self._sizes)
            and all(_inside(function) == body for function, body in self._functions.items())
            and all(value == body for value, body in self._containers.values())
            and all(vars(value) == body for value, body in self._objects.values())
        )

    def set_streams(self):
        """The standard streams of `sys` are new ones."""
        for key in PROCESS_KEYS:
            if key in vars(sys) and not key.startswith("last_"):
                self._contents["sys"][key] = vars(sys)[key]

    def _is_quickly_same(self):
        names, modules, spaces, bodies = self._pairs
        return all(map(is_, map(sys.modules.get, names), modules)) and all(map(eq, spaces, bodies))

    def _is_same(self, name):
        if sys.modules.get(name) is not self._modules[name]:
            return False
        space, body = vars(self._modules[name]), self._contents[name]
        return space == body or self._differs_little(name, space, body)

    def _differs_little(self, name, space, body):
        """Whether only what imports, warnings and a library's own laziness add was added."""
        for key in space.keys() | body.keys():
            if key in _CACHES or (key in body and key in space and space[key] is body[key]):
                continue
            if (name == "sys" and key in PROCESS_KEYS) or (name, key) in _LAZY:
                continue
            value = space.get(key)
            if not (self._is_module(value) or (key not in body and "__getattr__" in body and self._is_ours(value))):
                return False
            body[key] = value
        space.pop("__warningregistry__", None)
        return True

    def _is_module(self, value):
        return type(value) is types.ModuleType and self._modules.get(value.__name__) is value

    def _is_ours(self, value):
        """Whether it is a class or function of a module that is known."""
        body = self._contents.get(getattr(value, "__module__", None))
        return isinstance(value, (type, types.FunctionType)) and body is not None and body.get(value.__name__) is value


class Imports:
    """Has the library looked at before and after each import of one of its modules, so that what an import changes is
    told from what the program changes."""

    def __init__(self, library, is_programs_path, callbacks):
        self._library, self._is_programs_path, self._callbacks = library, is_programs_path, callbacks
        self._loading = False
        self.mixed = False
        """Whether a module of the library was imported while another was changed, or got one of the program's."""
        self.count, self.added_callbacks = 0, 0
        bootstrap = sys.modules["_frozen_importlib"]
        self._load, bootstrap._load_unlocked = bootstrap._load_unlocked, self._loaded

    def _loaded(self, spec):
        folders = spec.submodule_search_locations or ()
        if any(map(self._is_programs_path, (str(spec.origin), *folders))):
            self.mixed = self.mixed or self._loading
            return self._apart(spec)
        if self._loading:
            return self._load(spec)
        before = self._before()
        self._loading = True
        try:
            return self._load(spec)
        finally:
            self._loading = False
            self._after(*before)

    def _before(self):
        try:
            self.mixed = self.mixed or not self._library.is_unchanged()
        except Exception:
            self.mixed = True  # an object of the program's is in the way
        return settings.filters(), self._callbacks()

    def _after(self, filters, callbacks):
        self.count += 1
        self.added_callbacks += self._callbacks() - callbacks
        try:
            self._library.settings.keep_filters(filters)
            self._library.remember()
        except Exception:
            self.mixed = True

    def _apart(self, spec):
        """Load a module of the program's: what it imports is looked at for itself."""
        loading, self._loading = self._loading, False
        try:
            return self._load(spec)
        finally:
            self._loading = loading


class _Base:
    """The library as it is before this process is forked: found once for all programs."""

    def __init__(self):
        modules = {name: module for name, module in sys.modules.items() if type(module) is types.ModuleType}
        own = __name__.partition(".")[0]
        self.modules = {name: one for name, one in modules.items() if name != "__main__" and name.split(".")[0] != own}
        self.contents = {name: dict(vars(module)) for name, module in self.modules.items()}
        self.objects, self.sizes, self.counts, self.named = {}, [], [], {}
        self.kinds = ([], [], [])
        for module in self.modules.values():
            kinds, objects, sizes, counts = _scan(module)
            self.objects.update((id(value), (value, dict(vars(value)))) for value in objects)
            self.sizes += [(value, len(value)) for value in sizes]
            self.counts += counts
            for all_of_it, its in zip(self.kinds, kinds):
                all_of_it += its
            if module is not sys:
                self._index(vars(module))

    def _index(self, space):
        for name, value in space.items():
            if any(_kinds([value])):
                self.named.setdefault(name, []).append(value)


_BASE = None


def prepare():
    """Look through the modules that are loaded, once for all processes that are forked from this one."""
    global _BASE
    _BASE = _Base()


def _scan(module):
    """((classes, functions, containers), objects with attributes, public containers, counters) of a module."""
    space = vars(module)
    kinds = _kinds(space.values())
    values = [getattr(one, "__self__", one) if type(one) is types.MethodType else one for one in space.values()]
    public = [value for key, value in space.items() if type(value) in _CONTAINERS and not key.startswith("_")]
    owners = [module, *(one for one in kinds[0] if one.__module__ == module.__name__)]
    counts = [
        (owner, key, str(_count(value)))
        for owner in owners
        for key, value in vars(owner).items()
        if _count(value) is not None
    ]
    if module.__name__ in ("sys", "posix"):  # modules, paths and the environment are looked at for themselves
        kinds, public = (*kinds[:2], []), []
    objects = [one for one in values if _has_attributes(one)] if module.__name__ != "typing" else []
    return kinds, objects, public, counts


def _kinds(values):
    """(classes that can be changed, functions, containers) among these."""
    classes = [value for value in values if isinstance(value, type) and value.__flags__ & _HEAP_TYPE]
    functions = [value for value in values if type(value) is types.FunctionType]
    return classes, functions, [value for value in values if type(value) in _CONTAINERS]


def _count(value):
    """The counter that a value is or asks; None for any other."""
    if type(value) is _NEXT:
        value = value.__self__
    return value if type(value) is itertools.count else None


def _has_attributes(value):
    cls = type(value)
    heap = cls.__flags__ & _HEAP_TYPE and not issubclass(cls, (types.ModuleType, type, enum.Enum))
    return bool(heap) and type(getattr(value, "__dict__", None)) is dict


def _inside(function):
    kwdefaults, attributes = function.__kwdefaults__, function.__dict__
    return (
        function.__code__,
        function.__defaults__,
        dict(kwdefaults) if kwdefaults else None,
        dict(attributes) if attributes else None,
    )
