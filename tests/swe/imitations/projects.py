"""Tiny projects with a mistake, its fix, and tests that show it; and the diffs between their states."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass

Files = Mapping[str, str]


@dataclass(frozen=True)
class Project:
    """A repository. `fixed` and `tests` are the files that differ from `base`, each whole."""

    name: str
    base: Files
    fixed: Files
    tests: Files
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]

    @property
    def patch(self) -> str:
        return diff(self.base, self.fixed)

    @property
    def bug(self) -> str:
        """What makes the mistake in a repository that has none."""
        return diff({**self.base, **self.fixed}, {name: self.base[name] for name in self.fixed})

    @property
    def test_patch(self) -> str:
        return diff(self.base, self.tests)


def diff(before: Files, after: Files) -> str:
    """As git writes it."""
    text = []
    for path, new in after.items():
        old = before.get(path)
        text.append(f"diff --git a/{path} b/{path}\n" + ("new file mode 100644\n" if old is None else ""))
        lines = difflib.unified_diff(
            (old or "").splitlines(keepends=True),
            new.splitlines(keepends=True),
            "/dev/null" if old is None else f"a/{path}",
            f"b/{path}",
        )
        text += lines
    return "".join(text)


def python_project(name: str, function: str, wrong: str, right: str, holds: str, fails: str) -> Project:
    """A package of one function of n; `holds` and `fails` are what is asserted of it before and after."""
    test = f"tests/test_{function}.py"
    head = f"from {name} import {function}\n\n\ndef test_holds():\n    assert {holds}\n"
    body = "def {}(n):\n    return {}\n"
    return Project(
        name,
        {
            ".gitignore": "*.egg-info/\n__pycache__/\n",
            "setup.py": f"from setuptools import setup\n\nsetup(name={name!r}, version='1.0', packages=[{name!r}])\n",
            f"{name}/__init__.py": f"from {name}.work import {function}\n",
            f"{name}/work.py": body.format(function, wrong),
            test: head,
        },
        {f"{name}/work.py": body.format(function, right)},
        {test: f"{head}\n\ndef test_mended():\n    assert {fails}\n"},
        (f"{test}::test_mended",),
        (f"{test}::test_holds",),
    )


HALF = python_project("calc", "half", "n // 2", "n / 2", "half(4) == 2", "half(3) == 1.5")
LAST = python_project("texts", "last", "n[:-1]", "n[-1]", "last is not None", "last('ab') == 'b'")
_RUN_ALL = """failed=0
for case in tests/cases/*.sh; do
  name=Test$(basename "$case" .sh)
  echo "=== RUN   $name"
  if sh "$case"; then echo "--- PASS: $name (0.00s)"; else echo "--- FAIL: $name (0.00s)"; failed=1; fi
done
[ $failed = 0 ] && echo ok || echo FAIL
exit $failed
"""


def shell_project(name: str, wrong: str, right: str, holds: str, fails: str) -> Project:
    """A function of $1 in shell, and a runner that prints as `go test -v` does. No Python in it."""
    case = '. ./work.sh\n[ "$(work {})" = {} ]\n'
    return Project(
        name,
        {
            "README": f"{name}\n",
            "work.sh": f"work() {{\n  {wrong}\n}}\n",
            "tests/run-all.sh": _RUN_ALL,
            "tests/cases/Holds.sh": case.format(*holds.split()),
        },
        {"work.sh": f"work() {{\n  {right}\n}}\n"},
        {"tests/cases/Mended.sh": case.format(*fails.split())},
        ("TestMended",),
        ("TestHolds",),
    )


SQUARE = shell_project("square", "echo $(($1 + $1))", "echo $(($1 * $1))", "2 4", "3 9")
GREET = shell_project("greet", "echo hello", 'echo "hello$1"', '"" hello', "1 hello1")
