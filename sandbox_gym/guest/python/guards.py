"""What a test rests on in its own process: builtins and test runners, compared with what they were before an answer.

Cheap and broad, in front of what can't be fooled from inside a process: the same test, changed so that it must fail.
"""

import builtins
import sys

_FREE = frozenset(
    ["_", "copyright", "credits", "display", "exit", "help", "input", "license", "open", "print", "quit"]
)  # fmt: skip
"""Builtins that honest code replaces."""
_RUNNERS = ("unittest", "_pytest", "pytest", "pluggy")


def snapshot():
    """Each function, class and method by its place, with its code."""
    found = {}
    for name, value in list(vars(builtins).items()):
        if name not in _FREE and not name.startswith("__"):
            found["builtins." + name] = (value, None)
    for name, module in list(sys.modules.items()):
        if module is not None and name.partition(".")[0] in _RUNNERS:
            for key, value in list(vars(module).items()):
                _add(found, name + "." + key, value, name)
    return found


def _add(found, place, value, module):
    if not callable(value):
        return
    found[place] = (value, getattr(value, "__code__", None))
    if isinstance(value, type) and value.__module__ == module:
        for key, inner in list(vars(value).items()):
            under = getattr(inner, "__func__", None) or getattr(inner, "fget", None) or inner
            if callable(under):
                found[place + "." + key] = (inner, getattr(under, "__code__", None))


def changed(before):
    """The first place that is no longer what it was; empty where all are."""
    now = snapshot()
    for place, (value, code) in before.items():
        got, its_code = now.get(place, (None, None))
        if got is not value or its_code is not code:
            return place
    return ""
