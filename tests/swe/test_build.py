"""`swe build`: recipes and specs become instances without a registry, environments are shared, failures have a log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2 as httpx
import pytest

from tests.engine.test_reaper import docker
from tests.swe.instance import forget_images, request, serving_swe
from tests.swe.tiny import WHEEL, Document, TinyIndex, tiny_index, tiny_row

SWEBENCH: Document = {
    "instance_id": "made__made-1",
    "repo": "made/made",
    "base_commit": "c" * 40,
    "version": "1",
    "spec": {"python": "3.11", "install": "python -m pip install -e ."},
    "FAIL_TO_PASS": ["test_a.py::test_b"],
    "PASS_TO_PASS": [],
}


@pytest.fixture(scope="module")
def index() -> Iterator[TinyIndex]:
    with tiny_index() as found:
        yield found


def ran(folder: Path, index: TinyIndex, rows: list[Document], *arguments: str) -> subprocess.CompletedProcess[str]:
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in rows))
    env = {**os.environ, **index.environment, "SANDBOX_GYM_STATE_DIR": str(folder / "state"), "SANDBOX_GYM_BOXES": "2"}
    argv = [sys.executable, "-m", "sandbox_gym", *arguments[:2], str(file), *arguments[2:]]
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=300)


def by_id(done: subprocess.CompletedProcess[str]) -> dict[str, Document]:
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {one["instance_id"]: one for one in found}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("provider", ["local", "docker"])
def test_rows_are_built_once_from_one_environment_and_their_fix_resolves(
    tmp_path: Path, index: TinyIndex, provider: str
) -> None:
    bad = tiny_row("2", "echo what it says; exit 3")
    rows: list[Document] = [tiny_row("1"), tiny_row("2"), bad, SWEBENCH]
    index.asked.clear()
    logs = tmp_path / "logs"
    build = ("swe", "build", "--provider", provider, "--json")
    try:
        first = ran(tmp_path, index, rows, *build, "--logs", str(logs), "--concurrency", "4")
        assert first.returncode == 1, first.stdout + first.stderr
        found = by_id(first)
        assert index.asked.count(f"/files/{WHEEL}") == 1, "three builds, one environment"
        assert [found[one]["was_there"] for one in ("tiny__tiny-1", "tiny__tiny-2")] == [False, False]
        failed = found[str(bad["instance_id"])]
        assert "step install[0] (echo what it says; exit 3) failed: what it says" in str(failed["error"])
        assert failed["log"] == str(logs / f"{bad['instance_id']}.log")
        assert "what it says\n" in Path(str(failed["log"])).read_text()
        assert "no index of packages has made/made at cccccccccccc" in str(found["made__made-1"]["error"])
        again = ran(tmp_path, index, rows[:2], *build)
        assert [one["was_there"] for one in by_id(again).values()] == [True, True], again.stderr
        sound = ran(tmp_path, index, rows[:1], "swe", "validate", "--provider", provider, "--runs", "1")
        assert "1 rows, 1 sound" in sound.stdout, sound.stdout + sound.stderr
    finally:
        if provider == "docker":
            forget_images(tmp_path)


@pytest.mark.timeout(300)
def test_what_can_not_be_had_is_refused_by_name(tmp_path: Path, index: TinyIndex) -> None:
    rows: list[Document] = [
        tiny_row("1", system_packages=["not-a-package"]),
        tiny_row("2", python="3.5"),
    ]
    done = ran(tmp_path, index, rows, "swe", "build", "--provider", "local", "--json")
    errors = {name: str(one["error"]) for name, one in by_id(done).items()}
    assert "Debian packages are not here: not-a-package; apt-get install them" in errors["tiny__tiny-1"]
    assert "Python 3.5 is not installed on this machine (there are: " in errors["tiny__tiny-2"]


@pytest.mark.timeout(300)
def test_a_verify_waits_for_a_build_no_longer_than_its_deadline_and_the_build_goes_on(
    tmp_path: Path, index: TinyIndex
) -> None:
    row = tiny_row("1", "sleep 3")
    body = {**request(row, str(row["patch"])), "instance_id": row["instance_id"]}
    with serving_swe("local", tmp_path, **index.environment) as server, httpx.Client(base_url=server.url) as client:
        late = client.post("/verify", json=body, headers={"X-Sandbox-Gym-Deadline-S": "0.5"}, timeout=120)
        assert (late.status_code, late.headers["Retry-After"]) == (503, "30"), late.text
        assert late.json()["failure_kind"] == "swe:deadline_exceeded"
        assert "its build goes on for the next request" in late.json()["failure_reason"]
        done = client.post("/verify", json=body, timeout=240)
        assert (done.status_code, done.json().get("reward")) == (200, 1.0), done.text
        built = [line for line in client.get("/metrics").text.splitlines() if line.startswith("sandbox_gym_instances_")]
    assert [line.split()[-1] for line in built if "_built" in line] == ["1.0"], built


@pytest.mark.extended
@pytest.mark.timeout(900)
def test_docker_installs_debian_packages_and_brings_an_interpreter(tmp_path: Path, index: TinyIndex) -> None:
    """With Debian's own mirror, also what links manuals, for which slim images have no folder; and what Debian does not
    have is told by name."""
    asked = 'python -c "import sys; assert sys.version_info[:2] == (3, 9), sys.version"'
    asked = f"java -version && figlet -v >/dev/null && {asked}"
    rows: list[Document] = [
        tiny_row("1", asked, python="3.9", system_packages=["figlet", "default-jre-headless"]),
        tiny_row("2", python="3.9", system_packages=["no-such-package-of-debian"]),
    ]
    try:
        done = ran(tmp_path, index, rows, "swe", "build", "--provider", "docker", "--json")
        found = by_id(done)
        assert "error" not in found[str(rows[0]["instance_id"])], done.stdout + done.stderr
        assert "Unable to locate package no-such-package-of-debian" in str(found["tiny__tiny-2"]["error"])
    finally:
        forget_images(tmp_path)
    left = docker("images", "-q", "-f", "dangling=true", "-f", "label=sandbox-gym.additions").split()
    steps = [docker("history", "--no-trunc", image) for image in left]
    assert not [each for each in steps if "install" in each and "figlet" in each], "it goes with what was made of it"
