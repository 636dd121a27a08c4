"""The work: rows, answers and what each is worth. Pure but for the files that it reads; must not know any system."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandbox_gym.server.protocol.wire import Document
from tests import humaneval

REPOSITORY = Path(__file__).resolve().parents[2]
MATH = REPOSITORY / "tests" / "math" / "data" / "pairs.jsonl"
SUM = REPOSITORY / "tests" / "golden" / "corpus" / "sum"
WRONG_EVERY = 8
"""Every so many jobs one has a wrong answer, so that a system that pays for everything is seen."""
ACTIONS = 50

Kind = Literal["stdin", "check", "math", "swe", "trajectory"]


@dataclass(frozen=True, slots=True)
class Job:
    """One answer to one task. `row`: the request's fields beside the response."""

    row: Mapping[str, object]
    text: str
    passes: bool
    language: str = "python"
    source: str = ""
    """The program alone, for who takes no rows; with the test at its end where there is a check function."""
    tests: Sequence[tuple[str, str]] = ()
    """(standard input, expected output)."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Jobs that are taken in turn. `runs`: programs started for one verify, for costs per run."""

    name: str
    title: str
    kind: Kind
    jobs: Sequence[Job]
    runs: int
    concurrencies: Sequence[int] = (8,)
    missing: str = ""
    """Why there are no jobs."""
    chosen: str = ""
    """Which row of several, where it says more than the name."""
    packages: bool = False
    """Whether programs import what is no part of Python."""

    def job(self, number: int) -> Job:
        return self.jobs[number % len(self.jobs)]


def data_folder() -> Path:
    return Path(os.environ.get("SANDBOX_GYM_TEST_DATA", REPOSITORY.parent / "shared" / "data"))


def stdin_row(tests: int, name: str = "", title: str = "", concurrencies: Sequence[int] = (8,)) -> Workload:
    """Doubling a number on standard input. The wrong answers fail at the last test, so that they cost as much."""
    given = [(str(number), f"{2 * number}\n") for number in range(tests)]
    row = {"verifier_metadata": {"unit_tests": _unit_tests(given)}}
    right = "print(int(input()) * 2)"
    wrong = f"n = int(input())\nprint(n * 2 if n != {tests - 1} else -1)"
    jobs = [
        Job(row, _fenced("python", source), source is right, "python", source, given)
        for source in [right] * (WRONG_EVERY - 1) + [wrong]
    ]
    return Workload(name or f"stdin-{tests}", title or f"{tests}-test stdin row", "stdin", jobs, tests, concurrencies)


def numpy_row(tests: int) -> Workload:
    """The same with numpy, whose import is most of the work of a process."""
    given = [(str(number), f"{2 * number}\n") for number in range(tests)]
    source = "import numpy as np\nprint(int(np.array([int(input())]).sum()) * 2)"
    wrong = source.replace("import numpy as np\n", "import numpy as np\nn = input()\ninput = lambda: n\n").replace(
        "* 2)", f"* (2 if n != '{tests - 1}' else 3))"
    )
    row = {"verifier_metadata": {"unit_tests": _unit_tests(given)}}
    jobs = [
        Job(row, _fenced("python", text), text is source, "python", text, given)
        for text in [source] * (WRONG_EVERY - 1) + [wrong]
    ]
    return Workload(f"numpy-{tests}", f"{tests}-test numpy row", "stdin", jobs, tests, packages=True)


def fails_first(tests: int) -> Workload:
    """Answers that are wrong at once, as most are early in training."""
    work = stdin_row(tests)
    source = "print(int(input()) * 2 - 1)"
    jobs = [Job(job.row, _fenced("python", source), False, "python", source, job.tests) for job in work.jobs[:1]]
    return Workload(f"fails-first-{tests}", f"{tests}-test row, failing at its first test", "stdin", jobs, 1)


def human_eval() -> Workload:
    title = "HumanEval row"
    try:
        rows = humaneval.load(data_folder())[:32]
    except OSError as error:
        return Workload("humaneval", title, "check", (), 2, missing=f"no rows: {error.strerror}")
    jobs = []
    for number, row in enumerate(rows):
        passes = bool(number % WRONG_EVERY)
        text = humaneval.right_answer(row) if passes else humaneval.broken_answer(row, "raise")
        code = text.removeprefix("```python\n").removesuffix("\n```")
        source = f"{code}\n\n{row['test']}\n\ncheck({row['entry_point']})\n"
        jobs.append(Job({"verifier_metadata": humaneval.metadata(row)}, text, passes, "python", source))
    return Workload("humaneval", title, "check", jobs, 2)


def compiled() -> Workload:
    """C++, each answer a program of its own, as rollouts are: nothing that was compiled before is of use."""
    row = json.loads((SUM / "problem.json").read_text())
    given = [(f"2\n{number} {number}\n", f"{2 * number}\n") for number in range(10)]
    metadata = {"unit_tests": _unit_tests(given), "language": "cpp", "checker": row["checker"], "time_limit_s": 5}
    right = (SUM / "ac_plain.cpp").read_text()
    wrong = right.replace("cout << t", "cout << (t == 18 ? 0 : t)")
    jobs = [
        Job({"verifier_metadata": metadata}, _fenced("cpp", source), source is right, "cpp", source, given)
        for source in [right] * (WRONG_EVERY - 1) + [wrong]
    ]
    return Workload("cpp-10", "compiled C++, 10 tests", "stdin", jobs, 11, (2,))


def numbered(job: Job, number: int) -> tuple[str, str]:
    """The job's text and source with a comment of their own: (text, source)."""
    if job.language != "cpp":
        return job.text, job.source
    source = f"{job.source}\n// rollout {number}\n"
    return _fenced("cpp", source), source


def math_mix() -> Workload:
    """Pairs of ours whose two sides are judged as the label says by math-verify too."""
    lines = [json.loads(line) for line in MATH.read_text(encoding="utf-8").splitlines()]
    jobs = []
    for line in lines:
        gold, answer = line["gold"].strip().strip("$"), line["answer"].strip()
        if max(len(gold), len(answer)) < 200 and "boxed" not in gold + answer:
            row: Document = {"question": "?", "expected_answer": gold}
            jobs.append(Job(row, f"\\boxed{{{answer.strip('$')}}}", bool(line["expected"]), "math"))
    return Workload("math-mix", "math mix", "math", jobs, 1)


def swe_candidates(instance: str = "pathspec") -> Workload:
    """The fix of one instance with a file of its own each time: no two candidates are the same."""
    title = "SWE, second candidate"
    path = data_folder() / "swe_instances.jsonl"
    if not path.exists():
        return Workload("swe-second", title, "swe", (), 1, (1,), missing=f"no {path.name}")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    row = next(one for one in rows if instance in one["instance_id"])
    jobs = [Job(row, row["patch"], True, "patch"), Job(row, "", False, "patch")]
    return Workload("swe-second", title, "swe", jobs, 1, (1,), chosen=str(row["instance_id"]))


def candidate(job: Job, number: int) -> str:
    """The patch of a job, no other's."""
    path = f"NOTE-{number}.txt"
    return (
        f"{job.text}diff --git a/{path} b/{path}\nnew file mode 100644\n--- /dev/null\n+++ b/{path}\n"
        f"@@ -0,0 +1 @@\n+{number}\n"
    )


def trajectory() -> Workload:
    """An agent's tool calls in one sandbox, one after the other; each adds a line, the last counts them."""
    return Workload("trajectory", f"{ACTIONS}-action tool trajectory", "trajectory", [Job({}, "", True)], ACTIONS, (1,))


def every(*, quick: bool = False) -> list[Workload]:
    concurrencies = (8,) if quick else (1, 8, 32)
    return [
        stdin_row(10, concurrencies=concurrencies),
        human_eval(),
        stdin_row(100),
        numpy_row(10),
        fails_first(10),
        compiled(),
        math_mix(),
        swe_candidates(),
        trajectory(),
    ]


def _unit_tests(given: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    return {"inputs": [one for one, _ in given], "outputs": [one for _, one in given]}


def _fenced(language: str, source: str) -> str:
    return f"```{language}\n{source}\n```"
