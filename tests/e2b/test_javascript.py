"""The JavaScript SDK from npm, for a smoke of the same."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.e2b.servers import PoolServer

pytestmark = [pytest.mark.npm, pytest.mark.timeout(300)]


@pytest.fixture(scope="session")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("javascript")
    (folder / "package.json").write_text('{"private": true, "type": "module"}')
    install = ["npm", "install", "--silent", "--no-audit", "--no-fund", "e2b", "@e2b/code-interpreter"]
    subprocess.run(install, cwd=folder, check=True, timeout=240, capture_output=True)
    shutil.copy(Path(__file__).parent / "smoke.mjs", folder)
    return folder


def test_javascript(pool: PoolServer, modules: Path) -> None:
    where = pool.where()
    environment = {
        **os.environ,
        "E2B_API_KEY": where["api_key"],
        "E2B_API_URL": where["api_url"],
        "E2B_SANDBOX_URL": where["sandbox_url"],
    }
    done = subprocess.run(
        ["node", "smoke.mjs"], cwd=modules, env=environment, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == {
        "run": "bar\nuser\n",
        "exit": 3,
        "timeout": "TimeoutError",
        "stdin": "in\nend\n",
        "read": "héllo",
        "list": ["file"],
        "big": 20 << 20,
        "watch": ["create", "chmod", "write"],
        "pty": True,
        "pause": True,
        "resumed": "héllo",
        "url": "héllo",
        "refused": "[unauthenticated] invalid username: user 'stranger' does not exist; everything here runs as 'user'",
        "cut": "TimeoutError",
        "metrics": True,
        "kill": True,
        "running": False,
        "ready": True,
        "template": True,
        "listed": 1,
        "tags": ["v1"],
        "copied": "bar\n",
        "code": "42",
        "error": "ZeroDivisionError",
    }
