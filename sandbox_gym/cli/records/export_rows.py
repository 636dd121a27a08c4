"""Rows in the form of `ng_collect_rollouts` and NeMo Evaluator: a plain-text prompt, an index, an agent's name.

Knows nothing of files' names or screens.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from sandbox_gym.cli.rows import lines
from sandbox_gym.errors import RequestError
from sandbox_gym.server.nemo_evaluator import ROW, TASK, task_digest
from sandbox_gym.server.protocol.envelope import messages_of, params_of
from sandbox_gym.server.protocol.resources import ResourcesServer
from sandbox_gym.server.protocol.wire import Document, loads
from sandbox_gym.server.registry import kind_of

_ANSWERS: Final = ("response", "answer")
_EVALUATORS: Final = ("expected", "sandbox")
"""Arguments of NeMo Evaluator's own call of verify, which a row's fields must not shadow."""


def exported_rows(path: Path, servers: dict[str, ResourcesServer], agent: str, errors: list[str]) -> Iterator[Document]:
    """Each row of the file in a form that both accept; a line that is not a row goes into `errors`."""
    for index, (number, line) in enumerate(lines(path)):
        try:
            row = loads(line)
            kind = kind_of(row)
            yield exported(row, index, f"{path.stem}-{index}", servers[kind], agent or f"{kind}_simple_agent")
        except RequestError as error:
            errors.append(f"line {number + 1}: {error}")


def exported(row: Document, index: int, uuid: str, resources: ResourcesServer, agent: str) -> Document:
    """One row. Raises RequestError for a row without a prompt, or with a reserved field name."""
    for name in _EVALUATORS:
        if name in row:
            raise RequestError(name, "is a name that NeMo Evaluator uses itself", "rename it")
    params = params_of(row)
    own = messages_of({**params, "instructions": None})
    fields = {key: value for key, value in row.items() if key not in _ANSWERS}
    task = resources.row(row)
    return {
        **fields,
        "responses_create_params": {**params, "input": own},
        # NeMo Evaluator's native protocol forwards a row by problem_idx and leaves out expected_answer
        "verifier_metadata": row.get("verifier_metadata") or task,
        "uuid": row.get("uuid") or uuid,
        "problem_idx": index,
        ROW: index,
        TASK: task_digest(resources, row),
        "agent_ref": row.get("agent_ref") or {"type": "responses_api_agents", "name": agent},
    }
