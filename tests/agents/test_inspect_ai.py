"""inspect_ai's own contract checks on our sandbox environment, and an evaluation with a scripted model."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from inspect_ai.util import (
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentSpec,
    SandboxUnavailableError,
    SandboxUserUnsupportedError,
)
from inspect_ai.util._sandbox.registry import registry_find_sandboxenv
from inspect_ai.util._sandbox.self_check import *  # noqa: F403

from sandbox_gym.agents.inspect_ai import PART_BYTES, SandboxGymConfig, SandboxGymSandbox
from sandbox_gym.client import RequestRefused
from tests.load.servers import ServerProcess
from tests.swe.agent import serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]
EXPECTED_FAILURES = {
    ("test_exec_as_user", False): (SandboxUserUnsupportedError, "its session was not seeded with root"),
}


@pytest.fixture(params=[False, True], ids=["", "root"])
async def sandbox_env(request: pytest.FixtureRequest, server: ServerProcess) -> AsyncIterator[SandboxEnvironment]:
    if request.param and request.node.callspec.params["server"] == "local":
        pytest.skip("local has no root, and refuses it: see below")
    raises, reason = EXPECTED_FAILURES.get((request.node.originalname, request.param), (None, ""))
    if raises is not None:
        request.applymarker(pytest.mark.xfail(raises=raises, reason=reason, strict=True))
    config = SandboxGymConfig(url=server.url, root=request.param)
    environments = await SandboxGymSandbox.sample_init("checks", config, {})
    yield environments["default"]
    await SandboxGymSandbox.sample_cleanup("checks", config, environments, False)


async def test_a_flood_is_told_and_a_missing_program_is_a_result(sandbox_env: SandboxEnvironment) -> None:
    with pytest.raises(OutputLimitExceededError):
        await sandbox_env.exec(["head", "-c", "20000000", "/dev/zero"])
    missing = await sandbox_env.exec(["no-such-program"])
    assert (missing.success, missing.returncode) == (False, 127)
    await sandbox_env.write_file("latin", b"\xe9")
    with pytest.raises(UnicodeDecodeError):
        await sandbox_env.read_file("latin")


async def test_a_file_that_may_not_be_executed_is_a_permission_error(sandbox_env: SandboxEnvironment) -> None:
    await sandbox_env.write_file("plain", "#!/bin/sh\n")
    with pytest.raises(PermissionError, match="plain"):
        await sandbox_env.exec(["./plain"])


async def test_the_sandboxes_own_user_may_be_named(server: ServerProcess) -> None:
    config = SandboxGymConfig(url=server.url)
    environments = await SandboxGymSandbox.sample_init("checks", config, {})
    for name in (await environments["default"].exec(["sh", "-c", "id -u; id -un"])).stdout.split():
        assert (await environments["default"].exec(["id", "-u"], user=name)).success
    with pytest.raises(SandboxUserUnsupportedError, match=r"user 'root': the session was not seeded .* ask"):
        await environments["default"].exec(["id"], user="root")
    await SandboxGymSandbox.sample_cleanup("checks", config, environments, False)


async def test_a_server_without_root_names_the_remedy(tmp_path: Path) -> None:
    refused = pytest.raises(RequestRefused, match=r"^root: is not .* provider docker and SANDBOX_GYM_SESSION_ROOT")
    with serving("local", tmp_path, SANDBOX_GYM_SESSION_ROOT="true") as server, refused:
        await SandboxGymSandbox.sample_init("checks", SandboxGymConfig(url=server.url, root=True), {})


async def test_a_large_input_goes_to_a_user_that_root_made(server: ServerProcess) -> None:
    if "docker" not in server.health()["provider"]:
        pytest.skip("local has no root")
    config = SandboxGymConfig(url=server.url, root=True)
    environments = await SandboxGymSandbox.sample_init("checks", config, {})
    sandbox = environments["default"]
    assert (await sandbox.exec(["useradd", "-m", "other"], user="root")).success
    await sandbox.write_file("given", "1")
    assert (await sandbox.read_file("given"), (await sandbox.exec(["cat", "given"], user="other")).stdout) == ("1", "1")
    for user in ("other", "root"):
        counted = await sandbox.exec(["wc", "-c"], input=b"x" * (PART_BYTES + 1), user=user)
        assert counted.stdout.strip() == str(PART_BYTES + 1), counted
    await SandboxGymSandbox.sample_cleanup("checks", config, environments, False)


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    with pytest.raises(SandboxUnavailableError):
        await SandboxGymSandbox.sample_init("none", SandboxGymConfig(url="http://127.0.0.1:9"), {})


def test_it_is_found_by_its_name() -> None:
    assert registry_find_sandboxenv("sandbox_gym") is SandboxGymSandbox
    spec = SandboxEnvironmentSpec("sandbox_gym", SandboxGymConfig(url="http://a", row={"id": 1}))
    assert SandboxEnvironmentSpec.model_validate(spec.model_dump()).config == spec.config


@pytest.mark.parametrize(("expression", "accuracy"), [("s,//,/,", 1.0), ("s,2,3,", 0.0)])
def test_an_evaluation_with_a_scripted_model(
    server: ServerProcess, tmp_path: Path, expression: str, accuracy: float
) -> None:
    (tmp_path / "sandbox.yaml").write_text(f"url: {server.url}\n")
    # a process of its own: inspect_ai leaves streams open, which are errors here
    command = [sys.executable, "-m", "tests.agents.mending", expression, str(tmp_path)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=200)
    assert ran.returncode == 0, ran.stderr
    assert json.loads(ran.stdout.splitlines()[-1]) == {"status": "success", "error": None, "accuracy": accuracy}
