"""The source of functions that a doubting test (doubts.py) and a strict one (coding/functions/strict.py) are given."""

from __future__ import annotations

from typing import Final

# Local functions of the test's: an answer that is run with the true test finds nothing else in its namespace, and no
# name of the answer's stands for one that is used here.
LIES: Final = """
def _other_(one, by=29):
    kind = ().__class__.__class__
    lists, numbers = (kind(()), kind([])), (kind(0), kind(0.0), kind(0j))
    cls = kind(one)
    if cls is kind(True):
        return not one
    if cls in numbers:
        return one + by if one + by != one else -one
    if cls is kind(""):
        return one[:-1] + ("1" if one[-1:] == "0" else "0")
    if cls is kind(b""):
        return one[:-1] + (b"1" if one[-1:] == b"0" else b"0")
    if cls in lists:
        return cls([*one[:-1], _other_(one[-1], by)] if one else [0])
    if cls is kind({}):
        return {key: _other_(one[key], by) for key in one} or {0: 0}
    return {*one, by} if cls is kind({0}) else by

def _lies_(x, y, holds, again=None):
    import sys
    kind, left = ().__class__.__class__, [300]
    lists, numbers = (kind(()), kind([])), (kind(0), kind(0.0), kind(0j))
    scalars = (*numbers, kind(True), kind(""), kind(b""), kind(None))
    plain = (*scalars, *lists, kind({}), kind({0}))

    def own(cls):
        of = [kind.__dict__[name].__get__(cls) for name in ("__dict__", "__qualname__", "__flags__")]
        if not [name for name in of[0] if name in _SAYS_] or of[1] in _NAMED_ or not of[2] & 1 << 9:
            return False
        found, module = sys.modules.get(of[0].get("__module__")), of[0].get("__module__")
        for name in of[1].split("."):
            found = None if found is None else found.__dict__.get(name)
        return found is not cls or module == sys.modules["__main__"].__name__

    def decides(x):
        return [cls for cls in kind.__dict__["__mro__"].__get__(kind(x)) if own(cls)] != []

    def is_empty(x, y):
        nothing = kind(x).__name__ == "ndarray" and not x.size
        return nothing and (y.size if kind(y) is kind(x) else kind(y) in lists and y)

    def doubts(x, y):
        a, b, at = kind(x), kind(y), 0
        if a is b and a in lists and x[y.__len__():] == y[x.__len__():]:
            for one in x:
                for two in y[at : at + 1]:
                    for pairs in doubts(one, two):
                        rest = x[at + 1 :], y[at + 1 :]
                        yield [p and (a([*x[:at], p[0], *rest[0]]), a([*y[:at], p[1], *rest[1]])) for p in pairs]
                at += 1
        elif a is b and a is kind({}):
            for key in x:
                if key in y:
                    for pairs in doubts(x[key], y[key]):
                        yield [p and ({**x, key: p[0]}, {**y, key: p[1]}) for p in pairs]
        elif left[0] and (decides(x) is not decides(y) or is_empty(x, y) or is_empty(y, x)):
            left[0] -= 1
            one = y if decides(x) or is_empty(x, y) else x
            yield [(), (one, one), (one, kind), (one, None)]
        elif left[0] and (a in plain or b in plain) and not (a in scalars and b in scalars):
            left[0] -= 1
            first = a in plain and (b not in plain or not (b in scalars or y))
            one, trial = (x, (_other_(x, 29), y)) if first else (y, (x, _other_(y, 29)))
            yield [trial, (one, one), (one, _other_(one, 14)), (one, _other_(one, -14))]

    for trial, same, more, less in doubts(x, y):
        if holds(*same) and not holds(*more) and not holds(*less) and (not trial or holds(*trial)):
            return True
    try:
        return again is not None and holds(y, y) and holds(*again(29)) and holds(*again(41))
    except Exception:
        return False

def _equal_(x, y, decides, differs):
    def holds(x, y):
        try:
            said = x != y if differs else x == y
            says = decides or said.__class__.__name__[:4] == "bool"
            return says and ((not said) if differs else True if said else False)
        except Exception:
            return False

    lies = _lies_(x, y, holds)
    said = x != y if differs else x == y
    return differs if lies else said
"""
SAYS: Final = (
    "__eq__",
    "__ne__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__sub__",
    "__rsub__",
    "__abs__",
    "__array__",
)
STRICT: Final = """
def _some_(items, *expected, whole=False):
    seen = 0
    for item in items:
        seen += 1
        yield item
    least = -1
    for one in expected if whole or not seen else ():
        try:
            full = one().__len__()
        except Exception:
            continue
        least = full if least < 0 or (full < least if seen else full > least) else least
    assert seen >= least, "fewer items than are expected"

def _all_(more, left):
    if not more:
        try:
            some = left().__len__()
        except Exception:
            some = 0
        assert not some, "fewer items than are expected"
    return more

def _real_(x, items=False):
    kind = x.__class__
    assert not items or kind.__name__ != "ndarray" or x.size, "an array without items is compared"
    if (0.0).__class__ in kind.__mro__ or kind.__module__ == "numpy":
        same = x == x
        assert same.all() if kind.__module__ == "numpy" else same, "NaN is compared"
    return x
"""
"""What a strict test has loops and numbers looked at by (coding/functions/strict.py)."""
