"""Test ids: which file each is in, which may have been cut by a log parser, how pytest and unittest find them.

Ids are compared exactly. Only datasets whose ids were read out of logs have cut ones (`SweTask.ids_may_be_cut`):
SWE-bench_Verified has 676 that end inside a parameter, as `test_fail[log(photon`, whose brackets are not balanced.
Source: swebench 5.0.2, harness/grading.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sandbox_gym.verifiers.swe.task import CaseStatus, SweTask

_GOOD = frozenset({CaseStatus.PASSED, CaseStatus.XFAIL})


def is_cut(test_id: str) -> bool:
    """Whether a parameter begins in it that does not end."""
    return test_id.count("[") > test_id.count("]")


def file_of(test_id: str) -> str:
    """The file of a pytest node id, or empty: `tests/test_a.py::test_b[x::y]` -> `tests/test_a.py`."""
    path, colons, _ = test_id.partition("::")
    return path if colons or path.endswith(".py") else ""


def files_of(ids: Iterable[str]) -> tuple[str, ...]:
    """Every file of the ids, each once, in their order."""
    return tuple(dict.fromkeys(path for path in map(file_of, ids) if path))


def look_up(task: SweTask, test_id: str, statuses: Mapping[str, CaseStatus]) -> str | None:
    """The reported id that an id of the row stands for, or None. A cut id stands for those that begin with it, if they
    agree on whether they passed; not where absence passes, as in swebench."""
    if test_id in statuses:
        return test_id
    if not (task.ids_may_be_cut and task.rule == "full" and is_cut(test_id)):
        return None
    matches = [reported for reported in statuses if reported.startswith(test_id)]
    agreed = len({statuses[match] in _GOOD for match in matches}) == 1
    return matches[0] if agreed else None


def dotted(test_id: str) -> str:
    """The name that unittest loads for an id in any of its spellings.

    `test_a (pkg.mod.Case)`, `test_a (pkg.mod.Case.test_a)` of Python 3.11 on, and `pkg.mod.Case.test_a` itself.
    """
    method, bracket, rest = test_id.partition(" (")
    if not bracket or ")" not in rest:
        return test_id
    owner = rest[: rest.index(")")]
    return owner if owner.rpartition(".")[2] == method else f"{owner}.{method}"
