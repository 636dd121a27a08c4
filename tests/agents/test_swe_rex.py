"""SWE-ReX's own client at our wire, and the calls that SWE-agent makes of it for an instance."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from swerex.deployment.config import RemoteDeploymentConfig, get_deployment
from swerex.exceptions import (
    BashIncorrectSyntaxError,
    CommandTimeoutError,
    NonZeroExitCodeError,
    SessionDoesNotExistError,
    SessionExistsError,
    SwerexException,
)
from swerex.runtime.abstract import (
    BashAction,
    BashInterruptAction,
    CloseBashSessionRequest,
    Command,
    CreateBashSessionRequest,
    ReadFileRequest,
    UploadRequest,
    WriteFileRequest,
)
from swerex.runtime.remote import RemoteRuntime

from examples.agents.__main__ import our_server
from examples.agents.instances import WORKDIR, made_on_the_spot
from sandbox_gym.agents.swe_rex import SandboxGymDeployment
from sandbox_gym.client import NoSandbox, Session, SessionTarget
from tests.load.servers import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # aiohttp's


@pytest.fixture
async def runtime(server: ServerProcess) -> AsyncIterator[RemoteRuntime]:
    made = RemoteRuntime(host=f"{server.url}/swerex/{uuid.uuid4().hex}", auth_token="any", timeout=30)
    assert await made.is_alive()
    await made.create_session(CreateBashSessionRequest())
    yield made
    await made.close()


async def run(runtime: RemoteRuntime, command: str, session: str = "default", **more: Any) -> str:
    asked = BashAction(command=command, session=session, **{"timeout": 20, **more})
    return str((await runtime.run_in_session(asked)).output)


async def test_its_exceptions(runtime: RemoteRuntime) -> None:
    with pytest.raises(NonZeroExitCodeError, match="no luck: "):
        await run(runtime, "false", error_msg="no luck")
    with pytest.raises(BashIncorrectSyntaxError) as caught:
        await run(runtime, "(a")
    assert "syntax error" in caught.value.extra_info["bash_stderr"]
    with pytest.raises(CommandTimeoutError):
        await run(runtime, "sleep 60", timeout=0.3)
    assert (await runtime.run_in_session(BashInterruptAction())).exit_code == 0
    with pytest.raises(SessionExistsError):
        await runtime.create_session(CreateBashSessionRequest())
    with pytest.raises(SessionDoesNotExistError):
        await run(runtime, "true", session="none")
    with pytest.raises(SessionDoesNotExistError):
        await runtime.close_session(CloseBashSessionRequest(session="none"))
    with pytest.raises(FileNotFoundError):
        await runtime.read_file(ReadFileRequest(path="none"))
    with pytest.raises(IsADirectoryError):
        await runtime.write_file(WriteFileRequest(path="/tmp", content=""))
    with pytest.raises(CommandTimeoutError):
        await runtime.execute(Command(command=["sleep", "60"], timeout=0.3))
    with pytest.raises(SwerexException, match="the sandbox was lost"):
        await runtime.execute(Command(command="kill -9 -1", shell=True))


async def test_shells_at_once_and_programs_that_are_typed_into(runtime: RemoteRuntime) -> None:
    await runtime.create_session(CreateBashSessionRequest(session="b"))
    await asyncio.gather(run(runtime, "x=1"), run(runtime, "x=2", "b"))
    assert [await run(runtime, "echo $x"), await run(runtime, "echo $x", "b")] == ["1\n", "2\n"]
    asked: dict[str, Any] = {"is_interactive_command": True, "expect": [">>> "]}
    await run(runtime, "python3", **asked)
    assert await run(runtime, "print(6 * 7)", **asked) == "42"
    await run(runtime, "quit()", is_interactive_quit=True)
    assert await run(runtime, "echo after") == "after\n"


async def test_what_swe_agent_asks_for_an_instance(server: ServerProcess, tmp_path: Path) -> None:
    """Start, tools as a folder, state in files, a late command, the patch."""
    tool = tmp_path / "edit" / "bin" / "double"
    tool.parent.mkdir(parents=True)
    tool.write_text("#!/usr/bin/env python3\nimport sys\nprint(2 * int(sys.argv[1]))\n")
    (tmp_path / "edit" / "install.sh").write_text("export INSTALLED=yes\n")
    deployment = SandboxGymDeployment(url=server.url)
    await deployment.start()
    runtime = deployment.runtime
    await runtime.create_session(CreateBashSessionRequest(startup_source=["/root/.bashrc"], startup_timeout=10))
    await run(runtime, "export LANG=C.UTF-8 && export LC_ALL=C.UTF-8")
    await run(runtime, "mkdir repository && cd repository && git init -q . && echo 1 >a && git add a")
    await run(runtime, "git -c user.name=a -c user.email=a@b commit -qm a")
    await runtime.upload(UploadRequest(source_path=str(tmp_path / "edit"), target_path="/root/tools/edit"))
    tools = "/root/tools/edit"
    await run(runtime, f"export PATH={tools}/bin:$PATH && chmod +x {tools}/bin/* && cd {tools} && source install.sh")
    path = (await run(runtime, "echo $PATH")).strip()
    await runtime.execute(Command(command="which double", shell=True, check=True, env={"PATH": path}))
    await runtime.write_file(WriteFileRequest(path="/root/state.json", content="{}"))
    assert json.loads((await runtime.read_file(ReadFileRequest(path="/root/state.json"))).content) == {}
    assert await run(runtime, "cd /workspace/repository && double 21 >a && cat a && echo $INSTALLED") == "42\nyes\n"
    with pytest.raises(CommandTimeoutError):
        await run(runtime, "cat", timeout=0.5)
    await runtime.run_in_session(BashInterruptAction())
    assert await run(runtime, "pwd") == "/workspace/repository\n"
    await run(runtime, "git add -A && git diff --cached >/root/model.patch")
    assert "+42" in (await runtime.read_file(ReadFileRequest(path="/root/model.patch"))).content
    await deployment.stop()


async def test_an_instance_is_begun_mended_and_judged(server: ServerProcess, tmp_path: Path) -> None:
    """`server` says by its provider which other is started: one for SWE rows."""
    task = made_on_the_spot()[0]
    with our_server(tmp_path, server.health()["provider"]) as (url, _):
        deployment = SandboxGymDeployment(url=url, row=task.row)
        await deployment.start()
        runtime = deployment.runtime
        await runtime.create_session(CreateBashSessionRequest(startup_source=["/root/.bashrc"], startup_timeout=10))
        assert "nothing to commit" in await run(runtime, f"cd / && cd {WORKDIR} && git status")
        await runtime.write_file(WriteFileRequest(path="/root/fix", content=task.patch))
        await run(runtime, "git apply /root/fix && git add -A && git diff --cached >/root/model.patch", timeout=60)
        patch = (await runtime.read_file(ReadFileRequest(path="/root/model.patch"))).content
        await deployment.stop()
        async with Session(SessionTarget(url=url)) as session:
            verdicts = [await session.verify({**task.row, "model_patch": one}) for one in (patch, "")]
    assert [verdict.reward for verdict in verdicts] == [1.0, 0.0]


def test_its_remote_deployment_by_configuration(server: ServerProcess) -> None:
    config = RemoteDeploymentConfig(host=f"{server.url}/swerex/configured", auth_token="any", timeout=30)
    deployment = get_deployment(config)
    asyncio.run(deployment.start())
    assert asyncio.run(deployment.runtime.execute(Command(command=["pwd"]))).stdout == "/workspace\n"
    asyncio.run(deployment.runtime.close())


async def test_a_server_that_is_not_there() -> None:
    with pytest.raises(NoSandbox, match="gives no answer"):
        await SandboxGymDeployment(url="http://127.0.0.1:9").start()
