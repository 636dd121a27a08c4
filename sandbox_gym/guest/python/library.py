"""The modules of the library as they were when they were imported: whether a program changed one of them.

Namespaces are compared whole; classes, functions and containers where the program names them, or all of them where it
reaches for things otherwise than by their names. Knows nothing of processes and their files.
"""

import itertools
import sys
import types

from . import reached, settings, versions
from .changeable import CONTAINERS, has_attributes, inside, kinds_of

_DEEP_WORDS = frozenset(
    (
        "type", "__class__", "__dict__", "__mro__", "mro", "__bases__", "__base__", "__globals__", "__code__",
        "__defaults__", "__kwdefaults__", "__self__", "__func__", "__wrapped__", "__closure__", "setattr", "delattr",
        "__setattr__", "__getattribute__", "getattr", "vars", "globals", "modules", "exec", "eval", "compile",
        "__import__", "importlib", "import_module", "runpy", "mock", "patch", "getmembers", "currentframe", "_getframe",
        "pickle", "marshal", "ModuleType", "attrgetter", "methodcaller", "__builtins__",
    )
)  # fmt: skip
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
_ADAPTED = {
    "_frozen_importlib": ("_load_unlocked",), "importlib._bootstrap": ("_load_unlocked",), "sys": PROCESS_KEYS,
    "threading": (), "random": (),
}  # fmt: skip
"""What a fork changes, and what is changed for the program before it starts, by module; in those without names any."""
_NEXT = type(itertools.count().__next__)


class Library:
    """Made once for all processes that are forked from this one, which only take down what has changed since."""

    __slots__ = (  # and so no attributes that it would look at itself
        "_modules", "_contents", "_objects", "_sizes", "_counts", "_named", "_kinds", "_versions", "_numbered",
        "_sys", "_classes", "_functions", "_containers", "_words", "_deep", "_is_programs", "_seen", "settings",
        "_others", "_reached",
    )  # fmt: skip

    def __init__(self):
        self._modules, self._contents, self._objects = {}, {}, {}
        self._sizes, self._counts, self._named, self._kinds = ([], []), [], {}, ([], [], [])
        self._versions, self._numbered = versions.Versions(), []
        self._classes, self._functions, self._containers = {}, {}, {}
        self._words, self._deep, self._is_programs = frozenset(), False, lambda module: False
        for name, module in list(sys.modules.items()):
            if type(module) is types.ModuleType and name != "__main__":
                self._index(vars(module) if module is not sys else {})
                for all_of_it, its in zip(self._kinds, self._note(name, module)):
                    all_of_it += its
        self._others = len(sys.modules.keys() - self._modules.keys() - {"__main__"})
        self._versions.take_all()
        self._reached = reached.Reached()
        self._reached.add(self._modules.values())
        self.settings = self._seen = None

    def _index(self, space):
        for name, value in space.items():
            if any(kinds_of([value])):
                self._named.setdefault(name, []).append(value)

    def _note(self, name, module):
        """Take down a new module; its (classes, functions, containers)."""
        kinds, objects, sizes, counts = _scan(module)
        self._modules[name] = module
        self._contents[name] = dict(vars(module))
        self._number(vars(module), name, None)
        self._add_objects(objects)
        for kept, new in zip(self._sizes, (sizes, map(len, sizes))):
            kept += new
        self._counts += counts
        return kinds

    def _number(self, space, name, key):
        """Have changes of a module's dict, or of an object's, be told: the one has a name, the other a key."""
        number = self._versions.add(space)
        self._numbered.append((name, key))
        if name == "sys":
            self._sys = number

    def _add_objects(self, objects):
        for value in objects:
            if id(value) not in self._objects:
                self._number(vars(value), None, id(value))
            self._objects[id(value)] = (value, dict(vars(value)))

    def begin(self, words, is_programs):
        """In a process of its own: take down what is not as it was in the process that this one was forked from.
        `words`: every name in the program; `is_programs(module)`: whether a module is one of its files."""
        self._words, self._is_programs = words, is_programs
        self._deep = not words.isdisjoint(_DEEP_WORDS)
        named = [] if self._deep else [value for word in words for value in self._named.get(word, ())]
        self._watch(self._kinds if self._deep else kinds_of([*named, *settings.registries(named)]))
        for number in self._versions.changed():
            name, _key = self._numbered[number]
            if versions.TOLD or name in _ADAPTED:
                self._note_again(number, _ADAPTED.get(name, ()))
        self._note_new()
        self.settings = settings.Settings()
        self._settle()

    def catch_up(self):
        """In the process that the others are forked from."""
        for number in self._versions.changed():
            self._note_again(number)
        self._versions.take_all()
        self._reached.settle()

    def remember(self):
        """Take down everything as it is now. Modules of the program's own are left out."""
        self._note_new()
        streams = {key: self._contents["sys"][key] for key in PROCESS_KEYS if key in self._contents["sys"]}
        for number in self._versions.changed():
            self._note_again(number)
        self._contents["sys"].update(streams)
        self._watch((self._classes, self._functions, [value for value, _old in self._containers.values()]))
        self._sizes[1][:] = map(len, self._sizes[0])
        self.settings.add()
        self._settle()

    def _note_again(self, number, keys=()):
        """Take down a module or an object that was changed. `keys`: where nothing else of it was, so that no page of
        the others is written to, and copied."""
        name, key = self._numbered[number]
        if name is None:
            value, _old = self._objects[key]
            self._objects[key] = (value, dict(vars(value)))
            return
        old, space = self._contents[name], vars(self._modules[name])
        if keys:
            return old.update([(key, space[key]) for key in keys if key in space])
        self._contents[name] = body = dict(space)
        if name != "sys":
            new = [value for key, value in body.items() if value is not old.get(key)]
            self._add_objects([value for value in new if has_attributes(value)])

    def _note_new(self):
        new = []
        for name in reversed(added()):
            module = sys.modules[name]
            if name in self._modules or type(module) is not types.ModuleType or self._is_programs(module):
                continue
            kinds, space = self._note(name, module), vars(module)
            new.append(module)
            named = [space[word] for word in self._words.intersection(space)]
            self._watch(kinds if self._deep else kinds_of([*named, *settings.registries(named)]))
        self._reached.add(new)

    def _settle(self):
        self._versions.take_all()
        self._reached.settle()
        self._seen = settings.look()

    def _watch(self, kinds):
        """Take down these (classes, functions, containers) as they are now."""
        classes, functions, containers = kinds
        self._classes.update([(cls, dict(vars(cls))) for cls in classes])
        self._functions.update([(function, inside(function)) for function in functions])
        self._containers.update([(id(value), (value, value.copy())) for value in containers])

    # -- after a program

    def may_use(self, name):
        """Whether the program may use a module that goes by this name."""
        return self._deep or name in self._words

    def restore(self):
        """Forget modules of the program's, and set back what can be."""
        for name in ("__main__", *added()):
            if name not in self._modules:
                sys.modules.pop(name, None)
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
        self._reached.restore()

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
            and self._are_all_there()
            and self._are_same()
            and all(vars(cls) == body for cls, body in self._classes.items())
            and list(map(len, self._sizes[0])) == self._sizes[1]
            and all(inside(function) == body for function, body in self._functions.items())
            and all(value == body for value, body in self._containers.values())
            and self._reached.is_unchanged()
        )

    def _are_all_there(self):
        """Whether the interpreter's modules are those that are known. Who replaces one without a deep word does it by
        one of the library's own means, which add or remove one."""
        if not self._deep:
            return len(self._modules) + self._others <= len(sys.modules)
        return all(sys.modules.get(name) is module for name, module in self._modules.items())

    def set_streams(self):
        """The standard streams of `sys` are new ones."""
        for key in PROCESS_KEYS:
            if key in vars(sys) and not key.startswith("last_"):
                self._contents["sys"][key] = vars(sys)[key]
        self._versions.take(self._sys)

    def _are_same(self):
        same = all(map(self._is_same, self._versions.changed()))
        if same:
            self._versions.accept()
        return same

    def _is_same(self, number):
        name, key = self._numbered[number]
        if name is None:
            value, body = self._objects[key]
            return vars(value) == body
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


_prepared = _last = None


def prepare():
    """Look through the modules that are loaded, once for all processes that are forked from this one."""
    global _prepared, _last
    _prepared, _last = Library(), next(reversed(sys.modules))
    settle()  # this module has changed


def settle():
    """Take down what has changed in the process that all programs are forked from."""
    if _prepared is not None:
        _prepared.catch_up()


def added():
    """The names of modules that were imported since, the latest first, without a look at others (see versions.py)."""
    names = []
    for name in reversed(sys.modules) if type(sys.modules) is dict else list(sys.modules):
        if name is _last:
            break
        names.append(name)
    return names


def prepared():
    """This process's own copy of what was prepared."""
    if _prepared is None:
        prepare()
    return _prepared


def _scan(module):
    """((classes, functions, containers), objects with attributes, public containers, counters) of a module."""
    space = vars(module)
    kinds = kinds_of(space.values())
    values = [getattr(one, "__self__", one) if type(one) is types.MethodType else one for one in space.values()]
    public = [value for key, value in space.items() if type(value) in CONTAINERS and not key.startswith("_")]
    owners = [module, *(one for one in kinds[0] if one.__module__ == module.__name__)]
    counts = [
        (owner, key, str(_count(value)))
        for owner in owners
        for key, value in vars(owner).items()
        if _count(value) is not None
    ]
    if module.__name__ in ("sys", "posix"):  # modules, paths and the environment are looked at for themselves
        kinds, public = (*kinds[:2], []), []
    objects = [one for one in values if has_attributes(one)] if module.__name__ != "typing" else []
    return kinds, objects, public, counts


def _count(value):
    """The counter that a value is or asks; None for any other."""
    if type(value) is _NEXT:
        value = value.__self__
    return value if type(value) is itertools.count else None
