"""An evaluation by inspect_ai: a scripted model edits a file in our sandbox, a scorer runs it there.

python -m tests.agents.mending EXPRESSION FOLDER: FOLDER holds sandbox.yaml; the last line printed is the result.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer
from inspect_ai.solver import TaskState, basic_agent
from inspect_ai.tool import bash
from inspect_ai.util import sandbox


@scorer(metrics=[accuracy()])
def mended() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        ran = await sandbox().exec(["python3", "-c", "import calc; assert calc.half(3) == 1.5"])
        return Score(value=1 if ran.success else 0, explanation=ran.stderr)

    return score


def main(expression: str, folder: Path) -> None:
    outputs = [
        ModelOutput.for_tool_call("mockllm/model", "bash", {"command": f"sed -i {expression} calc.py; cat calc.py"}),
        ModelOutput.for_tool_call("mockllm/model", "submit", {"answer": "done"}),
    ]
    for output in outputs:
        output.usage = ModelUsage(input_tokens=1, output_tokens=1)  # else counted by a table from the network
    task = Task(
        dataset=[Sample(input="mend half", files={"calc.py": "def half(n): return n // 2\n"})],
        solver=basic_agent(tools=[bash(timeout=30)]),
        scorer=mended(),
        sandbox=("sandbox_gym", str(folder / "sandbox.yaml")),
    )
    (log,) = evaluate(
        task, model=get_model("mockllm/model", custom_outputs=outputs), log_dir=str(folder), display="none"
    )
    scored = log.results.scores[0].metrics["accuracy"].value if log.results else None
    error = log.error.message if log.error else None
    sys.stdout.write(json.dumps({"status": log.status, "error": error, "accuracy": scored}) + "\n")


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
