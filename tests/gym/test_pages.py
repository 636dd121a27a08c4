"""Every command of the ecosystem's pages is run by a test; the installing ones here."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.documented import command, commands
from tests.gym.tasks import REPOSITORY

RUN_BY = {
    "from-nemo-gym.md": {
        "pip install": "gym/test_pages.py",
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
