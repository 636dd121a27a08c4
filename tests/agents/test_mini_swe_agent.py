"""mini-swe-agent's own agent and scripted model on our environment."""

from __future__ import annotations

import gc
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from minisweagent.agents.default import DefaultAgent
from minisweagent.environments import get_environment
from minisweagent.environments.local import LocalEnvironment
from minisweagent.exceptions import Submitted
from minisweagent.models.test_models import DeterministicModel, make_output
from pydantic import ValidationError

from sandbox_gym.agents.mini_swe_agent import SandboxGymEnvironment
from sandbox_gym.client import NoSandbox
from tests.load.servers import ServerProcess

pytestmark = pytest.mark.timeout(300)
CLASS = "sandbox_gym.agents.mini_swe_agent.SandboxGymEnvironment"


@pytest.fixture
def environment(server: ServerProcess) -> Iterator[Any]:
    """Made as mini-swe-agent makes it, from a configuration."""
    made: Any = get_environment({"environment_class": CLASS, "url": server.url, "env": {"PAGER": "cat"}})
    yield made
    made.cleanup()


def closed_sessions(server: ServerProcess) -> int:
    closed: int = server.health()["sessions"]["closed"]
    return closed


def test_a_scripted_agent_mends_a_bug_and_submits_the_diff(environment: Any, tmp_path: Path) -> None:
    done = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT && cat calc.py"
    script = [
        "echo 'def half(n): return n // 2' > calc.py",
        "python3 -c 'import calc; assert calc.half(3) == 1.5'",
        "sed -i s,//,/, calc.py && python3 -c 'import calc; assert calc.half(3) == 1.5'",
        done,
    ]
    outputs = [make_output("next", [{"command": command}]) for command in script]
    agent = DefaultAgent(
        DeterministicModel(outputs=outputs),  # type: ignore[no-untyped-call, unused-ignore]
        environment,
        system_template="You are on {{system}} {{machine}}, in {{cwd}}.",
        instance_template="{{task}}",
        cost_limit=0.0,
        output_path=tmp_path / "trajectory.json",
    )
    result = agent.run("mend half")
    assert (result["exit_status"], result["submission"]) == ("Submitted", "def half(n): return n / 2\n")
    said = [str(message["content"]) for message in agent.messages]
    assert said[0].startswith("You are on Linux ")
    assert "AssertionError" in said[5]
    assert "<returncode>0</returncode>" in said[7]
    assert CLASS in (tmp_path / "trajectory.json").read_text()


def test_what_an_action_gives(environment: Any) -> None:
    both = environment.execute({"command": "echo out; echo err >&2; echo $PAGER; exit 3"})
    assert both == {"output": "out\nerr\ncat\n", "returncode": 3, "exception_info": ""}
    environment.execute({"command": "cd /tmp; x=1; echo kept > f"})
    assert environment.execute({"command": "pwd; echo [$x]; cat /tmp/f"})["output"] == "/workspace\n[]\nkept\n"
    assert environment.execute({"command": "pwd"}, cwd="/usr")["output"] == "/usr\n"
    late = environment.execute({"command": "echo begun; sleep 60"}, timeout=1)
    assert (late["output"], late["returncode"], late["extra"]["exception_type"]) == ("begun\n", -1, "TimeoutExpired")
    long = environment.execute({"command": "yes | head -c 9000000"})["output"]
    assert len(long) == environment.config.output_bytes
    assert environment.execute({"command": "printf 'a\\377b\\r\\n'"})["output"] == "a\ufffdb\n"
    assert environment.execute({"command": "echo hi > >(sleep 0.1; cat)"})["output"] == "hi\n"
    assert "Argument list too long" in environment.execute({"command": "echo " + "x" * 200_000})["output"]
    none = environment.execute({"command": "echo \0"})
    assert (none["output"], none["returncode"], none["extra"]["exception_type"]) == ("", -1, "RequestRefused")


SIDE_BY_SIDE = [
    *("echo é 🎉", "printf 'no newline'", "printf 'a\\r\\nb'", "printf 'a\\000b'", "exit 7", "(exit 3); echo $?"),
    *("echo a\necho b\nfalse\necho c", "cat <<EOF\n$ODD $EMPTY\nEOF", "cat", "echo out; echo err >&2; echo out"),
    *("set -e; false; echo no", "# comment", "", "exec echo x", "seq 50000", "(sleep 0.2; echo late) & echo now"),
    *("echo part; sleep 30", "sleep 30", "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; exit 1"),
]


def test_it_answers_as_their_local_environment(server: ServerProcess, tmp_path: Path) -> None:
    options: Any = {"env": {"ODD": "a b\n\"'$x`é", "EMPTY": "", "a.b-c": "1"}, "timeout": 1}
    ours: Any = SandboxGymEnvironment(url=server.url, **options)
    theirs = LocalEnvironment(cwd=str(tmp_path), **options)
    for command in SIDE_BY_SIDE:
        action = {"command": command}
        assert ours.execute(action, timeout=2) == theirs.execute(action, timeout=2)
    assert ours.execute({"command": "env | grep '^a[.]b'"})["output"] == "a.b-c=1\n"
    assert ours.serialize()["info"]["config"]["environment"]["env"] == options["env"]
    ours.cleanup()


def test_options_of_its_docker_environment(server: ServerProcess, caplog: pytest.LogCaptureFixture) -> None:
    options: Any = {"image": "python:3.11", "run_args": ["--rm"], "container_timeout": "2s", "cwd": "/tmp"}
    logger = logging.getLogger("test_mini_swe_agent")
    made: Any = SandboxGymEnvironment(url=server.url, logger=logger, **options)
    assert "does not use image, run_args" in caplog.text
    known = made.get_template_vars()
    assert {name: known[name] for name in options} == options
    assert made.container_id
    assert made.execute({"command": "pwd"})["output"] == "/tmp\n"
    server.wait_for(lambda health: health["sessions"]["live"] == 0)
    with pytest.raises(NoSandbox, match="container_timeout"):
        made.execute({"command": "pwd"})
    with pytest.raises(ValidationError):
        SandboxGymEnvironment(url=server.url, container_timeout="soon")


def test_another_interpreter(server: ServerProcess) -> None:
    made: Any = SandboxGymEnvironment(url=server.url, interpreter=["python3", "-c"])
    assert made.execute({"command": "print(6 * 7)"})["output"] == "42\n"
    assert (made.get_template_vars()["system"], made.get_template_vars()["cwd"]) == ("Linux", "/workspace")
    made.cleanup()


def test_variables_of_this_process_and_a_folder_that_is_made(
    server: ServerProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORWARDED", "from here")
    monkeypatch.setenv("BOTH", "from here")
    names = ["FORWARDED", "BOTH", "SET_NOWHERE"]
    made = SandboxGymEnvironment(url=server.url, cwd="/tmp/new folder", env={"BOTH": "set"}, forward_env=names)
    said = made.execute({"command": 'pwd; echo "$FORWARDED, $BOTH, [${SET_NOWHERE-}]"'})
    assert said["output"] == "/tmp/new folder\nfrom here, set, []\n"
    monkeypatch.setenv("FORWARDED", "changed")
    assert made.execute({"command": "echo $FORWARDED"})["output"] == "changed\n"
    assert made.execute({"command": "pwd"}, cwd="/tmp/other")["output"] == "/tmp/other\n"
    assert made.execute({"command": "pwd"}, cwd="/usr/folder")["returncode"] == 1
    assert "timed out after 1 seconds" in str(made.execute({"command": "sleep 60"}, timeout=1)["exception_info"])
    made.cleanup()


def test_only_a_command_that_succeeds_submits(environment: Any) -> None:
    line = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
    assert environment.execute({"command": f"{line}; exit 1"})["returncode"] == 1
    assert environment.execute({"command": f"echo before; {line}"})["returncode"] == 0
    with pytest.raises(Submitted):
        environment.execute({"command": f"{line}; echo work"})


def test_a_lost_sandbox_is_told_and_the_agent_goes_on(environment: Any) -> None:
    lost = environment.execute({"command": "kill -9 -1"})
    assert (lost["returncode"], lost["extra"]["exception_type"]) == (-1, "SandboxLost")
    assert "the sandbox was lost during this command" in lost["exception_info"]
    submit = {"command": "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT; echo work"}
    assert environment.execute(submit)["output"].startswith("[the sandbox was lost; files are as of")
    with pytest.raises(Submitted):
        environment.execute(submit)


def test_a_token_is_sent_and_never_told(
    environment: Any, monkeypatch: pytest.MonkeyPatch, server: ServerProcess
) -> None:
    monkeypatch.setenv("SANDBOX_GYM_TOKEN", "secret-of-this-test")
    other = SandboxGymEnvironment(url=server.url)
    assert "secret-of-this-test" not in f"{other.serialize()}{other.get_template_vars(x=1)}{other.config}"
    assert other.get_template_vars(x=1)["x"] == 1
    other.cleanup()
    other.cleanup()


def test_an_environment_nobody_cleans_up_is_closed_with_its_object(server: ServerProcess) -> None:
    before = closed_sessions(server)
    made = SandboxGymEnvironment(url=server.url)
    made.execute({"command": "true"})
    del made
    gc.collect()
    assert closed_sessions(server) == before + 1


def test_a_server_that_is_not_there_is_no_output_of_a_command() -> None:
    with pytest.raises(NoSandbox, match="gives no answer"):
        SandboxGymEnvironment(url="http://127.0.0.1:9")
