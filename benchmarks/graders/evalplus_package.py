"""EvalPlus itself, the package from PyPI: `untrusted_check` on functions, run by an interpreter that has it."""

from __future__ import annotations

import importlib
import json

from benchmarks.graders.corpus import Job
from benchmarks.graders.verdict import answer


def grade(job: Job) -> bool:
    """Its own way of working, time limits as the row says."""
    check = importlib.import_module("evalplus.eval").untrusted_check
    status, _details = check(
        dataset="humaneval",
        code=job.source,
        inputs=[[json.loads(line) for line in given.split("\n")] for given in job.inputs],
        entry_point=job.function,
        expected=[json.loads(wanted) for wanted in job.outputs],
        atol=0,
        ref_time=[0.0] * len(job.inputs),
        min_time_limit=job.time_limit_s,
    )
    return bool(status == "pass")


if __name__ == "__main__":
    answer(grade)
