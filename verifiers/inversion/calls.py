"""Recognises the calls that assert: unittest's methods, functions of numpy.testing and nose, and helpers named
alike."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeGuard

from sandbox_gym.verifiers.inversion.values import EXACT, Tolerance

_EQUAL = """assertEqual assertEquals assertDictEqual assertListEqual assertTupleEqual assertSetEqual assertCountEqual
    assertItemsEqual assertMultiLineEqual assertSequenceEqual assertIs assertAlmostEqual assertAlmostEquals
    assert_equal assert_equals eq_ assert_array_equal assert_almost_equal assert_array_almost_equal assert_allclose
    assert_string_equal assert_is assert_dict_equal assert_list_equal assert_frame_equal assert_series_equal
    assert_index_equal"""
EQUAL = frozenset(_EQUAL.split())
"""Two values that must be equal, or as good as."""
_PAIRS = """assertEqual assertNotEqual, assertTrue assertFalse, assertIn assertNotIn, assertIs assertIsNot,
    assertIsNone assertIsNotNone, assertIsInstance assertNotIsInstance, assertRegex assertNotRegex,
    assertAlmostEqual assertNotAlmostEqual, assertLess assertGreaterEqual, assertGreater assertLessEqual"""
CLOSE = frozenset(("allclose", "isclose", "array_equal", "array_equiv", "eq"))
"""Functions that tell whether two values are equal, or as good as; numpy's, math's and operator's."""
OPPOSITES = {
    one: other for pair in _PAIRS.split(",") for one, other in (tuple(pair.split()), tuple(reversed(pair.split())))
} | {"assertEquals": "assertNotEqual", "assertDictEqual": "assertNotEqual", "assertListEqual": "assertNotEqual"}
OPPOSITES |= dict.fromkeys(("assertTupleEqual", "assertSetEqual", "assertMultiLineEqual"), "assertNotEqual")
MOCKS = {"assert_not_called": "assert_called", "assert_not_awaited": "assert_awaited"}
MOCKS |= {f"assert_called{how}": "assert_not_called" for how in ("", "_once", "_with", "_once_with")}
MOCKS |= {f"assert_awaited{how}": "assert_not_awaited" for how in ("", "_once", "_with", "_once_with")}
MOCKS |= dict.fromkeys(("assert_any_call", "assert_has_calls"), "assert_not_called")
"""By a mock's assertion, which an answer that reaches the mock can replace, the one that fails where it holds."""
_TYPES = frozenset(("int", "float", "bool", "complex", "object", "str", "bytes"))
_HELPERS = ("assert", "check", "verify", "expect", "_assert", "_check", "_verify", "_expect")
_LIBRARIES = ("numpy.testing", "nose.tools", "pandas.testing", "numpy.testing.utils", "pandas.util.testing")
_ARGUMENTS = "first second actual desired expected x y expr1 expr2 list1 list2 d1 d2 member"
_KEYWORDS = frozenset(_ARGUMENTS.split())


@dataclass(frozen=True, slots=True)
class Callee:
    """The function of a call. `known`: a method of unittest or a function of a library, as far as the file shows."""

    name: str
    method: bool
    known: bool

    @property
    def is_helper(self) -> bool:
        return self.name.startswith(_HELPERS) and not self.known


@dataclass(frozen=True, slots=True)
class Libraries:
    """Under which names a module has the functions of known libraries."""

    functions: frozenset[str]
    prefixes: frozenset[str]


def libraries(tree: ast.Module) -> Libraries:
    functions: set[str] = set()
    prefixes: set[str] = set(_LIBRARIES)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                if node.module in _LIBRARIES:
                    functions.add(alias.asname or alias.name)
                elif f"{node.module}.{alias.name}" in _LIBRARIES:
                    prefixes.add(alias.asname or alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.asname and alias.name in _LIBRARIES:
                    prefixes.add(alias.asname)
                elif alias.asname:
                    prefixes |= {alias.asname + one[len(alias.name) :] for one in _under(alias.name)}
    return Libraries(frozenset(functions), frozenset(prefixes))


def _under(package: str) -> list[str]:
    return [one for one in _LIBRARIES if one.startswith(f"{package}.")]


def callee(call: ast.Call, names: Libraries, defined: frozenset[str]) -> Callee | None:
    """The called function; None where the call has no plain name."""
    func = call.func
    if isinstance(func, ast.Name):
        return Callee(func.id, False, func.id in names.functions and func.id not in defined)
    if not isinstance(func, ast.Attribute):
        return None
    owner = dotted(func.value)
    if owner in ("self", "cls"):
        return Callee(func.attr, True, func.attr in UNITTEST and func.attr not in defined)
    return Callee(func.attr, False, owner in names.prefixes)


def dotted(node: ast.expr) -> str:
    parts: list[str] = []
    while isinstance(node, ast.Attribute) and len(parts) < 10:
        parts.append(node.attr)
        node = node.value
    return ".".join((node.id, *reversed(parts))) if isinstance(node, ast.Name) else ""


UNITTEST = frozenset(
    ["assertRaises", "assertRaisesRegex", "assertRaisesRegexp", *OPPOSITES]
    + [name for name in EQUAL if name.startswith("assert") and "_" not in name]
)


def compared(call: ast.Call) -> list[ast.expr]:
    """The two values that an assertion of equality is given."""
    named = [keyword.value for keyword in call.keywords if keyword.arg in _KEYWORDS]
    return [*(one for one in call.args[:2] if not isinstance(one, ast.Starred)), *named][:2]


def tolerance(name: str, call: ast.Call) -> Tolerance | None:
    """How far the values may differ; None where the call's arguments can't be read."""
    if "lmost" not in name and name not in ("assert_allclose", "approx", "allclose", "isclose"):
        return EXACT
    given = {keyword.arg: keyword.value for keyword in call.keywords}
    given.update(zip(_POSITIONS.get(name, ()), call.args[2 if name != "approx" else 1 :], strict=False))
    numbers = {key: number(value) for key, value in given.items() if key in _BOUNDS}
    if any(number is None for number in numbers.values()):
        return None
    told = {key: number for key, number in numbers.items() if number is not None}
    if name == "approx":
        return Tolerance(told.get("rel", 1e-6), told.get("abs", 1e-12))
    if name == "assert_allclose":
        return Tolerance(told.get("rtol", 1e-7), told.get("atol", 0.0))
    if name in CLOSE:  # math.isclose is as close or closer, unless it says otherwise
        relative, absolute = told.get("rtol", told.get("rel_tol", 1e-5)), told.get("atol", told.get("abs_tol", 1e-8))
        return Tolerance(relative, absolute)
    if "delta" in told:
        return Tolerance(absolute=told["delta"])
    return Tolerance(absolute=1.5 * 10.0 ** -told.get("places", told.get("decimal", 6)))


_BOUNDS = ("rel", "abs", "rtol", "atol", "rel_tol", "abs_tol", "delta", "places", "decimal")
_POSITIONS: dict[str, Sequence[str]] = {
    "approx": ("rel", "abs"),
    "assert_allclose": ("rtol", "atol"),
    "allclose": ("rtol", "atol"),
    "isclose": ("rtol", "atol"),
    "assert_almost_equal": ("decimal",),
    "assert_array_almost_equal": ("decimal",),
    "assertAlmostEqual": ("places", "msg", "delta"),
    "assertAlmostEquals": ("places", "msg", "delta"),
}


def number(node: ast.expr) -> float | None:
    """A bound that is written down; 300 at most, so that a power of ten can be made of it."""
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and abs(node.value) < 300:
        return float(node.value)
    return None


def is_array(node: ast.expr) -> TypeGuard[ast.Call]:
    """Whether it is an array of what it is given, as it is."""
    if not isinstance(node, ast.Call) or ast.unparse(node.func) not in ("np.array", "numpy.array"):
        return False
    return len(node.args) == 1 and not node.keywords


def is_approx(call: ast.Call) -> bool:
    return ast.unparse(call.func).rpartition(".")[2] == "approx"


def makes_dtype(operand: ast.expr) -> bool:
    """Whether numpy may read a pair of it and None as it: `int` in `x.dtype == int`."""
    root, _, name = ast.unparse(operand).rpartition(".")
    return "dtype" in name or (name in _TYPES if not root else root in ("np", "numpy", "pd", "pandas"))


def names_approx(node: ast.expr) -> bool:
    names = (one for one in ast.walk(node) if isinstance(one, ast.Name | ast.Attribute))
    return any((one.id if isinstance(one, ast.Name) else one.attr) == "approx" for one in names)


def seeks(call: ast.Call) -> bool:
    """Whether a call looks for its constants in another value: `issuperset`, `all(x in f() for x in [1, 2])`."""
    return "issuperset" in ast.unparse(call.func) or any(isinstance(one, ast.In) for one in ast.walk(call))
