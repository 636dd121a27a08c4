"""What plain CPython says of an answer: prompt, answer and test as one program, by the interpreter that boxes use.

Knows nothing of the judge; how a row's parts are joined is written here a second time, from the datasets' own runners.
"""

from __future__ import annotations

import ast
import json
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.honest.row import Case

INTERPRETER: Final = "/usr/bin/python3"
"""Debian's, as in boxes of every provider."""
_CHILD: Final = Path(__file__).with_name("oracle_child.py")
_PROCESSES: Final = 2


@dataclass(frozen=True, slots=True)
class Said:
    """`words`: the end of what the program printed, its traceback included."""

    passed: bool
    words: str


def ask(cases: Sequence[Case]) -> list[Said]:
    """What plain CPython says of each case, in order. Blocking."""
    jobs = [json.dumps(_job(case)) for case in cases]
    size = -(-len(jobs) // _PROCESSES) or 1
    batches = [jobs[start : start + size] for start in range(0, len(jobs), size)]
    with ThreadPoolExecutor(_PROCESSES) as threads:
        return [said for batch in threads.map(_batch, batches) for said in batch]


def _batch(jobs: list[str]) -> list[Said]:
    command = [INTERPRETER, "-I", str(_CHILD)]
    done = subprocess.run(command, input="\n".join(jobs) + "\n", capture_output=True, text=True, check=True)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    if len(answers) != len(jobs):
        raise RuntimeError(f"{len(answers)} answers for {len(jobs)} jobs: {done.stderr[-500:]}")
    return [Said(answer["passed"], answer["said"]) for answer in answers]


def _job(case: Case) -> dict[str, object]:
    row = case.row
    source = joined(row.field("prompt") or row.field("prompt_code"), row.field("entry_point"), case.answer)
    if "test_list" in row.fields:
        return _plain(f"{source}\n\n{_asserts(case)}\n")
    test = row.field("test")
    style = row.field("style") or _style(test)
    if style == "check":
        return _plain(f"{source}\n\n{test}\n\ncheck({row.field('entry_point')})\n")
    if style == "unittest":
        return {"style": style, "main": "main.py", "files": {"main.py": f"{source}\n\n{test}\n"}}
    module = row.field("module") or "solution"
    return {"style": style, "main": "test_hidden.py", "files": {f"{module}.py": source, "test_hidden.py": test}}


def _style(test: str) -> str:
    if "\ndef check(" in f"\n{test}":
        return "check"
    return "unittest" if "TestCase)" in test else "pytest"


def _plain(source: str) -> dict[str, object]:
    return {"style": "plain", "main": "main.py", "files": {"main.py": source}}


def _asserts(case: Case) -> str:
    parts: list[str] = []
    for name in ("test_imports", "test_setup_code", "test_list", "challenge_test_list"):
        value = case.row.fields.get(name) or ""
        parts += value if isinstance(value, list) else [str(value)]
    return "\n".join(parts)


def joined(prompt: str, entry_point: str, answer: str) -> str:
    """The answer's module: a whole definition stands behind the prompt, a completion continues it."""
    if not prompt:
        return answer
    if not _defines(answer, entry_point):
        return prompt + answer
    futures = [line for line in answer.splitlines() if line.startswith("from __future__")]
    rest = "\n".join(line for line in answer.splitlines() if line not in futures)
    body = "" if _parses(prompt) else "    pass\n"
    return "\n".join((*futures, prompt.rstrip(), body, rest, ""))


def _parses(source: str) -> bool:
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


def _defines(answer: str, name: str) -> bool:
    try:
        tree = ast.parse(answer)
    except SyntaxError:
        return False
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node.name == name:
            return True
        targets = node.targets if isinstance(node, ast.Assign) else []
        if any(isinstance(target, ast.Name) and target.id == name for target in targets):
            return True
    return False
