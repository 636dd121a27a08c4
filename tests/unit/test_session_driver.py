"""A session's driver without a sandbox: commands beside the shell and the Python, and files."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.unit.guest_process import GuestProcess, driver

pytestmark = pytest.mark.timeout(60)
Reply = Mapping[str, Any]


@pytest.fixture
def guest(tmp_path: Path) -> Iterator[GuestProcess]:
    home = tmp_path / "home"
    home.mkdir()
    with driver("session", home) as running:
        yield running


def ask(guest: GuestProcess, header: Reply, body: bytes = b"") -> tuple[Reply, bytes]:
    guest.send(header, body)
    return guest.receive()


def execute(guest: GuestProcess, *argv: str, stdin: bytes = b"", **options: Any) -> tuple[Reply, bytes, bytes]:
    """The reply, standard output and standard error."""
    env: dict[str, str] = options.pop("env", {})
    texts = "".join(f"{text}\0" for text in argv).encode()
    variables = "".join(f"{name}={value}\0" for name, value in env.items()).encode()
    defaults = {"cwd": "", "timeout_s": 20, "stdout_bytes": 1000, "stderr_bytes": 1000, "keep": False}
    request = {"op": "exec", "args_bytes": len(texts), "env_bytes": len(variables), "head_only": False, **defaults}
    reply, body = ask(guest, {**request, **options}, texts + variables + stdin)
    assert reply["ok"] is True, reply
    own = sum(reply["sizes"][:2])
    assert len(body) == own + sum(reply["stderr_sizes"][:2])
    return reply, body[:own], body[own:]


def bash(guest: GuestProcess, command: str) -> str:
    reply, body = ask(guest, {"op": "bash", "timeout_s": 20, "output_bytes": 4000}, command.encode())
    assert reply["ok"] is True, reply
    return body.decode()


def test_a_command_has_its_own_streams_arguments_and_end(guest: GuestProcess, tmp_path: Path) -> None:
    script = 'printf "%s." "$@"; pwd; cat; echo "$V" >&2; exit 7'
    reply, out, err = execute(guest, "sh", "-c", script, "sh", "a b", "", "\n", stdin=b"in\xff", env={"V": "=\n'"})
    assert (reply["exit_code"], reply["signal"], reply["timed_out"]) == (7, 0, False)
    assert (out, err) == (f"a b..\n.{tmp_path}/home\n".encode() + b"in\xff", b"=\n'\n")
    reply, _, _ = execute(guest, "sh", "-c", "kill -11 $$")
    assert (reply["exit_code"], reply["signal"]) == (139, 11)
    assert execute(guest, "sh", "-c", "pwd; echo $PWD", cwd="/usr")[1] == b"/usr\n/usr\n"
    assert execute(guest, "sh", "-c", "cat; ls -l /proc/self/fd | wc -l")[1] == b"5\n"


def test_a_command_that_can_not_start_ends_as_in_a_shell(guest: GuestProcess, tmp_path: Path) -> None:
    reply, _, err = execute(guest, "no-such-program")
    assert (reply["exit_code"], err) == (127, b"no-such-program: No such file or directory\n")
    (tmp_path / "home" / "plain").write_text("echo by bash: $0 $1\n")
    reply, _, err = execute(guest, "./plain", "x")
    assert (reply["exit_code"], err) == (126, b"./plain: Permission denied\n")
    (tmp_path / "home" / "plain").chmod(0o755)
    assert execute(guest, "./plain", "x")[1] == b"by bash: ./plain x\n"
    reply, _, err = execute(guest, "true", cwd="/none")
    assert (reply["exit_code"], err) == (1, b"cd: /none: No such file or directory\n")
    reply, _, err = execute(guest, "echo", "x" * 200_000)
    assert (reply["exit_code"], b"too long" in err) == (126, True)


def test_output_is_bounded_from_both_ends_or_one(guest: GuestProcess) -> None:
    script = "echo first; yes | head -c 50000000; echo last; yes e | head -c 5000 >&2"
    reply, out, err = execute(guest, "bash", "-c", script, stdout_bytes=100)
    assert (out[:6], out[-5:], len(out), len(err)) == (b"first\n", b"last\n", 100, 1000)
    assert (reply["sizes"], reply["stderr_sizes"]) == ([50, 50, 50_000_011 - 100], [500, 500, 4000])
    reply, out, _ = execute(guest, "bash", "-c", script, stdout_bytes=100, head_only=True)
    assert (out, reply["sizes"]) == (b"first\n" + b"y\n" * 47, [100, 0, 50_000_011 - 100])


def test_input_that_is_not_read_or_is_long(guest: GuestProcess) -> None:
    data = bytes(range(256)) * 60_000
    assert execute(guest, "sha256sum", stdin=data)[0]["exit_code"] == 0
    assert execute(guest, "cat", stdin=data, stdout_bytes=16 << 20)[1] == data
    assert execute(guest, "true", stdin=data)[0]["exit_code"] == 0
    assert execute(guest, "head", "-c", "3", stdin=data)[1] == b"\0\1\2"


def test_a_command_whose_time_is_up_is_interrupted_then_killed(guest: GuestProcess) -> None:
    reply, out, _ = execute(guest, "sh", "-c", "trap 'echo asked; exit 3' INT; sleep 86060", timeout_s=2)
    assert (reply["timed_out"], reply["exit_code"], out) == (True, 3, b"asked\n")
    begun = time.monotonic()
    reply, out, _ = execute(guest, "sh", "-c", "echo begun; trap '' INT; sleep 86061 & sleep 86062", timeout_s=2)
    assert (reply["timed_out"], reply["signal"], out) == (True, 9, b"begun\n")
    assert execute(guest, "yes", timeout_s=0.3)[0]["timed_out"] is True
    assert time.monotonic() - begun < 30
    assert "sleep 8606" not in bash(guest, "ps ax")


LEFT = "setsid sh -c 'exec 2>&-; while sleep 0.1; do echo more; date +%s.%N > left; done' & (sleep 99 &); exit 5"


def test_nothing_is_left_of_a_command(guest: GuestProcess, tmp_path: Path) -> None:
    reply, _, _ = execute(guest, "sh", "-c", f"trap '' HUP; {LEFT}")
    assert (reply["exit_code"], reply["timed_out"]) == (5, False)
    left = tmp_path / "home" / "left"
    left.unlink(missing_ok=True)
    time.sleep(0.5)
    assert not left.exists()
    assert execute(guest, "pgrep", "-f", "^sleep 99")[1] == b""


def test_what_stays_of_a_command_may_go_on_printing(guest: GuestProcess, tmp_path: Path) -> None:
    reply, _, _ = execute(guest, "sh", "-c", LEFT, keep=True)
    assert reply["exit_code"] == 5
    flood, _, _ = execute(guest, "bash", "-c", "yes & sleep 0.1; jobs -p > pid", keep=True, stdout_bytes=100)
    assert flood["exit_code"] == 0
    left, flooder = tmp_path / "home" / "left", int((tmp_path / "home" / "pid").read_text())
    for _ in range(3):
        while not left.exists():
            time.sleep(0.05)
        left.unlink()
    state = Path(f"/proc/{flooder}/stat").read_text().rpartition(")")[2].split()[0]
    assert state in "RS"
    os.kill(flooder, 9)
    assert execute(guest, "pgrep", "-f", "^sleep 99")[1] != b""


def test_neither_shell_nor_python_feel_a_command(guest: GuestProcess) -> None:
    bash(guest, "cd /; set -x; x=1; export Y=2 'Z=a\nb'; trap 'echo trapped' DEBUG; f() { echo f; }; sleep 50 & false")
    ask(guest, {"op": "python", "timeout_s": 20, "output_bytes": 100}, b"n = 5")
    _, out, err = execute(guest, "bash", "-c", 'echo "[$x$Y$Z]"; type f; cd /usr; export Y=3; umask 0; kill $PPID 2>&-')
    assert out.startswith(b"[2a\nb]\n")
    assert b"f: not found" in err
    shown = bash(guest, "echo $?:$x$Y:$PWD; set +x; trap - DEBUG; jobs | grep -c sleep; umask")
    assert "\n1:12:/\n" in shown
    assert shown.endswith("\n1\n0022\n")
    assert "__sg_exported" not in shown
    reply, body = ask(guest, {"op": "python", "timeout_s": 20, "output_bytes": 100}, b"n")
    assert (reply["reset"], body) == (False, b"5\n")


def test_a_command_without_a_shell_starts_none(guest: GuestProcess) -> None:
    beside = "pgrep -c -x bash -P $(cut -d' ' -f4 /proc/$PPID/stat)"
    assert execute(guest, "sh", "-c", f"echo $TERM; {beside}")[1] == b"dumb\n0\n"
    bash(guest, "true")
    assert execute(guest, "sh", "-c", beside)[1] == b"1\n"
    bash(guest, "export A=1; exit 3")
    assert execute(guest, "sh", "-c", "echo [$A]")[1] == b"[]\n"
    reply, _ = ask(guest, {"op": "bash", "timeout_s": 20, "output_bytes": 100}, b"true")
    assert reply["reset"] is True


def test_files_and_their_errors_by_name(guest: GuestProcess, tmp_path: Path) -> None:
    home = tmp_path / "home"
    data = bytes(range(256)) * 1000
    assert ask(guest, {"op": "write", "path": "d/e/f"}, data)[0] == {"ok": True}
    assert ask(guest, {"op": "write", "path": "d/e/f", "append": True}, b"end")[0] == {"ok": True}
    (home / "link").symlink_to("d/e/f")
    read = {"op": "read", "path": "link", "max_bytes": 1 << 20}
    assert ask(guest, read) == ({"ok": True}, data + b"end")
    assert ask(guest, {**read, "offset": 255_990, "size": 12}) == ({"ok": True}, data[-10:] + b"en")
    assert ask(guest, {**read, "offset": 1 << 40, "size": 12}) == ({"ok": True}, b"")
    assert ask(guest, {**read, "max_bytes": 256_003})[0] == {"ok": True}
    os.mkfifo(home / "fifo")
    (home / "loop").symlink_to("loop")
    for change, code in (
        ({"max_bytes": 256_002}, "EFBIG"), ({"path": "none"}, "ENOENT"), ({"path": "d"}, "EISDIR"),
        ({"path": "fifo"}, "EINVAL"), ({"path": "/dev/zero"}, "EINVAL"), ({"path": "loop"}, "ELOOP"),
        ({"path": "link/x"}, "ENOTDIR"), ({"path": "x" * 300}, "ENAMETOOLONG"), ({"path": "a\0b"}, "EINVAL"),
        ({"path": "\ud800"}, "EINVAL"), ({"path": 5}, "EINVAL"), ({"path": ""}, "EINVAL"),
    ):  # fmt: skip
        reply, body = ask(guest, {**read, **change})
        assert (reply["ok"], str(reply["error"]).partition(":")[0], body) == (False, code, b""), change
    for path, code in (
        ("d", "EISDIR"), ("fifo", "ENXIO"), ("/dev/null", "EINVAL"), ("/dev/full", "EINVAL"), ("link/x", "ENOTDIR"),
        ("/proc/x", "ENOENT"), ("a\0b", "EINVAL"), ("loop", "ELOOP"),
    ):  # fmt: skip
        reply, _ = ask(guest, {"op": "write", "path": path}, b"x")
        assert (reply["ok"], str(reply["error"]).partition(":")[0]) == (False, code), path
    assert ask(guest, {"op": "exec"})[0]["ok"] is False
    assert ask(guest, {"op": "ping"})[0] == {"ok": True}
