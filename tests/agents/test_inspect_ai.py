"""inspect_ai's own contract checks on our sandbox environment, and an evaluation with a scripted model."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from inspect_ai import Task
from inspect_ai import eval as evaluate
from inspect_ai.dataset import Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer
from inspect_ai.solver import TaskState, basic_agent
from inspect_ai.tool import bash
from inspect_ai.util import (
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentSpec,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
    sandbox,
)
from inspect_ai.util._sandbox.registry import registry_find_sandboxenv
from inspect_ai.util._sandbox.self_check import *  # noqa: F403

from sandbox_gym.agents.inspect_ai import SandboxGymConfig, SandboxGymSandbox
from tests.load.servers import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]
OTHER_USERS = "test_exec_as_user"


@pytest.fixture
async def sandbox_env(request: pytest.FixtureRequest, server: ServerProcess) -> AsyncIterator[SandboxEnvironment]:
    if request.node.originalname == OTHER_USERS:
        request.applymarker(pytest.mark.xfail(raises=SandboxUserUnsupportedError, reason="a sandbox has one user"))
    config = SandboxGymConfig(url=server.url)
    environments = await SandboxGymSandbox.sample_init("checks", config, {})
    yield environments["default"]
    await SandboxGymSandbox.sample_cleanup("checks", config, environments, False)


async def test_a_flood_is_told_and_a_missing_program_is_a_result(sandbox_env: SandboxEnvironment) -> None:
    with pytest.raises(OutputLimitExceededError):
        await sandbox_env.exec(["head", "-c", "20000000", "/dev/zero"])
    missing = await sandbox_env.exec(["no-such-program"])
    assert (missing.success, missing.returncode) == (False, 127)
    with pytest.raises(UnicodeDecodeError):
        await sandbox_env.write_file("latin", b"\xe9")
        await sandbox_env.read_file("latin")


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(SandboxUnavailableError):
        await SandboxGymSandbox.sample_init("none", "http://127.0.0.1:9", {})


def test_it_is_found_by_its_name() -> None:
    assert registry_find_sandboxenv("sandbox_gym") is SandboxGymSandbox
    spec = SandboxEnvironmentSpec("sandbox_gym", SandboxGymConfig(url="http://a", row={"id": 1}))
    assert SandboxEnvironmentSpec.model_validate(spec.model_dump()).config == spec.config


@scorer(metrics=[accuracy()])
def mended() -> Scorer:
    async def score(state: TaskState, target: Target) -> Score:
        ran = await sandbox().exec(["python3", "-c", "import calc; assert calc.half(3) == 1.5"])
        return Score(value=1 if ran.success else 0, explanation=ran.stderr)

    return score


@pytest.mark.parametrize(("expression", "accuracy_of"), [("s,//,/,", 1.0), ("s,2,3,", 0.0)])
def test_an_evaluation_with_a_scripted_model(
    server: ServerProcess, tmp_path: Path, expression: str, accuracy_of: float
) -> None:
    calls = [
        ModelOutput.for_tool_call("mockllm/model", "bash", {"command": f"sed -i {expression} calc.py; cat calc.py"}),
        ModelOutput.for_tool_call("mockllm/model", "submit", {"answer": "done"}),
    ]
    task = Task(
        dataset=[Sample(input="mend half", files={"calc.py": "def half(n): return n // 2\n"})],
        solver=basic_agent(tools=[bash(timeout=30)]),
        scorer=mended(),
        sandbox=("sandbox_gym", server.url),
    )
    (log,) = evaluate(
        task, model=get_model("mockllm/model", custom_outputs=calls), log_dir=str(tmp_path), display="none"
    )
    assert log.status == "success", log.error
    assert log.results is not None
    assert log.results.scores[0].metrics["accuracy"].value == accuracy_of
