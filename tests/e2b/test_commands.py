"""commands and pty, as the SDK has them."""

from __future__ import annotations

import hashlib
import os
import threading
import time

import pytest
from e2b import (
    CommandExitException,
    InvalidArgumentException,
    NotFoundException,
    PtySize,
    Sandbox,
    SandboxNotRunningException,
    TimeoutException,
)
from e2b.exceptions import AuthenticationException, SandboxException

from tests.e2b.servers import PoolServer

pytestmark = pytest.mark.timeout(120)


def test_foreground(sandbox: Sandbox) -> None:
    result = sandbox.commands.run("echo out; echo err >&2; id -un; pwd; echo $HOME")
    assert result.stdout == "out\nuser\n/home/user\n/home/user\n"
    assert (result.stderr, result.exit_code, result.error) == ("err\n", 0, None)


def test_python_has_both_its_names(sandbox: Sandbox) -> None:
    assert sandbox.commands.run("python -c 'print(1)'; python3 -c 'print(2)'").stdout == "1\n2\n"


def test_exit_code_and_what_was_said_before(sandbox: Sandbox) -> None:
    with pytest.raises(CommandExitException) as caught:
        sandbox.commands.run("echo before; exit 3")
    assert (caught.value.exit_code, caught.value.stdout, caught.value.error) == (3, "before\n", "exit status 3")


@pytest.mark.parametrize(("name", "said"), [("HUP", "hangup"), ("ABRT", "aborted"), ("KILL", "killed")])
def test_a_signal_is_told_by_its_name(sandbox: Sandbox, name: str, said: str) -> None:
    """Also SIGHUP, which the server was told to ignore."""
    with pytest.raises(CommandExitException) as caught:
        sandbox.commands.run(f"kill -{name} $$")
    assert (caught.value.exit_code, caught.value.error) == (-1, f"signal: {said}")


def test_streams_while_it_runs(sandbox: Sandbox) -> None:
    seen: list[str] = []

    def said(text: str) -> None:
        seen.append(text)
        sandbox.files.write("heard", "")

    sandbox.commands.run("echo one; until [ -e heard ]; do sleep 0.1; done; echo two", on_stdout=said)
    assert seen == ["one\n", "two\n"]


def test_unicode_and_bytes_that_split(sandbox: Sandbox) -> None:
    text = "héllo — 世界 🎉"
    assert sandbox.commands.run(f"echo '{text}'").stdout == text + "\n"
    code = "import sys\nfor _ in range(5000): sys.stdout.write('世界')"
    assert sandbox.commands.run(f'python3 -c "{code}"').stdout == "世界" * 5000


def test_much_output_arrives_whole(sandbox: Sandbox) -> None:
    result = sandbox.commands.run("head -c 8000000 /dev/zero | tr '\\0' x; echo; echo end >&2")
    assert len(result.stdout) == 8_000_001
    assert result.stderr == "end\n"


def test_output_that_nobody_hears_does_not_stop_a_process(sandbox: Sandbox) -> None:
    handle = sandbox.commands.run("head -c 8000000 /dev/zero; touch done", background=True)
    handle.disconnect()
    for _ in range(100):
        if sandbox.files.exists("done"):
            return
        time.sleep(0.1)
    raise AssertionError("it did not end")


def test_environment_and_folder(pool: PoolServer) -> None:
    sandbox = Sandbox.create(timeout=60, envs={"FOO": "from sandbox", "BAR": "kept"}, **pool.where())
    try:
        sandbox.files.make_dir("deep/er")
        result = sandbox.commands.run("echo $FOO $BAR $E2B_SANDBOX; pwd", envs={"FOO": "from call"}, cwd="deep/er")
        assert result.stdout == "from call kept true\n/home/user/deep/er\n"
        assert sandbox.commands.run("echo $FOO").stdout == "from sandbox\n"
        with pytest.raises(InvalidArgumentException, match="does not exist"):
            sandbox.commands.run("pwd", cwd="/not/there")
        for name in ("", "A="):
            with pytest.raises(InvalidArgumentException, match="is no name of a variable"):
                sandbox.commands.run("true", envs={name: "x"})
            with pytest.raises(SandboxException, match="is no name of a variable"):
                Sandbox.create(envs={name: "x"}, **pool.where())
    finally:
        sandbox.kill()


def test_a_timeout_ends_the_process(sandbox: Sandbox) -> None:
    with pytest.raises(TimeoutException) as caught:
        sandbox.commands.run("(sleep 3; touch late) & sleep 30; touch late", timeout=1)
    assert not isinstance(caught.value, SandboxNotRunningException)
    time.sleep(3)
    assert not sandbox.files.exists("late")
    assert sandbox.commands.list() == []


def test_background_list_connect_kill(sandbox: Sandbox) -> None:
    handle = sandbox.commands.run("echo up; sleep 60", background=True)
    (found,) = sandbox.commands.list()
    assert (found.pid, found.cmd, found.args[-1]) == (handle.pid, "/bin/bash", "echo up; sleep 60")
    second = sandbox.commands.connect(handle.pid)
    assert second.pid == handle.pid
    assert handle.kill()
    for one in (handle, second):
        with pytest.raises(CommandExitException) as caught:
            one.wait()
        assert caught.value.exit_code == -1
    assert not handle.kill()
    assert sandbox.commands.list() == []
    with pytest.raises(NotFoundException):
        sandbox.commands.connect(handle.pid)


def test_a_killed_process_takes_its_children_along(sandbox: Sandbox) -> None:
    handle = sandbox.commands.run("(while true; do date > alive; sleep 0.1; done) & wait", background=True)
    sandbox.commands.run("until [ -e alive ]; do sleep 0.1; done")
    handle.kill()
    sandbox.files.remove("alive")
    time.sleep(1)
    assert not sandbox.files.exists("alive")


def test_stdin(sandbox: Sandbox) -> None:
    handle = sandbox.commands.run("read line; echo got $line; cat; echo end", background=True, stdin=True)
    sandbox.commands.send_stdin(handle.pid, "hello\n")
    sandbox.commands.send_stdin(handle.pid, b"the rest\n")
    sandbox.commands.close_stdin(handle.pid)
    assert handle.wait().stdout == "got hello\nthe rest\nend\n"
    with pytest.raises(NotFoundException):
        sandbox.commands.send_stdin(handle.pid, "late")


def test_much_stdin(sandbox: Sandbox) -> None:
    handle = sandbox.commands.run("wc -c", background=True, stdin=True)
    sandbox.commands.stream_input(handle.pid, (b"x" * 300_000 for _ in range(10)))
    sandbox.commands.close_stdin(handle.pid)
    assert handle.wait().stdout.strip() == "3000000"


def test_a_large_input_in_one_message(sandbox: Sandbox) -> None:
    data = os.urandom(1 << 20) * 20
    for put in (sandbox.commands.send_stdin, lambda pid, data: sandbox.commands.stream_input(pid, [data])):
        handle = sandbox.commands.run("sha256sum", background=True, stdin=True)
        put(handle.pid, data)
        sandbox.commands.close_stdin(handle.pid)
        assert handle.wait().stdout.split()[0] == hashlib.sha256(data).hexdigest()
    handle = sandbox.commands.run("cat", background=True, stdin=True)
    with pytest.raises(InvalidArgumentException, match="the body has over"):
        sandbox.commands.send_stdin(handle.pid, bytes(80 << 20))


def test_without_stdin_it_is_empty(sandbox: Sandbox) -> None:
    assert sandbox.commands.run("cat; echo end").stdout == "end\n"


def test_many_at_once(sandbox: Sandbox) -> None:
    results: list[str] = []

    def work(number: int) -> None:
        results.append(sandbox.commands.run(f"sleep 0.5; echo {number}").stdout.strip())

    threads = [threading.Thread(target=work, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(map(int, results)) == list(range(20))


def test_other_users_are_refused_by_name(sandbox: Sandbox) -> None:
    with pytest.raises(AuthenticationException, match="root"):
        sandbox.commands.run("id", user="root")
    assert sandbox.commands.run("id -un", user="user").stdout == "user\n"


def test_pty(sandbox: Sandbox) -> None:
    seen = bytearray()
    terminal = sandbox.pty.create(PtySize(rows=30, cols=100), cwd="/tmp", envs={"WHO": "me"})
    sandbox.pty.send_stdin(terminal.pid, b"stty size; tty; echo $WHO; pwd; touch ~/said\n")
    sandbox.commands.run("until [ -e ~/said ]; do sleep 0.1; done")
    sandbox.pty.resize(terminal.pid, PtySize(rows=40, cols=120))
    sandbox.pty.send_stdin(terminal.pid, b"stty size; exit 7\n")
    with pytest.raises(CommandExitException) as caught:
        terminal.wait(on_pty=seen.extend)
    text = seen.decode()
    assert caught.value.exit_code == 7
    assert "30 100" in text
    assert "40 120" in text
    assert "/dev/pts/" in text
    assert "me\r\n" in text


def test_pty_kill(sandbox: Sandbox) -> None:
    terminal = sandbox.pty.create(PtySize(rows=24, cols=80))
    assert sandbox.pty.kill(terminal.pid)
    with pytest.raises(CommandExitException):
        terminal.wait()
    assert not sandbox.pty.kill(terminal.pid)


def test_a_sandbox_killed_in_the_middle_of_a_command_is_told_as_that(pool: PoolServer) -> None:
    sandbox = Sandbox.create(timeout=60, **pool.where())
    threading.Timer(1, sandbox.kill).start()
    with pytest.raises(SandboxNotRunningException):
        sandbox.commands.run("sleep 30")


def test_a_box_that_dies_is_told_as_that_and_gone(pool: PoolServer) -> None:
    sandbox = Sandbox.create(timeout=60, **pool.where())
    with pytest.raises(TimeoutException):
        sandbox.commands.run("kill -9 -1; sleep 30")
    for _ in range(50):
        if not sandbox.is_running():
            break
        time.sleep(0.1)
    assert not sandbox.is_running()


def test_sudo_goes_on_without_root_and_says_so(sandbox: Sandbox) -> None:
    said = sandbox.commands.run(
        'sudo -E -u root -- id -un; FOO=x sudo BAR=y sh -c \'echo "$FOO$BAR"\'; sudo echo "$NONE"'
    )
    assert said.stdout == "user\nxy\n\n"
    assert said.stderr.count("there is no root in this sandbox") == 3
    with pytest.raises(CommandExitException) as caught:
        sandbox.commands.run("sudo sh -c 'touch /etc/new || exit 7'")
    assert caught.value.exit_code == 7


@pytest.mark.parametrize("command", ["pkill python3", "pkill -x python3", "pkill -9 python", "pkill -f '[p]ython'"])
def test_who_ends_all_pythons_keeps_the_sandbox(sandbox: Sandbox, command: str) -> None:
    server = sandbox.commands.run("python3 -m http.server 8000", background=True)
    assert sandbox.commands.run("pgrep python3").stdout == f"{server.pid}\n", "none of ours, for `wait_for_process`"
    sandbox.commands.run(f"{command}; true")
    with pytest.raises(CommandExitException):
        server.wait()
    assert sandbox.commands.run("pgrep python3 || echo none").stdout == "none\n"


def test_arguments_that_are_too_long_cost_no_sandbox(sandbox: Sandbox) -> None:
    with pytest.raises(InvalidArgumentException, match="over 1048576 bytes"):
        sandbox.commands.run("true", envs={f"V{number}": "\u4e16" * 100_000 for number in range(3)})
    with pytest.raises(InvalidArgumentException, match="Argument list too long"):
        sandbox.commands.run("echo " + "x" * 200_000)
    assert sandbox.commands.run("echo alive").stdout == "alive\n"
