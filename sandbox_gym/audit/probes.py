"""Answers that must not pass, whatever the task: they know nothing of it, or give back what they were given. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

from sandbox_gym.audit.findings import Weakness
from sandbox_gym.verifiers.coding import PYTHON, CodingTask, fenced
from sandbox_gym.verifiers.coding.functions.shapes import FunctionTests, StdinTests

_OUTPUTS: Final = ("", "0", "1", "-1", "YES", "NO", "Yes", "No")
_VALUES: Final = ("None", "0", "1", "-1", "True", "False", "''", "[]", "{}")


@dataclass(frozen=True, slots=True)
class Probe:
    """An answer, and what it shows when it passes."""

    answer: str
    weakness: Weakness
    what: str


def probes(task: CodingTask) -> Iterator[Probe]:
    """For programs: constants, the commonest expected output, and the input itself. For functions the like."""
    tests = task.tests
    if isinstance(tests, StdinTests):
        common = Counter(tests.outputs).most_common(1)[0][0]
        for text in dict.fromkeys((common, *_OUTPUTS)):
            yield _constant(f"import sys\nsys.stdout.write({text!r})\n", repr(text[:40]))
        yield Probe(fenced("import sys\nsys.stdout.write(sys.stdin.read())\n"), Weakness.ECHO_PASSES, "its input")
        return
    name = tests.fn_name if isinstance(tests, FunctionTests) else tests.entry_point
    values = list(_VALUES)
    if isinstance(tests, FunctionTests):
        values.insert(0, Counter(map(repr, tests.outputs)).most_common(1)[0][0])
    for value in dict.fromkeys(values):
        yield _constant(f"def {name}(*args, **kwargs):\n    return {value}\n", value[:40])
    source = f"def {name}(*args, **kwargs):\n    return args[0] if args else None\n"
    yield Probe(fenced(source), Weakness.ECHO_PASSES, "its first argument")


def _constant(source: str, what: str) -> Probe:
    return Probe(fenced(source), Weakness.CONSTANT_PASSES, what)


def as_probed(task: CodingTask) -> CodingTask:
    """The task as probes answer it: in Python, stopping at the first test that they fail, all or nothing."""
    scoring = type(task.scoring)()
    return replace(task, language=PYTHON, early_stop=True, scoring=scoring)
