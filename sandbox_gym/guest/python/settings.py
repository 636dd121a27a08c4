"""State that modules keep behind functions, where their namespace does not show it.

Some of it is set back to what it was (`RESTORED`), the rest is compared (`look`). Knows nothing of a run.
"""

import gc
import os
import sys
import threading
import types
import warnings


def _set_filters(module, value):
    module.filters[:] = value
    for name in ("_filters_mutated", "_filters_mutated_lock_held"):  # the second one since Python 3.14
        getattr(module, name, int)()


def _set_locale(locale, value):
    locale.setlocale(locale.LC_ALL, value)


def _digits(system):
    return system.get_int_max_str_digits() if hasattr(system, "get_int_max_str_digits") else 0


RESTORED = {
    ("sys", "switch"): (lambda m: m.getswitchinterval(), lambda m, value: m.setswitchinterval(value)),
    ("sys", "depth"): (lambda m: m.getrecursionlimit(), lambda m, value: m.setrecursionlimit(value)),
    ("sys", "digits"): (_digits, lambda m, value: m.set_int_max_str_digits(value)),
    ("threading", "stack"): (lambda m: m.stack_size(), lambda m, value: m.stack_size(value)),
    ("_locale", "locale"): (lambda m: m.setlocale(m.LC_ALL, None), _set_locale),
    ("warnings", "filters"): (lambda m: list(m.filters), _set_filters),
    ("csv", "size"): (lambda m: m.field_size_limit(), lambda m, value: m.field_size_limit(value)),
    ("socket", "timeout"): (lambda m: m.getdefaulttimeout(), lambda m, value: m.setdefaulttimeout(value)),
    ("numpy", "errors"): (lambda m: m.geterr(), lambda m, value: m.seterr(**value)),
    ("numpy", "buffer"): (lambda m: m.getbufsize(), lambda m, value: m.setbufsize(value)),
    ("numpy", "print"): (lambda m: m.get_printoptions(), lambda m, value: m.set_printoptions(**value)),
}
"""By (module, name): what reads a setting and what sets it."""


class Settings:
    """The settings of the modules that are loaded, as they were."""

    def __init__(self):
        self._values = {}
        self.add()

    def add(self):
        """Take down those of modules that are new."""
        for key, (get, _set) in RESTORED.items():
            if key not in self._values and key[0] in sys.modules:
                self._values[key] = get(sys.modules[key[0]])

    def keep_filters(self, before):
        """What was added to the filters since `before` is a library's."""
        added = [one for one in filters() if one not in before]
        key = ("warnings", "filters")
        self._values[key] = added + [one for one in self._values[key] if one not in added]

    def restore(self):
        for key, value in self._values.items():
            get, put = RESTORED[key]
            module = sys.modules[key[0]]
            if get(module) != value:
                put(module, value)


def registries(named):
    """What functions of the library among the `named` values name of their modules, as `_localedirs`."""
    functions = [value for value in named if type(value) is types.FunctionType]
    return [one.__globals__[name] for one in functions for name in one.__code__.co_names if name in one.__globals__]


def filters():
    """The warnings filters, which a library's import may add to."""
    return list(warnings.filters)


def look():
    """What is compared. A library's import may change it, too."""
    modules, main = sys.modules, threading.main_thread()
    return [
        list(sys.meta_path), list(sys.path_hooks), list(gc.callbacks), main.name, main.daemon,
        [getattr(threading, name)() for name in ("gettrace", "getprofile") if hasattr(threading, name)],
        sys.get_asyncgen_hooks()[:2], sys.get_coroutine_origin_tracking_depth(), sys.getdlopenflags(),
        modules["_abc"].get_cache_token(), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0),
        os.getpgid(0),
        _logging(modules["logging"]) if "logging" in modules else None,
        _dialects(modules["csv"]) if "csv" in modules else None,
        _contexts(modules["decimal"]) if "decimal" in modules else None,
        "readline" in modules,
    ]  # fmt: skip


def _logging(logging):
    manager = logging.root.manager
    return [
        (one.level, len(one.handlers), len(one.filters), one.disabled, one.propagate)
        for one in (logging.root, *manager.loggerDict.values())
        if isinstance(one, logging.Logger)
    ] + [manager.disable, len(manager.loggerDict), len(logging._handlerList), dict(logging._levelToName)]


def _dialects(csv):
    return [csv.get_dialect(name) for name in csv.list_dialects()]


def _contexts(decimal):
    return [repr(one) for one in (decimal.DefaultContext, decimal.BasicContext, decimal.ExtendedContext)]
