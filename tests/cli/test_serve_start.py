"""`serve` fails as `verify` does: before it says that it is up, with one line that says what to do, and exit code 2."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

from tests.cli.running import PROGRAM, Said, commands

ROOT = Path(__file__).parents[2]


def _refused(done: Said | subprocess.CompletedProcess[str], *said: str) -> None:
    assert done.returncode == 2, done
    assert re.fullmatch(r"error: .*\n", done.stderr), done.stderr
    for each in said:
        assert each in done.stderr, done.stderr


def test_a_port_that_is_taken_and_no_engine(tmp_path: Path) -> None:
    nowhere = {"DOCKER_HOST": f"unix://{tmp_path}/none.sock", "SANDBOX_GYM_STATE_DIR": str(tmp_path)}
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = str(other.getsockname()[1])
        serve = [["serve", *words, "--port", port] for words in (["coding"], ["coding", "--workers", "2"], ["pool"])]
        without_engine = ["serve", "coding", "--port", "0", "--provider", "docker"]
        *taken, no_engine = commands([*serve, without_engine], **nowhere)
    for done in taken:
        _refused(done, f"port {port}", "in use", "--port")
    _refused(no_engine, "Docker Engine", "DOCKER_HOST")


def test_an_option_of_another_server(tmp_path: Path) -> None:
    rows = ROOT / "examples" / "demo" / "rows.jsonl"
    each: list[list[str | Path]] = [["coding", "--network"], ["swe", "--domain", "a.b"]]
    each += [["pool", "--dataset", rows], ["pool", "--cluster", "auto"]]
    done = commands([["serve", *words, "--port", "0"] for words in each], SANDBOX_GYM_STATE_DIR=str(tmp_path))
    for one, option in zip(done, ("--network", "--domain", "--dataset", "--cluster"), strict=True):
        _refused(one, f"{option} is for ", "leave it out")


def _path_without(folder: Path, *names: str) -> str:
    """A PATH with this machine's programs but these."""
    for place in ("/usr/sbin", "/usr/bin"):
        for program in Path(place).iterdir():
            link = folder / program.name
            if program.name not in names and not link.is_symlink():
                link.symlink_to(program)
    return str(folder)


def test_no_bubblewrap(tmp_path: Path) -> None:
    path, rows = _path_without(tmp_path, "bwrap"), ROOT / "examples" / "demo" / "rows.jsonl"
    each: list[list[str | Path]] = [["serve", "coding", "--port", "0"], ["verify", rows, "--out", "/dev/null"]]
    for done in commands(each, PATH=path, SANDBOX_GYM_STATE_DIR=str(tmp_path / "state"), SANDBOX_GYM_PROVIDER="local"):
        _refused(done, "bubblewrap", "install")


def test_no_namespaces(tmp_path: Path) -> None:
    """In a user namespace that may hold no other: the kernel itself refuses."""
    serve = [*PROGRAM, "serve", "coding", "--port", "0", "--workers", "2"]
    inside = ["sh", "-c", 'echo 0 > /proc/sys/user/max_user_namespaces && exec "$@"', "sh", *serve]
    unshare = shutil.which("unshare")
    assert unshare is not None
    done = subprocess.run(
        [unshare, "--user", "--map-user=1000", "--map-group=1000", "--keep-caps", *inside],
        env={**os.environ, "SANDBOX_GYM_STATE_DIR": str(tmp_path / "state"), "SANDBOX_GYM_PROVIDER": "local"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    _refused(done, "a jail did not start", "sysctl -w user.max_user_namespaces=")


def test_a_missing_extra(tmp_path: Path) -> None:
    """Of an environment that has all that this one has but math-verify."""
    site = Path(str(distribution("math-verify").locate_file("")))
    for entry in site.iterdir():
        if not entry.name.startswith(("math_verify", "__pycache__")):
            (tmp_path / entry.name).symlink_to(entry)
    done = subprocess.run(
        [sys.executable, "-S", "-m", "sandbox_gym", "serve", "math", "--port", "0", "--provider", "local"],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}", "SANDBOX_GYM_STATE_DIR": str(tmp_path / "state")},
        capture_output=True,
        text=True,
        timeout=120,
    )
    _refused(done, "math-verify", "pip install 'sandbox-gym[math]'")


def test_a_state_folder_that_is_none_and_a_journal_that_is_none(tmp_path: Path) -> None:
    """Each server, with a journal and without one."""
    (tmp_path / "file").write_text("no database")
    servers, given = ("coding", "math", "swe", "pool"), {"SANDBOX_GYM_PROVIDER": "local"}
    each: list[list[str | Path]] = [["serve", one, "--port", "0"] for one in servers]
    off: list[list[str | Path]] = [[*words, "--journal", "off"] for words in each]
    for done in commands(each + off, SANDBOX_GYM_STATE_DIR=str(tmp_path / "file"), **given):
        _refused(done, str(tmp_path / "file"), "SANDBOX_GYM_STATE_DIR")
    journal: list[list[str | Path]] = [[*words, "--journal", tmp_path / "file"] for words in each[:3]]
    for done in commands(journal, SANDBOX_GYM_STATE_DIR=str(tmp_path / "state"), **given):
        _refused(done, "file is not a database", "SANDBOX_GYM_JOURNAL_URL")


def test_a_disk_that_fills_up_under_the_answers(tmp_path: Path) -> None:
    words: list[str | Path] = ["verify", ROOT / "examples" / "demo" / "rows.jsonl", "--out", "/dev/full"]
    [done] = commands([words], SANDBOX_GYM_STATE_DIR=str(tmp_path / "state"), SANDBOX_GYM_PROVIDER="local")
    assert done.returncode == 2
    assert "error: /dev/full: No space left on device" in done.stderr
    assert "--resume" in done.stderr
    assert "Traceback" not in done.stderr
