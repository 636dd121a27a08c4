"""Ten instances made on the spot: one small library, and in each instance one of its functions is broken.

The repository's files stand in the row, so that neither PyPI nor a registry of images is needed. Owns the rows, and
what the scripted model does on each: the fix (`gold`), a fix that misses a case (`wrong`), or none (`nothing`).
"""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

Plan = Literal["gold", "left", "wrong", "nothing"]
PLAYED: Final[dict[Plan, str]] = {
    "gold": "mends the issue: 1",
    "left": "mends it and does not submit (mini-swe-agent always does): the repository is judged, 1",
    "wrong": "misses a case that a hidden test has: 0",
    "nothing": "changes nothing: 0",
}
"""What the scripted model does, and what that is worth."""
Document = dict[str, object]
WORKDIR: Final = "/workspace/testbed"
LIBRARY: Final = {
    "tally/__init__.py": "",
    "tally/money.py": '''def split(cents, people):
    """Shares that add up to the whole, the larger ones first."""
    share, rest = divmod(cents, people)
    return [share + 1] * rest + [share] * (people - rest)
''',
    "tally/text.py": '''import re


def truncate(text, width):
    """At most `width` characters, the last of them an ellipsis where something was cut."""
    return text if len(text) <= width else text[: width - 1] + "…"


def slug(text):
    """Its words in small letters, joined by hyphens."""
    return "-".join(re.findall("[a-z0-9]+", text.lower()))
''',
    "tally/spans.py": '''def overlap(a, b):
    """Whether two half-open spans share a point."""
    return a[0] < b[1] and b[0] < a[1]


def merge(spans):
    """The same points in as few spans as possible."""
    found = []
    for first, last in sorted(spans):
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], last))
        else:
            found.append((first, last))
    return found
''',
    "tally/dates.py": '''def is_leap(year):
    """Whether a year has 366 days."""
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)


def quarter(month):
    """1 to 4, of a month from 1 to 12."""
    return (month + 2) // 3
''',
    "tally/versions.py": '''def newest(versions):
    """The last of versions such as 1.10.0."""
    return max(versions, key=lambda version: [int(part) for part in version.split(".")])
''',
    "tally/stats.py": '''from collections import Counter


def median(values):
    """The middle value, or the mean of the two in the middle."""
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def mode(values):
    """The value that there are most of."""
    return Counter(values).most_common()[0][0]
''',
    "tests/__init__.py": "",
    "tests/test_imports.py": """import unittest


class Imports(unittest.TestCase):
    def test_every_module(self):
        from tally import dates, money, spans, stats, text, versions

        self.assertEqual(dates.quarter(1), 1)
        self.assertEqual(len({dates, money, spans, stats, text, versions}), 6)
""",
}


@dataclass(frozen=True)
class Bug:
    """`line` of `path` is `broken` in the repository; `near` is a fix that one of the two hidden tests refuses."""

    path: str
    line: str
    broken: str
    near: str
    reported: tuple[str, str]
    """An expression and its value, which the broken line gives wrong."""
    held: tuple[str, str]
    """The same, where the broken line is right."""

    @property
    def name(self) -> str:
        return self.reported[0].partition(".")[2].partition("(")[0]


BUGS: Final = (
    Bug("tally/money.py", "return [share + 1] * rest + [share] * (people - rest)", "return [share] * people",
        "return [share + rest] + [share] * (people - 1)",
        ("money.split(200, 3)", "[67, 67, 66]"), ("money.split(90, 3)", "[30, 30, 30]")),
    Bug("tally/text.py", 'text[: width - 1] + "…"', 'text[:width] + "…"', 'text[: width - 2] + "…"',
        ("text.truncate('abcdef', 4)", "'abc…'"), ("text.truncate('abcd', 4)", "'abcd'")),
    Bug("tally/text.py", '"-".join(re.findall("[a-z0-9]+", text.lower()))', 'text.lower().replace(" ", "-")',
        '"-".join(text.lower().split())',
        ("text.slug('Hello,  World!')", "'hello-world'"), ("text.slug('two words')", "'two-words'")),
    Bug("tally/spans.py", "a[0] < b[1] and b[0] < a[1]", "a[0] <= b[1] and b[0] <= a[1]",
        "a[0] < b[1] and b[0] <= a[1]",
        ("spans.overlap((0, 2), (2, 4))", "False"), ("spans.overlap((0, 3), (2, 4))", "True")),
    Bug("tally/spans.py", "(found[-1][0], max(found[-1][1], last))", "(found[-1][0], last)",
        "(first, max(found[-1][1], last))",
        ("spans.merge([(0, 9), (2, 3)])", "[(0, 9)]"), ("spans.merge([(0, 1), (3, 4)])", "[(0, 1), (3, 4)]")),
    Bug("tally/dates.py", "year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)", "year % 4 == 0",
        "year % 4 == 0 and year % 100 != 0",
        ("dates.is_leap(1900)", "False"), ("dates.is_leap(2000)", "True")),
    Bug("tally/dates.py", "(month + 2) // 3", "month // 4 + 1", "month // 3 + 1",
        ("dates.quarter(7)", "3"), ("dates.quarter(12)", "4")),
    Bug("tally/versions.py", 'key=lambda version: [int(part) for part in version.split(".")]', "key=str",
        "key=lambda version: (len(version), version)",
        ("versions.newest(['1.9.0', '1.10.0'])", "'1.10.0'"), ("versions.newest(['1.10.0', '2.0.0'])", "'2.0.0'")),
    Bug("tally/stats.py", "ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2",
        "ordered[middle]", "ordered[middle] if len(ordered) % 2 else (ordered[0] + ordered[-1]) / 2",
        ("stats.median([1, 2, 3, 10])", "2.5"), ("stats.median([3, 1, 2])", "2")),
    Bug("tally/stats.py", "most_common()[0][0]", "most_common()[-1][0]", "most_common(2)[-1][0]",
        ("stats.mode([3, 1, 1])", "1"), ("stats.mode([5])", "5")),
)  # fmt: skip
PLANS: Final[tuple[Plan, ...]] = (
    "gold", "wrong", "gold", "gold", "left", "gold", "wrong", "gold", "nothing", "gold"
)  # fmt: skip


@dataclass(frozen=True)
class Task:
    """A row, what the scripted model does about it, and the patch by which it does."""

    row: Document
    plan: Plan
    patch: str

    @property
    def name(self) -> str:
        return str(self.row["instance_id"])

    @property
    def reward(self) -> float:
        """What a verdict on it must be."""
        return 1.0 if self.plan in ("gold", "left") else 0.0

    @property
    def prompt(self) -> str:
        return f"Mend the repository in the current folder. {self.row.get('problem_statement', '')}\n\n[{self.name}]"


def made_on_the_spot() -> list[Task]:
    """The ten."""
    return [_task(bug, plan) for bug, plan in zip(BUGS, PLANS, strict=True)]


def of_file(path: Path) -> list[Task]:
    """Rows of one's own; each must have its fix in `patch`. The third of every four is touched without being mended."""
    rows: list[Document] = [json.loads(line) for line in path.read_text().splitlines()]
    note = _diff("sandbox-gym-note.txt", "", "a note\n")
    plans: list[Plan] = ["wrong" if number % 4 == 2 else "gold" for number in range(len(rows))]
    return [
        Task(_for_agents(row), plan, str(row["patch"]) if plan == "gold" else note)
        for row, plan in zip(rows, plans, strict=True)
    ]


def _for_agents(row: Document) -> Document:
    """Without what answers it; the verdict needs the fix itself, and no agent is shown the row."""
    return {name: value for name, value in row.items() if name not in ("answer", "model_patch", "response")}


def _task(bug: Bug, plan: Plan) -> Task:
    right = LIBRARY[bug.path]
    assert right.count(bug.line) == 1
    broken, near = right.replace(bug.line, bug.broken), right.replace(bug.line, bug.near)
    fix = _diff(bug.path, broken, right)
    row: Document = {
        "instance_id": f"tally__{bug.name}",
        "repo": "tally",
        "problem_statement": f"`{bug.reported[0]}` should be {bug.reported[1]}.",
        "environment": {"files": {**LIBRARY, bug.path: broken}},
        "runner": "unittest",
        "test_command": "python -m unittest -q",
        "patch": fix,
        "test_patch": _diff("tests/test_issue.py", "", _hidden_tests(bug)),
        "FAIL_TO_PASS": ["tests.test_issue.Issue.test_reported"],
        "PASS_TO_PASS": ["tests.test_issue.Issue.test_held", "tests.test_imports.Imports.test_every_module"],
    }
    return Task(row, plan, {"wrong": _diff(bug.path, broken, near), "nothing": ""}.get(plan, fix))


def _hidden_tests(bug: Bug) -> str:
    tests = {"reported": bug.reported, "held": bug.held}
    body = "".join(
        f"    def test_{name}(self):\n        self.assertEqual({expression}, {value})\n\n"
        for name, (expression, value) in tests.items()
    )
    module = bug.reported[0].partition(".")[0]
    return f"import unittest\n\nfrom tally import {module}\n\n\nclass Issue(unittest.TestCase):\n{body}"


def _diff(path: str, before: str, after: str) -> str:
    old = f"a/{path}" if before else "/dev/null"
    lines = difflib.unified_diff(before.splitlines(True), after.splitlines(True), old, f"b/{path}")
    created = "" if before else "new file mode 100644\n"
    return f"diff --git a/{path} b/{path}\n{created}" + "".join(lines)
