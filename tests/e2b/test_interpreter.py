"""e2b-code-interpreter, unmodified."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator

import pytest
from e2b.exceptions import NotFoundException, SandboxException, TimeoutException
from e2b_code_interpreter import AsyncSandbox, Sandbox

from tests.e2b.servers import KEYS, PoolServer

pytestmark = pytest.mark.timeout(120)


@pytest.fixture
def interpreter(pool: PoolServer) -> Iterator[Sandbox]:
    sandbox = Sandbox.create(timeout=120, **pool.where())
    try:
        yield sandbox
    finally:
        sandbox.kill()


def test_state_results_and_logs(interpreter: Sandbox) -> None:
    first = interpreter.run_code("import sys\nx = 41\nprint('out')\nprint('err', file=sys.stderr)\nx + 1")
    assert first.text == "42"
    assert ("".join(first.logs.stdout), "".join(first.logs.stderr)) == ("out\n", "err\n")
    assert (first.error, first.execution_count) == (None, 1)
    second = interpreter.run_code("x")
    assert (second.text, second.execution_count) == ("41", 2)
    assert interpreter.run_code("y = 1").results == []
    assert interpreter.run_code("x;").results == []
    assert interpreter.run_code("import asyncio\nawait asyncio.sleep(0.01)\n'done'").text == "done"
    assert "".join(interpreter.run_code("!echo from a shell").logs.stdout) == "from a shell\n"


INSTALL = """
import pathlib, subprocess, sys
folder = subprocess.check_output([sys.executable, "-m", "site", "--user-site"], text=True).strip()
pathlib.Path(folder).mkdir(parents=True)
pathlib.Path(folder, "tinyone.py").write_text("WORD = 'installed'")
pathlib.Path(folder, "yaml.py").write_text("WORD = 'newer'")
program = pathlib.Path.home() / ".local" / "bin" / "tinyone"
program.parent.mkdir(parents=True)
program.write_text("#!/bin/sh\\necho ran")
program.chmod(0o755)
"""


@pytest.mark.parametrize("template", ["base", "code-interpreter-v1"])
def test_what_a_cell_installs_is_there_for_the_next(pool: PoolServer, template: str) -> None:
    with Sandbox.create(template, timeout=60, **pool.where()) as sandbox:
        assert sandbox.run_code("import json\nimport tinyone").error is not None
        assert sandbox.run_code(INSTALL).error is None
        assert sandbox.run_code("import tinyone, yaml\ntinyone.WORD + yaml.WORD").text == "installednewer"
        assert "".join(sandbox.run_code("!tinyone").logs.stdout) == "ran\n"
        assert sandbox.run_code("tinyone.WORD", context=sandbox.create_code_context()).error is not None


def test_a_fork_of_a_cell_answers_nothing(interpreter: Sandbox) -> None:
    interpreter.run_code("import os\nn = 0")
    for number in range(1, 31):
        found = interpreter.run_code("p = os.fork()\nif p: os.waitpid(p, 0)\nn += 1\nn")
        assert (found.text, len(found.results), found.execution_count) == (str(number), 1, number + 1)


def test_errors(interpreter: Sandbox) -> None:
    failed = interpreter.run_code("def f():\n    return 1 / 0\nprint('before')\nf()")
    assert failed.error is not None
    assert (failed.error.name, failed.error.value) == ("ZeroDivisionError", "division by zero")
    assert "in f" in failed.error.traceback
    assert failed.logs.stdout == ["before\n"]
    wrong = interpreter.run_code("def")
    assert wrong.error is not None
    assert wrong.error.name == "SyntaxError"
    left = interpreter.run_code("import sys; sys.exit(3)")
    assert left.error is not None
    assert left.error.name == "SystemExit"
    assert interpreter.run_code("1").text == "1"


def test_rich_results_in_order(interpreter: Sandbox) -> None:
    code = """
class Rich:
    def _repr_html_(self): return "<b>html</b>"
    def _repr_png_(self): return b"\\x89PNG"
    def _repr_json_(self): return {"a": [1]}
display(Rich())
Rich()
"""
    shown, main = interpreter.run_code(code).results
    assert (shown.html, shown.png, shown.json, shown.is_main_result) == ("<b>html</b>", "iVBORw==", {"a": [1]}, False)
    assert main.is_main_result


def test_callbacks_while_it_runs(interpreter: Sandbox) -> None:
    heard: list[tuple[str, int, int]] = []
    began = time.time_ns()
    interpreter.run_code(
        "import time\nprint('one', flush=True)\ntime.sleep(1.5)\nprint('two', flush=True)",
        on_stdout=lambda message: heard.append((message.line, message.timestamp, time.time_ns())),
    )
    (one, at, _), (two, later, heard_at) = heard
    assert (one, two) == ("one\n", "two\n")
    assert began < at < later - 10**9 < heard_at
    assert heard_at - heard[0][2] > 10**9


def heard(interpreter: Sandbox, code: str, language: str) -> list[str]:
    """What the callbacks of a cell are told, in order."""
    seen: list[str] = []
    interpreter.run_code(
        code,
        language=language,
        on_stdout=lambda message: seen.extend(message.line.split()),
        on_stderr=lambda message: seen.extend(message.line.split()),
        on_result=lambda result: seen.append(result.text or ""),
        on_error=lambda error: seen.append(error.name),
    )
    return seen


@pytest.mark.parametrize(
    ("language", "code", "wanted"),
    [
        ("python", "for n in range(3):\n  print(n)\n  display(n + 5)\nprint(9)\n1 / 0", "0516279 ZeroDivisionError"),
        ("javascript", "console.log('out')\nthrow new TypeError('end')", " out TypeError"),
        ("bash", "echo out\nfalse", " out CalledProcessError"),
    ],
)  # fmt: skip
def test_output_results_and_errors_come_in_order(interpreter: Sandbox, language: str, code: str, wanted: str) -> None:
    """They come from the kernel on several pipes."""
    first, *rest = wanted.split(" ")
    for _ in range(10):
        assert heard(interpreter, code, language) == [*first, *rest]


def test_contexts(interpreter: Sandbox) -> None:
    interpreter.run_code("name = 'default'")
    context = interpreter.create_code_context(cwd="/tmp")
    assert (context.language, context.cwd) == ("python", "/tmp")
    assert interpreter.run_code("name", context=context).error is not None
    interpreter.run_code("name = 'own'", context=context)
    assert interpreter.run_code("name", context=context).text == "own"
    assert interpreter.run_code("name").text == "default"
    assert context.id in {one.id for one in interpreter.list_code_contexts()}
    interpreter.restart_code_context(context)
    assert interpreter.run_code("name", context=context).error is not None
    interpreter.remove_code_context(context)
    with pytest.raises(NotFoundException):
        interpreter.run_code("1", context=context)
    made = interpreter.create_code_context(cwd="/home/user/not/yet")
    assert interpreter.run_code("import os; os.getcwd()", context=made).text == made.cwd
    with pytest.raises(SandboxException):
        interpreter.create_code_context(cwd="/proc/never")
    interpreter.commands.run("mkdir shut && chmod 0 shut")
    for language, code in (("python", "import os; print(os.getcwd())"), ("bash", "pwd")):
        shut = interpreter.create_code_context(cwd="/home/user/shut", language=language)
        logs = interpreter.run_code(code, context=shut).logs
        assert "".join(logs.stdout) == "/home/user\n"
        assert "Permission denied: '/home/user/shut'; this is your home" in "".join(logs.stderr)


def test_environment_and_other_languages(interpreter: Sandbox) -> None:
    code = "import os; os.environ.get('SECRET')"
    assert interpreter.run_code(code, envs={"SECRET": "s"}).text == "s"
    assert interpreter.run_code(code).text is None
    result = interpreter.run_code("echo $X; pwd", language="bash", envs={"X": "shell"})
    assert "".join(result.logs.stdout) == "shell\n/home/user\n"
    with pytest.raises(SandboxException, match="no kernel"):
        interpreter.run_code("1", language="cobol")


def test_a_timeout_ends_the_cell_and_keeps_the_names(interpreter: Sandbox) -> None:
    interpreter.run_code("kept = 1")
    with pytest.raises(TimeoutException):
        interpreter.run_code("import time\ntime.sleep(60)", timeout=1)
    assert interpreter.run_code("kept").text == "1"


def test_a_kernel_that_dies_is_told_as_that(interpreter: Sandbox) -> None:
    died = interpreter.run_code("import os; os._exit(1)")
    assert died.error is not None
    assert died.error.name == "KernelDied"
    assert interpreter.run_code("1 + 1").text == "2"


def test_cells_of_one_context_wait_for_each_other(interpreter: Sandbox) -> None:
    interpreter.run_code("import time\nseen = []")
    code = "seen.append('in')\ntime.sleep(0.5)\nseen.append('out')"
    threads = [threading.Thread(target=interpreter.run_code, args=(code,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert interpreter.run_code("seen").text == repr(["in", "out"] * 3)


def test_much_output(interpreter: Sandbox) -> None:
    result = interpreter.run_code("print('x' * 3_000_000)\n'y' * 1_000_000")
    assert len("".join(result.logs.stdout)) == 3_000_001
    assert result.text is not None
    assert len(result.text) == 1_000_000


@pytest.mark.anyio
async def test_async(pool: PoolServer) -> None:
    sandbox = await AsyncSandbox.create(timeout=60, **pool.where())
    try:
        context = await sandbox.create_code_context()
        assert (await sandbox.run_code("6 * 7", context=context)).text == "42"
        assert (await sandbox.run_code("1 / 0")).error is not None
    finally:
        await sandbox.kill()


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({"secure": False}, 200),
        ({"secure": False, "network": {"allowPublicTraffic": False}}, 403),
        ({"secure": True}, 403),
        ({}, 403),
    ],
)
def test_cells_without_a_token(pool: PoolServer, asked: dict[str, object], status: int) -> None:
    """As SDKs 1.x send them, whose sandboxes are not secure unless it is asked for. Files want a token all the same."""

    def post(path: str, body: object, headers: dict[str, str]) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", pool.port, timeout=60)
        connection.request("POST", path, json.dumps(body), {"Content-Type": "application/json", **headers})
        answer = connection.getresponse()
        found = answer.status, answer.read().decode()
        connection.close()
        return found

    made, view = post("/sandboxes", {"templateID": "base", "timeout": 60, **asked}, {"X-API-KEY": KEYS["alice"]})
    sandbox_id = json.loads(view)["sandboxID"]
    try:
        there = {"E2b-Sandbox-Id": sandbox_id, "E2b-Sandbox-Port": "49999"}
        got, lines = post("/execute", {"code": "6 * 7"}, there)
        assert (made, got) == (201, status), lines
        assert ('"text": "42"' in lines) is (status == 200), lines
        assert post("/contexts", {}, there)[0] == status
        assert post("/filesystem.Filesystem/ListDir", {}, {**there, "E2b-Sandbox-Port": "49983"})[0] == 401
    finally:
        Sandbox.kill(sandbox_id, **pool.where())
