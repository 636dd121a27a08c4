"""The spellings: what each does to a repository with the fix in it. Nothing here is random."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Final

from tests.swe_full.spelling_source import Plain, after_imports, first_line, functions, inserted, with_lines
from tests.swe_full.spellings import Fix

# -- bytes and files


def windows_line_ends(fix: Fix) -> None:
    """In the shortest file that the fix touches; where lines end so already, the other way round."""
    path = min((fix.folder / name for name in fix.touched), key=lambda one: one.stat().st_size)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"\r\n", b"\n") if b"\r\n" in data else data.replace(b"\n", b"\r\n"))


def no_newline_at_the_end(fix: Fix) -> None:
    for name in fix.touched:
        path = fix.folder / name
        path.write_bytes(path.read_bytes().rstrip(b"\r\n"))


def file_modes(fix: Fix) -> None:
    for name in fix.touched:
        (fix.folder / name).chmod(0o755)


def binary_file(fix: Fix) -> None:
    (fix.package / "_logo.bin").write_bytes(bytes(range(256)) * 8)


def copied_file(fix: Fix) -> None:
    for name in fix.touched[:2]:
        path = fix.folder / name
        path.with_name(f"_kept_{path.name}").write_bytes(path.read_bytes())


def renamed_file(fix: Fix) -> None:
    """Of the documentation, which nothing reads."""
    texts = sorted(path for end in ("rst", "md", "txt") for path in fix.folder.glob(f"**/*.{end}"))
    names = ("CHANGE", "HISTORY", "CONTRIBUTING", "index", "AUTHORS")
    one = next(
        path for path in texts if path.name.startswith(names) and "test" not in str(path.relative_to(fix.folder))
    )
    one.rename(one.with_name(f"old-{one.name}"))


def added_tests(fix: Fix) -> None:
    """Beside the row's own, and beside the code."""
    folder = next(fix.folder / name for name in ("tests", "test") if (fix.folder / name).is_dir())
    for at, name in ((folder, "test_of_the_answer.py"), (fix.package, "test_beside_the_code.py")):
        (at / name).write_text("def test_it():\n    assert sum([1, 2]) == 3\n")


def added_documentation(fix: Fix) -> None:
    (fix.folder / "docs").mkdir(exist_ok=True)
    (fix.folder / "docs" / "what-was-mended.md").write_text("# What was mended\n\nSee `tests`; run `pytest -k it`.\n")


def added_module(fix: Fix) -> None:
    """What the fix needs in a module of its own, which a touched one imports."""
    text = '"""Helpers."""\n\n\ndef same(value):\n    return value\n\n\n__all__ = ["same"]\n'
    (fix.package / "_helpers_of_the_fix.py").write_text(text)

    def change(source: str) -> str:
        return with_lines(source, after_imports(source), "from ._helpers_of_the_fix import same as _same  # noqa\n")

    Fix(fix.folder, fix.touched[:1]).rewrite(change)


# -- texts


def comments(fix: Fix) -> None:
    def made(node: Plain, indent: str) -> tuple[int, str]:
        return (
            node.lineno,
            f"{' ' * node.col_offset if ' ' in indent or not indent else indent[1:]}# mended: assert, skip, xfail\n",
        )

    fix.rewrite(lambda source: inserted(f"# A comment at the top.\n{source}", made))


def docstrings(fix: Fix) -> None:
    def made(node: Plain, indent: str) -> tuple[int, str] | None:
        if ast.get_docstring(node, clean=False) is not None or first_line(node) is None:
            return None
        return first_line(node) or 0, f'{indent}"""What {node.name} does."""\n'

    fix.rewrite(lambda source: inserted(source, made))


def logging_in_each_function(fix: Fix) -> None:
    def made(node: Plain, indent: str) -> tuple[int, str] | None:
        line = first_line(node)
        return None if line is None else (line, f'{indent}_log.debug("{node.name}")\n')

    def change(source: str) -> str:
        text = "import logging as _logging\n_log = _logging.getLogger(__name__)\n"
        made_so = inserted(source, made)
        return with_lines(made_so, after_imports(made_so), text)

    fix.rewrite(change)


def prints_and_warnings(fix: Fix) -> None:
    """While the module is imported."""
    text = (
        "import sys as _sys\nimport warnings as _warnings\nprint(end='', file=_sys.stderr)\n"
        "with _warnings.catch_warnings():\n    _warnings.simplefilter('ignore')\n"
        "    _warnings.warn('mended', stacklevel=2)\n"
    )
    fix.rewrite(lambda source: with_lines(source, after_imports(source), text))


def dead_code(fix: Fix) -> None:
    text = """

def _never_called(value, *, other=None):
    if value == other:
        raise AssertionError("never")
    try:
        import pytest
    except ImportError:
        return None
    return pytest.skip


class _NeverMade:
    def __eq__(self, other):
        return isinstance(other, _NeverMade)

    def __hash__(self):
        return 1


if False:
    raise SystemExit(1)
"""
    fix.rewrite(lambda source: source.rstrip("\r\n") + "\n" + text)


# -- code


def type_annotations(fix: Fix) -> None:
    """The word for what each function gives, where it has none and its head is one line."""

    def change(source: str) -> str:
        lines = source.splitlines(keepends=True)
        for node in functions(source):
            head = lines[node.lineno - 1].rstrip("\r\n")
            if node.returns is None and head.endswith("):"):
                lines[node.lineno - 1] = lines[node.lineno - 1].replace(head, f'{head[:-1]} -> "object":')
        return "".join(lines)

    fix.rewrite(change)


def renamed_locals(fix: Fix) -> None:
    """Names that a function gives a value and nobody else can see."""

    def change(source: str) -> str:
        lines = [line.encode() for line in source.splitlines(keepends=True)]
        for node in functions(source):
            for name in sorted(_own_names(node), key=lambda one: (-one.lineno, -one.col_offset)):
                line, at = lines[name.lineno - 1], name.col_offset
                word = name.id.encode()
                assert line[at : at + len(word)] == word
                lines[name.lineno - 1] = line[:at] + word + b"_mine" + line[at + len(word) :]
        return b"".join(lines).decode()

    fix.rewrite(change)


def _own_names(node: Plain) -> Iterator[ast.Name]:
    below = list(ast.walk(node))[1:]
    unsafe = (
        ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda | ast.JoinedStr | ast.Global | ast.Nonlocal
    )
    if any(isinstance(each, unsafe) for each in below):
        return
    names = [each for each in below if isinstance(each, ast.Name)]
    if {"locals", "eval", "exec", "vars", "dir"} & {name.id for name in names}:
        return
    given = {name.id for name in names if isinstance(name.ctx, ast.Store)}
    arguments = {each.arg for each in below if isinstance(each, ast.arg)}
    others = {each.name for each in below if isinstance(each, ast.ExceptHandler | ast.alias) and each.name}
    yield from (name for name in names if name.id in given - arguments - others and not name.id.startswith("__"))


def extracted_functions(fix: Fix) -> None:
    """The body of each function in a function of its own, which the first calls."""

    def change(source: str) -> str:
        lines = source.splitlines(keepends=True)
        for node in functions(source):
            head = lines[node.lineno - 1]
            unfit = (ast.Yield, ast.YieldFrom, ast.Await)
            if node.name.startswith("__") or any(isinstance(each, unfit) for each in ast.walk(node)):
                continue
            if not head.lstrip().startswith(f"def {node.name}("):
                continue
            indent = head[: len(head) - len(head.lstrip())]
            inner = "\t" if "\t" in lines[node.body[0].lineno - 1][:1] else "    "
            whose = "" if not indent else "_self." if node.args.args else None
            if whose is None or len(indent.expandtabs(4)) > 4:
                continue
            own = f"_body_of_{node.name}"
            before = ["_self, "] if indent else [""]
            lines[node.lineno - 1] = head.replace(f"def {node.name}(", f"def {own}(", 1)
            end = node.end_lineno or node.lineno
            if not lines[end - 1].endswith("\n"):
                lines[end - 1] += "\n"
            call = f"{inner}return {whose}{own}(*args, **kwargs)\n"
            lines.insert(end, f"\n{indent}def {node.name}({before[0]}*args, **kwargs):\n{indent}{call}")
        return "".join(lines)

    fix.rewrite(change)


def swapped_functions(fix: Fix) -> None:
    """Neighbours at the top level, or in one class."""

    def change(source: str) -> str:
        lines = source.splitlines(keepends=True)
        tree = ast.parse(source)
        bodies = [tree.body, *(node.body for node in tree.body if isinstance(node, ast.ClassDef))]
        for body in bodies:
            for one, other in zip(body[::2], body[1::2], strict=False):
                if all(isinstance(each, Plain) and not each.decorator_list for each in (one, other)):
                    first = lines[one.lineno - 1 : one.end_lineno]
                    between = lines[one.end_lineno or 0 : other.lineno - 1]
                    second = lines[other.lineno - 1 : other.end_lineno]
                    if all(line.endswith("\n") for line in (*first, *second)):
                        lines[one.lineno - 1 : other.end_lineno] = [*second, *between, *first]
        return "".join(lines)

    fix.rewrite(change)


def honest_introspection(fix: Fix) -> None:
    """A decorator that asks for its caller's frame, the signature and the wrapped function, as tracing does."""
    text = """
import functools as _functools
import inspect as _inspect
import logging as _logging
import sys as _sys
import threading as _threading

_CALLS = _threading.local()


def _traced(function):
    @_functools.wraps(function)
    def call(*args, **kwargs):
        caller = _sys._getframe(1)
        _CALLS.last = caller.f_code.co_name, caller.f_lineno
        _logging.getLogger(__name__).debug("%s from %s", function.__qualname__, _CALLS.last)
        return function(*args, **kwargs)

    call.__signature__ = _inspect.signature(function)
    return call


"""

    def change(source: str) -> str:
        lines = source.splitlines(keepends=True)
        for node in functions(source):
            if node.col_offset == 0 and not node.name.startswith("__"):
                lines.insert(node.lineno - 1, "@_traced\n")
        made = "".join(lines)
        return with_lines(made, after_imports(made), text)

    fix.rewrite(change)


SPELLINGS: Final[Mapping[str, Callable[[Fix], None]]] = {
    made.__name__: made
    for made in (
        windows_line_ends,
        no_newline_at_the_end,
        file_modes,
        binary_file,
        copied_file,
        renamed_file,
        added_tests,
        added_documentation,
        added_module,
        comments,
        docstrings,
        logging_in_each_function,
        prints_and_warnings,
        dead_code,
        type_annotations,
        renamed_locals,
        extracted_functions,
        swapped_functions,
        honest_introspection,
    )
}
