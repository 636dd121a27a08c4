"""Recipes as commands, a release's sdist as a file, and what is said of a step that fails."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from sandbox_gym.errors import InstanceFailed
from sandbox_gym.guest import sdist
from sandbox_gym.sandbox.session.client import SessionClient
from sandbox_gym.swe import pip_settings as settings
from sandbox_gym.swe.build_log import MAX_CAUSE, BuildLog, cause_of
from sandbox_gym.swe.building import run_step
from sandbox_gym.swe.recipes import BuildStep, repository_steps
from sandbox_gym.verifiers.swe import Recipe

FILE = b"of the sdist"
SHA256 = hashlib.sha256(FILE).hexdigest()


@dataclass
class Index:
    """A package index on this machine: pages by path, and who asked with what."""

    pages: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    asked: list[tuple[str, str]] = field(default_factory=list)
    failing: int = 0
    url: str = ""

    def lists(self, project: str, *files: tuple[str, str], as_json: bool = False) -> None:
        """Files as (href, fragment or hash)."""
        if as_json:
            listed = [
                {"filename": href.rsplit("/", 1)[-1], "url": href, "hashes": {"sha256": digest}}
                for href, digest in files
            ]
            body = json.dumps({"files": listed}).encode()
            self.pages[f"/simple/{project}/"] = ("application/vnd.pypi.simple.v1+json", body)
            return
        links = "".join(f'<a href="{href}{digest and "#sha256=" + digest}">x</a><br/>' for href, digest in files)
        self.pages[f"/simple/{project}/"] = ("text/html", f"<!DOCTYPE html><body>{links}".encode())


@pytest.fixture
def index() -> Iterator[Index]:
    found = Index()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found.asked.append((self.path, self.headers.get("Authorization", "")))
            if found.failing:
                found.failing -= 1
                self.send_error(503)
                return
            kind, body = found.pages.get(self.path, ("", b""))
            if not kind:
                self.send_error(404)
                return
            self.send_response(200)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Not on the test's screen."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        found.url = f"http://127.0.0.1:{server.server_port}/simple"
        found.pages["/files/a.tar.gz"] = ("application/gzip", FILE)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield found
        server.shutdown()
        thread.join()


def fetched(folder: Path, spec: str, *more: str, **environment: str) -> tuple[int, str, list[str]]:
    """(exit code, stderr, files) of the script as a build runs it."""
    folder.mkdir(exist_ok=True)
    argv = [sys.executable, "-I", "-c", Path(sdist.__file__).read_text(), spec, str(folder), *more]
    env = {"PATH": "/usr/bin:/bin", "PIP_CONFIG_FILE": "/dev/null", "HOME": str(folder), **environment}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=60)
    return done.returncode, done.stderr, sorted(one.name for one in folder.iterdir())


@pytest.mark.parametrize("as_json", [False, True])
def test_an_sdist_is_had_as_a_file(index: Index, tmp_path: Path, as_json: bool) -> None:
    wheel = ("/files/My_Package-1.0-py3-none-any.whl", "")
    index.pages["/files/my_package-1.0.tar.gz"] = ("application/gzip", FILE)
    others = [("/files/my_package-1.0.1.tar.gz", ""), ("/files/my_package_more-1.0.tar.gz", ""), wheel]
    index.lists("my-package", *others, ("../../files/my_package-1.0.tar.gz", SHA256), as_json=as_json)
    code, said, files = fetched(tmp_path / "x", "My.Package==1.0", PIP_INDEX_URL=index.url)
    assert (code, said, files) == (0, "", ["my_package-1.0.tar.gz"])
    assert (tmp_path / "x" / "my_package-1.0.tar.gz").read_bytes() == FILE
    assert [path for path, _ in index.asked] == ["/simple/my-package/", "/files/my_package-1.0.tar.gz"]


def test_the_rows_own_name_of_the_sdist_counts(index: Index, tmp_path: Path) -> None:
    index.lists("p", ("/files/a.tar.gz", ""))
    assert fetched(tmp_path / "x", "p==1", PIP_INDEX_URL=index.url)[0] == 1
    assert fetched(tmp_path / "x", "p==1", "a.tar.gz", PIP_INDEX_URL=index.url) == (0, "", ["a.tar.gz"])


def test_what_is_not_what_the_index_says_is_not_taken(index: Index, tmp_path: Path) -> None:
    index.pages["/files/p-1.tar.gz"] = ("application/gzip", FILE + b"!")
    index.lists("p", ("/files/p-1.tar.gz", SHA256))
    code, said, files = fetched(tmp_path / "x", "p==1", PIP_INDEX_URL=index.url)
    assert (code, files) == (1, [])
    assert "not what its index says" in said


def test_a_second_index_is_asked_and_one_that_fails_is_asked_again(index: Index, tmp_path: Path) -> None:
    index.pages["/files/p-1.tar.gz"] = ("application/gzip", FILE)
    index.lists("p", ("/files/p-1.tar.gz", SHA256))
    index.failing = 2
    config = tmp_path / "pip.conf"
    config.write_text(f"[global]\nindex-url = http://127.0.0.1:9/simple\nextra-index-url =\n  {index.url}\n")
    assert fetched(tmp_path / "x", "p==1", PIP_CONFIG_FILE=str(config))[0] == 0


def test_a_password_is_for_its_index_alone_and_is_never_shown(index: Index, tmp_path: Path) -> None:
    index.pages["/files/p-1.tar.gz"] = ("application/gzip", FILE)
    other = index.url.replace("127.0.0.1", "localhost").replace("/simple", "/files/p-1.tar.gz")
    index.lists("p", (other, SHA256))
    given = index.url.replace("http://", "http://me:s%40cret@")
    assert fetched(tmp_path / "x", "p==1", PIP_INDEX_URL=given)[0] == 0
    login = "Basic " + base64.b64encode(b"me:s@cret").decode()
    assert index.asked == [("/simple/p/", login), ("/files/p-1.tar.gz", "")]
    code, said, _ = fetched(tmp_path / "x", "q==1", PIP_INDEX_URL=given)
    assert code == 1
    assert "cret" not in said
    assert "404" in said


@pytest.mark.parametrize(
    ("file", "release"),
    [
        ("a-1.0.tar.gz", "a==1.0"),
        ("a-1.0.zip", "A==1.0.0"),
        ("a-b-1.0.tar.gz", "a_b==1.0"),
        ("a_b-1.0rc1.tar.gz", "a.b==1.0-rc.1"),
        ("a-1.0.post1.tar.bz2", "a==1.0-post1"),
        ("a-2023.1.tar.gz", "a==2023.1"),
        ("a-1!1.0.tar.gz", "a==1!1.0"),
        ("a-1.0+local.1.tar.gz", "a==1.0+local.1"),
    ],
)
def test_names_of_sdists(file: str, release: str) -> None:
    assert sdist.is_sdist(file, *release.split("=="))


@pytest.mark.parametrize(
    ("file", "release"),
    [
        ("a-1.0-py3-none-any.whl", "a==1.0"),
        ("a-1.0.1.tar.gz", "a==1.0"),
        ("a-1.0.tar.gz", "a==1.0.1"),
        ("a-1.0rc1.tar.gz", "a==1.0"),
        ("a-10.tar.gz", "a==1"),
        ("a-b-1.0.tar.gz", "a==1.0"),
        ("a-b-1.0.tar.gz", "b==1.0"),
        ("a-1.0.tar.gz.asc", "a==1.0"),
        ("a-1.0.0.1.tar.gz", "a==1.0.1"),
    ],
)
def test_names_of_others(file: str, release: str) -> None:
    assert not sdist.is_sdist(file, *release.split("=="))


def test_where_there_is_no_file_pip_is_asked_for_this_one_release_alone() -> None:
    recipe = Recipe(source="a-b==1.0", sdist="A-1.0.tgz")
    steps = {step.name: step for step in repository_steps(recipe, {"PIP_X": "1 2"})}
    command = steps["download"].command
    assert ":all:" not in command
    assert "|| PIP_X='1 2' /workspace/env/bin/python -m pip --no-input download --no-deps --no-binary a-b " in command
    assert "a-b==1.0 /workspace/sdist A-1.0.tgz" in command
    assert steps["download"].shown == "fetch the sdist of a-b==1.0"
    assert not any("PIP_X" in step.shown for step in steps.values())


# -- pip's settings


def test_builds_have_the_settings_of_pip_that_mean_something_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("PIP_INDEX_URL", "PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL"):
        monkeypatch.delenv(name, raising=False)
    config = tmp_path / "pip.conf"
    config.write_text(
        "[global]\nindex-url = https://a.example/simple\nextra-index-url =\n  file:///here/simple\n"
        "  https://b.example/simple\nfind-links = /here\ntrusted-host = a.example\n[install]\nuser = no\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(config))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", "https://c.example/simple")
    found = settings.pip_settings()
    assert found["PIP_INDEX_URL"] == "https://a.example/simple"
    assert found["PIP_EXTRA_INDEX_URL"] == "https://c.example/simple"  # the environment goes before files
    assert found["PIP_TRUSTED_HOST"] == "a.example"
    assert not {"PIP_FIND_LINKS", "PIP_USER"} & set(found)


# -- what is said of a step that fails

NESTED = """  error: subprocess-exited-with-error

  × {what} did not run successfully.
  │ exit code: 1
  ╰─> [11 lines of output]
      Collecting setuptools
{lines}
      [end of output]

  note: This error originates from a subprocess, and is likely not a problem with pip.
error: subprocess-exited-with-error

× {what} did not run successfully.
│ exit code: 1
╰─> See above for output.

note: This error originates from a subprocess, and is likely not a problem with pip.
bash: [3: 1 (255)] tcsetattr: Inappropriate ioctl for device
"""
COMPILER = """      c.c:1:10: fatal error: nowhere.h: No such file or directory
          1 | #include "nowhere.h"
      compilation terminated.
      error: command '/usr/bin/gcc' failed with exit code 1"""
CAUSES = {
    NESTED.format(
        what="pip subprocess to install build dependencies",
        lines="      ERROR: Could not find a version that satisfies the requirement x==9 (from versions: none)\n"
        "      ERROR: No matching distribution found for x==9",
    ): "pip subprocess to install build dependencies failed; Could not find a version that satisfies the requirement"
    " x==9 (from versions: none)",
    NESTED.format(
        what="Getting requirements to build wheel",
        lines="      Traceback (most recent call last):\n        File 'x', line 1\n"
        "      ModuleNotFoundError: No module named 'hatchling'",
    ): "Getting requirements to build wheel failed; ModuleNotFoundError: No module named 'hatchling'",
    NESTED.format(what="Building wheel for c (pyproject.toml)", lines=COMPILER)
    + "  ERROR: Failed building wheel for c\n": "Building wheel for c (pyproject.toml) failed; c.c:1:10: fatal error: "
    "nowhere.h: No such file or directory",
    "ERROR: Could not find a version that satisfies the requirement pytest==999 (from versions: 2.0.0, 2.0.1, 2.0.2,"
    " 9.1.0, 9.2.0)\nERROR: No matching distribution found for pytest==999\n": "Could not find a version that satisfies"
    " the requirement pytest==999 (from versions: …, 2.0.2, 9.1.0, 9.2.0)",
    "WARNING: Retrying (Retry(total=0)) after connection broken by 'NewConnectionError('<x>: [Errno 111]')': /a/\n"
    "ERROR: Could not find a version that satisfies the requirement a (from versions: none)\n": "the package index"
    " was not reached (NewConnectionError); Could not find a version that satisfies the requirement a (from versions:"
    " none)",
    "ERROR: Failed building wheel for c\n": "Failed building wheel for c",
    "no sdist of a==1: an.example lists none\nWARNING: x\n": "no sdist of a==1: an.example lists none",
    "make: *** [all] Error 2\nbash: line 1: cc: command not found\n": "bash: line 1: cc: command not found",
    "x\n" * 9: "x",
    "": "it printed nothing",
}


@pytest.mark.parametrize("text", CAUSES)
def test_the_cause_is_the_innermost_error_and_what_was_tried(text: str) -> None:
    assert cause_of(text) == CAUSES[text]


def test_a_cause_is_short_whatever_was_printed() -> None:
    assert len(cause_of("\n".join(f"ERROR: {number}" + "x" * 5000 for number in range(50)))) <= MAX_CAUSE


@dataclass
class Built:
    """A build's session that answers one thing."""

    exit_code: int
    timed_out: bool
    printed: bytes

    async def call(
        self, request: Mapping[str, object], body: bytes = b"", *, within_s: float
    ) -> tuple[Mapping[str, object], bytes]:
        ended = {"ok": True, "exit_code": self.exit_code, "timed_out": self.timed_out}
        return {**ended, "sizes": [len(self.printed), 0, 0], "stderr_sizes": [0, 0, 0]}, self.printed


@pytest.mark.anyio
async def test_a_step_out_of_time_says_so_and_what_it_was() -> None:
    printed = b"Collecting a\nERROR: Operation cancelled by user\nbash: [3: 1 (255)] tcsetattr: Inappropriate ioctl\n"
    step = BuildStep("install[0]", "secret=1 pip install -e .", 30.0, "pip install -e .")
    with pytest.raises(InstanceFailed) as failed:
        await run_step(SessionClient(Built(130, True, printed)), step, "x-1", BuildLog(None))
    assert str(failed.value) == (
        "building x-1: step install[0] (pip install -e .) was given up after 30 s, its time limit; its last words:"
        " Collecting a"
    )
    with pytest.raises(InstanceFailed) as failed:
        await run_step(SessionClient(Built(1, False, b"ERROR: no\n")), step, "x-1", BuildLog(None))
    assert str(failed.value) == "building x-1: step install[0] (pip install -e .) failed: no"
