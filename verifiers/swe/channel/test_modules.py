"""The modules and classes that the tests are in, and the repository's own helpers that they check with: whether they
hold what their files say, and go on holding it. One program with the files that stand before it, see plugin.py.
"""

CHECKS = ("assert", "check")  # how names begin of functions that tests check with
FIXED = (types.FunctionType, types.ModuleType, type, staticmethod, classmethod, property)


def is_loose(value):
    """Whether a test may replace a value of its module's or its class's."""
    return not isinstance(value, FIXED)


class TestModules:
    """What was found of the tests' modules, and the spaces that are looked at after each of their tests."""

    def __init__(self, baseline, sources, pipe, workdir):
        self.baseline, self.sources, self.pipe, self.workdir = baseline, sources, pipe, workdir
        self.cases = frozenset()  # names of unittest.TestCase's
        self.case_class, self.spaces, self.by_module, self.seen = None, {}, {}, set()

    def begin(self):
        case = self.baseline.modules.get("unittest.case")
        if case is not None:
            self.case_class = case.TestCase
            self.cases = frozenset(name for name in dir(case.TestCase) if name not in dir(object)) | {
                "__getattribute__"
            }

    def told(self, path, place):
        path = path[len(self.workdir) + 1 :] if path.startswith(self.workdir + "/") else path
        self.pipe.sign("tests_replaced", path + "::" + place)

    def add(self, module, made):
        """A test's module and its class, or None, as they are once all is collected."""
        if type(module) is not types.ModuleType or (id(module), id(made)) in self.seen:
            return
        self.seen.add((id(module), id(made)))
        names = module.__dict__
        spaces = self.by_module.setdefault(id(module), {})
        if id(module) not in self.seen:
            self.seen.add(id(module))
            self.compare_module(names)
            spaces[id(module)] = Space(str(names.get("__file__", "")), names, "tests_replaced", frozenset(), is_loose)
        for one in ancestors_of(made) if isinstance(made, type) else ():
            path = self.file_of(one)
            if path and id(one) not in self.spaces:
                self.compare_class(one, path)
                shadows = self.cases if self.case_class in ancestors_of(one) else frozenset()
                self.spaces[id(one)] = Space(path, attributes_of(one), "tests_replaced", shadows, is_loose)
                self.spaces[id(one)].label = one.__name__ + "."
            if path:
                spaces[id(one)] = self.spaces[id(one)]

    def file_of(self, made):
        """The file of the repository's that a class is of; empty for another's."""
        module = sys.modules.get(str(attributes_of(made).get("__module__")))
        names = module.__dict__ if type(module) is types.ModuleType else {}
        return in_repository(self.workdir, str(names.get("__file__") or ""))

    def compare_module(self, names):
        path = in_repository(self.workdir, str(names.get("__file__") or ""))
        said = self.sources.names_in(path) if path else None
        for name in said.functions if said else ():
            self.compare_function(path, name, name, names.get(name, ABSENT))
        for name, target in said.imports.items() if said else ():
            if name in names:
                self.compare_import(path, name, names, target)

    def compare_function(self, path, place, name, value):
        """A name that a file defines once and undecorated: is it that function?"""
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if type(value) is not types.FunctionType:
            if value is not ABSENT:
                self.told(path, place)
        elif value.__code__.co_name != name or not self.sources.has(path, value.__code__):
            self.told(path, place)

    def compare_class(self, made, path):
        said = self.sources.names_in(path)
        found = said.classes.get(made.__name__) if said and made.__qualname__ == made.__name__ else None
        if found is None:
            return
        methods, bound = found
        names = attributes_of(made)
        for name in methods if type(made) is type else ():
            self.compare_function(path, made.__name__ + "." + name, name, names.get(name, ABSENT))
        if self.case_class in ancestors_of(made):
            self.told_helper(path)
            for name in self.cases.intersection(names) - bound:
                if id(type(names[name])) not in DATA and not self.is_tests_own(names[name], path):
                    self.told(path, made.__name__ + "." + name)

    def told_helper(self, path):
        """A file that is no test's but has what tests check with: the judge knows whether the patch changed it."""
        if not is_tests_file(path):
            self.pipe.tell_once("helper", path)

    def compare_import(self, path, name, names, target):
        """A name that a test's file imports: is it what the runner's module, or a library's, had?"""
        level, source, wanted = target
        value = names[name]
        if level == 0 and (source or name).split(".")[0] in ROOTS:
            expected = self.expected(source or name, wanted)
            if expected is not ABSENT and value is not expected:
                self.told(path, name)
            return
        module = sys.modules.get(source if level == 0 else resolved(names, level, source))
        file = str(module.__dict__.get("__file__") or "") if type(module) is types.ModuleType else ""
        theirs = in_repository(self.workdir, file)
        if type(value) is not types.FunctionType:
            return
        if not theirs:
            code = in_repository(self.workdir, value.__code__.co_filename)
            if file and code:  # not of a module that is made, or replaced by an object, while it is imported
                self.pipe.sign("library_changed", source + "." + wanted)
        elif wanted.startswith(CHECKS):
            self.compare_helper(theirs, wanted, value)

    def compare_helper(self, path, name, value):
        said = self.sources.names_in(path)
        if said and name in said.functions:
            self.compare_function(path, name, name, value)
            self.told_helper(path)

    def expected(self, module, name):
        """What a guarded module had."""
        found = self.baseline.modules.get(module)
        if found is None or not name:
            return found if found is not None else ABSENT
        inner = self.baseline.modules.get(module + "." + name)
        space = self.baseline.spaces.get(id(found.__dict__))
        return inner if inner is not None else space.held.get(name, ABSENT) if space else ABSENT

    def check(self, module):
        """After a test of the module's: whether its names and its classes' are still the same."""
        for space in self.by_module.get(id(module), {}).values():
            if space.is_same():
                continue
            for name, value in list(space.changes()):
                if not self.is_tests_own(value, space.place):
                    self.told(space.place, getattr(space, "label", "") + name)
            space.save()

    def is_tests_own(self, value, path):
        """Whether a new value is a function of the test's own file."""
        return type(value) is types.FunctionType and self.sources.has(path, value.__code__)

    def check_case(self, case, nodeid):
        """Whether a TestCase's own functions were replaced in the instance that ran."""
        for name, value in list(getattr(case, "__dict__", {}).items()):
            if name in self.cases and id(type(value)) not in DATA and callable(value):
                self.pipe.sign("tests_replaced", nodeid + "." + name)


def resolved(names, level, source):
    """The module that a relative import names."""
    package = str(names.get("__package__") or str(names.get("__name__")).rpartition(".")[0])
    parts = package.split(".")
    base = ".".join(parts[: len(parts) - (level - 1)])
    return base + "." + source if source else base
