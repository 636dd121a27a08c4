"""`images plan` and `images prefetch` as programs, and an instance from an image that was pulled for it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.images.published import Published
from tests.images.registry import front, where
from tests.swe.instance import forget_images

SOLUTION = "def double(n):\n    return n + n\n"
BROKEN = "def double(n):\n    return n\n"
TEST = (
    "import unittest\nfrom lib import double\n\n\nclass Doubles(unittest.TestCase):\n"
    "    def test_double(self):\n        self.assertEqual(double(3), 6)\n"
)
PYTHON = "/opt/miniconda3/envs/testbed/bin"
MADE = (
    f"mkdir -p {PYTHON} && ln -s /usr/bin/python3 {PYTHON}/python && chmod -R a+rwX /testbed"
    " && git config --system --add safe.directory '*'"
)
FIX = "--- a/lib.py\n+++ b/lib.py\n@@ -1,2 +1,2 @@\n def double(n):\n-    return n\n+    return n + n\n"


def ran(state: Path, *arguments: str, **settings: str) -> subprocess.CompletedProcess[str]:
    given = {f"SANDBOX_GYM_{name.upper()}": value for name, value in settings.items()}
    environment = {**os.environ, "SANDBOX_GYM_STATE_DIR": str(state), "SANDBOX_GYM_PROVIDER": "docker", **given}
    command = [sys.executable, "-m", "sandbox_gym", *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)


def row(image: str, number: int = 0) -> dict[str, object]:
    return {
        "instance_id": f"made__lib-{number}",
        "repo": "made/lib",
        "base_commit": "0" * 40,
        "version": "1",
        "problem_statement": "double does not",
        "patch": FIX,
        "test_patch": "--- /dev/null\n+++ b/test_lib.py\n@@ -0,0 +1,7 @@\n"
        + "".join(f"+{line}" for line in TEST.splitlines(keepends=True)),
        "FAIL_TO_PASS": ["test_lib.Doubles.test_double"],
        "PASS_TO_PASS": [],
        "image": image,
        "runner": "unittest",
    }


def written(folder: Path, *rows: object) -> str:
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return str(file)


def test_a_plan_says_what_is_here_what_would_be_fetched_and_whether_it_fits(
    at_home: str, published: Published, tmp_path: Path
) -> None:
    here, gone, other = (published.name(at_home, name) for name in ("here", "gone", "other"))
    published.make(here, 200_000)
    published.make(gone, 300_000)
    published.make(other, 400_000)
    published.push(gone)
    published.push(other)
    nobody = f"{at_home}/nobody/has:it"
    recipe = {**row(""), "environment": {"source": "a==1", "python": "3.11"}}
    file = written(tmp_path, row(here), row(gone, 1), row(gone, 2), row(other, 3), recipe)
    done = ran(tmp_path / "state", "images", "plan", file, "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    *images, whole = [json.loads(line) for line in done.stdout.splitlines()]
    by_name = {one["image"]: one for one in images}
    assert set(by_name) == {here, gone, other}
    assert (by_name[here]["here"], by_name[here]["download_bytes"]) == (True, None)
    assert (by_name[gone]["here"], by_name[gone]["rows"]) == (False, 2)
    assert 300_000 < by_name[gone]["download_bytes"] < 310_000
    assert 700_000 < whole["download_bytes"] < 720_000
    assert (whole["missing"], whole["unknown"], whole["kept_bytes"], whole["fits"]) == (2, 0, 0, True)
    assert not published.has(gone), "nothing was pulled"
    file = written(tmp_path, row(gone), row(nobody, 1), {"instance_id": "x"})
    done = ran(tmp_path / "state", "images", "plan", file, docker_images_disk_mb="1")
    assert done.returncode == 1, done.stdout
    told = " ".join(done.stdout.split())
    assert "answers 404" in told
    assert "does not fit" not in told
    assert "line 3: " in done.stderr
    done = ran(tmp_path / "state", "images", "plan", file, provider="local")
    assert (done.returncode, "--provider docker" in done.stderr) == (2, True)


@pytest.mark.timeout(900)
@pytest.mark.extended
def test_prefetch_pulls_and_builds_and_goes_on_where_it_was_interrupted(
    at_home: str, published: Published, tmp_path: Path
) -> None:
    """Images as data sets have them, with Python, git and a repository that is not ours."""
    with front(at_home) as spoilt:
        names = [published.name(where(spoilt), f"instance{number}") for number in range(2)]
        for name in names:
            home = published.name(at_home, name.split("/")[-1].removesuffix(":1"))
            published.on_top(name, "sandbox-gym/swe:latest", {"testbed/lib.py": BROKEN}, MADE)
            published.push(name, home)
        state, rows = tmp_path / "state", [row(name, number) for number, name in enumerate(names)]
        missing = row(f"{at_home}/nobody/has:it", 2)
        try:
            file = written(tmp_path, *rows, missing)
            spoilt.broken = 10_000
            first = ran(state, "images", "prefetch", file, "--json")
            assert first.returncode == 1, first.stdout + first.stderr
            errors = [json.loads(line)["error"] for line in first.stdout.splitlines()]
            assert sum("500 Internal Server Error" in error for error in errors) == 2
            assert sum("manifest unknown" in error for error in errors) == 1
            spoilt.broken = 0
            second = ran(state, "images", "prefetch", file, "--json", "--concurrency", "2")
            told = [json.loads(line) for line in second.stdout.splitlines()]
            assert second.returncode == 1
            built = [one for one in told if "key" in one]
            assert [one["was_there"] for one in built] == [False, False], second.stdout + second.stderr
            assert {one["image"] for one in built} == set(names)
            third = ran(state, "images", "prefetch", written(tmp_path, *rows), "--json")
            assert third.returncode == 0, third.stdout + third.stderr
            assert all(json.loads(line)["was_there"] for line in third.stdout.splitlines())
            assert "2 were there, 0 failed" in third.stderr
            assert sorted(json.loads((state / "images" / "docker.json").read_text()), key=str)
        finally:
            forget_images(state)
