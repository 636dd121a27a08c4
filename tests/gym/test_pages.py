"""Every command of the ecosystem's pages is run by a test; the installing ones here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.documented import command, commands
from tests.gym.running import environment
from tests.gym.tasks import REPOSITORY
from tests.release.building import build

RUN_BY = {
    "from-nemo-gym.md": {
        "pip install": "gym/test_pages.py",
        "cp -r": "gym/test_pages.py",
        "echo": "gym/test_pages.py",
        "export": "gym/test_pages.py",
        "ng_test": "gym/test_ng_test.py",
        "ng_run": "gym/running.py",
        "sandbox-gym export": "gym/test_ng_run.py",
        "ng_collect_rollouts": "gym/test_ng_run.py",
        "gym env start": "gym/test_env_start.py",
        "gym eval run": "gym/test_ng_run.py",
    },
    "nemo-evaluator.md": {
        "sandbox-gym serve": "gym/serving.py",
        "nel eval run --bench gym://127.0.0.1:8080": "gym/test_nel.py",
        "sandbox-gym export": "gym/test_nel.py",
        'nel eval run --bench "gym://cmd:': "gym/test_nel.py",
        'nel eval run --bench "gym://127.0.0.1:8080?protocol=native': "gym/test_nel.py",
    },
    "from-sandboxfusion.md": {"sandbox-gym serve": "gym/serving.py", "curl": "server/test_documented.py"},
}
"""Page -> how a command begins -> the file whose tests run it."""


@pytest.mark.parametrize("page", RUN_BY)
def test_each_command_has_its_test(page: str) -> None:
    runs = RUN_BY[page]
    for line in commands(page):
        assert [begins for begins in runs if line.startswith(begins)], f"{page}: nothing runs {line}"
    for begins, file in runs.items():
        assert [line for line in commands(page) if line.startswith(begins)], f"{page} has no {begins}"
        source = (REPOSITORY / "tests" / file).read_text()
        how = begins.removeprefix("nel eval run --bench ")
        assert f'"{how}' in source or f"'{how}" in source, f"{file} does not run {begins}"


@pytest.mark.timeout(300)
def test_what_is_installed(tmp_path: Path) -> None:
    """The page's pip finds all that it names; nothing is changed, as it is installed."""
    named = command("from-nemo-gym.md", "pip install", {})
    called = [sys.executable, "-m", *named, "--dry-run", "--quiet", "--report", str(tmp_path / "report.json")]
    subprocess.run(called, cwd=REPOSITORY, check=True, timeout=280)
    assert (tmp_path / "report.json").read_text().strip()


def test_a_copy_and_where_the_package_is(tmp_path: Path) -> None:
    """As the page has it, by this environment's Python; uv resolves the copy's requirements to the address."""
    wheel = build(REPOSITORY, tmp_path, "wheel")
    (copy,) = (line for line in commands("from-nemo-gym.md") if line.startswith("cp -r"))
    (address,) = (line for line in commands("from-nemo-gym.md") if line.startswith("echo"))
    (export,) = (line for line in commands("from-nemo-gym.md") if line.startswith("export UV_CONSTRAINT"))
    wanted = "--reinstall -r resources_servers/coding/requirements.txt"
    asked = f'uv pip install --dry-run --python "$(command -v python)" {wanted}'
    lines = ["mkdir resources_servers", copy, address.replace("/srv/wheels/", f"{tmp_path}/"), export, asked]
    done = subprocess.run(
        ["bash", "-euc", "\n".join(lines)], cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "resources_servers" / "coding" / "app.py").is_file()
    assert f"sandbox-gym==0.1.0 (from file://{wheel})" in done.stderr or f"sandbox-gym @ file://{wheel}" in done.stderr
    assert " mcp==" in done.stderr  # the extra
