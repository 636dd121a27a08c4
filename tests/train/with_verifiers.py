"""verifiers' loader, task and trace with our taskset; a program of its own, away from the checkout, whose folder
`verifiers` has the same name.

python with_verifiers.py ROWS ANSWER: for each row a line with the reward, or with the error that the trace would have.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import verifiers.v1 as vf  # noqa: TID251  # PyPI's package is meant
from verifiers.v1.utils.loaders import load_taskset, taskset_config_type  # noqa: TID251


async def main(rows: Path, answer: str) -> None:
    config = taskset_config_type("sandbox-gym")(id="sandbox-gym", rows=rows)
    for task in load_taskset(config):
        of = vf.TraceTask(type=type(task).__name__, data=task.data)
        trace = vf.Trace(task=of, agent=vf.AgentInfo(config=vf.AgentConfig()), root_reply=answer)
        try:
            await task.score(trace)
        except vf.TaskError as error:  # as verifiers' rollout does
            trace.record_error(error)
        why = f" {trace.errors[-1].type} {trace.stop_condition}" if trace.errors else ""
        sys.stdout.write(f"{task.data.prompt}: {trace.rewards['verdict'] and trace.reward}{why}\n")


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
