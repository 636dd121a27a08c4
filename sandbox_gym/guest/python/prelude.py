"""LiveCodeBench's import prelude: names of the standard library that an answer may use without importing them.

The prelude is `from M import *` of each module in `_STARS`, `from builtins import *` and `from typing import *`, then
`import M` of each. Of its 500 names only those are bound, and only those modules imported, that some scope of the
program reads as a global. A program that looks names up at run time (`eval`, `exec`, `globals`) gets all.

A program that runs without the prelude behaves the same with it: a name that it binds at module level, and for whose
absence it tests (`try` with a handler for NameError, `globals`, `vars`, `dir`), is not bound beforehand.
"""

import ast
import builtins
import collections
import functools
import io
import itertools
import json
import math
import operator
import re
import symtable
import sys
import warnings

_STARS = (
    "string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json"
).split()
_LOADED = {
    "re": re, "collections": collections, "math": math, "itertools": itertools, "functools": functools,
    "operator": operator, "io": io, "sys": sys, "json": json,
}  # fmt: skip
# public names of the modules that cost something to import, of Python 3.8 to 3.13
_COSTLY = {
    "string": "Formatter Template ascii_letters ascii_lowercase ascii_uppercase capwords digits hexdigits octdigits "
    "printable punctuation whitespace",
    "datetime": "MAXYEAR MINYEAR UTC date datetime_CAPI time timedelta timezone tzinfo",
    "heapq": "heapify heappop heappush heappushpop heapreplace merge nlargest nsmallest",
    "bisect": "bisect_left bisect_right insort insort_left insort_right",
    "copy": "Error deepcopy replace",
    "random": "Random SystemRandom betavariate binomialvariate choice choices expovariate gammavariate gauss "
    "getrandbits getstate lognormvariate normalvariate paretovariate randbytes randint randrange sample seed setstate "
    "shuffle triangular uniform vonmisesvariate weibullvariate",
    "statistics": "NormalDist StatisticsError correlation covariance fmean geometric_mean harmonic_mean kde kde_random "
    "linear_regression mean median median_grouped median_high median_low mode multimode pstdev pvariance quantiles "
    "stdev variance",
    "typing": "AbstractSet Annotated Any AnyStr AsyncContextManager AsyncGenerator AsyncIterable AsyncIterator "
    "Awaitable BinaryIO ByteString Callable ClassVar Collection Concatenate Container ContextManager Coroutine "
    "DefaultDict Deque Dict Final ForwardRef FrozenSet Generator Generic Hashable IO ItemsView Iterable Iterator "
    "KeysView List Literal LiteralString Mapping MappingView Match MutableMapping MutableSequence MutableSet "
    "NamedTuple Never NewType NoDefault NoReturn NotRequired Optional ParamSpec ParamSpecArgs ParamSpecKwargs Pattern "
    "Protocol ReadOnly Required Reversible Self Sequence Set Sized SupportsAbs SupportsBytes SupportsComplex "
    "SupportsFloat SupportsIndex SupportsInt SupportsRound TYPE_CHECKING Text TextIO Tuple Type TypeAlias "
    "TypeAliasType TypeGuard TypeIs TypeVar TypeVarTuple TypedDict Union Unpack ValuesView assert_never assert_type "
    "cast clear_overloads dataclass_transform final get_args get_origin get_overloads get_protocol_members "
    "get_type_hints is_protocol is_typeddict no_type_check no_type_check_decorator overload override reveal_type "
    "runtime_checkable",
}
_COSTLY = {module: frozenset(names.split()) for module, names in _COSTLY.items()}
# the last star import wins, so it is asked first. typing's own Counter, OrderedDict and ChainMap are left out:
# collections' classes do all that those do, and are classes
_ORDER = ("typing", *reversed(_STARS))
_BUILTINS = frozenset(dir(builtins))  # `from builtins import *` comes late: none of these is ever another's
_NAMESPACE = frozenset(("globals", "modules", "__main__"))
_LOOKS_UP = _NAMESPACE | {"eval", "exec"}
_LOOKS = _NAMESPACE | {"locals", "vars", "dir"}
_CATCHES = frozenset(("NameError", "Exception", "BaseException"))
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_WORD = re.compile(r"[^\W\d]\w*")


def _public(module):
    names = getattr(module, "__all__", None)
    return [name for name in vars(module) if not name.startswith("_")] if names is None else names


_KNOWN = frozenset(_STARS).union(*_COSTLY.values(), *map(_public, _LOADED.values())) - _BUILTINS
_CONCERNS = _KNOWN | _LOOKS_UP | {"dataclass", "dataclasses"}  # a dataclass reads its annotations


def bind(names, namespace):
    """Bind those `names` of the prelude that `namespace` lacks."""
    for name in names:
        if name not in namespace:
            _bind(namespace, name)


def wanted(source, path, code):
    """The names of the prelude that the program of `source`, compiled to `code`, may need."""
    names = _names(code)
    if names.isdisjoint(_CONCERNS):
        return ()
    try:
        with warnings.catch_warnings():  # the compiler has given them already
            warnings.simplefilter("ignore")
            return _wanted(source, path, names)
    except (RecursionError, MemoryError):  # nested too deeply for ast
        return names & _KNOWN


def _names(code):
    """Every name that `code` and nested code may look up beyond their locals."""
    names, codes = set(), [code]
    while codes:
        one = codes.pop()
        names.update(one.co_names)
        codes += [constant for constant in one.co_consts if hasattr(constant, "co_names")]
    return names


def _wanted(source, path, names):
    tree = ast.parse(source, path)
    touched, needed, guarded, mentioned = _statements(tree)
    known = (mentioned | needed) & _KNOWN - _settled(tree.body)
    if not known and not names & _LOOKS_UP:
        return known
    read, bound = _globals(symtable.symtable(source, path, "exec"))
    absent = bound if names & _LOOKS else bound & guarded
    if names & _LOOKS_UP:
        return _everything() - absent
    return known & (read | needed | touched & bound) - absent


def _globals(table):
    """(names that some scope reads as a global, names bound at module level)."""
    read, bound, tables = set(), set(), [table]
    while tables:
        table = tables.pop()
        tables += table.get_children()
        kind = str(getattr(table.get_type(), "value", table.get_type()))
        for symbol in table.get_symbols():
            if kind != "module" and not symbol.is_global() and not (kind == "class" and not symbol.is_free()):
                continue
            if symbol.is_referenced():  # in a class, before it is bound there, too
                read.add(symbol.get_name())
            if (kind == "module" or symbol.is_global()) and (symbol.is_assigned() or symbol.is_imported()):
                bound.add(symbol.get_name())
    return read, bound


def _settled(body):
    """Names that the first statements, imports and functions, bind before any code can read them."""
    settled, read = set(), set()
    for statement in body:
        if isinstance(statement, (ast.Import, ast.ImportFrom)):
            settled.update((alias.asname or alias.name).split(".")[0] for alias in statement.names)
        elif isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)) and not statement.decorator_list:
            defaults = statement.args.defaults + [value for value in statement.args.kw_defaults if value is not None]
            if not all(isinstance(value, ast.Constant) for value in defaults):
                break
            for part in (statement.args, statement.returns or statement.args):
                read |= _names_in(part)
            settled.add(statement.name)
        elif not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)):
            break
    return settled - read


def _statements(tree):
    """(names that count where the module binds them: of `x += 1`, `del x` and of comprehensions, which are no scope of
    their own since 3.12; names in annotations and named expressions; names whose absence is handled; all names)."""
    touched, needed, guarded, mentioned = set(), set(), set(), set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            mentioned.add(node.id)
            if isinstance(node.ctx, ast.Del):
                touched.add(node.id)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            touched.add(node.target.id)
        elif isinstance(node, _COMPREHENSIONS):
            touched |= _names_in(node)
            needed.update(one.target.id for one in ast.walk(node) if isinstance(one, ast.NamedExpr))
        elif isinstance(node, ast.Try) and any(map(_handles_absence, node.handlers)):
            guarded.update(*map(_names_in, node.body))
        for annotation in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if annotation is not None:
                needed |= _words(annotation)
    return touched, needed, guarded, mentioned


def _names_in(tree):
    return {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}


def _handles_absence(handler):
    return handler.type is None or any(
        isinstance(node, ast.Name) and node.id in _CATCHES for node in ast.walk(handler.type)
    )


def _words(annotation):
    """The names in an annotation, also in a string annotation."""
    words = set()
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name):
            words.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            words.update(_WORD.findall(node.value))
    return words


def _everything():
    names = set(_STARS)
    for module in _ORDER:
        names.update(_public(__import__(module)))
    return names - _BUILTINS


def _bind(namespace, name):
    if name in _STARS:  # `import datetime` comes after `from datetime import datetime`
        namespace[name] = __import__(name)
        return
    for module in _ORDER:
        if module in _LOADED or name in _COSTLY[module]:
            found = __import__(module)
            if name in _public(found):
                namespace[name] = getattr(found, name)
                return
