"""What a test shares with an answer through their process alone: streams, files, clocks, seeds, patches, threads.

A test that touches such state, or imports a module that is not known to be free of it, can't be parted from its answer.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

_VALUES_ONLY = frozenset(
    [
        "__future__",
        "abc",
        "array",
        "ast",
        "base64",
        "binascii",
        "bisect",
        "calendar",
        "cmath",
        "collections",
        "collections.abc",
        "colorsys",
        "contextlib",
        "copy",
        "csv",
        "dataclasses",
        "datetime",
        "decimal",
        "difflib",
        "enum",
        "fnmatch",
        "fractions",
        "functools",
        "graphlib",
        "hashlib",
        "heapq",
        "hmac",
        "html",
        "html.entities",
        "io",
        "ipaddress",
        "itertools",
        "json",
        "json.decoder",
        "keyword",
        "math",
        "numbers",
        "operator",
        "os",
        "os.path",
        "pathlib",
        "pprint",
        "pytest",
        "random",
        "re",
        "reprlib",
        "secrets",
        "shlex",
        "statistics",
        "string",
        "struct",
        "sys",
        "textwrap",
        "time",
        "types",
        "typing",
        "typing_extensions",
        "unicodedata",
        "unittest",
        "unittest.mock",
        "urllib.parse",
        "uuid",
        "zlib",
        "zoneinfo",
        "numpy",
        "numpy.testing",
        "numpy.linalg",
        "asyncio",
        "xml.sax.saxutils",
        "html.parser",
        "queue",
    ]
)
"""Modules whose objects cross by value, or that only make values: what of them does touch a process is below."""
_ONLY: Mapping[str, frozenset[str]] = {
    "os": frozenset(["path", "sep", "linesep", "pathsep", "altsep", "fspath", "extsep", "curdir", "pardir"]),
    "sys": frozenset(
        [
            "maxsize",
            "float_info",
            "int_info",
            "version_info",
            "version",
            "byteorder",
            "maxunicode",
            "hexversion",
            "platform",
        ]
    ),
    "asyncio": frozenset(["run", "gather", "iscoroutine"]),
    "unittest.mock": frozenset(["Mock", "MagicMock", "AsyncMock", "call", "ANY", "sentinel", "DEFAULT"]),
    "queue": frozenset(["Empty", "Full"]),
}
"""Of these modules, the names that touch nothing; the rest does."""
_NEVER: Mapping[str, frozenset[str]] = {
    "os.path": frozenset(
        ["exists", "isfile", "isdir", "abspath", "realpath", "getsize", "expanduser", "getmtime", "islink", "samefile"]
    ),
    "random": frozenset(["seed", "setstate", "getstate"]),
    "numpy.random": frozenset(["seed", "set_state", "get_state"]),
    "numpy": frozenset(
        [
            "seterr",
            "errstate",
            "geterr",
            "load",
            "save",
            "savez",
            "loadtxt",
            "savetxt",
            "genfromtxt",
            "fromfile",
            "memmap",
            "set_printoptions",
            "printoptions",
            "vectorize",
            "frompyfunc",
        ]
    ),
    "contextlib": frozenset(["redirect_stdout", "redirect_stderr", "chdir"]),
    "decimal": frozenset(["getcontext", "setcontext", "localcontext"]),
    "io": frozenset(["open", "open_code", "FileIO"]),
    "pytest": frozenset(["warns", "deprecated_call", "MonkeyPatch"]),
    "typing": frozenset(("get_type_hints", "get_overloads", "is_typeddict")),
}
"""Names that touch it, of modules that otherwise do not."""
_PATH_IO = frozenset(
    [
        "write_text",
        "read_text",
        "write_bytes",
        "read_bytes",
        "exists",
        "mkdir",
        "unlink",
        "touch",
        "iterdir",
        "rglob",
        "is_file",
        "is_dir",
        "resolve",
        "rmdir",
        "rename",
        "cwd",
        "home",
        "samefile",
        "symlink_to",
    ]
)
_WATCHES = frozenset(("assertLogs", "assertNoLogs", "assertWarns", "assertWarnsRegex"))


def imports_of(tree: ast.Module, known: Mapping[str, str]) -> dict[str, str]:
    """Each name that an import binds, with the dotted path that it stands for. `known`: modules that need none."""
    found = dict(known)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.asname or alias.name.split(".")[0]
                found[name] = alias.name if alias.asname else name
        elif isinstance(node, ast.ImportFrom) and not node.level:
            for alias in node.names:
                found[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    return found


def foreign(tree: ast.Module, only: set[str] | None = None) -> set[str]:
    """Modules that the tree imports and that are not known to hold only values. `only`: under one of these names, where
    given."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        module = "." * node.level + (node.module or "") if isinstance(node, ast.ImportFrom) else ""
        for alias in node.names:
            name = alias.asname or (alias.name if module else alias.name.split(".")[0])
            wanted = only is None or name in only
            known = {module, f"{module}.{alias.name}"} if module else {alias.name}
            if wanted and not known & _VALUES_ONLY:
                found.add(module or alias.name)
    return found


def shared_state(node: ast.AST, aliases: Mapping[str, str]) -> str:
    """Why this node ties the test to the answer's process; "" where it does not."""
    if isinstance(node, ast.Attribute) and node.attr in _WATCHES:
        return f"the test uses {node.attr}, which watches its own process"
    if (
        isinstance(node, ast.Attribute)
        and node.attr in _PATH_IO
        and "pathlib" in {p.split(".")[0] for p in aliases.values()}
    ):
        return f"the test uses files ({node.attr})"
    if isinstance(node, ast.ImportFrom) and not node.level:
        return next((why for alias in node.names if (why := _touches(f"{node.module}.{alias.name}"))), "")
    path = _dotted(node, aliases)
    if not path:
        return ""
    if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load) and "." in path:
        return f"the test sets {path}"
    return _touches(path)


def _touches(path: str) -> str:
    module, _, name = path.rpartition(".")
    if module in _ONLY and name not in _ONLY[module] and path not in _VALUES_ONLY:
        return f"the test uses {path}, which belongs to one process"
    if name in _NEVER.get(module, ()):
        return f"the test uses {path}, which belongs to one process"
    return ""


def _dotted(node: ast.AST, aliases: Mapping[str, str]) -> str:
    """The path that a name or an attribute of an import stands for."""
    if isinstance(node, ast.Name):
        return aliases.get(node.id, "")
    if isinstance(node, ast.Attribute):
        base = _dotted(node.value, aliases)
        return f"{base}.{node.attr}" if base else ""
    return ""
