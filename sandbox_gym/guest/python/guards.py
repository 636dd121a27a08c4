"""Compares builtins and test runners before and after an answer ran in the process of its test.

A cheap first check; the check that no process can deceive is a variant of the same test that must fail.
"""

import builtins
import sys
import types

_FREE = frozenset(
    ["_", "copyright", "credits", "display", "exit", "help", "input", "license", "open", "print", "quit"]
)  # fmt: skip
"""Builtins that honest code replaces."""
_RUNNERS = ("unittest", "_pytest", "pytest", "pluggy")


def snapshot():
    """Each function, class and method by its dotted name, with its code."""
    found = {}
    for name, value in list(vars(builtins).items()):
        if name not in _FREE and not name.startswith("__"):
            found["builtins." + name] = (value, None)
    for name, module in list(sys.modules.items()):
        if module is not None and name.partition(".")[0] in _RUNNERS:
            for key, value in list(vars(module).items()):
                _add(found, name + "." + key, value, name)
    return found


def _add(found, path, value, module):
    if not callable(value):
        return
    found[path] = (value, _code(value))
    if isinstance(value, type) and value.__module__ == module:
        for key, inner in list(vars(value).items()):
            under = getattr(inner, "__func__", None) or getattr(inner, "fget", None) or inner
            if callable(under):
                found[path + "." + key] = (inner, _code(under))


def _code(value):
    code = getattr(value, "__code__", None)  # `unittest.mock.call` makes another at each look
    return code if type(code) is types.CodeType else None


def changed(before):
    """The first name whose function or code changed; empty where none did."""
    now = snapshot()
    for path, (value, code) in before.items():
        got, its_code = now.get(path, (None, None))
        if got is not value or its_code is not code:
            return path
    return ""
