"""Rows of datasets that name things in their own way, in SWE-bench's words.

Raises RequestError, and nothing else, whatever the row.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Final

from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.coding.fields import mapping, text, wrong
from sandbox_gym.verifiers.swe.datasets.commits import fix_of
from sandbox_gym.verifiers.swe.datasets.conventions import CONVENTIONS
from sandbox_gym.verifiers.swe.patches.diff import read_patch
from sandbox_gym.verifiers.swe.task import Family

MAX_LITERAL: Final = 8 << 20
_FIXED: Final = ("f2p_tests", "s2p_tests", "n2p_tests")
_NO_TESTS: Final = (
    (("expected_action", "pivot_tags"), "swe_pivot", "its verdict compares an action with the expected one"),
    (("task_id",), "deepswe", "its tests are a folder beside the dataset"),
)
"""NeMo Gym's and Nemotron's rows that hold no tests: marks, name, why not."""


def in_swebench_words(row: Mapping[str, object], family: Family, root: str) -> Mapping[str, object]:
    """The row with the fields that SWE-bench's have. Raises RequestError."""
    if family == "multi_swe_bench" and ("fix_patch" in row or "FAIL_TO_PASS" not in row):
        return _multi_swe(row, root)
    if family == "swe_bench_pro":
        return _pro(row, root)
    return _r2e(row, root) if family == "r2e_gym" else row


def refuse_unknown(row: Mapping[str, object], root: str) -> None:
    """For a row that nothing tells the dataset of. Raises RequestError, with the form's name where it has one."""
    for marks, name, why in _NO_TESTS:
        if all(mark in row for mark in marks) and "FAIL_TO_PASS" not in row:
            raise RequestError(root, f"is of {name}, which is not judged here: {why}", "give a row with FAIL_TO_PASS")
    if not row or any(row.get(name) for name in ("FAIL_TO_PASS", "base_commit", "version")):
        return
    known = ", ".join(one.title for one in CONVENTIONS.values())
    has = ", ".join(sorted(str(name)[:40] for name in row)[:12])
    problem = f"is of no form that is known: it has {has}, and no value in FAIL_TO_PASS, base_commit or version"
    raise RequestError(root, problem, f"give a row of {known}; or FAIL_TO_PASS with image and workdir, or environment")


def _pro(row: Mapping[str, object], root: str) -> Mapping[str, object]:
    """Its lists are texts of Python's, under names in lower case."""
    lists = {}
    for name in ("FAIL_TO_PASS", "PASS_TO_PASS"):
        value = row.get(name, row.get(name.lower()))
        lists[name] = _literal(value, f"{root}.{name.lower()}") if isinstance(value, str) and value else value
    return {**row, **lists}


def _literal(value: str, field: str) -> object:
    if len(value) > MAX_LITERAL:
        raise RequestError(field, f"has {len(value)} characters", f"give at most {MAX_LITERAL}")
    try:
        return ast.literal_eval(value.strip())
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError):
        raise wrong(field, value, "give a list of test ids, as JSON or as Python writes it") from None


def _r2e(row: Mapping[str, object], root: str) -> Mapping[str, object]:
    """Its fix is in the commit, and the names of its hidden tests in what running them gave."""
    commit, ran = (_object(row, name, root) for name in ("parsed_commit_content", "execution_result_content"))
    relevant = row.get("relevant_files")
    names = ran.get("test_file_names")
    files = [str(name).rpartition("/")[2] for name in names] if isinstance(names, list) else []
    fix = fix_of(commit, [str(path) for path in relevant] if isinstance(relevant, list) else ())
    if read_patch(fix.encode("utf-8", "surrogatepass")).problem:
        fix = ""
    return {**row, "patch": row.get("patch") or fix, "hidden_files": [f"r2e_tests/{name}" for name in files]}


def from_json(value: str, field: str) -> object:
    """What a field's text holds. Raises RequestError."""
    try:
        return json.loads(value)
    except (ValueError, RecursionError):  # deep nesting, integers of over 4,300 digits
        raise wrong(field, value, "give JSON") from None


def _object(row: Mapping[str, object], name: str, root: str) -> Mapping[str, object]:
    """An object, or JSON of one; an empty one where the row has none."""
    value, field = row.get(name) or {}, f"{root}.{name}"
    found = from_json(value, field) if isinstance(value, str) else value
    return mapping(found, field, "give an object, or one as JSON, or leave it out")


def _multi_swe(row: Mapping[str, object], root: str) -> Mapping[str, object]:
    """Its tests are objects by name. What has no value there is another row's column."""
    org, repo = text(row, "org", root), text(row, "repo", root)
    number = row.get("number")
    if not org or not repo or type(number) is not int or number < 1:
        missing = "org" if not org else "repo" if not repo else "number"
        raise RequestError(f"{root}.{missing}", "is missing", "give org, repo and number of the pull request")
    base = row.get("base")
    fixed = _names(row, _FIXED, root) or _names(row, ("fixed_tests",), root)
    return {
        **row,
        "instance_id": text(row, "instance_id", root) or f"{org}__{repo}-{number}",
        "repo": f"{org}/{repo}",
        "patch": row.get("fix_patch"),
        "base_commit": text(mapping(base, f"{root}.base", "give an object with sha"), "sha", f"{root}.base")
        if base is not None
        else "",
        "problem_statement": "\n\n".join(part for name in ("title", "body") if (part := text(row, name, root))),
        "FAIL_TO_PASS": row.get("FAIL_TO_PASS", fixed),
        "PASS_TO_PASS": row["PASS_TO_PASS"] if "PASS_TO_PASS" in row else _names(row, ("p2p_tests",), root),
    }


def _names(row: Mapping[str, object], fields: tuple[str, ...], root: str) -> list[str]:
    """The tests that fields have a value for, each once."""
    found: dict[str, None] = {}
    for name in fields:
        value = row.get(name)
        if value is None:
            continue
        tests = mapping(value, f"{root}.{name}", "give an object of tests by name")
        found |= {str(test): None for test, ended in tests.items() if ended is not None}
    return list(found)
